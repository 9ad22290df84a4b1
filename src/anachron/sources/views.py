"""Digests of what decision dates see in a table of vintages, so that a refresh reruns the dates it changes, no others.

A digest is over the rows that `asof.alfred_panel` gives for the dates: the newest period on each date, its value then,
its latest value. They are read when Snakemake parses the workflow, so they are kept beside the table.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from anachron.errors import AnachronError
from anachron.files import digest, sha256_file, write_json

NOT_FETCHED = "not fetched"


def digest_of(path: Path, series: Sequence[str], dates: Sequence[str], latest_on: str | None) -> str:
    """Return one SHA-256 over all that some decision dates see of some series.

    Parameters
    ----------
    path
        Table of vintages. One that is still to be fetched counts as such: a job's dependencies are read again before
        it runs.
    series, dates, latest_on
        As in `asof.alfred_panel`.

    Notes
    -----
    A table that cannot be read, or does not reach a date, has the digest of that fault: the job that builds the panel
    is the one to tell it.
    """
    if not path.is_file():
        return digest(NOT_FETCHED)
    beside = path.with_suffix(".json")
    stamp = [sha256_file(file) for file in (path, beside) if file.is_file()]
    store = path.with_suffix(".views.json")
    kept = _kept(store, stamp)
    wanted = {_key(one, date, latest_on): (one, date) for date in dates for one in series}
    missing = [pair for key, pair in wanted.items() if key not in kept]
    if missing:
        kept |= _seen(path, missing, latest_on)
        # A folder that is not ours to write to costs time at each start, no more.
        with contextlib.suppress(OSError):
            write_json(store, {"table": stamp, "views": dict(sorted(kept.items()))})
    return digest([kept[key] for key in wanted])


def _kept(store: Path, stamp: list[str]) -> dict[str, str]:
    try:
        found = json.loads(store.read_text(encoding="utf-8"))
        views: dict[str, str] = found["views"] if found["table"] == stamp else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return views


def _seen(path: Path, pairs: Sequence[tuple[str, str]], latest_on: str | None) -> dict[str, str]:
    from anachron.sources import asof, choice

    def rows(one: str, dates: list[str]) -> dict[str, str]:
        try:
            frame = asof.alfred_panel(table, known, [one], dates, latest_on=latest_on)
        except AnachronError as error:
            if len(dates) == 1:
                return {_key(one, dates[0], latest_on): str(error)}
            half = len(dates) // 2
            return rows(one, dates[:half]) | rows(one, dates[half:])
        return {
            _key(one, row[0], latest_on): "|".join(map(repr, row[1:]))
            for row in frame.itertuples(index=False, name=None)
        }

    try:
        table, known = choice.read_vintages(path)
    except AnachronError as error:
        return {_key(one, date, latest_on): str(error) for one, date in pairs}
    found: dict[str, str] = {}
    for one in dict.fromkeys(name for name, _ in pairs):
        found |= rows(one, [date for name, date in pairs if name == one])
    return found


def _key(series: str, date: str, latest_on: str | None) -> str:
    return f"{series} {date} {latest_on or 'newest'}"
