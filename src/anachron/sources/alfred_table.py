"""From observations with the days they stood to `resources/alfred.parquet`: periods, units, first releases.

Pure: frames in, frames out.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anachron.errors import SourceError
from anachron.sources.alfred_parse import OPEN_END, Info

if TYPE_CHECKING:
    import pandas as pd

PLAUSIBLE_LAG_DAYS = {
    "UNRATE": (31, 80),
    "PAYEMS": (31, 80),
}
"""Days from a period's first day to its publication between which a first release is believed, by series. The
longest of these are the autumn of 2025, when the government was shut."""

PLAUSIBLE_LAG_BY_FREQUENCY = {"W": (21, 45), "M": (1, 140), "Q": (85, 190), "SA": (150, 400), "A": (300, 800)}
"""The same for series not named above; weekly ones are averaged to months first."""

MONTHLY_INSTEAD = {
    "DFF": "FEDFUNDS",
    "DGS3MO": "GS3M",
    "DGS2": "GS2",
    "DGS10": "GS10",
    "DEXUSEU": "EXUSEU",
    "DEXJPUS": "EXJPUS",
    "DEXUSUK": "EXUSUK",
    "DCOILWTICO": "MCOILWTICO",
}
"""Monthly averages of daily series, under FRED's own ids."""

WEEK = dt.timedelta(days=7)


def tabulate(rows: pd.DataFrame, dates: Sequence[str], about: Info, where: str) -> pd.DataFrame:
    """Return one series as rows of the contract `contracts.Alfred`, by period and then by publication.

    Parameters
    ----------
    rows
        As returned by `alfred_parse.stitch`.
    dates
        The series' vintage dates.
    about
        What the series is.
    where
        Source and series, for the error text.

    Raises
    ------
    SourceError
        When the series is daily or of a frequency that is not known, when a date is no first of a month, or when
        a value was published before its period began.
    """
    import pandas as pd

    if about.frequency not in PLAUSIBLE_LAG_BY_FREQUENCY:
        other = MONTHLY_INSTEAD.get(about.series)
        advice = f"ask for {other}, its monthly average" if other else "ask for a monthly or weekly series"
        raise SourceError(f"{where}: frequency {about.frequency!r} is not read; {advice}")
    if about.frequency == "W":
        rows = monthly_means(rows)
    bad = rows.loc[~rows["date"].str.endswith("-01"), "date"]
    if len(bad):
        raise SourceError(
            f"{where}: {bad.iloc[0]} is no first of a month, though the series is {about.frequency}"
        )
    early = rows[rows["start"] < rows["date"]]
    if len(early):
        raise SourceError(
            f"{where}: {early['date'].iloc[0]} is given on {early['start'].iloc[0]}, before the period begins: "
            "that is a forecast, not a record"
        )
    return pd.DataFrame(
        {
            "series_id": about.series,
            "reference_period": rows["date"],
            "published": rows["start"],
            "value": rows["value"],
            "unit": unit(about),
            "vintage_end": rows["end"],
            "first_release": first_releases(rows, dates[0], plausible_lag(about)),
        }
    )


def plausible_lag(about: Info) -> tuple[int, int]:
    """Return the fewest and most days from a period's first day to a publication that is believed."""
    return PLAUSIBLE_LAG_DAYS.get(about.series, PLAUSIBLE_LAG_BY_FREQUENCY[about.frequency])


def first_releases(rows: pd.DataFrame, coverage: str, plausible: tuple[int, int]) -> pd.Series:
    """Say for each row whether it is what was published first about its period.

    ALFRED's records of a series begin on some day with the whole history as it stood then. That day is no
    publication of those periods, nor of older ones that were added later. So a row is a first release when it is
    its period's earliest value, the period is later than all that stood on the day coverage began, and
    the days from the period's start are plausible.

    Parameters
    ----------
    rows
        Columns date, start, value, by date and then start.
    coverage
        The day ALFRED's records of the series begin.
    plausible
        Fewest and most days, both included.
    """
    import pandas as pd

    given = rows[rows["value"].notna()]
    stood = given.loc[given["start"] <= coverage, "date"]
    known = stood.max() if len(stood) else ""
    earliest = given.groupby("date")["start"].transform("min").reindex(rows.index)
    lag = (pd.to_datetime(rows["start"]) - pd.to_datetime(rows["date"])).dt.days
    least, most = plausible
    first = rows["value"].notna() & rows["start"].eq(earliest) & rows["date"].gt(known)
    return (first & lag.between(least, most)).astype(bool)


def unit(about: Info) -> str:
    """Return the unit in words, without the year of a base.

    Values of all vintages stand in one column, and each vintage has its own base; a unit that named the latest
    would be wrong for the others, and would tell a reader when it was written.
    """
    text = re.sub(r"^Index\b.*=\s*\d+.*$", "index", about.units.strip())
    text = re.sub(r"\s*\b(Chained)\s+(\(?\d{4}\)?)", r" \1", text).strip()
    if " to One " not in text:
        text = text.lower()
    return f"{text}, annual rate" if about.seasonal == "SAAR" else text


def monthly_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Average a weekly series over the weeks that end in a month, as known on each day.

    A month has a value from the day on which all its weeks are known. It is over once the week after its last one
    ends in another month.

    Parameters
    ----------
    rows
        Columns date (the week's last day), start, end, value.

    Returns
    -------
    pandas.DataFrame
        The same columns; date is the month's first day. One row per day on which the average changed.
    """
    import pandas as pd

    found: list[tuple[str, str, str, float | None]] = []
    weekly = rows[rows["date"].isin(set(rows.loc[rows["value"].notna(), "date"]))]
    newest = weekly["date"].max() if len(weekly) else ""
    for month, weeks in weekly.groupby(weekly["date"].str.slice(0, 7)):
        last = weeks["date"].max()
        following = (dt.date.fromisoformat(last) + WEEK).isoformat()
        if newest[:7] == month and following[:7] == month:
            continue
        found += _means(f"{month}-01", weeks)
    return pd.DataFrame(found, columns=["date", "start", "end", "value"]).astype({"value": "float64"})


def _means(period: str, weeks: pd.DataFrame) -> list[tuple[str, str, str, float | None]]:
    whole = set(weeks["date"])
    # A value that ends without a successor changes the average as well.
    ends = {
        (dt.date.fromisoformat(end) + dt.timedelta(days=1)).isoformat()
        for end in weeks["end"]
        if end < OPEN_END
    }
    changes: list[tuple[str, float | None]] = []
    for day in sorted(set(weeks["start"]) | ends):
        standing = weeks[(weeks["start"] <= day) & (weeks["end"] >= day) & weeks["value"].notna()]
        mean = round(float(standing["value"].mean()), 10) if set(standing["date"]) == whole else None
        if (changes and mean != changes[-1][1]) or (not changes and mean is not None):
            changes.append((day, mean))
    out = []
    for place, (day, mean) in enumerate(changes):
        until = OPEN_END
        if place + 1 < len(changes):
            until = (dt.date.fromisoformat(changes[place + 1][0]) - dt.timedelta(days=1)).isoformat()
        out.append((period, day, until, mean))
    return out
