"""Which of two months an answer names, and whether an answer declines.

Source: the suite's specification, "Parsing"; NumLeak appendix J.1.
"""

from __future__ import annotations

import re
from typing import Literal

from anachron.blocks import MONTH_NAMES
from anachron.suites.numleak.numerals import plain

Rule = Literal["endorsed", "first", "last"]

REFUSAL = re.compile(
    r"\b(?:i (?:don't|do not|didn't) (?:have|know|possess)|i (?:can't|cannot|can not|won't|will not)\b"
    r"|i(?:'m| am) (?:unable|not able|sorry)|unable to (?:verify|provide|recall|answer|determine|give)"
    r"|no reliable (?:data|value|figure)|not (?:available|accessible) (?:to me|in my)|n/a\b|cannot (?:provide|verify)"
    r"|i must decline|i decline|i (?:would|'d) rather not)",
    re.IGNORECASE,
)
_ENDORSED = (
    r"{month}[*\"]*(?:\s*\([^)]{{0,400}}\))?\s+(?:had|has|shows?|saw|was|recorded|posted|is)\s+(?:a |an |the )?"
    r"(?:\w+ly )?(?:higher|greater|larger|better)"
)
_ANSWERED = r"(?:answer|higher|winner|verdict)\s*(?:is|was|:|=)+\s*[*\"]*{month}"


def declines(text: str) -> bool:
    """Whether an answer says that it does not know or will not tell.

    >>> declines("I cannot verify that figure."), declines("+1.20")
    (True, False)
    """
    return bool(REFUSAL.search(plain(text).replace("’", "'")))


def opens_with_refusal(text: str) -> bool:
    """Whether the first sentence declines, rather than some sentence of a think-aloud."""
    first = re.split(r"(?<=[.!?])\s|\n\n", plain(text).replace("’", "'").strip(), maxsplit=1)[0]
    return bool(REFUSAL.search(first))


def mentions(text: str, months: tuple[str, str]) -> list[str]:
    """Return the two months in the order in which a text names them, each as often as it does.

    A month is named as ``2020-03``, ``March 2020`` or ``Mar 2020``.
    """
    said = plain(text)
    found: list[tuple[int, str]] = []
    for month in dict.fromkeys(months):
        found += [(match.start(), month) for match in re.finditer(_spelled(month), said, re.IGNORECASE)]
    return [month for _, month in sorted(found)]


def verdict(text: str, months: tuple[str, str], rule: Rule) -> str | None:
    """Return the month that an answer picks; None where it names none.

    Parameters
    ----------
    text
        The answer.
    months
        The pair.
    rule
        ``first``: the month named first, whatever the answer says of it. ``last``: the month named last, for
        forced choices. ``endorsed``: none where the answer declines; else the month that it calls higher; else the
        month named last, since a preamble repeats both months of the question.
    """
    named = mentions(text, months)
    if not named:
        return None
    if rule == "first":
        return named[0]
    if rule == "last":
        return named[-1]
    if declines(text):
        return None
    said = plain(text)
    endorsed = {
        month
        for month in months
        for pattern in (_ENDORSED, _ANSWERED)
        if re.search(pattern.format(month=_spelled(month)), said, re.IGNORECASE)
    }
    return endorsed.pop() if len(endorsed) == 1 else named[-1]


def _spelled(month: str) -> str:
    year, number = month[:4], int(month[5:7])
    name = MONTH_NAMES[number - 1]
    return rf"(?:\b{year}-{number:02d}\b|\b(?:{name}|{name[:3]}\.?),?\s+{year}\b)"
