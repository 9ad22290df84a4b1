"""ALFRED: every vintage of a series with the day it was first seen, from the Federal Reserve Bank of St. Louis.

What FRED answers is kept raw; `resources/alfred.parquet` (`contracts.Alfred`) is made from those bytes alone, and
`resources/alfred.json` beside it says up to which day each series is known. Views as of a date are in `asof`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.errors import ContractError, SourceError
from anachron.sources import alfred_parse, raw
from anachron.sources.alfred_client import BASE_URL, SPACING_S, Answer, Refused
from anachron.sources.download import RETRIES, TIMEOUT_S

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "alfred"

PANEL_SERIES = ("CPIAUCSL", "FEDFUNDS", "GDPC1", "HOUST", "INDPRO", "PAYEMS", "RSAFS", "UNRATE")
"""The eight series of the default panel."""

ZONE = "America/Chicago"
"""FRED's days begin and end in St. Louis."""

_ID = re.compile(r"[A-Za-z0-9_]{1,60}")


def fetch(
    series: Sequence[str],
    raw_folder: Path,
    out: Path,
    *,
    key: str | None = None,
    base_url: str = BASE_URL,
    retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    spacing_s: float = SPACING_S,
    max_vintages: int = alfred_parse.MAX_VINTAGES,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Fetch all vintages of some series, keep the answers raw, write them all to `out`.

    A series is read and checked as a whole before any of it is kept: what cannot be read replaces nothing.

    Parameters
    ----------
    series
        FRED's ids, for instance ``UNRATE``.
    raw_folder, out
        Raw store and table (`contracts.Alfred`).
    key
        API key; `FRED_API_KEY` when None. Written nowhere.
    base_url, retries, timeout_s, spacing_s, sleep
        As in `alfred_client.client`.
    max_vintages
        Most vintage dates per request.

    Returns
    -------
    list[str]
        One line per series: what was found.

    Raises
    ------
    SourceError
        After all series were tried, or as soon as FRED refuses the key or keeps answering 429: names each series
        that failed and why. Series that came whole are kept, and `out` stands as it was.
    """
    from anachron.sources import alfred_client

    wanted = _ids(series)
    fred = alfred_client.client(
        key or alfred_client.key_from_environment(),
        base_url=base_url,
        retries=retries,
        timeout_s=timeout_s,
        spacing_s=spacing_s,
        sleep=sleep,
    )
    report: list[str] = []
    faults: list[str] = []
    with contextlib.closing(fred):
        for place, one in enumerate(wanted):
            try:
                report.append(_refresh(fred, one, raw_folder, max_vintages))
            except Refused as error:
                raise _incomplete([*faults, str(error)], len(report), wanted, wanted[place:], out) from None
            except SourceError as error:
                faults.append(str(error))
    if faults:
        raise _incomplete(faults, len(report), wanted, [], out)
    build(wanted, raw_folder, out, max_vintages=max_vintages)
    return report


def build(
    series: Sequence[str], raw_folder: Path, out: Path, *, max_vintages: int = alfred_parse.MAX_VINTAGES
) -> None:
    """Write `out` and its `.json` from the newest raw answers; no network, the same answers give the same bytes.

    Raises
    ------
    SourceError
        When a series was not fetched, or its raw answers do not fit together.
    """
    with raw.turn(raw_folder / SOURCE, out.parent):
        _build(series, raw_folder, out, max_vintages)


def _build(series: Sequence[str], raw_folder: Path, out: Path, max_vintages: int) -> None:
    import pandas as pd

    from anachron import frames
    from anachron.files import atomic_path, sha256_file, write_json
    from anachron.sources import asof
    from anachron.sources.contracts import Alfred

    parts, notes = [], {}
    for one in sorted(_ids(series)):
        table, kept = _from_raw(one, raw_folder, max_vintages)
        parts.append(table)
        notes[one] = {
            "known_until": known_until(kept[0].fetched_at),
            "rows": len(table),
            "raw": {file.file: file.sha256 for file in kept},
        }
    whole = pd.concat(parts, ignore_index=True)
    # A table without its notes would pass for a user's own, and be known less far: notes come first, and until the
    # table stands they keep those of the one it replaces, for whoever reads in between or after a kill.
    beside = out.with_suffix(".json")
    with atomic_path(out) as part:
        frames.write(whole, part, Alfred)
        fresh = {"series": notes, "table_sha256": sha256_file(part)}
        try:
            standing = asof.notes_of(out)
        except ContractError:  # what cannot be read is replaced
            standing = None
        write_json(beside, fresh | ({"replaced": standing} if standing else {}))
    write_json(beside, fresh)


def known_until(fetched_at: str) -> str:
    """Return the last day that was over in St. Louis when something was fetched (UTC, ISO 8601)."""
    from zoneinfo import ZoneInfo

    there = dt.datetime.fromisoformat(fetched_at).astimezone(ZoneInfo(ZONE)).date()
    return (there - dt.timedelta(days=1)).isoformat()


def _refresh(fred: Any, series: str, raw_folder: Path, most: int) -> str:
    """Fetch one series, check it against what was kept, keep it."""
    where = f"ALFRED, {series}"
    got: list[tuple[str, Answer]] = []

    def note(part: str) -> list[bytes]:
        for place, answer in enumerate(fred.answers):
            got.append((_name(series, part, place), answer))
        return [answer.content for answer in fred.answers]

    fred.get_series_info(series)
    about = alfred_parse.info(note("series")[0], series, f"{where}, series")
    fred.get_series_vintage_dates(series)
    dates = alfred_parse.vintage_dates(note("vintagedates"), f"{where}, vintage dates")
    spans = []
    for start, end in alfred_parse.windows(dates, most):
        theirs, fault = None, None
        try:
            theirs = fred.get_series_all_releases(series, realtime_start=start, realtime_end=end)
        except (ValueError, TypeError) as error:  # what fredapi raises over a row it cannot read
            fault = error
        ours = alfred_parse.observations(note(_span(start, end)), f"{where}, {start} to {end}")
        if theirs is None:
            raise SourceError(f"{where}, {start} to {end}: fredapi cannot read the answer: {fault}")
        _same_as_fredapi(ours, theirs, f"{where}, {start} to {end}")
        spans.append(ours)
    fresh = _table(spans, dates, about, where)
    today = got[-1][1].fetched_at.date().isoformat()
    for column in ("reference_period", "published"):
        newest = fresh[column].max()
        if newest > today:
            raise SourceError(
                f"{where}: {column} {newest} is still to come (today is {today}); nothing was replaced"
            )
    try:
        old = _from_raw(series, raw_folder, most)[0]
    except SourceError:
        old = None
    told = f"{series}: {len(dates):,} vintages {dates[0]} to {dates[-1]}, {len(fresh):,} values"
    if old is not None:
        told += _compared(old, fresh, where)
    with raw.turn(raw_folder / SOURCE):
        # The series' description comes last: its stamp says how far the rest is known.
        for name, answer in [*got[1:], got[0]]:
            raw.keep(raw_folder, SOURCE, name, answer.url, answer.content, answer.headers, answer.fetched_at)
    return told


def _compared(old: pd.DataFrame, fresh: pd.DataFrame, where: str) -> str:
    """Say what is new; refuse a series that lost its end."""
    was, now = old["reference_period"].max(), fresh["reference_period"].max()
    if now < was:
        raise SourceError(
            f"{where}: ends early: the newest period is {now[:7]}, and {was[:7]} was kept before; nothing was replaced"
        )
    keys = ["reference_period", "published", "value"]
    before, after = (
        set(table[keys].astype({"value": "str"}).itertuples(index=False, name=None)) for table in (old, fresh)
    )
    lost = f", {len(before - after):,} earlier values are no longer given" if before - after else ""
    return f", {len(after - before):,} new{lost}"


def _from_raw(series: str, raw_folder: Path, most: int) -> tuple[pd.DataFrame, list[raw.RawFile]]:
    """Return one series' table from the raw store, and the files it came from (the description first)."""
    where = f"ALFRED, {series}"
    about_file = _pages(raw_folder, series, "series", "series")
    about = alfred_parse.info(raw.read(about_file[0]), series, f"{where}, {about_file[0].file}")
    dates_files = _pages(raw_folder, series, "vintagedates", "vintage_date")
    dates = alfred_parse.vintage_dates(
        [raw.read(file) for file in dates_files], f"{where}, {dates_files[0].file}"
    )
    used, spans = [*about_file, *dates_files], []
    for start, end in alfred_parse.windows(dates, most):
        files = _pages(raw_folder, series, _span(start, end), "observation")
        spans.append(
            alfred_parse.observations([raw.read(file) for file in files], f"{where}, {files[0].file}")
        )
        used += files
    return _table(spans, dates, about, where), used


def _table(
    spans: Sequence[pd.DataFrame], dates: Sequence[str], about: alfred_parse.Info, where: str
) -> pd.DataFrame:
    from anachron.sources import alfred_table

    rows = alfred_parse.stitch(spans, dates, where)
    if rows.empty:
        raise SourceError(f"{where}: holds no observation")
    if rows["date"].max() < about.observation_end:
        raise SourceError(
            f"{where}: ends early, with {rows['date'].max()}, though FRED says its last observation is of "
            f"{about.observation_end}; fetch it again"
        )
    return alfred_table.tabulate(rows, dates, about, where)


def _pages(raw_folder: Path, series: str, part: str, tag: str) -> list[raw.RawFile]:
    """Return the kept pages of one answer, as many as the first one announces."""
    found: list[raw.RawFile] = []
    rows, count = 0, 1
    while rows < count:
        kept = raw.latest(raw_folder, SOURCE, _name(series, part, len(found)))
        if kept is None:
            raise SourceError(
                f"ALFRED, {series}: {_name(series, part, len(found))} is not in {raw_folder / SOURCE}; "
                f"run `anachron fetch alfred` without --offline, naming all series that the table should hold"
            )
        page = alfred_parse.read_page(raw.read(kept), tag, f"ALFRED, {series}, {kept.file}")
        found.append(kept)
        rows, count = rows + len(page.rows), page.count
        if not page.rows:
            break
    return found


def _same_as_fredapi(ours: pd.DataFrame, theirs: pd.DataFrame, where: str) -> None:
    """Refuse answers that `fredapi` and we read differently; its columns are objects and come unsorted."""
    if theirs.empty and ours.empty:
        return
    theirs = theirs.assign(
        date=theirs["date"].map(lambda day: str(day)[:10]),
        start=theirs["realtime_start"].map(lambda day: str(day)[:10]),
        value=theirs["value"].astype("float64"),
    ).sort_values(["date", "start"], ignore_index=True)
    same = len(theirs) == len(ours) and all(
        ours[column].reset_index(drop=True).equals(theirs[column].astype(ours[column].dtype))
        for column in ("date", "start", "value")
    )
    if not same:
        raise SourceError(
            f"{where}: fredapi reads {len(theirs):,} rows where {len(ours):,} were recorded, or others"
        )


def _incomplete(
    faults: Sequence[str], done: int, wanted: Sequence[str], left: Sequence[str], out: Path
) -> SourceError:
    rest = f"; not tried: {', '.join(left[1:])}" if len(left) > 1 else ""
    return SourceError(
        "\n".join(faults)
        + f"\nALFRED: {done} of {len(wanted)} series are fetched and kept{rest}; {out} was not touched"
    )


def _ids(series: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(series))
    if not wanted:
        raise SourceError("ALFRED: no series to fetch; name at least one, for instance UNRATE")
    for one in wanted:
        if not _ID.fullmatch(one):
            raise SourceError(
                f"ALFRED: {one!r} is no id of a series; ids are letters, digits and underscores"
            )
    return wanted


def _span(start: str, end: str) -> str:
    return f"observations.{start}.{end}"


def _name(series: str, part: str, page: int) -> str:
    return f"{series}.{part}.page-{page}.xml"
