"""Reading a store beside whoever writes to it: one moment of it, in whatever earlier version it is.

Nothing here writes, salvages or brings a store to a newer version: that is the collector's, under its lock.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import zstandard

from anachron.errors import CollectError
from anachron.files import slug
from anachron.llm.repair import COLUMNS
from anachron.llm.store import DamagedStoreError, faults, require_store
from anachron.validation import nearest

ASKED = "(SELECT min(id) AS id, key, suite, arm, item, rep FROM requests GROUP BY key)"
"""The requests, each key once: a store of version 1 may hold one twice."""


class UnreadableBodyError(ValueError):
    """A stored body does not decompress to what its checksum says."""


def locate(folder: Path, name: str) -> Path:
    """Return the store of a model by the model's name, or the file itself where `name` is one.

    Raises
    ------
    CollectError
        When there is no such store; the text names those that are there.
    """
    as_file = Path(name)
    if as_file.suffix == ".sqlite" and as_file.is_file():
        return as_file
    path = folder / f"{slug(name)}.sqlite"
    if path.is_file():
        return path
    known = [found.stem for found in stores(folder)]
    listed = ", ".join(known) if known else "none"
    raise CollectError(
        f"{path}: no such file, and {name!r} is no store either; stores in {folder}: {listed}"
        + nearest(slug(name), known)
    )


def stores(folder: Path) -> list[Path]:
    """Return the stores of a folder, sorted by name; files that were set aside are none."""
    return sorted(path for path in folder.glob("*.sqlite") if path.is_file())


@contextmanager
def snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store as it stands at this moment, for reading only; a collector may go on writing to it.

    Raises
    ------
    CollectError
        When the file cannot be opened or read, is damaged, is no store, or is one of a newer version.
    """
    try:
        with faults(path):
            if path.stat().st_size == 0:
                raise DamagedStoreError(path, "it is empty")
            connection = sqlite3.connect(_address(path), uri=True, isolation_level=None, timeout=30.0)
            try:
                _identify(connection, path)
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()
    except DamagedStoreError as error:
        raise CollectError(damaged(path, error.damage)) from None


def damaged(path: Path, damage: str) -> str:
    """Say that a store is damaged and what becomes of it."""
    return (
        f"{path}: the store is damaged ({damage}); the next run that collects from this model reads it as far "
        "as it goes into a new file and keeps the damaged one"
    )


def _address(path: Path) -> str:
    """Return the address to open; SQLite needs leave to write beside a store unless nobody can write to it."""
    log = path.with_name(path.name + "-wal")
    unwritten = not (log.exists() and log.stat().st_size)
    still = unwritten and not os.access(path.parent, os.W_OK)
    return f"file:{quote(str(path.resolve()))}?" + ("immutable=1" if still else "mode=ro")


def _identify(connection: sqlite3.Connection, path: Path) -> None:
    require_store(connection, path, "give the file of a store")
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in COLUMNS:
        if table not in there:
            raise DamagedStoreError(path, f"the table {table} is gone")


def columns(connection: sqlite3.Connection, table: str, names: tuple[str, ...]) -> str:
    """Return `names` as a query's list; what a store of an earlier version lacks is NULL."""
    there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    return ", ".join(name if name in there else f"NULL AS {name}" for name in names)


def inflate(body: object) -> bytes:
    """Return a stored body as it was.

    Raises
    ------
    UnreadableBodyError
        When it does not match its checksum, or is no body at all.
    """
    if not isinstance(body, bytes):
        raise UnreadableBodyError(f"it is {type(body).__name__}, not bytes")
    try:
        return zstandard.ZstdDecompressor().decompress(body)
    except (zstandard.ZstdError, MemoryError) as error:
        raise UnreadableBodyError(str(error) or "it claims an impossible size") from None


def request_text(body: object) -> str:
    """Return a stored request's body as the text that its key was made of."""
    try:
        return inflate(body).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UnreadableBodyError(f"it is not UTF-8 (byte {error.start})") from None
