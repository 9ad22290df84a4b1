"""Reading a damaged store as far as it goes. The damaged file is kept under another name, never deleted."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import zstandard

from anachron.llm.store import Report, faults, free_name, initialise

COLUMNS = {
    "requests": ("key", "suite", "arm", "item", "rep", "body"),
    "attempts": (
        "key",
        "started",
        "latency_s",
        "status",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "reasoning_tokens",
        "request_id",
        "cost_usd",
        "http_status",
        "words",
        "most_usd",
    ),
    "responses": ("key", "raw", "outcome", "finish_reason", "served_model", "fingerprint", "upstream"),
}
BODIES = {"requests": 5, "responses": 1}
"""Where a table keeps a compressed body."""

STEP = 256
GAP = 2_048
"""Rows are numbered without holes and pages fill in that order: where the last number cannot be read, this
many numbers with nothing readable are the end."""


def salvage(path: Path, damage: str, report: Report) -> Path:
    """Replace a damaged store by a new one that holds every row still readable.

    Parameters
    ----------
    path
        The damaged file. Its lock is held and no connection to it is open.
    damage
        What was found, in words.
    report
        Takes what was found, what was saved, and where the damaged file now lies.

    Returns
    -------
    Path
        Where the damaged file is kept (``<path>.damaged-1``, ``-2``, …).

    Raises
    ------
    CollectError
        When the disk refuses; the damaged file is then still in its place.
    """
    kept = free_name(path, "damaged")
    part = path.with_name(path.name + ".part")
    with faults(path):
        part.unlink(missing_ok=True)
        initialise(part)
        counts = _copy(path, part)
        try:
            os.link(path, kept)
        except OSError:  # a file system without hard links
            shutil.copy2(path, kept)
        for suffix in ("-wal", "-shm"):  # the new file must not inherit the old one's log
            log = path.with_name(path.name + suffix)
            if log.exists():
                log.replace(kept.with_name(kept.name + suffix))
        part.replace(path)
    report(
        f"{path}: the store is damaged ({damage}). Saved into a new file: {counts['responses']:,} answers; "
        f"the damaged file is kept as {kept.name}. Answers that it alone held will be asked again."
    )
    return kept


def _copy(damaged: Path, target: Path) -> dict[str, int]:
    counts = dict.fromkeys(COLUMNS, 0)
    source = _open_damaged(damaged)
    tables = _tables(source)
    into = sqlite3.connect(target, isolation_level=None)
    try:
        into.execute("BEGIN")
        for table in tables:
            columns = _columns(source, table)
            names = ", ".join(columns)
            holes = ", ".join("?" * len(columns))
            insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({holes})"
            for row in _readable_rows(source, table, names):
                if _body_is_whole(table, row):
                    counts[table] += into.execute(insert, row).rowcount
        into.execute("COMMIT")
    finally:
        into.close()
        source.close()
    return counts


def _open_damaged(path: Path) -> sqlite3.Connection:
    """Open without writing; `writable_schema` makes SQLite open a file that is shorter than it says."""
    source = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, isolation_level=None)
    source.execute("PRAGMA writable_schema=ON")
    return source


def _tables(source: sqlite3.Connection) -> list[str]:
    """Return the tables of a store that the file still knows of; none when it is no database any more."""
    try:
        found = {row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return []
    return [table for table in COLUMNS if table in found]


def _columns(source: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Return the columns that the damaged file's table has: one of an earlier version has fewer."""
    there = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    return tuple(name for name in COLUMNS[table] if name in there)


def _readable_rows(source: sqlite3.Connection, table: str, names: str) -> Iterator[tuple[Any, ...]]:
    query = f"SELECT {names} FROM {table} NOT INDEXED WHERE id BETWEEN ? AND ? ORDER BY id"
    last = _last_row(source, table)
    first, silent = 1, 0
    while silent < GAP if last is None else first <= last:
        rows = _rows(source, query, first, first + STEP - 1)
        yield from rows
        silent = 0 if rows else silent + STEP
        first += STEP


def _rows(source: sqlite3.Connection, query: str, first: int, last: int) -> list[tuple[Any, ...]]:
    """Return the rows of a range; where a page in it cannot be read, those of its readable halves."""
    try:
        return source.execute(query, (first, last)).fetchall()
    except sqlite3.Error:
        if first == last:
            return []
        middle = (first + last) // 2
        return _rows(source, query, first, middle) + _rows(source, query, middle + 1, last)


def _last_row(source: sqlite3.Connection, table: str) -> int | None:
    try:
        found = source.execute(f"SELECT max(id) FROM {table} NOT INDEXED").fetchone()[0]
    except sqlite3.Error:
        return None
    return int(found or 0)


def _body_is_whole(table: str, row: tuple[Any, ...]) -> bool:
    if table not in BODIES:
        return True
    try:
        zstandard.ZstdDecompressor().decompress(row[BODIES[table]])
    except (zstandard.ZstdError, TypeError):
        return False
    return True
