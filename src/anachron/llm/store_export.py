"""A store as one table: a row per request with its answer and its attempts, every body as text.

The table is written a few rows at a time, so that a store of any size needs the same memory.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from anachron.errors import CollectError
from anachron.files import atomic_path, unslug
from anachron.llm.repair import COLUMNS
from anachron.llm.store_read import (
    ASKED,
    UnreadableBodyError,
    columns,
    damaged,
    inflate,
    request_text,
    snapshot,
)
from anachron.llm.store_tools import utc

BATCH_BYTES = 8 * 2**20
"""Bodies held in memory before they are written: one group of rows of the Parquet file."""

BATCH_ROWS = 1_000

ANSWER = ("outcome", "finish_reason", "served_model", "fingerprint", "upstream")
TRY = tuple(name for name in COLUMNS["attempts"] if name != "key")
FORMATS = ("parquet", "jsonl")


def export(path: Path, out: Path, suite: str | None = None, arm: str | None = None) -> int:
    """Write a store to `out`, Parquet or JSON lines by its name's end; a collector may be at work.

    Rows are sorted by suite, arm, item, rep and key; the same store gives the same bytes. What has lost its
    request comes last and is left out when a suite or arm is chosen. Bodies that are not UTF-8 stand in
    ``request_bytes`` and ``response_bytes`` (in JSON lines as base64).

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    CollectError
        When the store cannot be read, a body does not match its checksum, or `out` cannot be written.
    """
    kind = out.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise CollectError(f"{out}: the name must end with .parquet or .jsonl, which says how it is written")
    if out.is_dir():
        raise CollectError(f"{out}: is a folder; name a file")
    number = 0
    with snapshot(path) as connection, _refused(out), atomic_path(out) as part, _WRITERS[kind](part) as write:
        batch: list[dict[str, Any]] = []
        held = 0
        for row in rows(connection, path, suite, arm):
            batch.append(row)
            held += sum(len(row[name] or "") for name in ("request", "response", "response_bytes"))
            if held > BATCH_BYTES or len(batch) == BATCH_ROWS:
                write(batch)
                number, held, batch = number + len(batch), 0, []
        write(batch)
    return number + len(batch)


def lines(path: Path, to: IO[str], suite: str | None = None, arm: str | None = None) -> None:
    """Write a store as JSON lines to an open stream, as far as its reader reads."""
    with snapshot(path) as connection, suppress(BrokenPipeError):
        for row in rows(connection, path, suite, arm):
            to.write(_line(row))
        to.flush()


def rows(
    connection: sqlite3.Connection, path: Path, suite: str | None = None, arm: str | None = None
) -> Iterator[dict[str, Any]]:
    """Give the rows of a store one after the other; see `export`."""
    run = connection.execute
    model = unslug(path.stem)
    # SQLite keeps this in a file of its own: a store has no index of attempts by key.
    run("CREATE TEMP TABLE tries AS SELECT key, id FROM attempts")
    run("CREATE INDEX temp.tries_by_key ON tries (key, id)")
    said = f"SELECT raw, {', '.join(ANSWER)} FROM responses WHERE key = ?"
    tried = (
        f"SELECT {columns(connection, 'attempts', TRY)} FROM attempts "
        "WHERE id IN (SELECT id FROM temp.tries WHERE key = ?) ORDER BY started, id"
    )
    for number, key, *about in _keys(connection, suite, arm):
        body = run("SELECT body FROM requests WHERE id = ?", (number,)).fetchone() if number else None
        answer = run(said, (key,)).fetchone()
        try:
            asked = request_text(body[0]) if body else None
            raw = inflate(answer[0]) if answer else None
        except UnreadableBodyError as error:
            raise CollectError(damaged(path, f"a body of key {key[:12]}…: {error}")) from None
        text = _text(raw)
        yield {
            "model": model,
            "key": key,
            **dict(zip(("suite", "arm", "item", "rep"), about, strict=True)),
            "request": _well_formed(asked),
            **dict(zip(ANSWER, answer[1:] if answer else (None,) * len(ANSWER), strict=True)),
            "response": text,
            "response_bytes": raw if text is None else None,
            "attempts": [_attempt(one) for one in run(tried, (key,))],
        }


def _keys(connection: sqlite3.Connection, suite: str | None, arm: str | None) -> Iterator[tuple[Any, ...]]:
    yield from connection.execute(
        f"SELECT id, key, suite, arm, item, rep FROM {ASKED} WHERE (?1 IS NULL OR suite = ?1) "
        "AND (?2 IS NULL OR arm = ?2) ORDER BY suite, arm, item, rep, key",
        (suite, arm),
    )
    if suite is None and arm is None:
        yield from connection.execute(
            "SELECT NULL, key, NULL, NULL, NULL, NULL FROM (SELECT key FROM responses UNION SELECT key FROM attempts) "
            "WHERE key NOT IN (SELECT key FROM requests) ORDER BY key"
        )


def _attempt(row: tuple[Any, ...]) -> dict[str, Any]:
    said = dict(zip(TRY, row, strict=True))
    return {"started_utc": utc(said["started"]), **said}


def _text(raw: bytes | None) -> str | None:
    try:
        return raw.decode("utf-8") if raw is not None else None
    except UnicodeDecodeError:
        return None


def _well_formed(text: str | None) -> str | None:
    from anachron.llm.providers import well_formed

    return well_formed(text)


def _line(row: dict[str, Any]) -> str:
    raw = row["response_bytes"]
    plain = {**row, "response_bytes": base64.b64encode(raw).decode("ascii") if raw is not None else None}
    return json.dumps(plain, ensure_ascii=False) + "\n"


Write = Callable[[list[dict[str, Any]]], None]


@contextmanager
def _jsonl(part: Path) -> Iterator[Write]:
    with part.open("w", encoding="utf-8", newline="\n") as file:
        yield lambda batch: file.writelines(map(_line, batch))


@contextmanager
def _parquet(part: Path) -> Iterator[Write]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    text, whole, real = arrow.string(), arrow.int64(), arrow.float64()
    kinds = {"started": real, "latency_s": real, "cost_usd": real, "most_usd": real, "http_status": whole}
    tried = arrow.struct(
        [("started_utc", text)]
        + [(name, kinds.get(name, whole if name.endswith("_tokens") else text)) for name in TRY]
    )
    schema = arrow.schema(
        [
            *((name, text) for name in ("model", "key", "suite", "arm", "item")),
            ("rep", whole),
            ("request", arrow.large_string()),
            *((name, text) for name in ANSWER),
            ("response", arrow.large_string()),
            ("response_bytes", arrow.large_binary()),
            ("attempts", arrow.list_(tried)),
        ]
    )
    with parquet.ParquetWriter(part, schema, compression="zstd", store_schema=False) as writer:

        def write(batch: list[dict[str, Any]]) -> None:
            if batch:
                writer.write_table(arrow.Table.from_pylist(batch, schema))

        yield write


_WRITERS = {"parquet": _parquet, "jsonl": _jsonl}


@contextmanager
def _refused(out: Path) -> Iterator[None]:
    """Say which file the disk refused; it is not the store's."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CollectError(
            f"{out}: cannot be written ({reason}); nothing is left of it, and the store is untouched"
        ) from None
