"""How likely a given text was to a model that was asked to score it: what suites share that ask so.

A request whose cap is 0 is answered with its own prompt and the log-probabilities of that prompt's tokens.
"""

from __future__ import annotations

import json
import math
from typing import Any


def last_logprobs(odds: Any, characters: int) -> list[float] | None:
    """Return the log-probabilities of the tokens that hold the last characters of a scored text.

    Parameters
    ----------
    odds
        `frames.Transcripts.logprobs`: canonical JSON, a list of the text's tokens.
    characters
        How many characters at the end count, at least 1; a token that only reaches into them counts whole.

    Returns
    -------
    list of float
        Natural logarithms, in the order of the text. None where a token of these has none, where the tokens hold fewer
        characters, or where `odds` is not what it should be.
    """
    try:
        steps = json.loads(odds)
    except (TypeError, ValueError, RecursionError):
        return None
    left, found = characters, []
    for step in reversed(steps if isinstance(steps, list) else []):
        token, odd = (step.get("token"), step.get("logprob")) if isinstance(step, dict) else (None, None)
        if not isinstance(token, str) or isinstance(odd, bool) or not isinstance(odd, int | float):
            return None
        try:
            value = float(odd)
        except OverflowError:
            return None
        if not math.isfinite(value):
            return None
        found.append(value)
        left -= len(token)
        if left <= 0:
            return found[::-1]
    return None
