"""Giving back the answers that a store holds, by the keys of their requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import zstandard

from anachron.llm.store import DamagedStoreError, Store, faults

CHUNK = 500
"""Keys looked up with one query: answers of this many are in memory at once."""


def present(store: Store, keys: Sequence[str]) -> set[str]:
    """Return those of `keys` that have an answer in the store; no body is read."""
    query = "SELECT key FROM responses WHERE key IN (SELECT value FROM json_each(?))"
    found: set[str] = set()
    with faults(store.path):
        for start in range(0, len(keys), 10 * CHUNK):
            chunk = json.dumps(list(keys[start : start + 10 * CHUNK]))
            found.update(row[0] for row in store.connection.execute(query, (chunk,)))
    return found


def lookup(store: Store, keys: Sequence[str]) -> dict[str, bytes]:
    """Return the raw answers that the store holds for `keys`, with one query.

    Raises
    ------
    DamagedStoreError
        When a page or a body cannot be read.
    """
    decompress = zstandard.ZstdDecompressor().decompress
    query = "SELECT key, raw FROM responses WHERE key IN (SELECT value FROM json_each(?))"
    with faults(store.path):
        try:
            return {
                key: decompress(raw)
                for key, raw in store.connection.execute(query, (json.dumps(list(keys)),))
            }
        except zstandard.ZstdError as error:
            raise DamagedStoreError(
                store.path, f"a stored body does not match its checksum ({error})"
            ) from None


def in_order(store: Store, keys: Sequence[str]) -> Iterator[bytes]:
    """Give the raw answer of each of `keys`, in their order, holding only a few hundred at a time.

    Raises
    ------
    DamagedStoreError
        When an answer cannot be read, or is not there.
    """
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        raws = lookup(store, chunk)
        for key in chunk:
            if key not in raws:
                raise DamagedStoreError(store.path, "an answer its index knows of is gone")
            yield raws[key]
