"""The day a reference period is taken to be published on, for series whose true days are not known."""

from __future__ import annotations

import datetime as dt

from anachron.blocks import from_ordinal, ordinal
from anachron.errors import ConfigError

SATURDAY = 5


def publication(period: str, lag: int, step: int, series: str) -> str:
    """Return the day a reference period is taken to be published on.

    Parameters
    ----------
    period
        First day of the reference period.
    lag
        Days from that day to publication. A day at the weekend gives way to the Friday before, unless that
        lies inside the period: then to the Monday after.
    step
        Length of the period in months.
    series
        Name for the error text.

    Raises
    ------
    ConfigError
        When the lag ends before the period does.
    """
    first = dt.date.fromisoformat(period)
    over = dt.date.fromisoformat(from_ordinal(ordinal(period) + step) + "-01")
    day = first + dt.timedelta(days=lag)
    if day < over:
        raise ConfigError(
            f"`sources.publication_lag_days.{series}` is {lag}: {period} would be published on {day}, before "
            f"the period is over; use at least {31 if step == 1 else 92}"
        )
    beyond = day.weekday() - SATURDAY + 1
    if beyond > 0:
        friday = day - dt.timedelta(days=beyond)
        day = friday if friday >= over else day + dt.timedelta(days=3 - beyond)
    return day.isoformat()
