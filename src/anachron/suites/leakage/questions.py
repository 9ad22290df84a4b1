"""Forecasting questions made by rule from a series' past, with a crowd that knows base rates and nothing else.

On the first day of a month the question is whether the month's figure, as first published, will exceed a threshold:
the last figure known that day plus a multiple of the spread of past changes. The crowd's probability is the share of
past changes, known that day, that would have exceeded it. Outcomes follow from the figure. Source: the suite's
specification, "Two uses"; Temporal Leakage, appendix D.2, for what a question must bring.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anachron.blocks import from_ordinal, months, ordinal
from anachron.sources import facts
from anachron.suites.leakage.protocol import Protocol, SeriesEntry

if TYPE_CHECKING:
    from anachron.config import Sources

FEWEST_CHANGES = 24
"""Past changes below which there is no question: spread and crowd would rest on too little."""
LONGEST_LAG = 6
"""Months after a month in which its figure may be published and still make a question."""


class Question(NamedTuple):
    """A resolved question."""

    item: str
    month: str
    source: str
    reference: str
    threshold: str
    text: str
    asked_on: str
    resolved_on: str
    crowd: float
    outcome: float


class History(NamedTuple):
    """Figures of a series by reference month, with the days of first publication."""

    ordinals: list[int]
    values: list[float]
    published: list[str]


def made(protocol: Protocol, sources: Sources, wanted: Sequence[str]) -> list[Question]:
    """Return the questions that are resolved in some months, by item.

    Raises
    ------
    SourceError
        As the readers of the sources do.
    """
    if not wanted:
        return []
    first = from_ordinal(ordinal(min(wanted)) - protocol.made.history_months - 2 * LONGEST_LAG)
    span = months(first, max(wanted))
    frame = facts.macro_first_releases(
        sources,
        [entry.id for entry in protocol.series],
        span,
        changes={entry.id: entry.change for entry in protocol.series if entry.change},
        synthetic=protocol.facts == "synthetic",
    )
    found: list[Question] = []
    inside = set(wanted)
    for entry in protocol.series:
        own = frame[(frame["name"] == entry.id) & frame["value"].notna() & frame["published"].notna()]
        held = History(
            [ordinal(month) for month in own["month"]], own["value"].tolist(), own["published"].tolist()
        )
        for place, published in enumerate(held.published):
            if published[:7] in inside:
                found += of_month(protocol, entry, held, place)
    return sorted(found)


def of_month(protocol: Protocol, entry: SeriesEntry, held: History, place: int) -> list[Question]:
    """Return the questions about one month of a series; none where too little of its past was known."""
    reference = held.ordinals[place]
    asked_on = f"{from_ordinal(reference)}-01"
    known = [one for one in range(place) if held.published[one] <= asked_on]
    if not known or held.published[place] <= asked_on:
        return []
    last = known[-1]
    gap = reference - held.ordinals[last]
    by_month = {held.ordinals[one]: held.values[one] for one in known}
    changes = np.array(
        [
            value - by_month[month - gap]
            for month, value in by_month.items()
            if month - gap in by_month and month > held.ordinals[last] - protocol.made.history_months
        ]
    )
    if gap > LONGEST_LAG or len(changes) < FEWEST_CHANGES:
        return []
    spread = float(changes.std(ddof=1))
    thresholds = dict.fromkeys(
        round(held.values[last] + offset * spread, entry.decimals) for offset in protocol.made.offsets
    )
    return [
        _question(protocol, entry, held, place, asked_on, threshold, np.sort(held.values[last] + changes))
        for threshold in thresholds
    ]


def _question(
    protocol: Protocol,
    entry: SeriesEntry,
    held: History,
    place: int,
    asked_on: str,
    threshold: float,
    past: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> Question:
    reference, resolved_on = from_ordinal(held.ordinals[place]), held.published[place]
    written = f"{threshold:.{entry.decimals}f}"
    above = len(past) - bisect_right(past.tolist(), threshold)
    return Question(
        item=f"{resolved_on[:7]} {entry.id} {reference} {written}",
        month=resolved_on[:7],
        source=entry.id,
        reference=reference,
        threshold=written,
        text="",
        asked_on=asked_on,
        resolved_on=resolved_on,
        # Half a case on either side: a base rate is never certain.
        crowd=(above + 0.5) / (len(past) + 1),
        outcome=float(round(held.values[place], 10) > threshold),
    )
