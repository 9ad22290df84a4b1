"""What is handed to the writer is committed before anyone goes on, and on the disk before its sender does."""

from __future__ import annotations

import asyncio
import errno
import importlib
import os
import sqlite3
from pathlib import Path

import pytest

from anachron.errors import CollectError
from anachron.llm import store, writer

ROW = "INSERT INTO notes VALUES (?)"


def committed(path: Path) -> list[int]:
    """What another process would find: the file and its log, read over a connection of its own."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as other:
        return [number for (number,) in other.execute("SELECT number FROM notes ORDER BY rowid")]


def writing(folder: Path, work, durable: bool = True) -> Path:
    """Run `work(writer, path)` on a store with a table of its own; return the store's path."""
    with store.open_store(folder, "one", durable=durable) as opened:
        opened.connection.execute("CREATE TABLE notes (number INTEGER)")

        async def run() -> None:
            one = writer.Writer(opened)
            try:
                await work(one, opened.path)
            finally:
                await one.close()

        asyncio.run(run())
        return opened.path


def row(number: int) -> writer.Write:
    return lambda opened: opened.connection.execute(ROW, (number,)) and None


def test_an_answer_is_on_the_disk_before_its_sender_goes_on(tmp_path, monkeypatch):
    synced: list[int] = []

    def to_disk(handle: int) -> None:
        assert os.fstat(handle).st_ino == (tmp_path / "one.sqlite-wal").stat().st_ino
        os.fsync(handle)
        synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr(writer, "to_disk", to_disk)

    async def work(one: writer.Writer, path: Path) -> None:
        await one.note(row(1))
        assert committed(path) == [1] and not synced, "a note waits for no disk"
        await asyncio.gather(*(one.keep(row(number)) for number in (2, 3)))
        assert committed(path) == [1, 2, 3]
        assert synced, "an answer was told to be safe before anything was on the disk"

    writing(tmp_path, work)


def test_a_store_that_costs_nothing_waits_for_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "to_disk", lambda handle: pytest.fail("waited for the disk"))

    async def work(one: writer.Writer, path: Path) -> None:
        await one.keep(row(1))
        assert committed(path) == [1]

    writing(tmp_path, work, durable=False)


def test_a_disk_that_fails_is_told_to_who_waits_and_loses_nothing(tmp_path, monkeypatch):
    def to_disk(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writer, "to_disk", to_disk)

    async def work(one: writer.Writer, path: Path) -> None:
        with pytest.raises(CollectError, match=r"one\.sqlite-wal: Input/output error"):
            await one.keep(row(1))
        assert committed(path) == [1]

    writing(tmp_path, work)


def test_one_refused_write_takes_no_other_with_it(tmp_path):
    def refused(opened: store.Store) -> None:
        raise ValueError("no row")

    async def work(one: writer.Writer, path: Path) -> None:
        told = await asyncio.gather(
            one.keep(row(1)), one.keep(refused), one.keep(row(2)), return_exceptions=True
        )
        assert [type(each) for each in told] == [type(None), ValueError, type(None)]
        assert committed(path) == [1, 2]

    writing(tmp_path, work)


def test_a_long_log_is_put_in_its_place_while_answers_keep_coming(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "TIDY_EVERY", 10)
    monkeypatch.setattr(writer, "LARGE_PAGES", 20)
    count, longest = 600, 0

    async def work(one: writer.Writer, path: Path) -> None:
        nonlocal longest
        log = path.with_name(path.name + "-wal")
        for number in range(count):
            await one.keep(row(number))
            longest = max(longest, log.stat().st_size)
        assert committed(path) == list(range(count))

    path = writing(tmp_path, work)
    assert committed(path) == list(range(count))
    # Each answer appends a page or more to a log that is never begun anew.
    assert longest < count * 4096 / 2


def test_a_system_without_fdatasync_waits_all_the_same(monkeypatch):
    monkeypatch.delattr(os, "fdatasync", raising=False)
    try:
        assert importlib.reload(writer).to_disk is os.fsync
    finally:
        monkeypatch.undo()
        importlib.reload(writer)
