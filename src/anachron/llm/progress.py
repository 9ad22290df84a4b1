"""How far a block is: one live line in a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAIN_SECONDS = 5.0
"""A log gets a line at most this often."""

Advance = Callable[[], None]


@contextmanager
def showing(label: str, total: int, cached: int, shown: bool = True) -> Iterator[Advance]:
    """Show the progress of `total` requests, `cached` of which need no asking.

    Parameters
    ----------
    label
        What is collected.
    total, cached
        Requests in all, and those already in the store.
    shown
        False shows nothing.

    Yields
    ------
    callable
        To be called once per answer received.
    """
    if not shown:
        yield lambda: None
    elif sys.stderr.isatty() and cached < total:
        with _live(label, total, cached) as advance:
            yield advance
    else:
        with _plain(label, total, cached) as advance:
            yield advance


@contextmanager
def _live(label: str, total: int, cached: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(f"{cached:,} cached · {{task.fields[rate]:,.0f}}/s"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    asked = 0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(escape(label), total=total, completed=cached, rate=0.0)

        def advance() -> None:
            nonlocal asked
            asked += 1
            bar.update(task, advance=1, rate=asked / max(time.monotonic() - start, 1e-9))

        yield advance


@contextmanager
def _plain(label: str, total: int, cached: int) -> Iterator[Advance]:
    start = time.monotonic()
    asked, printed = 0, start

    def line(now: float) -> None:
        rate = asked / max(now - start, 1e-9)
        left = total - cached - asked
        parts = [f"{cached + asked:,} of {total:,} done", f"{cached:,} cached"]
        if asked:
            parts.append(f"{rate:,.0f}/s")
        if asked and left:
            parts.append(f"about {left / rate:,.0f} s left")
        print(f"{label}: " + ", ".join(parts), file=sys.stderr, flush=True)

    def advance() -> None:
        nonlocal asked, printed
        asked += 1
        now = time.monotonic()
        if now - printed >= PLAIN_SECONDS:
            printed = now
            line(now)

    try:
        yield advance
    finally:
        line(time.monotonic())
