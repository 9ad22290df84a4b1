"""Reading Yahoo's daily charts: bars and splits of one ticker, prices as they were quoted, month ends.

Pure: bytes in, frames out. Fetching is in `yahoo`.

Yahoo divides every price of the past by every split since. What was printed on the day is the stored price
times all splits dated after it, so a chart is only good for that when its window reaches the present: the
events of a window hold the splits inside it, its prices have all of them taken out.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

EXCHANGE = "XNYS"
LARGEST = 1e12
"""No price, and no ratio of a split, is beyond this."""

SLACK_DAYS = 7
"""A chart whose last bar is this much older than the ticker's last trade was cut."""


def parse(content: bytes, ticker: str, where: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read one chart of daily bars.

    Parameters
    ----------
    content
        The answer's body (JSON).
    ticker
        The ticker that was asked for.
    where
        Source, ticker and file, for the error text.

    Returns
    -------
    tuple[pandas.DataFrame, pandas.Series]
        Bars by session (``YYYY-MM-DD``, the exchange's own date) with columns close and adjusted, in the
        ticker's currency, missing where Yahoo has a bar without a price; and splits by session: new shares per
        old share, fractions included.

    Raises
    ------
    SourceError
        When it is no chart, is another ticker's, is not daily, is cut, or has a session twice.
    """
    import pandas as pd

    chart = _result(content, where)
    meta = _mapping(chart.get("meta"), "meta", where)
    symbol, grain = str(meta.get("symbol", "")), meta.get("dataGranularity")
    if symbol.upper() != ticker.upper():
        raise SourceError(
            f"{where}: asked for {ticker}, the answer is {symbol or 'nameless'}: the ticker was renamed; "
            f"ask for {symbol or 'its present name'} instead, and see that its history is the one you want"
        )
    if grain != "1d":
        raise SourceError(
            f"{where}: bars of {grain!r}, not daily ones; Yahoo's longer bars are not month ends"
        )
    zone = _zone(meta, where)
    stamps = _list(chart.get("timestamp"), "timestamp", where)
    quotes = _list(chart["indicators"]["quote"][0].get("close"), "close", where)
    given = [*_list(chart["indicators"].get("adjclose"), "adjclose", where), None][0]
    adjusted = _list(_mapping(given, "adjclose", where).get("adjclose"), "adjclose", where) or quotes
    if not stamps or not len(stamps) == len(quotes) == len(adjusted):
        raise SourceError(
            f"{where}: {len(stamps)} dates, {len(quotes)} closes, {len(adjusted)} adjusted closes: "
            "a chart has as many of each, and at least one"
        )
    days = [_session(stamp, zone, where) for stamp in stamps]
    bars = pd.DataFrame(
        {
            name: _prices(values, days, name, where)
            for name, values in (("close", quotes), ("adjusted", adjusted))
        },
        index=pd.Index(days, name="session", dtype="str"),
        dtype="float64",
    ).sort_index(kind="stable")
    bars = _one_bar_a_session(bars, where)
    _check_window(bars, meta, zone, where)
    return bars, _splits(chart, zone, where)


def as_quoted(bars: pd.DataFrame, splits: pd.Series) -> pd.DataFrame:
    """Return bars with prices as printed on their day.

    Parameters
    ----------
    bars, splits
        As returned by `parse`. `splits` must hold every split up to the day the bars were fetched, also those
        after the last bar.

    Returns
    -------
    pandas.DataFrame
        Index session; columns close_quoted (rounded to cents, which is only possible after the splits are put
        back), close_adjusted (as stored: splits and dividends taken out) and split_factor (product of the splits
        dated after the session).
    """
    import numpy as np
    import pandas as pd

    ordered = splits.sort_index()
    # after[i] is the product of the splits from the i-th on; a session has behind it those dated later than it.
    after = np.append(np.cumprod(ordered.to_numpy(dtype="float64")[::-1])[::-1], 1.0)
    place = ordered.index.to_numpy(dtype=object).searchsorted(bars.index.to_numpy(dtype=object), side="right")
    factor = after[place]
    return pd.DataFrame(
        {
            "close_quoted": (bars["close"].to_numpy() * factor).round(2) + 0.0,
            "close_adjusted": bars["adjusted"].to_numpy(),
            "split_factor": factor,
        },
        index=bars.index,
    )


def month_ends(quoted: pd.DataFrame, ends: pd.Series) -> pd.DataFrame:
    """Return the bars of the months' last sessions; a session without a bar has missing prices.

    Parameters
    ----------
    quoted
        As returned by `as_quoted`.
    ends
        Last session by month, as returned by `last_sessions`.

    Returns
    -------
    pandas.DataFrame
        Columns month, session, close_quoted, close_adjusted, split_factor; one row per month of `ends`.
    """
    found = quoted.reindex(ends.to_numpy()).reset_index(drop=True)
    found.insert(0, "month", ends.index.to_numpy())
    found.insert(1, "session", ends.to_numpy())
    return found


def last_sessions(start: str, before: str) -> pd.Series:
    """Return the last New York session of every month that is over.

    Parameters
    ----------
    start, before
        Dates, ``YYYY-MM-DD``: the first month is the one of `start`; the last one has its last session before
        `before`.

    Returns
    -------
    pandas.Series
        Session (``YYYY-MM-DD``) by month (``YYYY-MM``).

    Raises
    ------
    SourceError
        When the calendar has no session in between.
    """
    import exchange_calendars
    import pandas as pd

    first = pd.Timestamp(start).replace(day=1)
    # The calendar must know the whole last month to say whether a session is its last one.
    horizon = pd.Timestamp(before) + pd.offsets.MonthEnd(1)
    try:
        sessions = exchange_calendars.get_calendar(EXCHANGE, start=first, end=horizon).sessions
    except ValueError as error:
        raise SourceError(f"{EXCHANGE}: no calendar from {start} to {before}: {error}") from None
    days = pd.Series(sessions.strftime("%Y-%m-%d"), index=sessions.strftime("%Y-%m"))
    ends = days.groupby(level=0).last()
    return ends[ends < before].rename("session").rename_axis("month")


def _result(content: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (UnicodeDecodeError, ValueError, RecursionError):
        kind = "a web page" if content.lstrip()[:1] == b"<" else "not JSON, or cut short"
        raise SourceError(f"{where}: {kind}, {len(content)} bytes that begin with {content[:40]!r}") from None
    chart = document.get("chart") if isinstance(document, dict) else None
    if not isinstance(chart, dict):
        raise SourceError(f"{where}: JSON without a chart: {content[:80]!r}")
    if chart.get("error"):
        reason = chart["error"]
        told = reason.get("description", reason) if isinstance(reason, dict) else reason
        raise SourceError(
            f"{where}: Yahoo says {str(told)[:200]!r}; the ticker may be wrong, renamed or delisted"
        )
    try:
        result: dict[str, Any] = chart["result"][0]
        result["indicators"]["quote"][0].get("close")
        result["indicators"].get("adjclose"), result.get("meta")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise SourceError(f"{where}: a chart without bars: {content[:80]!r}") from None
    return result


def _zone(meta: dict[str, Any], where: str) -> dt.tzinfo:
    from zoneinfo import ZoneInfo

    name = meta.get("exchangeTimezoneName")
    try:
        return ZoneInfo(str(name))
    except (ValueError, OSError, KeyError):
        raise SourceError(f"{where}: the exchange's time zone is {name!r}, which is not known") from None


def _mapping(value: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        raise SourceError(f"{where}: {name} of the chart is {repr(value)[:40]}, not an object")
    return value or {}


def _list(value: Any, name: str, where: str) -> list[Any]:
    if not isinstance(value, list | None):
        raise SourceError(f"{where}: {name} of the chart is {repr(value)[:40]}, not a list")
    return value or []


def _session(stamp: Any, zone: dt.tzinfo, where: str) -> str:
    try:
        return dt.datetime.fromtimestamp(stamp, zone).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        raise SourceError(f"{where}: {repr(stamp)[:40]} is no time of a session") from None


def _prices(values: list[Any], days: list[str], name: str, where: str) -> list[float]:
    return [
        # Seven thousand bars to a chart: what is wrong with one is worded only where something is.
        value
        if type(value) is float and -LARGEST <= value <= LARGEST
        else _price(value, f"{where}: {name} of {day}")
        for day, value in zip(days, values, strict=True)
    ]


def _price(value: Any, what: str) -> float:
    """Return a number, NaN for none (null, or the NaN that Python's JSON knows)."""
    if value is None or value != value:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        raise SourceError(f"{what} is {repr(value)[:40]}; a number, or null for none, should stand there")
    return float(value)


def _one_bar_a_session(bars: pd.DataFrame, where: str) -> pd.DataFrame:
    """Drop the running quote that Yahoo appends to today's bar; any other session that stands twice is a fault."""
    repeated = bars.index[bars.index.duplicated()]
    earlier = repeated[repeated != bars.index[-1]]
    if len(earlier):
        raise SourceError(f"{where}: session {earlier[0]} stands twice ({len(earlier)} such sessions)")
    return bars[~bars.index.duplicated(keep="last")]


def _check_window(bars: pd.DataFrame, meta: dict[str, Any], zone: dt.tzinfo, where: str) -> None:
    last_trade = meta.get("regularMarketTime")
    if last_trade is None:
        raise SourceError(
            f"{where}: the chart does not say when the ticker was traded last, so it may be cut"
        )
    traded, last = _session(last_trade, zone, where), str(bars.index[-1])
    behind = (dt.date.fromisoformat(traded) - dt.date.fromisoformat(last)).days
    if behind > SLACK_DAYS:
        raise SourceError(
            f"{where}: ends early, on {last}, though traded until {traded}; splits in between are taken out of the "
            "prices and not listed, so prices as quoted cannot be told from it: fetch without an end date"
        )
    if behind < -SLACK_DAYS:
        raise SourceError(f"{where}: a bar of the future, {last}; the last trade was on {traded}")


def _splits(chart: dict[str, Any], zone: dt.tzinfo, where: str) -> pd.Series:
    import pandas as pd

    listed = _mapping(_mapping(chart.get("events"), "events", where).get("splits"), "splits", where)
    ratios: dict[str, float] = {}
    for one in listed.values():
        split = _mapping(one, "splits", where)
        shares = [
            _price(split.get(name), f"{where}: {name} of a split") for name in ("numerator", "denominator")
        ]
        if not all(number > 0 for number in shares):
            raise SourceError(f"{where}: a split that is no ratio of shares: {split}")
        day = _session(split.get("date"), zone, where)
        if day in ratios:
            raise SourceError(f"{where}: two splits on {day}; whether one stands twice cannot be told")
        ratios[day] = shares[0] / shares[1]
    ordered = sorted(ratios)
    return pd.Series(
        [ratios[day] for day in ordered], index=pd.Index(ordered, dtype="str"), dtype="float64", name="split"
    )
