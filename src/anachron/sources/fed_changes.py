"""Changes of the Federal Reserve's target: a table of them, the same from daily series, and the months they make.

Pure: no network. A change has two dates, the day it was decided and the day from which the series shows it. They were
one day until 2016; since 2017 the series changes on the day after the decision.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from anachron.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

TABLE = Path(__file__).with_name("fed_changes.csv")
"""Changes as the Federal Open Market Committee announced them: public facts, from its statements."""

TABLE_THROUGH = "2026-09-30"
"""No decision up to this day is missing from `TABLE`."""

START = "1999-01"
DAY_AFTER_SINCE = "2017-01-01"
"""From this day on, a change in the series was decided the day before."""

LAST_OF_DFEDTAR, FIRST_OF_DFEDTARU = "2008-12-15", "2008-12-16"
HIGHEST = 25.0
SMALLEST_STEP, LARGEST_STEP = 0.0625, 3.0
"""Percentage points. Daily series in decimals, or in basis points, step outside of these."""

Basis = Literal["decision", "effective"]


def announced() -> pd.DataFrame:
    """Return the embedded changes since September 1998: decision_date, effective_date, target_upper (percent)."""
    import pandas as pd

    return pd.read_csv(
        TABLE, dtype={"decision_date": "str", "effective_date": "str", "target_upper": "float64"}
    )


def changes(
    target: Sequence[tuple[str, float]], upper: Sequence[tuple[str, float]], where: str
) -> pd.DataFrame:
    """Return the changes in the two daily series.

    Parameters
    ----------
    target, upper
        Day (``YYYY-MM-DD``) and percent of DFEDTAR and of DFEDTARU.
    where
        Source, for the error text.

    Returns
    -------
    pandas.DataFrame
        As `announced`; the target that the series begin with is no change.

    Raises
    ------
    SourceError
        When a day is missing, stands twice, or has no target; when the series do not meet on 16 December 2008; when
        a target or a step cannot be percent. Names the series and the day.
    """
    import pandas as pd

    _check_days(target, f"{where}, DFEDTAR")
    _check_days(upper, f"{where}, DFEDTARU")
    if target[-1][0] != LAST_OF_DFEDTAR:
        raise SourceError(f"{where}, DFEDTAR: ends on {target[-1][0]}; it ends on {LAST_OF_DFEDTAR}")
    if upper[0][0] != FIRST_OF_DFEDTARU:
        raise SourceError(f"{where}, DFEDTARU: begins on {upper[0][0]}; it begins on {FIRST_OF_DFEDTARU}")
    found = []
    before = target[0][1]
    for day, percent in [*target, *upper]:
        if percent == before:
            continue
        step = abs(percent - before)
        if not SMALLEST_STEP <= step <= LARGEST_STEP:
            raise SourceError(
                f"{where}: {day}: a step from {before:g} to {percent:g}; steps are {SMALLEST_STEP} to {LARGEST_STEP:g} "
                "percentage points: the unit is wrong"
            )
        found.append((decided(day), day, percent))
        before = percent
    return pd.DataFrame(found, columns=["decision_date", "effective_date", "target_upper"])


def decided(effective: str) -> str:
    """Return the day of decision of a change that a series shows from `effective` on."""
    if effective < DAY_AFTER_SINCE:
        return effective
    return (dt.date.fromisoformat(effective) - dt.timedelta(days=1)).isoformat()


def reconcile(found: pd.DataFrame, through: str, where: str) -> None:
    """Check changes against the embedded ones, from 1999 up to the earlier of `through` and `TABLE_THROUGH`.

    Raises
    ------
    SourceError
        When a change is in one of them only, or has other dates or another target; names the first one.
    """
    until = min(through, TABLE_THROUGH)
    rows = [
        {
            tuple(row)
            for row in table[table["decision_date"].between(f"{START}-01", until)].itertuples(index=False)
        }
        for table in (found, announced())
    ]
    differ = sorted(rows[0] ^ rows[1])
    if differ:
        decision, effective, percent = differ[0]
        side = (
            "is not among the announced ones"
            if differ[0] in rows[0]
            else "is missing, though it was announced"
        )
        raise SourceError(
            f"{where}: the change decided on {decision}, from {effective} on, to {percent:g} % {side} "
            f"({len(differ)} such differences)"
        )


def monthly(
    table: pd.DataFrame, through: str, *, start: str = START, basis: Basis = "decision"
) -> pd.DataFrame:
    """Return target and outcome of each month that is over.

    Parameters
    ----------
    table
        Changes, as `announced` returns them; at least one of them before `start`.
    through
        Last day whose decision is known: the months that ended by then are returned.
    start
        First month, ``YYYY-MM``.
    basis
        Which date a change belongs to. By effective date the cut decided on 31 July 2019 is one of August.

    Returns
    -------
    pandas.DataFrame
        As `contracts.Fed`. The outcome is the sign of the target at the month's end minus the one at the end of the
        month before, in percent; the dates are those of the month's last change.

    Raises
    ------
    SourceError
        When no change is older than `start`, or no month is over.
    """
    import pandas as pd

    months = [str(month) for month in pd.period_range(start, through[:7], freq="M")]
    last_day = (pd.Period(through[:7]).end_time.date()).isoformat()
    if through < last_day:
        months = months[:-1]
    if not months:
        raise SourceError(f"Federal Reserve: no month from {start} on is over by {through}")
    ordered = table.sort_values("effective_date")
    last = ordered.assign(month=ordered[f"{basis}_date"].str.slice(0, 7)).groupby("month").last()
    ends = last["target_upper"]
    opening = ends[ends.index < start]
    if opening.empty:
        raise SourceError(f"Federal Reserve: the target before {start} is not known")
    found = last.reindex(pd.Index(months, name="month"))
    found["target_upper"] = found["target_upper"].ffill().fillna(opening.iloc[-1])
    step = found["target_upper"].diff()
    step.iloc[0] = found["target_upper"].iloc[0] - opening.iloc[-1]
    found["outcome"] = step.map(
        lambda points: "raised" if points > 0 else "lowered" if points < 0 else "unchanged"
    )
    return found.reset_index()[["month", "decision_date", "effective_date", "target_upper", "outcome"]]


def _check_days(days: Sequence[tuple[str, float]], where: str) -> None:
    if not days:
        raise SourceError(f"{where}: holds no day")
    expected = dt.date.fromisoformat(days[0][0])
    for day, percent in days:
        if day != expected.isoformat():
            raise SourceError(
                f"{where}: {day} stands where {expected} should: days are missing or stand twice"
            )
        if not 0 <= percent <= HIGHEST:
            raise SourceError(
                f"{where}: {day}: the target is {percent:g}; allowed is 0 to {HIGHEST:g} percent"
            )
        expected += dt.timedelta(days=1)
