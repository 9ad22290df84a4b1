"""Blocks: the units of collecting. A new month changes the last block or adds one, and touches no other."""

from __future__ import annotations

import calendar
import functools
from collections.abc import Sequence

from anachron.config import BlockRule
from anachron.errors import ConfigError

LAST_FIVE_YEAR_SPAN = 2024

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""In English whatever the locale: prompts hold them, and a prompt that changes is paid for anew."""


def months(start: str, end: str) -> list[str]:
    """Return the months from `start` to `end` (``YYYY-MM``, both included); empty when `end` is earlier."""
    return list(_months(start, end))


@functools.lru_cache(maxsize=256)
def _months(start: str, end: str) -> tuple[str, ...]:
    first, last = ordinal(start), ordinal(end)
    return tuple(from_ordinal(value) for value in range(first, last + 1))


def ordinal(month: str) -> int:
    """Return a month (``YYYY-MM`` or a date) as a running number, so that differences count months."""
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def from_ordinal(value: int) -> str:
    """Return the month (``YYYY-MM``) of a running number."""
    return f"{value // 12:04d}-{value % 12 + 1:02d}"


def last_day(month: str) -> str:
    """Return the last day of a month, ``YYYY-MM-DD``."""
    year, number = int(month[:4]), int(month[5:7])
    return f"{month[:7]}-{calendar.monthrange(year, number)[1]:02d}"


def in_words(month: str) -> str:
    """Return a month (``YYYY-MM`` or a date) in words.

    >>> in_words("2020-03")
    'March 2020'
    """
    return f"{MONTH_NAMES[int(month[5:7]) - 1]} {month[:4]}"


def span_of(month: str) -> str:
    """Return the span that holds a month: ``2005-2009`` style up to 2024, a single year after."""
    year = int(month[:4])
    if year > LAST_FIVE_YEAR_SPAN:
        return str(year)
    first = year - year % 5
    return f"{first}-{first + 4}"


def block_of(month: str, rule: BlockRule) -> str:
    """Return the block that holds a month under a rule."""
    return {"span": span_of(month), "month": month[:7], "all": "all"}[rule]


def blocks(all_months: Sequence[str], rule: BlockRule) -> list[str]:
    """Return the blocks of a run of months, in order, each once."""
    return list(dict.fromkeys(block_of(month, rule) for month in all_months))


def months_in(block: str, all_months: Sequence[str]) -> list[str]:
    """Return the months of `all_months` that a block holds.

    Raises
    ------
    ConfigError
        When `block` is no block of these months.
    """
    found = [
        month
        for month in all_months
        if block in (block_of(month, "span"), block_of(month, "month"), block_of(month, "all"))
    ]
    if not found:
        raise ConfigError(f"block {block!r} holds none of the months {all_months[0]}..{all_months[-1]}")
    return found
