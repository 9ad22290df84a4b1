"""Utility answers before a judge: its requests, and the score that it gives.

Source: NumLeak §5, appendix S; the suite's specification, "Items and probes" (defence).
"""

from __future__ import annotations

import re

import pandas as pd

from anachron.suites.asking import Request, table
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.protocols import TIERS

ARM = "judge-"
"""Begins the arm under which a judge is asked about an arm."""
ANSWERED = ("answer", "truncated", "refusal")
"""Outcomes with a text that can be judged."""
BEST = 4

_MARKED = re.compile(r"(?:score|grade|rating)\W{0,6}([0-4])(?![\d.,]\d|\d|%)", re.IGNORECASE)
_ALONE = re.compile(r"(?<![\d.,/-])([0-4])(?:\s*/\s*4)?(?![\d%]|[.,/]\d)")


def build(protocol: Protocol, sealed: pd.DataFrame) -> pd.DataFrame:
    """Return the requests that put a block's answers before a judge (`frames.Requests`).

    Parameters
    ----------
    protocol
        Wording and cap.
    sealed
        `frames.Transcripts` of one judged arm; answers without a text are not put before it.
    """
    rule, rows = protocol.judging, list[Request]()
    arm = str(sealed["arm"].iloc[0]) if len(sealed) else naming.UTILITY
    columns = (sealed[name].tolist() for name in ("item", "rep", "outcome", "text"))
    for item, rep, outcome, text in zip(*columns, strict=True):
        if outcome not in ANSWERED or not isinstance(text, str) or not text.strip():
            continue
        group, number = naming.series_of(item).rsplit(" ", 1)
        question = getattr(protocol.utility, group)[int(number) - 1]
        # Texts are put in one after the other: an answer may hold braces.
        prompt = rule.prompt.replace("{question}", question).replace("{answer}", text.strip())
        rows.append((item, int(rep), rule.system, prompt, None, TIERS))
    return table(protocol.suite, ARM + arm, 0.0, rule.max_tokens, rows)


def score(text: str) -> float | None:
    """Return the score from 0 to 4 that a judge gives; None where its answer holds none, or several.

    >>> score("3"), score("Score: 2. It names no cause."), score("4/4"), score("between 2 and 3"), score("7")
    (3.0, 2.0, 4.0, None, None)
    """
    for pattern in (_MARKED, _ALONE):
        found = set(pattern.findall(text))
        if len(found) == 1:
            return float(found.pop())
        if found:
            return None
    return None
