"""A loopback Yahoo: charts of daily bars, a cookie, a crumb that fits it, a consent page, refusals.

What it sends for a window is what Yahoo sends: prices with every split up to today taken out, and as events only
the splits inside the window.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from loopback import Loopback
from loopback import serving as _serving

ZONE = ZoneInfo("America/New_York")
COOKIE, CRUMB = "A3=d=synthetic", "Cr/um.b1"
GONE = "No data found, symbol may be delisted"


def at_open(day: str) -> int:
    """Return the time stamp of a session's opening bell."""
    return int(dt.datetime.fromisoformat(f"{day}T09:30:00").replace(tzinfo=ZONE).timestamp())


@dataclass
class Ticker:
    """A ticker's history as it was printed."""

    quoted: Mapping[str, float | None]
    """Close by session, as printed on the day; None is a bar without a price."""
    splits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """New and old shares by session."""
    symbol: str | None = None
    """What the answer calls itself, where that is not what was asked for."""
    traded: str | None = None
    """Day of the last trade, where it is not the last bar."""

    def stored(self, day: str) -> float | None:
        """Return the close with every later split taken out, as Yahoo stores it."""
        price = self.quoted[day]
        for when, (new, old) in self.splits.items():
            if price is not None and when > day:
                price *= old / new
        return price


def chart(name: str, ticker: Ticker, start: int, end: int) -> bytes:
    """Return the body of a chart for a window of time stamps."""
    days = [day for day in sorted(ticker.quoted) if start <= at_open(day) < end]
    last = ticker.traded or max(ticker.quoted)
    closes = [ticker.stored(day) for day in days]
    splits = {
        str(at_open(day)): {
            "date": at_open(day),
            "numerator": new,
            "denominator": old,
            "splitRatio": f"{new:g}:{old:g}",
        }
        for day, (new, old) in sorted(ticker.splits.items())
        if start <= at_open(day) < end
    }
    meta = {
        "currency": "USD",
        "symbol": ticker.symbol or name,
        "exchangeName": "NMS",
        "instrumentType": "EQUITY",
        "regularMarketTime": at_open(last) + 23_400,
        "gmtoffset": -18_000,
        "exchangeTimezoneName": "America/New_York",
        "dataGranularity": "1d",
        "range": "",
        "priceHint": 2,
        "validRanges": ["1d", "5d", "max"],
    }
    result = {
        "meta": meta,
        "timestamp": [at_open(day) for day in days],
        "indicators": {
            "quote": [
                {
                    "open": closes,
                    "high": closes,
                    "low": closes,
                    "close": closes,
                    "volume": [0 if close is None else 1000 for close in closes],
                }
            ],
            "adjclose": [{"adjclose": [None if close is None else close * 0.9 for close in closes]}],
        },
    }
    if splits:
        result["events"] = {"splits": splits}
    return json.dumps({"chart": {"result": [result], "error": None}}).encode()


@dataclass
class Yahoo(Loopback):
    """What Yahoo holds; tests change it while it runs."""

    tickers: dict[str, Ticker] = field(default_factory=dict)
    crumb: str = CRUMB
    wants_crumb: bool = True
    """Whether a chart without the right crumb and cookie is refused (401)."""

    def respond(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        parts = urlsplit(path)
        asked = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        has_cookie = COOKIE in headers.get("cookie", "")
        if parts.path == "/v1/test/getcrumb":
            if not has_cookie:
                return 401, b'{"finance":{"result":null,"error":{"code":"Unauthorized"}}}', {}
            return 200, self.crumb.encode(), {"Content-Type": "text/plain"}
        if parts.path.startswith("/v8/finance/chart/"):
            if self.wants_crumb and (asked.get("crumb") != self.crumb or not has_cookie):
                return (
                    401,
                    b'{"chart":{"result":null,"error":{"code":"Unauthorized","description":"Invalid Crumb"}}}',
                    {},
                )
            return self._chart(parts.path.rsplit("/", 1)[-1], asked)
        if parts.path in ("", "/"):
            # fc.yahoo.com has nothing to show: it answers 404 and sets the cookie.
            return 404, b"", {"Set-Cookie": f"{COOKIE}; Path=/"}
        if parts.path.startswith(("/v7/", "/v10/")):
            return 404, b'{"finance":{"result":null,"error":{"code":"Not Found"}}}', {}
        if "/timeseries/" in parts.path:
            return 200, b'{"timeseries":{"result":[],"error":null}}', {}
        return 404, b"<html><body>Not Found</body></html>", {}

    def _chart(self, name: str, asked: Mapping[str, str]) -> tuple[int, bytes, dict[str, str]]:
        told = {"Content-Type": "application/json"}
        ticker = self.tickers.get(name)
        if ticker is None:
            error = {"code": "Not Found", "description": GONE}
            return 404, json.dumps({"chart": {"result": None, "error": error}}).encode(), told
        end = int(asked.get("period2", time.time()))
        start = int(asked.get("period1", end - 7 * 86_400))
        return 200, chart(name, ticker, start, end), told


@contextmanager
def serving() -> Iterator[Yahoo]:
    """Serve no ticker yet."""
    running = Yahoo()
    with _serving(running):
        yield running
