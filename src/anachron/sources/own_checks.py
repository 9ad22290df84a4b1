"""What a user's own table must hold beyond its types: allowed values, days that exist, one row each, sense.

Every check tells what it found: row, column, value, and what is allowed in words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Tell = Callable[[int, str, Any, str], None]
"""Takes row (from 0), column, what was found, what is allowed."""

ROUNDING = 1e-9

MAY_LIE_AHEAD = frozenset({"effective_date"})
"""What was decided today holds from tomorrow on; that has a rule of its own."""


def check_values(frame: pd.DataFrame, columns: Mapping[str, Any], tell: Tell) -> None:
    """Tell values that break a rule of their column."""
    for name, column in columns.items():
        for check in column.checks:
            passed = check(frame[name].dropna()).check_output
            for row in passed.index[~passed.astype(bool)]:
                tell(row, name, frame[name].iloc[row], allowed(column))


def allowed(column: Any) -> str:
    """Return the rules of a column in words."""
    from anachron.frames import DATE
    from anachron.sources.contracts import MONTH, MONTH_START

    patterns = {
        MONTH: "a month, YYYY-MM",
        DATE: "a day, YYYY-MM-DD",
        MONTH_START: "the first day of a month, YYYY-MM-01",
    }
    told: list[str] = []
    for check in column.checks:
        rule = check.statistics
        if "pattern" in rule:
            pattern = str(getattr(rule["pattern"], "pattern", rule["pattern"]))
            told.append(patterns.get(pattern, "a month, YYYYMM"))
        elif "allowed_values" in rule:
            told.append("one of " + ", ".join(map(str, rule["allowed_values"])))
        elif "min_value" in rule:
            sign = "more than" if check.name == "greater_than" else "at least"
            told.append(f"{sign} {rule['min_value']:g}")
    return " and ".join(told)


def check_dates(frame: pd.DataFrame, columns: Mapping[str, Any], today: dt.date, tell: Tell) -> None:
    """Tell days that do not exist, and months and days that are still to come."""
    from anachron.sources.contracts import OPEN_END

    limit = today.isoformat()
    for name, column in columns.items():
        rule = allowed(column)
        if "YYYY" not in rule:
            continue
        for row, text in enumerate(frame[name]):
            if not isinstance(text, str) or text == OPEN_END:
                continue
            if "DD" in rule and not _exists(text):
                tell(row, name, text, "a day of the calendar")
            elif name not in MAY_LIE_AHEAD and _digits(text) > _digits(limit)[: len(_digits(text))]:
                standing = f", or {OPEN_END} while it stands" if name == "vintage_end" else ""
                tell(row, name, text, f"up to today, {limit}{standing}")


def _digits(date: str) -> str:
    return date.replace("-", "")


def _exists(day: str) -> bool:
    try:
        dt.date.fromisoformat(day)
    except ValueError:
        return False
    return True


def check_unique(frame: pd.DataFrame, keys: list[str], tell: Tell, place: Callable[[int], str]) -> None:
    """Tell rows that have the same `keys` as an earlier one; `place` names a row."""
    first = frame.reset_index().groupby(keys, sort=False)["index"].transform("first")
    for row, before in enumerate(int(one) for one in first):
        if row != before:
            values = ", ".join(str(frame[key].iloc[row]) for key in keys)
            tell(row, "+".join(keys), values, f"each once; it stands on {place(before)} too")


def _check_french(frame: pd.DataFrame, tell: Tell) -> None:
    from anachron.sources.french import FACTORS
    from anachron.sources.french_parse import LARGEST_PERCENT, MONTHS_FOR_SPREAD, SMALLEST_SPREAD

    for row in frame.index[frame["value_pct"].abs() > LARGEST_PERCENT]:
        tell(row, "value_pct", frame["value_pct"][row], f"percent a month within ±{LARGEST_PERCENT:g}")
    known = {factor for factors in FACTORS.values() for factor in factors}
    for row in frame.index[~frame["factor"].isin(known)]:
        tell(row, "factor", frame["factor"][row], f"one of {', '.join(sorted(known))}")
    for row in frame.index[frame["month"].map(_digits) > frame["crsp_stamp"]]:
        tell(row, "month", frame["month"][row], f"up to the CRSP build, {frame['crsp_stamp'][row]}")
    for (_, factor), part in frame.groupby(["source_file", "factor"], sort=False):
        values = part["value_pct"].dropna()
        if factor != "RF" and len(values) >= MONTHS_FOR_SPREAD and values.abs().max() < SMALLEST_SPREAD:
            row = values.index[int(values.abs().argmax())]
            tell(row, "value_pct", values[row], f"percent: no month of {factor} leaves ±{SMALLEST_SPREAD:g}")


def _check_yahoo(frame: pd.DataFrame, tell: Tell) -> None:
    from anachron.sources.sessions import last_session

    last = {month: last_session(month) for month in frame["month"].unique()}
    for row in frame.index[frame["session"] != frame["month"].map(last)]:
        tell(
            row,
            "session",
            frame["session"][row],
            f"{last[frame['month'][row]]}, the last session of {frame['month'][row]}",
        )
    for row in frame.index[frame["close_quoted"].notna() & frame["split_factor"].isna()]:
        tell(row, "split_factor", None, "the product of later splits where there is a price; 1 without any")


def _check_fed(frame: pd.DataFrame, tell: Tell) -> None:
    from anachron.sources.fed_changes import HIGHEST, SMALLEST_STEP

    for row in frame.index[frame["target_upper"] > HIGHEST]:
        tell(row, "target_upper", frame["target_upper"][row], f"percent, 0 to {HIGHEST:g}")
    outside = frame["decision_date"].notna() & (frame["decision_date"].str.slice(0, 7) != frame["month"])
    for row in frame.index[outside]:
        tell(row, "decision_date", frame["decision_date"][row], f"a day of {frame['month'][row]}")
    for row in frame.index[frame["decision_date"].isna() & frame["outcome"].ne("unchanged")]:
        tell(row, "decision_date", None, f"the day on which the target was {frame['outcome'][row]}")
    for row in frame.index[frame["effective_date"] < frame["decision_date"]]:
        tell(row, "effective_date", frame["effective_date"][row], "the day of decision or a later one")
    ordered = frame.sort_values("month")
    step = ordered["target_upper"].diff()
    ordinal = ordered["month"].str.slice(0, 4).astype(int) * 12 + ordered["month"].str.slice(5, 7).astype(int)
    for row, points, gap in zip(ordered.index.tolist(), step, ordinal.diff(), strict=True):
        if points != points:
            continue
        if gap != 1:
            tell(
                int(row),
                "month",
                frame["month"][row],
                "the month after the one before it: months are missing",
            )
            continue
        outcome = "raised" if points > 0 else "lowered" if points < 0 else "unchanged"
        if 0 < abs(points) < SMALLEST_STEP - ROUNDING:
            tell(
                int(row),
                "target_upper",
                frame["target_upper"][row],
                f"percent: no step is under {SMALLEST_STEP}",
            )
        elif frame["outcome"][row] != outcome:
            tell(row, "outcome", frame["outcome"][row], f"{outcome}: the target moved by {points:g}")


def _check_alfred(frame: pd.DataFrame, tell: Tell) -> None:
    for row in frame.index[frame["vintage_end"] < frame["published"]]:
        tell(row, "vintage_end", frame["vintage_end"][row], f"{frame['published'][row]} (published) or later")
    for row in frame.index[frame["published"] < frame["reference_period"]]:
        tell(
            row,
            "published",
            frame["published"][row],
            f"{frame['reference_period'][row]} (the period) or later",
        )
    for row in frame.index[frame["first_release"] & frame["value"].isna()]:
        tell(row, "value", None, "a number in a first release")
    _check_vintages(frame, tell)


def _check_vintages(frame: pd.DataFrame, tell: Tell) -> None:
    """Tell values that stand at once, first releases that are not the first, and units that change."""
    ordered = frame.sort_values(["series_id", "reference_period", "published"])
    period = ordered.groupby(["series_id", "reference_period"], sort=False)
    following = period["published"].shift(-1)
    another = following > ordered["published"]
    for row in ordered.index[another & (ordered["vintage_end"] >= following.fillna(""))]:
        tell(
            row,
            "vintage_end",
            frame["vintage_end"][row],
            f"a day before {following[row]}, when the next value of {frame['reference_period'][row]} was published",
        )
    valued = ordered[ordered["value"].notna()]
    earliest = valued.groupby(["series_id", "reference_period"])["published"].transform("min")
    for row in valued.index[valued["first_release"] & valued["published"].gt(earliest)]:
        tell(row, "first_release", True, f"false: another value was published on {earliest[row]}")
    units = frame.groupby("series_id")["unit"].transform("first")
    for row in frame.index[frame["unit"] != units]:
        tell(row, "unit", frame["unit"][row], f"{units[row]}, one unit per series")


SPECIFIC: Mapping[str, Callable[[pd.DataFrame, Tell], None]] = {
    "alfred": _check_alfred,
    "fed": _check_fed,
    "french": _check_french,
    "yahoo": _check_yahoo,
}
