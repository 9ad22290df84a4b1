"""The items of the suite: values of series by month, with the truth, and questions that have none.

Source: NumLeak §2; the suite's specification, "Items and probes".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.blocks import from_ordinal, ordinal
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol

if TYPE_CHECKING:
    from anachron.config import Sources

ORDER = ["month", "item"]
IMPORTED = ("item", "month", "series", "value", "unit")
"""Columns that published records must bring to be scored."""


class Contract(frames.Contract):
    """One row per item; the truth is missing for pairs, questions and invented factors."""

    item: Series[str] = pa.Field(unique=True)
    month: Series[str] = pa.Field(str_matches=r"^\d{4}-(0[1-9]|1[0-2])$")
    series: Series[str]
    """Series, name of an invented factor, ``signal`` or a utility group with its number."""
    value: Series[float] = pa.Field(nullable=True)
    """Percent or index points, as the unit says, rounded to the series' decimals."""
    unit: Series[str]
    asked: Series[bool]
    """Whether any arm asks this item; other rows are there for comparison alone."""
    vintage_kind: Series[str] = pa.Field(isin=["real time", "synthetic"])


def build(protocol: Protocol, sources: Sources, months: Sequence[str]) -> pd.DataFrame:
    """Return the items of some months (`Contract`).

    Raises
    ------
    SourceError
        As the readers of the sources do.
    """
    from anachron.suites.numleak.truth import values

    kind = "synthetic" if protocol.facts == "synthetic" else "real time"
    wanted = set(months)
    planned = {name for arm in protocol.known_arms() for name in of_arm(protocol, arm)}
    truth = values(protocol, sources, months)
    rows: list[tuple[str, str, str, float, str, bool, str]] = []
    for (month, series), value in truth.items():
        name = naming.item(month, series)
        rows.append((name, month, series, value, protocol.entry(series).unit, name in planned, kind))
    known = {row[0] for row in rows}
    for name in sorted(planned - known):
        month, series = naming.month_of(name), naming.series_of(name)
        if month in wanted and not any(
            series == entry.id and naming.pair_of(name) is None for entry in protocol.series
        ):
            rows.append((name, month, series, float("nan"), "percent", True, kind))
    if not rows:
        return frames.empty(Contract)
    frame = pd.DataFrame(rows, columns=list(Contract.to_schema().columns))
    return frames.check(frame.sort_values(ORDER, ignore_index=True), Contract, "items of numleak")


def of_arm(protocol: Protocol, arm: str) -> list[str]:
    """Return the items that an arm asks, in order; those without a true value among them."""
    market, main = naming.MARKET, protocol.main_months()
    if arm == naming.VALUE:
        found = [naming.item(month, entry.id) for entry in protocol.series for month in main]
    elif arm == naming.PANELS:
        found = [
            naming.item(month, series)
            for series in protocol.panels.series
            for seed in protocol.panels.seeds
            for month in protocol.panel_months(series, seed)
        ]
    elif arm in (naming.RANK, naming.RANK_FORCED):
        found = [naming.pair_item(pair, market) for pair in protocol.pair_list()]
    elif arm == naming.FABRICATED:
        found = [
            naming.item(month, name) for name in protocol.fabricated for month in protocol.fabricated_months()
        ]
    elif arm == naming.RECENT:
        found = [naming.item(month, market) for month in protocol.recent_months()]
    elif arm == naming.FAMOUS:
        found = [naming.item(month, market) for month in protocol.famous_months()]
    elif arm in (naming.SIGNAL, naming.SIGNAL_SHIFTED):
        found = [naming.item(month, naming.SIGNAL) for month in main]
    elif arm.startswith(naming.UTILITY):
        found = [
            f"{protocol.dates.window} {group} {number + 1}"
            for group in naming.GROUPS
            for number in range(len(getattr(protocol.utility, group)))
        ]
    elif arm == naming.CANDIDATES:
        found = [f"{month} candidate {kind}" for kind in naming.KINDS for month in main]
    elif arm == naming.ENTROPY:
        sibling = next((e.id for e in protocol.series if e.id in ("RMW", "SMB")), market)
        found = [naming.item(month, series) for series in (market, sibling) for month in main]
        found += [
            naming.item(month, name) for name in protocol.fabricated for month in protocol.fabricated_months()
        ]
    else:
        found = [naming.item(month, market) for month in main]
    return sorted(set(found))


def reps_of(protocol: Protocol, arm: str, item: str) -> list[int]:
    """Return the reps of an item in an arm: draws, panels that hold the month, or the bare prompt and its suffixes."""
    if arm == naming.SAMPLE:
        return [0, 1]
    if arm == naming.PANELS:
        month, series = naming.month_of(item), naming.series_of(item)
        return [seed for seed in protocol.panels.seeds if month in protocol.panel_months(series, seed)]
    if arm.startswith(naming.DEFENCE):
        return list(range(len(protocol.suffixes) + 1))
    return [0]


def shown_month(protocol: Protocol, arm: str, item: str) -> str:
    """Return the month that a prompt states: the item's own, or the shifted one."""
    month = naming.month_of(item)
    return from_ordinal(ordinal(month) + protocol.shift_months) if arm == naming.SIGNAL_SHIFTED else month


def names(known: pd.DataFrame) -> list[str]:
    """Return the items that are asked, in order."""
    return sorted(known.loc[known["asked"], "item"].tolist())


def memory(known: pd.DataFrame) -> dict[str, float | None]:
    """Return the true value of every item that has one, and None for the others, for planted respondents."""
    return {
        item: None if value != value else float(value)
        for item, value in zip(known["item"], known["value"].tolist(), strict=True)
    }
