"""Reading what the FRED API answers: vintage dates, observations with the days they stood, what a series is.

Pure: bytes in, plain values and frames out. XML (what `fredapi` asks for) and JSON say the same and are both
read. Fetching is in `alfred`, what the rows mean in `alfred_table`.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

EARLIEST, OPEN_END = "1776-07-04", "9999-12-31"
"""The bounds of real time that FRED uses for "from the beginning" and "still"."""

MISSING = "."
MAX_VINTAGES = 2000
"""Most vintage dates FRED serves in one request for observations."""

_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True)
class Page:
    """One answer that lists something."""

    rows: list[dict[str, str]]
    count: int
    """Rows in all, over all pages."""
    offset: int


@dataclass(frozen=True)
class Info:
    """What a series is, as FRED says now."""

    series: str
    units: str
    seasonal: str
    """``SA``, ``NSA`` or ``SAAR`` (annual rate)."""
    frequency: str
    """``D``, ``W``, ``BW``, ``M``, ``Q``, ``SA`` or ``A``."""
    observation_end: str


def read_page(content: bytes, tag: str, where: str) -> Page:
    """Read one answer.

    Parameters
    ----------
    content
        The body.
    tag
        What it lists, in the singular: ``observation``, ``vintage_date`` or ``series``.
    where
        Source, series and file, for the error text.

    Raises
    ------
    SourceError
        When it is a web page, cut short, an error of FRED's, lists something else, or holds another number of
        rows than it says.
    """
    head, rows = _json(content, tag, where) if content.lstrip()[:1] == b"{" else _xml(content, tag, where)
    try:
        count, offset, limit = (
            int(head.get(key, default))
            for key, default in (("count", len(rows)), ("offset", 0), ("limit", len(rows)))
        )
    except (TypeError, ValueError, OverflowError):
        raise SourceError(f"{where}: count, offset or limit of the answer is no number: {head}") from None
    expected = max(0, min(limit, count - offset))
    if len(rows) != expected:
        raise SourceError(
            f"{where}: says it holds {expected:,} of {count:,} rows from row {offset:,}, but holds {len(rows):,}; "
            "the answer was cut short"
        )
    return Page(rows, count, offset)


def vintage_dates(pages: Sequence[bytes], where: str) -> list[str]:
    """Return the days on which a series was published or revised, the oldest first (faults: `SourceError`)."""
    rows = _whole([read_page(content, "vintage_date", where) for content in pages], where)
    dates = [row["vintage_date"] for row in rows]
    for place, date in enumerate(dates):
        if not _DATE.fullmatch(date):
            raise SourceError(f"{where}: vintage {place} is {date!r}, which is no date")
        if place and date <= dates[place - 1]:
            raise SourceError(
                f"{where}: vintage {date} follows {dates[place - 1]}; each day stands once, in order"
            )
    if not dates:
        raise SourceError(f"{where}: lists no vintage at all")
    return dates


def info(content: bytes, series: str, where: str) -> Info:
    """Return what a series is (faults: `SourceError`)."""
    rows = read_page(content, "series", where).rows
    if len(rows) != 1:
        raise SourceError(f"{where}: describes {len(rows)} series, not one")
    row = rows[0]
    keys = ("id", "units", "seasonal_adjustment_short", "frequency_short", "observation_end")
    lacking = [key for key in keys if not row.get(key)]
    if lacking:
        raise SourceError(f"{where}: does not say the series' {lacking[0]}")
    if row["id"] != series:
        raise SourceError(
            f"{where}: asked for {series}, the answer is about {row['id']}; the series may have been renamed: "
            f"ask for {row['id']} if that is the one you want"
        )
    return Info(*(row[key] for key in keys))


def windows(dates: Sequence[str], most: int = MAX_VINTAGES) -> list[tuple[str, str]]:
    """Return spans of real time that cover everything and hold at most `most` vintage dates each.

    Every span but the first begins on a vintage date and ends on the day before the next one begins.
    """
    import datetime as dt

    starts = [EARLIEST, *dates[most::most]]
    before = [(dt.date.fromisoformat(start) - dt.timedelta(days=1)).isoformat() for start in starts[1:]]
    return list(zip(starts, [*before, OPEN_END], strict=True))


def observations(pages: Sequence[bytes], where: str) -> pd.DataFrame:
    """Read the observations of one span of real time.

    Returns
    -------
    pandas.DataFrame
        Columns date (of the observation), start and end (first and last day on which the value stood, cut to the
        span that was asked for), value (missing for ``.``); by date, then by start.

    Raises
    ------
    SourceError
        As `read_page`; when a row lacks a part, has no date or no number, or when values of one date overlap in
        time. Names the row.
    """
    import pandas as pd

    rows = _whole([read_page(content, "observation", where) for content in pages], where)
    values = []
    for place, row in enumerate(rows):
        for key in ("date", "realtime_start", "realtime_end"):
            if not _DATE.fullmatch(row.get(key, "")):
                raise SourceError(f"{where}: row {place}: {key} is {row.get(key)!r}, which is no date")
        values.append(_number(row.get("value"), f"{where}: row {place}, {row['date']}"))
    frame = pd.DataFrame(
        {
            "date": pd.Series([row["date"] for row in rows], dtype="str"),
            "start": pd.Series([row["realtime_start"] for row in rows], dtype="str"),
            "end": pd.Series([row["realtime_end"] for row in rows], dtype="str"),
            "value": pd.Series(values, dtype="float64"),
        }
    ).sort_values(["date", "start"], ignore_index=True)
    _refuse_overlap(frame, where)
    return frame


def stitch(parts: Sequence[pd.DataFrame], dates: Sequence[str], where: str) -> pd.DataFrame:
    """Join consecutive spans of real time as if they had been asked for at once.

    FRED cuts what stood across the edge of a span: it ends at the one's end and begins anew at the next one's
    start, which is then no publication. Such pieces are put together again.

    Parameters
    ----------
    parts
        Frames of `observations`, the oldest span first.
    dates
        The series' vintage dates.

    Raises
    ------
    SourceError
        When a value begins on a day that is no vintage date, or values of one date overlap.
    """
    import pandas as pd

    whole = pd.concat(parts, ignore_index=True).sort_values(["date", "start"], ignore_index=True)
    same = whole["date"].eq(whole["date"].shift()) & (
        whole["value"].eq(whole["value"].shift()) | (whole["value"].isna() & whole["value"].shift().isna())
    )
    piece = same & whole["start"].eq(_day_after(whole["end"].shift()))
    run = (~piece).cumsum()
    joined = whole.groupby(run, sort=False).agg(
        {"date": "first", "start": "first", "end": "last", "value": "first"}
    )
    joined = joined.reset_index(drop=True)
    _refuse_overlap(joined, where)
    strange = joined.loc[~joined["start"].isin(set(dates)), ["date", "start"]]
    if len(strange):
        date, start = strange.iloc[0]
        raise SourceError(
            f"{where}: the value of {date} begins on {start}, which is no vintage date ({len(strange)} such rows); "
            "the answers belong to different days: fetch the series again"
        )
    return joined


def _whole(pages: Sequence[Page], where: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for page in pages:
        if page.offset != len(rows) or page.count != pages[0].count:
            raise SourceError(
                f"{where}: a page begins at row {page.offset:,} of {page.count:,} where row {len(rows):,} of "
                f"{pages[0].count:,} should follow; the series changed while it was fetched: fetch it again"
            )
        rows += page.rows
    if not pages or len(rows) != pages[0].count:
        raise SourceError(
            f"{where}: {len(rows):,} rows came, {pages[0].count if pages else 0:,} were announced"
        )
    return rows


def _json(content: bytes, tag: str, where: str) -> tuple[Mapping[str, Any], list[dict[str, str]]]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise SourceError(_unreadable(content, "JSON", where)) from None
    if "error_message" in document:
        raise SourceError(f"{where}: FRED says {document['error_message']!r}")
    listed = document.get("seriess" if tag == "series" else f"{tag}s")
    if not isinstance(listed, list):
        raise SourceError(f"{where}: lists no {tag}: {content[:80]!r}")
    if tag == "vintage_date":
        return document, [{tag: _cell(item)} for item in listed]
    if not all(isinstance(item, dict) for item in listed):
        raise SourceError(f"{where}: lists what is no {tag}: {content[:80]!r}")
    # FRED quotes every cell; one that is not becomes the text it would be, which its column then judges.
    return document, [{key: _cell(cell) for key, cell in item.items()} for item in listed]


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _xml(content: bytes, tag: str, where: str) -> tuple[Mapping[str, Any], list[dict[str, str]]]:
    head = content[:2000].lower()
    if b"<!entity" in head or b"<html" in head or b"<!doctype" in head:
        raise SourceError(_unreadable(content, "XML", where))
    try:
        root = ElementTree.fromstring(content)
    except (
        ElementTree.ParseError,
        LookupError,
        ValueError,
    ):  # ValueError, LookupError: an encoding there is not
        raise SourceError(_unreadable(content, "XML", where)) from None
    if root.tag == "error":
        raise SourceError(f"{where}: FRED says {root.get('message', '')!r}")
    if root.tag != ("seriess" if tag == "series" else f"{tag}s"):
        raise SourceError(f"{where}: lists no {tag}: {content[:80]!r}")
    if tag == "vintage_date":
        return root.attrib, [{tag: (child.text or "").strip()} for child in root]
    return root.attrib, [dict(child.attrib) for child in root]


def _unreadable(content: bytes, form: str, where: str) -> str:
    head = content.lstrip()[:200].lower()
    kind = "a web page" if b"<html" in head or b"<!doctype html" in head else f"not {form}, or cut short"
    return f"{where}: the answer is {kind}: {len(content):,} bytes that begin with {content[:40]!r}"


def _number(text: str | None, where: str) -> float:
    if text == MISSING:
        return math.nan
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(
            f"{where}: the value is {text!r}; a number, or {MISSING!r} for none, should stand there"
        )
    return value


def _refuse_overlap(frame: pd.DataFrame, where: str) -> None:
    backwards = frame["end"] < frame["start"]
    twice = frame["date"].eq(frame["date"].shift()) & (frame["start"] <= frame["end"].shift().fillna(""))
    bad = backwards | twice
    if bad.any():
        row = frame[bad].iloc[0]
        raise SourceError(
            f"{where}: {row['date']} has two values at once, or one that ends before it begins "
            f"({row['start']} to {row['end']}); {int(bad.sum())} such rows"
        )


def _day_after(days: pd.Series) -> pd.Series:
    import datetime as dt

    known = {
        day: (dt.date.fromisoformat(day) + dt.timedelta(days=1)).isoformat()
        for day in days.dropna().unique()
        if day != OPEN_END
    }
    return days.map(known)
