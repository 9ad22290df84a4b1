"""Candidates whose likelihood is asked: the true value, and four that a model which does not recite finds as likely.

Source: NumLeak §4, Table 18; the suite's specification, "Items and probes".
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from anachron.blocks import from_ordinal, ordinal
from anachron.suites.continuations import last_logprobs
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol

DECOY = 10.0
"""Decoys are uniform from minus this to this, in percent."""


def value(protocol: Protocol, truth: Mapping[str, float | None], month: str, kind: str) -> float | None:
    """Return a candidate of a kind (`naming.KINDS`) for the market in a month; None where the truth it needs lacks.

    The adjacent month is the next one, and November for December: a year's months always lie in one panel.
    """
    true = truth.get(naming.item(month, naming.MARKET))
    if kind in ("true", "sign"):
        return true if true is None or kind == "true" else -true
    if kind == "adjacent":
        beside = from_ordinal(ordinal(month) + (-1 if month.endswith("-12") else 1))
        return truth.get(naming.item(beside, naming.MARKET))
    if kind == "other":
        sibling = next(
            (entry.id for entry in protocol.series if entry.id in naming.FACTORS[1:]), naming.MARKET
        )
        return truth.get(naming.item(month, sibling))
    drawn = int.from_bytes(hashlib.sha256(f"decoy|{month}".encode()).digest()[:7], "big") / 2**56
    return round((2 * drawn - 1) * DECOY, protocol.entry(naming.MARKET).decimals)


def written(protocol: Protocol, number: float) -> str:
    """Return a candidate as a model would write it."""
    return f"{number:+.{protocol.entry(naming.MARKET).decimals}f}"


def mean_logprob(text: str, odds: Any) -> float | None:
    """Return the mean log-probability of the tokens that hold a text's last word; None where they are not given.

    Parameters
    ----------
    text
        The whole text that was scored; its last word is the candidate.
    odds
        `frames.Transcripts.logprobs`, of all its tokens.
    """
    words = text.split()
    if not words:
        return None
    found = last_logprobs(odds, len(words[-1]) + len(text) - len(text.rstrip()))
    return sum(found) / len(found) if found and math.isfinite(sum(found)) else None
