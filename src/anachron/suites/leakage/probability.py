"""Reading a probability from an answer.

The line that states one decides: a number alone on its line, or one that is called a probability; where there are
several such lines, the last. Only without any does a number count that stands alone among other words. A range, a
bound, odds and bare words are no probability: nobody's midpoint is put in their place. Source: the suite's
specification, "Uses".
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

LONGEST, LINE, NEAR = 20_000, 1_000, 200
"""Characters that are read, from the end on: of an answer, of a line of it, and before a number for what calls it a
probability. A longer think-aloud states its answer last."""

FAULTS = ("range", "outside", "several", "refusal", "unread")
"""Why a text states no probability; `outside`: a number above 1 without a percent sign, or a negative one."""

_WORDS = {
    **{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    **{"ten": 10, "hundred": 100, "a hundred": 100, "one hundred": 100, "thousand": 1000, "a thousand": 1000},
}
_COUNT = r"(?:(?:one|a) (?:hundred|thousand)|" + "|".join(_WORDS) + r"|\d{1,6})"
_FRACTION = re.compile(
    rf"(?<![\w.,/])(?P<part>{_COUNT})(?:\s*/\s*|[\s-]+(?:in|out of)[\s-]+)(?P<whole>{_COUNT})(?![\w/%]|[.,]\d)",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b(?:1[89]|20)\d\d[-/.]\d{1,2}(?:[-/.]\d{1,2})?\b|\b\d{1,2}[/.]\d{1,2}[/.](?:19|20)?\d\d\b"
)
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?!\d)")
_VALUE = r"(?<![\w.,])(?:\d{1,3}(?:[.,]\d+)?|[.,]\d+)(?!\w|[.,]\d)"
_PERCENT = r"(?:%|percent\b|per cent\b|pct\b)"
_NUMBER = re.compile(
    rf"(?P<minus>(?<![\w)%.,][\s])(?<![\w)%.,])-)?(?P<value>{_VALUE})\s*(?P<percent>{_PERCENT})?", re.I
)
_RANGE = re.compile(
    rf"{_VALUE}\s*{_PERCENT}?\s*(?:-|–|—|to\b|and\b|or\b)\s*{_VALUE}\s*{_PERCENT}?"
    r"|(?<![\w.,])\d{1,3}\s?:\s?\d{1,3}(?![\w.,])",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[<>≤≥]=?"
    r"|\b(?:at least|at most|up to|no more than|no less than|less than|more than|below|above|under|over))\s*$",
    re.IGNORECASE,
)
_CALLED = r"probability|chances?|likelihood|odds|forecast|prediction|estimate|answer|credence"
_LINK = (
    r"(?:is|of|be|would|will|as|about|around|roughly|approximately|approx|some|near|yes|a|the|my|final|for|this|that|it|"
    rf"{_CALLED})"
)
_BEFORE = re.compile(
    rf"(?:\b(?:{_CALLED})\b|\bp\b)(?:[\s:=~≈(.)-]|\b{_LINK}\b){{0,12}}$"
    rf"|(?:\b(?:{_CALLED})\b|\bp\b).*(?:\bis|\bbe|[:=])\s*(?:about|around|roughly|approximately)?[\s~≈(]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"\s*(?:{_CALLED}|likely)\b", re.IGNORECASE)
_NO = re.compile(r"\bno\b[\s:=(]*(?:is\s*)?$", re.IGNORECASE)
_SCALE = re.compile(
    r"(?<![\d.,])(?:0\s*(?:-|–|—|to|and)\s*(?:1|100)|0\s*%?\s*(?:-|–|—|to|and)\s*100\s*%)(?![\d.,]|\s*%)"
)
_AROUND = re.compile(r"[\s.,;:!?()=~≈-]*")
_REFUSAL = re.compile(
    r"\b(?:(?:i|we) (?:cannot|can't|can not|won't|will not|am unable to|am not able to|must decline|decline)\b"
    r"|i'm (?:unable|not able|sorry)\b|(?:unable|not able) to (?:give|provide|make|offer|assign|estimate|predict)\b"
    r"|as an ai\b)",
    re.IGNORECASE,
)


class Read(NamedTuple):
    """A probability, or why there is none: one of `FAULTS`, empty where there is one."""

    value: float | None
    fault: str


class _Number(NamedTuple):
    value: float
    percent: bool
    start: int
    end: int


def read(text: str) -> Read:
    """Return the probability that an answer states; never raises.

    >>> read("It was 4.1 % in May, so I say 0.35").fault, read("**Probability: 35%**").value, read("1 in 4").value
    ('several', 0.35, 0.25)
    >>> [read(one).fault for one in ("between 20% and 30%", "1.4", "quite likely", "I cannot predict this.")]
    ['range', 'outside', 'unread', 'refusal']
    """
    said = text.rpartition("</think>")[2]
    plain = (
        unicodedata.normalize("NFKC", said[-LONGEST:]).replace("’", "'").replace("⁄", "/").replace("−", "-")
    )
    plain = re.sub(r"[*_`$\\{}\[\]\"“”]|\bboxed\b", " ", plain)
    lines = [
        _SCALE.sub(" ", _FRACTION.sub(_decimal, _DAY.sub(" ", _end(line))))
        for line in plain.splitlines()
        if line.strip()
    ]
    for stated in (True, False):
        for line in reversed(lines):
            found = _line(_THOUSANDS.sub(" ", line), stated)
            if found is not None:
                return found
    return Read(None, "refusal" if _REFUSAL.search(plain) else "unread")


def _end(line: str) -> str:
    """Return the end of a line, from a word's beginning on."""
    return line if len(line) <= LINE else line[-LINE:].partition(" ")[2]


def _decimal(found: re.Match[str]) -> str:
    part, whole = (_count(found[name]) for name in ("part", "whole"))
    year = found["whole"].isdigit() and 1900 <= whole <= 2100 and whole != 2000
    return found[0] if year or not 0 <= part <= whole or whole == 0 else f"{part / whole:.9f}"


def _count(said: str) -> int:
    return int(said) if said.isdecimal() else _WORDS.get(" ".join(said.lower().split()), 0)


def _line(line: str, stated: bool) -> Read | None:
    """Return what a line says; None where it says nothing of the kind that is asked for.

    Parameters
    ----------
    line
        One line.
    stated
        Whether only a number counts that is alone on its line, or called a probability.
    """
    numbers = [_number(found) for found in _NUMBER.finditer(line) if not _before(_NO, line, found.start())]
    if stated:
        alone = len(numbers) == 1 and _AROUND.fullmatch(line[: numbers[0].start] + line[numbers[0].end :])
        ranges = _RANGE.search(line)
        if ranges and _AROUND.fullmatch(line[: ranges.start()] + line[ranges.end() :]):
            return Read(None, "range")
        chosen = numbers if alone else [one for one in numbers if _called(line, one)]
    else:
        # "12 months of data" is no answer, and neither is a number that might be one beside it.
        chosen = [one for one in numbers if one.percent or one.value <= 1]
    if not chosen:
        return None
    spans = [found.span() for found in _RANGE.finditer(line)]
    if any(low <= one.start < high for one in chosen for low, high in spans):
        return Read(None, "range")
    if any(_before(_BOUND, line, one.start) for one in chosen):
        return Read(None, "range")
    if len({round(_share(one), 9) for one in chosen}) > 1:
        return Read(None, "several")
    value = _share(chosen[0])
    return Read(value, "") if 0 <= value <= 1 else Read(None, "outside")


def _number(found: re.Match[str]) -> _Number:
    value = float(found["value"].replace(",", ".")) * (-1 if found["minus"] else 1)
    return _Number(value, bool(found["percent"]), found.start(), found.end())


def _share(one: _Number) -> float:
    return one.value / 100 if one.percent else one.value


def _called(line: str, one: _Number) -> bool:
    return _before(_BEFORE, line, one.start) or bool(_AFTER.match(line, one.end))


def _before(pattern: re.Pattern[str], line: str, place: int) -> bool:
    """Whether a pattern that ends a text is found right before a place."""
    return bool(pattern.search(line, max(0, place - NEAR), place))
