"""What was known on a day: views of `resources/alfred.parquet` as of a date, first releases, revisions, the panel.

Nothing here opens a socket. A view of a day never holds what was published after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

REAL_TIME = "real time"
READ_AGAIN = 5
"""Looks at a table that is being replaced."""

PANEL_COLUMNS = (
    "decision_date",
    "series",
    "reference_period",
    "published",
    "value",
    "latest_value",
    "unit",
    "vintage_kind",
)
"""The columns of `frames.Panel` that vintages decide."""


def read(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read a table of vintages, and up to which day each series is known.

    Parameters
    ----------
    path
        `resources/alfred.parquet`, or a user's own table of the same columns (`contracts.Alfred`). The days stand
        in the ``.json`` beside it, which `anachron fetch alfred` writes; without that file the table vouches for
        itself up to the newest day on which anything in it was published.

    Raises
    ------
    ContractError
        When a file cannot be read or the table breaks its contract.
    SourceError
        When the ``.json`` belongs to another table.
    """
    from anachron import frames
    from anachron.sources.contracts import Alfred

    beside = path.with_suffix(".json")
    for _ in range(READ_AGAIN):
        before = notes_of(path)
        table = frames.read(path, Alfred)
        notes = notes_of(path)
        # A refresh may have replaced the table between two looks at it; its notes are not those of the older one.
        if before == notes:
            break
    if not beside.is_file():
        newest = str(table["published"].max()) if len(table) else ""
        return table, dict.fromkeys(sorted(set(table["series_id"])), newest)
    if notes is None:
        raise SourceError(
            f"{path}: is not the table that {beside.name} was written for; run `anachron fetch alfred` again "
            f"(`--offline` asks nothing), or delete {beside.name} if the table is your own"
        )
    return table, {series: str(note["known_until"]) for series, note in notes["series"].items()}


def notes_of(path: Path) -> dict[str, Any] | None:
    """Return what the ``.json`` beside a table notes of it; None where it belongs to another table, or none is there.

    Raises
    ------
    ContractError
        When the ``.json`` cannot be read.
    """
    from anachron.files import read_json, sha256_file

    beside = path.with_suffix(".json")
    if not (path.is_file() and beside.is_file()):
        return None
    notes, present = read_json(beside), sha256_file(path)
    for one in (notes, notes.get("replaced")) if isinstance(notes, dict) else ():
        if one and one.get("table_sha256") == present:
            return {key: one[key] for key in ("series", "table_sha256")}
    return None


def as_of(table: pd.DataFrame, series: str, date: str) -> pd.DataFrame:
    """Return one series as it stood at the end of a day.

    Parameters
    ----------
    table
        Contract `contracts.Alfred`.
    series
        FRED's id.
    date
        ``YYYY-MM-DD``.

    Returns
    -------
    pandas.DataFrame
        For each period that had a value, by period: reference_period, published (the day that value was first
        seen), value. Periods whose value had been taken back are left out.

    Raises
    ------
    SourceError
        When the table has no such series.
    """
    own = _own(table, series)
    seen = own[(own["published"] <= date) & (own["vintage_end"] >= date) & own["value"].notna()]
    return seen[["reference_period", "published", "value"]].sort_values("reference_period", ignore_index=True)


def first_releases(table: pd.DataFrame, series: str) -> pd.DataFrame:
    """Return what was published first about each period: reference_period, published, value (see `as_of`).

    Periods that were published before ALFRED's records of the series begin are left out.
    """
    own = _own(table, series)
    first = own[own["first_release"]]
    return first[["reference_period", "published", "value"]].sort_values(
        "reference_period", ignore_index=True
    )


def revisions(table: pd.DataFrame, series: str) -> pd.DataFrame:
    """Compare each first release with the latest value.

    Returns
    -------
    pandas.DataFrame
        reference_period, published, first_value, latest_value (missing where the value was taken back) and times:
        how often the value changed since. By period.
    """
    own = _own(table, series)
    first = first_releases(table, series).rename(columns={"value": "first_value"})
    newest = own.sort_values("published").groupby("reference_period")["value"].last(skipna=False)
    first["latest_value"] = first["reference_period"].map(newest)
    first["times"] = first["reference_period"].map(own["reference_period"].value_counts()).astype("int64") - 1
    return first


def alfred_panel(
    table: pd.DataFrame,
    known_until: Mapping[str, str],
    series: Sequence[str],
    dates: Sequence[str],
    *,
    latest_on: str | None = None,
) -> pd.DataFrame:
    """Return what was known of each series on each decision date, from true vintages.

    Parameters
    ----------
    table, known_until
        As returned by `read`.
    series
        FRED's ids, in the order of the catalog.
    dates
        Decision dates, ``YYYY-MM-DD``.
    latest_on
        The day whose values `latest_value` holds. When None it is the newest: then each revision changes
        rows of old dates, and with them what is asked about these.

    Returns
    -------
    pandas.DataFrame
        `PANEL_COLUMNS`, in the order of dates and then of series. reference_period is the newest period that had
        a value on the date, value what it was then, published the day that value was first seen; latest_value is
        the same period's value on `latest_on` (the last one it had, where it was taken back since), in that
        vintage's base. vintage_kind is ``real time``.

    Raises
    ------
    SourceError
        When the table lacks a series, when nothing of it was known on a date, or when a date lies beyond the day up
        to which the series is known, or beyond `latest_on`; names series and date.
    """
    import pandas as pd

    beyond = [date for date in dates if latest_on is not None and date > latest_on]
    if beyond:
        raise SourceError(
            f"decision date {beyond[0]} is later than {latest_on}, the day whose values count as latest; "
            "choose a later day"
        )
    views = {one: _View(_own(table, one), latest_on) for one in series}
    rows = []
    for date in dates:
        for one in series:
            limit = known_until.get(one, "")
            if date > limit:
                raise SourceError(
                    f"series {one!r}, decision date {date}: its vintages are known up to {limit or 'no day'}; "
                    "what was published since is not in the table. Run `anachron fetch alfred`, or end the "
                    "protocol's dates sooner"
                )
            period, published, value = views[one].newest(date, one)
            latest = views[one].latest(period)
            rows.append((date, one, period, published, value, latest, views[one].unit, REAL_TIME))
    return pd.DataFrame(rows, columns=list(PANEL_COLUMNS))


class _View:
    """One series laid out for many dates."""

    def __init__(self, own: pd.DataFrame, latest_on: str | None) -> None:
        given = own[own["value"].notna()].sort_values(["reference_period", "published"])
        self._periods = given["reference_period"].to_numpy(dtype=object)
        self._published = given["published"].to_numpy(dtype=object)
        # Whole numbers compare a hundred times faster than text, and every date compares with every row.
        self._from, self._until = (_number(given[column]) for column in ("published", "vintage_end"))
        self._values = given["value"].to_numpy()
        self.unit = str(own["unit"].iloc[-1])
        kept = given if latest_on is None else given[given["published"] <= latest_on]
        self._latest = kept.groupby("reference_period")["value"].last().to_dict()

    def newest(self, date: str, series: str) -> tuple[str, str, float]:
        day = int(date.replace("-", ""))
        standing = (self._from <= day) & (self._until >= day)
        place = int(standing.nonzero()[0][-1]) if standing.any() else -1
        if place < 0:
            begins = self._published.min() if len(self._published) else "never"
            raise SourceError(
                f"series {series!r}, decision date {date}: nothing was known by then; its vintages begin on {begins}. "
                "Start the protocol's dates later"
            )
        return str(self._periods[place]), str(self._published[place]), float(self._values[place])

    def latest(self, period: str) -> float:
        return float(self._latest.get(period, float("nan")))


def _number(dates: pd.Series) -> np.ndarray:
    return dates.str.replace("-", "").astype("int64").to_numpy()


def _own(table: pd.DataFrame, series: str) -> pd.DataFrame:
    own = table[table["series_id"] == series]
    if own.empty:
        carried = ", ".join(sorted(set(table["series_id"]))) or "none"
        raise SourceError(
            f"the table of vintages has no series {series!r}; it has {carried}. Run `anachron fetch alfred "
            f"--series {series}` with all that are needed"
        )
    return own
