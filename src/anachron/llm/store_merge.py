"""Two stores of one model made one: what the second alone holds is added to the first, nothing is replaced.

Each batch is one durable transaction and every step is skipped where it was done before, so a merge that is
killed is finished by running it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anachron.errors import CollectError
from anachron.llm.lock import exclusive
from anachron.llm.records import roll_back
from anachron.llm.repair import COLUMNS
from anachron.llm.store import Report, Store, faults, open_store, require_room, to_stderr
from anachron.llm.store_read import ASKED, UnreadableBodyError, columns, damaged, inflate, snapshot

BATCH = 200
"""Keys merged with one commit."""

BATCH_BYTES = 16 * 2**20
"""Bytes of bodies after which a batch is committed, however few its keys."""


@dataclass(slots=True)
class Merged:
    """What a merge added, what it found there already, and what the two stores disagree about."""

    requests: int = 0
    attempts: int = 0
    responses: int = 0
    already: int = 0
    """Answers that both stores hold, byte for byte."""
    conflicts: list[str] = field(default_factory=list)
    """Keys to which the stores hold different answers; the first store's stays."""
    unreadable: list[str] = field(default_factory=list)
    """Rows of the second store whose body cannot be read; they are not taken."""


def merge(into: Path, second: Path, report: Report = to_stderr) -> Merged:
    """Add to the store `into` what only the store `second` holds; `second` is not changed.

    Parameters
    ----------
    into
        The first store; it must exist.
    second
        A store of the same model, in another folder: the files have one name.
    report
        Takes what the user should know of `into`, should it be damaged.

    Raises
    ------
    CollectError
        When the files are one file or of different models, either is in use, `second` is damaged, or the
        disk refuses; what was committed before stays, and merging again goes on from there.
    """
    for path in (into, second):
        if not path.is_file():
            raise CollectError(f"{path}: no such store")
    if into.samefile(second):
        raise CollectError(f"{second}: is the store it should be merged into; give the other one")
    if into.name != second.name:
        raise CollectError(
            f"{second}: is named as the store of another model than {into}; a store of the same model has the "
            f"same file name, {into.name}, in another folder"
        )
    merged = Merged()
    with ExitStack() as held:
        held.enter_context(exclusive(second.with_suffix(".lock")))
        first = held.enter_context(open_store(into.parent, into.stem, durable=True, report=report))
        other = held.enter_context(snapshot(second))
        faults_found = [row[0] for row in other.execute("PRAGMA quick_check(3)")]
        if faults_found != ["ok"]:
            raise CollectError(damaged(second, "; ".join(faults_found)))
        with faults(into):
            first.connection.execute("CREATE TEMP TABLE had AS SELECT key, started FROM attempts")
            first.connection.execute("CREATE INDEX temp.had_by_key ON had (key, started)")
        other.execute("CREATE TEMP TABLE tries AS SELECT key, id FROM attempts")
        other.execute("CREATE INDEX temp.tries_by_key ON tries (key, id)")
        for batch in _batches(other):
            require_room(first)
            _add(first, other, batch, merged)
    return merged


def _batches(other: sqlite3.Connection) -> Iterator[list[tuple[int | None, str]]]:
    """Give the keys of a store in batches, with the number of the request where there is one."""
    size = "coalesce((SELECT length(raw) FROM responses WHERE responses.key = asked.key), 0)"
    query = (
        f"SELECT id, key, {size} FROM {ASKED} AS asked UNION ALL SELECT NULL, asked.key, {size} FROM "
        "(SELECT key FROM responses UNION SELECT key FROM attempts) AS asked "
        "WHERE asked.key NOT IN (SELECT key FROM requests)"
    )
    batch: list[tuple[int | None, str]] = []
    held = 0
    for number, key, size_of_answer in other.execute(query):
        batch.append((number, key))
        held += size_of_answer
        if len(batch) == BATCH or held > BATCH_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _add(
    first: Store, other: sqlite3.Connection, batch: list[tuple[int | None, str]], merged: Merged
) -> None:
    run = first.connection.execute
    with faults(first.path):
        run("BEGIN IMMEDIATE")
        try:
            for number, key in batch:
                where = _add_request(first, other, number, key, merged)
                _add_response(first, other, key, where, merged)
                _add_attempts(first, other, key, merged)
            run("COMMIT")
        except BaseException:
            roll_back(first.connection)
            raise


def _add_request(
    first: Store, other: sqlite3.Connection, number: int | None, key: str, merged: Merged
) -> str:
    """Add a request that the first store lacks; return what it is about, for messages."""
    if number is None:
        return f"key {key}"
    names = COLUMNS["requests"]
    row = other.execute(f"SELECT {', '.join(names)} FROM requests WHERE id = ?", (number,)).fetchone()
    _, suite, arm, item, rep, body = row
    where = f"{suite}, arm {arm}, item {item}, rep {rep} (key {key})"
    if _whole(body, f"request of {where}", merged):
        merged.requests += _insert(first, "requests", names, row, "OR IGNORE")
    return where


def _add_response(first: Store, other: sqlite3.Connection, key: str, where: str, merged: Merged) -> None:
    names = COLUMNS["responses"]
    row = other.execute(f"SELECT {', '.join(names)} FROM responses WHERE key = ?", (key,)).fetchone()
    if row is None or not _whole(row[1], f"answer to {where}", merged):
        return
    there = first.connection.execute("SELECT raw FROM responses WHERE key = ?", (key,)).fetchone()
    if there is None:
        merged.responses += _insert(first, "responses", names, row)
        return
    try:
        same = inflate(there[0]) == inflate(row[1])
    except UnreadableBodyError as error:
        merged.conflicts.append(f"{where}: the first store's answer cannot be read ({error})")
        return
    if same:
        merged.already += 1
    else:
        merged.conflicts.append(f"{where}: the two stores hold different answers")


def _add_attempts(first: Store, other: sqlite3.Connection, key: str, merged: Merged) -> None:
    """Add the attempts of a request that the first store has not: one of a key and an instant is one."""
    names = COLUMNS["attempts"]
    query = (
        f"SELECT {columns(other, 'attempts', names)} FROM attempts "
        "WHERE id IN (SELECT id FROM temp.tries WHERE key = ?) ORDER BY id"
    )
    place, started = names.index("status"), names.index("started")
    had = {row[0] for row in first.connection.execute("SELECT started FROM temp.had WHERE key = ?", (key,))}
    for row in other.execute(query, (key,)):
        if row[started] in had:
            continue
        # Under the second store's lock nothing of it is in flight.
        status = "lost" if row[place] == "sent" else row[place]
        merged.attempts += _insert(first, "attempts", names, (*row[:place], status, *row[place + 1 :]))


def _insert(first: Store, table: str, names: tuple[str, ...], row: tuple[Any, ...], unless: str = "") -> int:
    holes = ", ".join("?" * len(names))
    query = f"INSERT {unless} INTO {table} ({', '.join(names)}) VALUES ({holes})"
    return first.connection.execute(query, row).rowcount


def _whole(body: object, what: str, merged: Merged) -> bool:
    try:
        inflate(body)
    except UnreadableBodyError as error:
        merged.unreadable.append(f"{what}: {error}")
        return False
    return True
