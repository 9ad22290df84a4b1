"""The paid answers of one model: one SQLite file, one writer, an answer committed before anything follows on it.

Tables: ``requests`` (what was asked), ``attempts`` (every try: when, status, latency, usage, cost) and
``responses`` (the raw answer and what it says). Bodies are zstd frames with checksums. The file is never a
pipeline output and is never deleted: answers outlive everything else. `records` writes the rows,
`answers` gives them back.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import zstandard

from anachron.errors import CollectError
from anachron.llm.lock import exclusive

SCHEMA_VERSION = 2
"""Version of the tables; it stands in the file's header (`user_version`)."""

APPLICATION_ID = 0x416E6163
"""Marks the file as a store in its header ("Anac")."""

ROOM_BYTES = 64 * 2**20
"""Free disk space below which nothing is asked: an answer that cannot be stored would be paid for twice."""

TABLES = """
CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    suite TEXT NOT NULL,
    arm TEXT NOT NULL,
    item TEXT NOT NULL,
    rep INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX requests_by_key ON requests (key);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    started REAL NOT NULL,
    latency_s REAL,
    status TEXT NOT NULL,
    input_tokens INTEGER,
    cached_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    request_id TEXT,
    cost_usd REAL,
    http_status INTEGER,
    words TEXT,
    most_usd REAL
);
CREATE TABLE responses (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    raw BLOB NOT NULL,
    outcome TEXT NOT NULL,
    finish_reason TEXT,
    served_model TEXT,
    fingerprint TEXT,
    upstream TEXT
);
"""

MIGRATIONS = {
    1: """
ALTER TABLE attempts ADD COLUMN http_status INTEGER;
ALTER TABLE attempts ADD COLUMN words TEXT;
ALTER TABLE attempts ADD COLUMN most_usd REAL;
DELETE FROM requests WHERE id NOT IN (SELECT min(id) FROM requests GROUP BY key);
CREATE UNIQUE INDEX requests_by_key ON requests (key);
""",
}
"""Per version, what makes a store of the next version of it. Nothing that was answered or paid is removed; of
requests written twice (a key is its request) one stays."""

Report = Callable[[str], None]


class DamagedStoreError(CollectError):
    """A store file holds what SQLite or zstd cannot read; `repair.salvage` reads the rest."""

    def __init__(self, path: Path, damage: str):
        super().__init__(
            f"{path}: the store is damaged ({damage}); run again: it is then read as far as it goes into a "
            "new file, and the damaged one is kept"
        )
        self.damage = damage


@dataclass(slots=True)
class Store:
    """An open store: its file and the one connection that writes to it."""

    path: Path
    connection: sqlite3.Connection
    durable: bool
    compressor: zstandard.ZstdCompressor


def to_stderr(message: str) -> None:
    """Report `message` on standard error."""
    print(message, file=sys.stderr, flush=True)


@contextmanager
def open_store(folder: Path, slug: str, *, durable: bool, report: Report = to_stderr) -> Iterator[Store]:
    """Open the store of one model for writing, under its lock; create it when there is none.

    A damaged file is reported, kept under another name, and read as far as it goes into a new one.

    Parameters
    ----------
    folder
        Folder of the stores; on a local disk.
    slug
        The model's name in paths (`ModelEntry.slug`).
    durable
        True waits for the disk at each commit, so that an answer survives a power cut: for answers that
        cost. False survives the end of the process at any moment, not that of the machine.
    report
        Takes what the user should know.

    Raises
    ------
    CollectError
        When another process holds the lock, the file is no store or one of a newer version, or the disk
        refuses.
    """
    path = folder / f"{slug}.sqlite"
    with exclusive(folder / f"{slug}.lock"):
        try:
            connection = _connect_checked(path, durable)
        except DamagedStoreError as error:
            from anachron.llm.repair import salvage

            salvage(path, error.damage, report)
            connection = _connect_checked(path, durable)
        opened = Store(path, connection, durable, zstandard.ZstdCompressor(level=3, write_checksum=True))
        try:
            yield opened
        finally:
            opened.connection.close()


def mend(store: Store, damage: str, report: Report) -> None:
    """Salvage an open store whose damage showed only on reading, and go on with the new file."""
    from anachron.llm.repair import salvage

    store.connection.close()
    salvage(store.path, damage, report)
    store.connection = _connect_checked(store.path, store.durable)


def _connect_checked(path: Path, durable: bool) -> sqlite3.Connection:
    if not path.exists():
        create(path)
    with faults(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=30.0)
        try:
            _check(connection, path)
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise CollectError(
                    f"{path}: write-ahead logging is refused here; keep the store on a local disk"
                )
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    # An empty file is a valid database to SQLite, but no store is ever created so.
    if path.stat().st_size == 0:
        raise DamagedStoreError(path, "it is empty")
    faults_found = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
    if faults_found != ["ok"]:
        raise DamagedStoreError(path, "; ".join(faults_found))
    require_store(connection, path, "move it away, then run again")


def require_store(connection: sqlite3.Connection, path: Path, mend: str) -> None:
    """Raise `CollectError` when an SQLite file is no store (`mend` says what to do), or one of a later version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise CollectError(f"{path}: is an SQLite file but no store; {mend}")
    if version != SCHEMA_VERSION and version not in MIGRATIONS:
        raise CollectError(
            f"{path}: is a store of version {version}, and this program reads versions up to {SCHEMA_VERSION}; "
            "use the version of the program that wrote it"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring a store of an earlier version to this one, each step in one transaction."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    while version != SCHEMA_VERSION:
        connection.executescript(
            f"BEGIN IMMEDIATE; {MIGRATIONS[version]} PRAGMA user_version={version + 1}; COMMIT;"
        )
        version += 1


def create(path: Path) -> None:
    """Create an empty store at `path` in one step: a process killed on the way leaves no half of one.

    The caller holds the lock: two processes that open a new database at once can fail.
    """
    with faults(path):
        for suffix in ("-wal", "-shm"):
            stray = path.with_name(path.name + suffix)
            if stray.exists():  # SQLite would play the log of a file that is gone into the new one
                stray.replace(free_name(path, "stray", suffix))
        part = path.with_name(path.name + ".part")
        part.unlink(missing_ok=True)
        initialise(part)
        part.replace(path)


def initialise(path: Path) -> None:
    """Write the header and the empty tables of a store into the new file `path`."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(
            f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA_VERSION};"
            f"BEGIN; {TABLES} COMMIT;"
        )
    finally:
        connection.close()


def free_name(path: Path, word: str, suffix: str = "") -> Path:
    """Return the first of ``<path>.<word>-1``, ``-2``, … (plus `suffix`) that no file has."""
    number = 1
    while True:
        name = path.with_name(f"{path.name}.{word}-{number}{suffix}")
        if not os.path.lexists(name):
            return name
        number += 1


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system refuse into a `CollectError` that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise CollectError(
            f"{path}: the store cannot be written or read ({error}); look for a full disk or missing "
            "permissions, then run again: every answer stored so far is kept"
        ) from None
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        raise DamagedStoreError(path, str(error)) from None
    except OSError as error:
        raise CollectError(f"{path}: {error.strerror or error}; mend that, then run again") from None


def require_room(store: Store) -> None:
    """Raise `CollectError` when the disk has no room left for answers, before one is paid for."""
    free = shutil.disk_usage(store.path.parent).free
    if free < ROOM_BYTES:
        raise CollectError(
            f"{store.path}: {free / 2**20:.0f} MB of disk space are left and {ROOM_BYTES / 2**20:.0f} MB are "
            "needed before another request is sent; free some, then run again: every answer so far is kept"
        )


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store that another process may be writing to, for reading only.

    Raises
    ------
    CollectError
        When the file cannot be opened or read, is damaged, or is no store.
    """
    with faults(path):
        connection = sqlite3.connect(
            f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, isolation_level=None, timeout=30.0
        )
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise CollectError(f"{path}: is an SQLite file but no store; move it away, then run again")
            yield connection
        finally:
            connection.close()
