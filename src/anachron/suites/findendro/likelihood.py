"""The option that an answer's first token makes most likely, whatever the model then wrote.

For models that do not keep to a format (base models, small ones) the letters' log-probabilities say what the
text does not. Source: the suite's specification, "Parsing"; FinDendro §4.7.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

_LETTER = re.compile(r"^[\s▁Ġ*_`\"'(\[]*([A-Z])[\s).:\]*]*$")
_BLANK = re.compile(r"^[\s▁ĠĊ*_`\"'(\[]*$")


def shares(text: str, offered: int) -> list[float] | None:
    """Return each option's share of the probability that the first token gives to option letters.

    Parameters
    ----------
    text
        `frames.Transcripts.logprobs`: canonical JSON, a list of tokens with their alternatives.
    offered
        How many options there were, lettered from A.

    Returns
    -------
    list of float, length `offered`
        They sum to one. Tokens that spell the same letter (with a blank or a bracket) are added. Tokens of
        blanks and opening brackets are passed over. None where no option letter is among the alternatives, or
        the text is not what it should be.
    """
    try:
        steps = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for step in steps if isinstance(steps, list) else []:
        token = step.get("token") if isinstance(step, dict) else None
        if not isinstance(token, str):
            return None
        if token and _BLANK.match(token):
            continue
        return _of_step(token, step, offered)
    return None


def _of_step(token: str, step: dict[str, Any], offered: int) -> list[float] | None:
    pairs = {str(other): value for other, value in step.get("top") or [] if value is not None}
    if step.get("logprob") is not None:
        pairs.setdefault(token, step["logprob"])
    found = [0.0] * offered
    for other, value in pairs.items():
        match = _LETTER.match(other)
        place = ord(match.group(1)) - ord("A") if match else offered
        if place < offered:
            found[place] += math.exp(min(float(value), 0.0))
    whole = sum(found)
    return [share / whole for share in found] if whole > 0 else None
