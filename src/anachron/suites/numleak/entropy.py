"""Spread of an answer's first tokens from their log-probabilities.

Source: NumLeak appendix R; the suite's specification, "Metrics".
"""

from __future__ import annotations

import json
import math
from typing import Any

TOKENS = 2
"""Tokens whose entropies are averaged."""
TOP = 5
"""Alternatives that count; what is left of the probability is one more."""


def first_tokens(text: str) -> float | None:
    """Return the mean entropy in bits of the first tokens; None where they are not given.

    Each is −Σ p log₂ p over the likeliest alternatives and over the rest as one.

    Parameters
    ----------
    text
        `frames.Transcripts.logprobs`.
    """
    try:
        steps = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(steps, list) or not steps:
        return None
    found = [_bits(step) for step in steps[:TOKENS]]
    known = [bits for bits in found if bits is not None]
    return sum(known) / len(known) if len(known) == len(found) else None


def _bits(step: Any) -> float | None:
    top = step.get("top") if isinstance(step, dict) else None
    if not isinstance(top, list) or not top:
        return None
    try:
        odds = sorted(
            (math.exp(min(float(value), 0.0)) for _, value in top if value is not None), reverse=True
        )
    except (TypeError, ValueError):
        return None
    shares = odds[:TOP]
    shares.append(max(0.0, 1.0 - sum(shares)))
    return -sum(share * math.log2(share) for share in shares if share > 0)
