"""True values of the protocol's series from the configured sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anachron.errors import SourceError
from anachron.sources import facts
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.protocol_parts import SeriesEntry

if TYPE_CHECKING:
    from anachron.config import Sources

Values = dict[tuple[str, str], float]


def values(protocol: Protocol, sources: Sources, months: Sequence[str]) -> Values:
    """Return the true value of every month and series that has one, rounded to the series' decimals.

    Factors are the library's latest figures, macroeconomic series the earliest figure known; a series that the
    sources at hand lack has no values, and its items are not asked.
    """
    made = protocol.facts == "synthetic"
    found: Values = {}
    factors = [entry for entry in protocol.series if entry.source == "factor"]
    if factors:
        frame = facts.factors(sources, [entry.name for entry in factors], months, synthetic=made)
        _take(found, frame, factors)
    macro = [entry for entry in protocol.series if entry.source == "macro"]
    if macro:
        changes = {entry.name: entry.change for entry in macro if entry.change}
        ids = [entry.name for entry in macro]
        frame = facts.macro_first_releases(sources, ids, months, changes=changes, synthetic=made)
        _take(found, frame, macro)
    for entry in protocol.series:
        if entry.source == "own":
            _own(found, entry, set(months))
    return dict(sorted(found.items()))


def _take(found: Values, frame: object, entries: Sequence[SeriesEntry]) -> None:
    by_name = {entry.name: entry for entry in entries}
    columns = (frame[column].tolist() for column in ("name", "month", "value"))  # type: ignore[index]
    for name, month, value in zip(*columns, strict=True):
        entry = by_name[name]
        if not math.isnan(value):
            found[month, entry.id] = round(float(value), entry.decimals)


def _own(found: Values, entry: SeriesEntry, months: set[str]) -> None:
    """Add a series from a user's own table: columns month (or date) and value, CSV or Parquet."""
    import pandas as pd

    path = Path(entry.name)
    if not path.is_file():
        raise SourceError(f"series {entry.id}: {path}: no such file; name a CSV or Parquet table in `name`")
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    column = next((name for name in ("month", "date") if name in table.columns), None)
    if column is None or "value" not in table.columns:
        raise SourceError(
            f"{path}: needs the columns month and value; has {', '.join(map(str, table.columns))}"
        )
    for month, value in zip(table[column].astype(str).str[:7], table["value"].tolist(), strict=True):
        if month in months and value == value:
            found[month, entry.id] = round(float(value), entry.decimals)
