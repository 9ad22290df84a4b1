"""A loopback server that speaks enough of the FRED API: vintages, observations in real time, limits and refusals.

It cuts what stood across the edge of the asked span of real time, as FRED does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import quoteattr

from loopback import Loopback
from loopback import serving as _serving

KEY = "0123456789abcdef0123456789abcdef"
EARLIEST, OPEN_END = "1776-07-04", "9999-12-31"
NOT_REGISTERED = (
    "Bad Request.  The value for variable api_key is not registered.  "
    "Read https://fred.stlouisfed.org/docs/api/api_key.html for more information."
)
NO_SERIES = "Bad Request.  The series does not exist."

Row = tuple[str, str, str, str]
"""Date, first and last day it stood, value as text."""


@dataclass
class Fred(Loopback):
    """What the server holds and how it behaves; tests change it while it runs."""

    series: dict[str, list[Row]] = field(default_factory=dict)
    about: dict[str, dict[str, str]] = field(default_factory=dict)
    most_vintages: int = 2000
    page: int = 100_000
    vintage_page: int = 10_000

    def add(self, series: str, rows: list[Row], **about: str) -> None:
        """Hold a series; `about` overrides what is said of it."""
        self.series[series] = rows
        self.about[series] = {
            "id": series,
            "realtime_start": "2026-07-05",
            "realtime_end": "2026-07-05",
            "title": series,
            "observation_start": min((row[0] for row in rows), default=EARLIEST),
            "observation_end": max((row[0] for row in rows), default=EARLIEST),
            "frequency_short": "M",
            "units": "Percent",
            "seasonal_adjustment_short": "SA",
            **about,
        }

    def vintages(self, series: str) -> list[str]:
        """Return the days on which something of the series began."""
        return sorted({row[1] for row in self.series[series]})

    def respond(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of the true answer; a refusal is one."""
        parts = urlsplit(path)
        asked = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        form = asked.get("file_type", "xml")
        try:
            status, body = 200, render(*answer(self, parts.path, asked), form)
        except Refusal as refusal:
            status, body = 400, render_error(str(refusal), form)
        return status, body, {"Content-Type": f"text/{form}; charset=utf-8"}


class Refusal(Exception):  # noqa: N818
    """An HTTP 400 of FRED's."""


def answer(fred: Fred, path: str, asked: dict[str, str]) -> tuple[str, dict[str, Any], list[Any]]:
    """Return the singular of what is listed, the head, and the rows."""
    if asked.get("api_key") is None:
        raise Refusal("Bad Request.  Variable api_key has not been set.")
    if asked["api_key"] != KEY:
        raise Refusal(NOT_REGISTERED)
    series = asked.get("series_id", "")
    if series not in fred.series:
        raise Refusal(NO_SERIES)
    if path == "/fred/series":
        return "series", {"realtime_start": "2026-07-05"}, [fred.about[series]]
    start, end = asked.get("realtime_start", EARLIEST), asked.get("realtime_end", OPEN_END)
    inside = [day for day in fred.vintages(series) if start <= day <= end]
    tag, rows, most = "vintage_date", inside, fred.vintage_page
    if path == "/fred/series/observations":
        if len(inside) > fred.most_vintages:
            raise Refusal(
                f"Bad Request.  There are {len(inside)} vintage dates in the specified real-time period: {start} to "
                f"{end}.  This exceeds the maximum number of vintage dates allowed ({fred.most_vintages})."
            )
        tag, most = "observation", fred.page
        rows = observations(fred.series[series], start, end, asked.get("output_type", "1"))
    elif path != "/fred/series/vintagedates":
        raise Refusal("Bad Request.  Unknown path.")
    offset, limit = int(asked.get("offset", 0)), min(int(asked.get("limit", most)), most)
    head = {
        "realtime_start": start,
        "realtime_end": end,
        "count": len(rows),
        "offset": offset,
        "limit": limit,
    }
    return tag, head, rows[offset : offset + limit]


def observations(rows: list[Row], start: str, end: str, output_type: str) -> list[dict[str, str]]:
    """Return rows as FRED lists them: all by real time (1), or the first of each date only (4)."""
    rows = sorted(rows)
    if output_type == "4":
        coverage = min(row[1] for row in rows)
        newest = max(row[0] for row in rows if row[1] == coverage)
        first = {row[0]: row for row in reversed(rows) if row[3] != "."}
        rows = [first[date] for date in sorted(first) if date > newest]
    return [
        {
            "realtime_start": max(start, row[1]),
            "realtime_end": min(end, row[2]),
            "date": row[0],
            "value": row[3],
        }
        for row in rows
        if row[1] <= end and row[2] >= start
    ]


def render(tag: str, head: dict[str, Any], rows: list[Any], form: str) -> bytes:
    """Return the body of an answer."""
    many = "seriess" if tag == "series" else f"{tag}s"
    if form == "json":
        return json.dumps({**head, many: rows}).encode()
    attributes = "".join(f" {key}={quoteattr(str(value))}" for key, value in head.items())
    lines = [
        f"  <{tag}>{row}</{tag}>"
        if tag == "vintage_date"
        else f"  <{tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in row.items()) + "/>"
        for row in rows
    ]
    text = "\n".join(
        ['<?xml version="1.0" encoding="utf-8" ?>', f"<{many}{attributes}>", *lines, f"</{many}>"]
    )
    return f"{text}\n".encode()


def render_error(message: str, form: str, status: int = 400) -> bytes:
    """Return the body of a refusal."""
    if form == "json":
        return json.dumps({"error_code": status, "error_message": message}).encode()
    return f'<?xml version="1.0" encoding="utf-8" ?>\n<error code="{status}" message={quoteattr(message)}/>\n'.encode()


@contextmanager
def serving() -> Iterator[Fred]:
    """Serve on a free port of loopback; `root` is the base URL, `stop()` closes the port at once."""
    fred = Fred()
    with _serving(fred):
        fred.root += "/fred"
        yield fred
