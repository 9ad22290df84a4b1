"""The Federal Reserve's target: `resources/fed.parquet` from two daily series of FRED, or from the embedded table."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

from anachron.errors import SourceError
from anachron.sources import alfred_parse, fed_changes, raw

SOURCE = "fed"
SERIES = ("DFEDTAR", "DFEDTARU")
SLACK_DAYS = 10
"""DFEDTARU is continued daily; one that ends this much before it is fetched ends early."""


def fetch(
    raw_folder: Path,
    out: Path,
    *,
    key: str | None = None,
    base_url: str | None = None,
    retries: int = 3,
    timeout_s: float = 60.0,
    spacing_s: float = 0.6,
    sleep: Callable[[float], None] = time.sleep,
    today: dt.date | None = None,
) -> list[str]:
    """Fetch both series, check them against the announced changes, keep them raw, and write `out` (`contracts.Fed`).

    Parameters
    ----------
    key
        API key of FRED; `FRED_API_KEY` when None. Written nowhere.
    base_url, retries, timeout_s, spacing_s, sleep
        As in `alfred_client.client`.
    today
        The day up to which the series should reach; the day of fetching (UTC) when None.

    Returns
    -------
    list[str]
        What was found, in one line.

    Raises
    ------
    SourceError
        When a series cannot be had or read, ends early, or disagrees with what was announced. Nothing is kept then,
        and `out` stands as it was.
    """
    from anachron.sources import alfred_client

    if not key:
        try:
            key = alfred_client.key_from_environment()
        except SourceError as error:
            raise SourceError(
                f"{error}. `anachron fetch fed --embedded` takes the announced changes and needs no key"
            ) from None
    client = alfred_client.client(
        key,
        base_url=base_url or alfred_client.BASE_URL,
        retries=retries,
        timeout_s=timeout_s,
        spacing_s=spacing_s,
        sleep=sleep,
    )
    got: list[tuple[str, alfred_client.Answer]] = []
    pages: dict[str, list[bytes]] = {}
    try:
        with contextlib.closing(client):
            for series in SERIES:
                try:
                    client.get_series(series)
                except (ValueError, TypeError) as error:  # what fredapi raises over a row it cannot read
                    raise SourceError(f"FRED, {series}: fredapi cannot read the answer: {error}") from None
                got += [(_name(series, place), answer) for place, answer in enumerate(client.answers)]
                pages[series] = [answer.content for answer in client.answers]
        upper = _days(pages["DFEDTARU"], "FRED, DFEDTARU")
        _check_end(upper[-1][0], today or got[-1][1].fetched_at.date())
        table = fed_changes.changes(_days(pages["DFEDTAR"], "FRED, DFEDTAR"), upper, "FRED")
        through = _through(upper[-1][0])
        fed_changes.reconcile(table, through, "FRED, DFEDTAR and DFEDTARU")
    except SourceError as error:
        raise SourceError(f"{error}\nFederal Reserve: {out} was not touched") from None
    with raw.turn(raw_folder / SOURCE):
        for name, answer in got:
            raw.keep(raw_folder, SOURCE, name, answer.url, answer.content, answer.headers, answer.fetched_at)
    build(raw_folder, out)
    last = table.iloc[-1]
    return [f"{len(table)} changes, the last decided on {last['decision_date']}; known through {through}"]


def build(raw_folder: Path, out: Path) -> None:
    """Write `out` from the newest raw answers; no network, the same answers give the same bytes.

    Raises
    ------
    SourceError
        When the series were not fetched, or do not fit together.
    """
    from anachron import frames
    from anachron.sources.contracts import Fed

    with raw.turn(raw_folder / SOURCE, out.parent):
        target, upper = (_kept(raw_folder, series) for series in SERIES)
        table = fed_changes.changes(target, upper, "FRED")
        frames.write(fed_changes.monthly(table, _through(upper[-1][0])), out, Fed)


def build_embedded(out: Path) -> str:
    """Write `out` from the embedded table; needs neither key nor network. Returns the last day it knows."""
    from anachron import frames
    from anachron.sources.contracts import Fed

    frames.write(fed_changes.monthly(fed_changes.announced(), fed_changes.TABLE_THROUGH), out, Fed)
    return fed_changes.TABLE_THROUGH


def _through(last_day: str) -> str:
    """Return the last day whose decision a series that ends on `last_day` shows."""
    return (dt.date.fromisoformat(last_day) - dt.timedelta(days=1)).isoformat()


def _days(pages: list[bytes], where: str) -> list[tuple[str, float]]:
    rows = alfred_parse.observations(pages, where)
    return list(zip(rows["date"].tolist(), rows["value"].tolist(), strict=True))


def _check_end(last_day: str, today: dt.date) -> None:
    behind = (today - dt.date.fromisoformat(last_day)).days
    if behind > SLACK_DAYS:
        raise SourceError(
            f"FRED, DFEDTARU: ends early, on {last_day}; it is continued daily, and today is {today}"
        )
    if behind < -1:
        raise SourceError(f"FRED, DFEDTARU: {last_day} is still to come; today is {today}")


def _kept(raw_folder: Path, series: str) -> list[tuple[str, float]]:
    pages: list[bytes] = []
    rows, count, file = 0, 1, ""
    while rows < count:
        kept = raw.latest(raw_folder, SOURCE, _name(series, len(pages)))
        if kept is None:
            raise SourceError(
                f"FRED, {series}: {_name(series, len(pages))} is not in {raw_folder / SOURCE}; run "
                "`anachron fetch fed`, or with --embedded to take the announced changes"
            )
        content = raw.read(kept)
        page = alfred_parse.read_page(content, "observation", f"FRED, {series}, {kept.file}")
        pages.append(content)
        rows, count, file = rows + max(1, len(page.rows)), page.count, file or kept.file
    return _days(pages, f"FRED, {series}, {file}")


def _name(series: str, page: int) -> str:
    return f"{series}.observations.page-{page}.xml"
