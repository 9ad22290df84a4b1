"""Trading sessions of the New York Stock Exchange by rule, without a calendar package or data file.

The rule (holidays with their weekend observance, and the closures that no rule gives) is checked in the tests
against the dates of a daily index. It is stated from 1990 on; before that, `window` falls back on weekdays.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

FIRST_YEAR = 1990
"""First year for which the rule is stated and checked."""

UNSCHEDULED = frozenset(
    dt.date.fromisoformat(day)
    for day in (
        "1994-04-27",  # day of mourning, Nixon
        "2001-09-11",
        "2001-09-12",
        "2001-09-13",
        "2001-09-14",
        "2004-06-11",  # day of mourning, Reagan
        "2007-01-02",  # day of mourning, Ford
        "2012-10-29",  # hurricane
        "2012-10-30",
        "2018-12-05",  # day of mourning, G. H. W. Bush
        "2025-01-09",  # day of mourning, Carter
    )
)
"""Closures that follow from no rule. One that is still to come is not known until it is added here."""

MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6


def _nth_weekday(year: int, month: int, weekday: int, n: int) -> dt.date:
    first = dt.date(year, month, 1)
    return first + dt.timedelta(days=(weekday - first.weekday()) % 7 + 7 * (n - 1))


def _last_monday_of_may(year: int) -> dt.date:
    last = dt.date(year, 5, 31)
    return last - dt.timedelta(days=last.weekday())


def easter(year: int) -> dt.date:
    """Return Easter Sunday of the Gregorian calendar (Meeus' arithmetic)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    shift = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * shift) // 451
    month, day = divmod(h + shift - 7 * m + 114, 31)
    return dt.date(year, month, day + 1)


def _observed(day: dt.date) -> dt.date | None:
    if day.weekday() == SUNDAY:
        return day + dt.timedelta(days=1)
    if day.weekday() == SATURDAY:
        # A New Year's Day on a Saturday is not observed: the Friday before closes the year's books.
        return None if (day.month, day.day) == (1, 1) else day - dt.timedelta(days=1)
    return day


@lru_cache(maxsize=256)
def holidays(year: int) -> frozenset[dt.date]:
    """Return the weekdays of `year` on which the exchange does not open."""
    found = [
        _observed(dt.date(year, 1, 1)),
        _nth_weekday(year, 2, MONDAY, 3),
        easter(year) - dt.timedelta(days=2),
        _last_monday_of_may(year),
        _observed(dt.date(year, 7, 4)),
        _nth_weekday(year, 9, MONDAY, 1),
        _nth_weekday(year, 11, THURSDAY, 4),
        _observed(dt.date(year, 12, 25)),
    ]
    if year >= 1998:
        found.append(_nth_weekday(year, 1, MONDAY, 3))
    if year >= 2022:
        found.append(_observed(dt.date(year, 6, 19)))
    return frozenset(day for day in found if day) | {day for day in UNSCHEDULED if day.year == year}


def is_session(day: dt.date) -> bool:
    """Tell whether the exchange opens on `day` (half days count as sessions)."""
    return day.weekday() < SATURDAY and day not in holidays(day.year)


def sessions_from(date: str, count: int) -> list[str]:
    """Return the first `count` sessions on or after `date` (``YYYY-MM-DD``)."""
    day = dt.date.fromisoformat(date)
    found: list[str] = []
    while len(found) < count:
        if is_session(day):
            found.append(day.isoformat())
        day += dt.timedelta(days=1)
    return found


def last_session(month: str) -> str:
    """Return the last session of a month (``YYYY-MM``)."""
    year, number = int(month[:4]), int(month[5:7])
    day = dt.date(year + number // 12, number % 12 + 1, 1) - dt.timedelta(days=1)
    while not is_session(day):
        day -= dt.timedelta(days=1)
    return day.isoformat()


def window(date: str, sessions: int) -> tuple[str, str]:
    """Return the first session on or after `date` and the session at which a window of `sessions` ends.

    Parameters
    ----------
    date
        Decision date, ``YYYY-MM-DD``.
    sessions
        Length in sessions, the first one counted: 21 for the outcome-recall window, whose end is then twenty
        sessions after its start.

    Returns
    -------
    tuple[str, str]
        Before 1990, where the exchange's calendar is not stated here, the first weekday and the calendar end
        (28 days after the date for 21 sessions; spec `hindsightbench`, Arms).
    """
    day = dt.date.fromisoformat(date)
    if day.year < FIRST_YEAR:
        first = day + dt.timedelta(days=(7 - day.weekday()) % 7 if day.weekday() >= SATURDAY else 0)
        return first.isoformat(), (day + dt.timedelta(days=round(1.4 * (sessions - 1)))).isoformat()
    found = sessions_from(date, sessions)
    return found[0], found[-1]
