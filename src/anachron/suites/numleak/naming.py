"""Arms and items of the suite by name, so that every stage reads the same meaning from them.

An item begins with its month. ``2020-03 Mkt-RF`` is a value, ``2020-03 2008-10 Mkt-RF`` a pair of months,
``2020-03 signal`` a date-only question, ``2020-03 conceptual 2`` a utility question (its month stands for
nothing), ``1980-03 SMR-A true`` a candidate of a likelihood probe.
"""

from __future__ import annotations

import re

MARKET = "Mkt-RF"
FACTORS = (MARKET, "SMB", "HML", "RMW", "CMA", "Mom")

VALUE, PANELS, HISTORY, DESCRIBE, REASON, SAMPLE = (
    "value",
    "panels",
    "history",
    "describe",
    "reason",
    "sample",
)
RECENT, FAMOUS, ANCIENT = "recent", "famous", "ancient"
FABRICATED, ENTROPY, CANDIDATES = "fabricated", "entropy", "candidates"
RANK, RANK_FORCED = "rank", "rank-forced"
SIGNAL, SIGNAL_ANCIENT, SIGNAL_SHIFTED = "signal", "signal-ancient", "signal-shifted"
LABEL, DEFENCE, UTILITY, PILOT = "label-", "defence-", "utility-", "pilot-"

DEFENCES = ("none", "soft", "strong", "retrieval-only")
GROUPS = ("conceptual", "historical", "numeric")
KINDS = ("true", "sign", "adjacent", "other", "decoy")
"""Candidates of the likelihood probe; the true one first."""

_PAIR = re.compile(r"^(\d{4}-\d\d) (\d{4}-\d\d) (.+)$")


def item(month: str, series: str) -> str:
    """Return the item of a series in a month."""
    return f"{month} {series}"


def pair_item(months: tuple[str, str], series: str) -> str:
    """Return the item of a pair of months, in the order in which the prompt names them."""
    return f"{months[0]} {months[1]} {series}"


def month_of(name: str) -> str:
    """Return the month of an item."""
    return name[:7]


def series_of(name: str) -> str:
    """Return the series of an item of any form."""
    pair = _PAIR.match(name)
    return pair.group(3) if pair else name[8:]


def pair_of(name: str) -> tuple[str, str] | None:
    """Return the two months of a pair's item; None for another item."""
    found = _PAIR.match(name)
    return (found.group(1), found.group(2)) if found else None


def arm_slug(text: str) -> str:
    """Return a text as part of an arm's name: letters, digits and hyphens.

    >>> arm_slug("phrasing:terse"), arm_slug("M1_soft")
    ('phrasing-terse', 'm1-soft')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
