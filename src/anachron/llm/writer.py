"""The one writer to a store while many requests are in flight, on the event loop that they run on.

Whatever one turn of the loop hands in is committed together at its end, and nobody who handed something in goes on
before that: a request is noted before it leaves, and an answer has survived the end of the process before its sender
takes the next one. A commit goes to the operating system and waits for nothing; that it is on the disk is waited
for in a thread, where what came meanwhile shares the next wait. So no statement waits for Python's lock, notes never
wait for the disk, and answers wait for nothing else. The log of what is committed is also put in its place (SQLite's
checkpoint) by that thread, over a connection of its own.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from anachron.llm.records import roll_back
from anachron.llm.store import Store, faults

Write = Callable[[Store], None]
"""Writes rows inside a transaction of the writer's."""

to_disk = getattr(os, "fdatasync", os.fsync)
"""Waits until a file's bytes are on the disk; macOS has no `fdatasync`."""

TIDY_EVERY = 400
"""Writes after which the log is put in its place beside the writing."""

LARGE_PAGES = 8_000
"""Length of the log from which on the writer does the rest itself: while answers keep coming, nobody else finds
the moment at which it can begin anew."""


@dataclass(frozen=True, slots=True)
class _Job:
    write: Write
    wait_for_disk: bool
    done: asyncio.Future[None]


class Writer:
    """Writes what it is given, in the order given; used from one event loop."""

    def __init__(self, store: Store):
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._handed: list[_Job] = []
        self._large = False
        self._committed: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        with faults(store.path):
            # The thread does what FULL would do inside each commit.
            store.connection.execute("PRAGMA synchronous=NORMAL")
            store.connection.execute("PRAGMA wal_autocheckpoint=0")
        self._thread = threading.Thread(target=self._work, name="store disk", daemon=True)
        self._thread.start()

    def note(self, write: Write) -> asyncio.Future[None]:
        """Commit `write` so that it survives the end of this process; done when it does."""
        return self._submit(write, False)

    def keep(self, write: Write) -> asyncio.Future[None]:
        """Commit `write`, on the disk where the store is durable; done when it is there.

        The future carries what the store refused with, as `store.faults` says it.
        """
        return self._submit(write, self._store.durable)

    async def close(self) -> None:
        """Write what is waiting, then end the thread; the connection is the caller's again."""
        self._commit_handed()
        self._committed.put(None)
        while self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, 1.0)
        run = self._store.connection.execute
        run(f"PRAGMA synchronous={'FULL' if self._store.durable else 'NORMAL'}")
        run("PRAGMA wal_autocheckpoint=1000")

    def _submit(self, write: Write, wait_for_disk: bool) -> asyncio.Future[None]:
        job = _Job(write, wait_for_disk, self._loop.create_future())
        if not self._handed:
            self._loop.call_soon(self._commit_handed)
        self._handed.append(job)
        return job.done

    def _commit_handed(self) -> None:
        """Commit jobs together; where that fails each by itself, so that none suffers from another."""
        jobs, self._handed = self._handed, []
        if not jobs:
            return
        fault = self._commit(jobs)
        alone = len(jobs) == 1 or fault is None
        for lot in [jobs] if alone else [[job] for job in jobs]:
            fault = fault if alone else self._commit(lot)
            _resolve([job for job in lot if fault is not None or not job.wait_for_disk], fault)
            if fault is None:
                self._committed.put(lot)

    def _commit(self, jobs: list[_Job]) -> BaseException | None:
        """Write jobs in one transaction; return what the store refused with, and then nothing is written."""
        run = self._store.connection.execute
        try:
            with faults(self._store.path):
                if self._large:
                    self._large = False
                    run("PRAGMA wal_checkpoint(PASSIVE)")
                try:
                    run("BEGIN IMMEDIATE")
                    for job in jobs:
                        job.write(self._store)
                    run("COMMIT")
                except BaseException:
                    roll_back(self._store.connection)
                    raise
        except BaseException as error:
            return error
        return None

    def _work(self) -> None:
        """Wait for the disk, tell who waits for it, and keep the log short, until the writer is closed."""
        log = self._store.path.with_name(self._store.path.name + "-wal")
        written, open_ended = 0, True
        with ExitStack() as held:
            handle: int | None = None
            beside: sqlite3.Connection | None = None
            while open_ended:
                lots = [self._committed.get()]
                with suppress(queue.Empty):
                    while True:
                        lots.append(self._committed.get_nowait())
                open_ended = None not in lots
                jobs = [job for lot in lots if lot is not None for job in lot]
                written += len(jobs)
                waiting = [job for job in jobs if job.wait_for_disk]
                if waiting:
                    fault: BaseException | None = None
                    try:
                        with faults(log):
                            if handle is None:
                                handle = os.open(log, os.O_RDWR)
                                held.callback(os.close, handle)
                            to_disk(handle)
                    except BaseException as error:
                        fault = error
                    with suppress(RuntimeError):  # the loop may be closed: nobody waits any more
                        self._loop.call_soon_threadsafe(_resolve, waiting, fault)
                if written >= TIDY_EVERY:
                    written = 0
                    # What stands in the way here (a full disk) meets the writer too, who says so.
                    with suppress(sqlite3.Error):
                        if beside is None:
                            beside = sqlite3.connect(self._store.path, isolation_level=None)
                            held.callback(beside.close)
                        _, pages, _ = beside.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                        self._large = pages >= LARGE_PAGES


def _resolve(jobs: list[_Job], fault: BaseException | None) -> None:
    for job in jobs:
        if job.done.done():
            continue
        if fault is None:
            job.done.set_result(None)
        else:
            job.done.set_exception(fault)
