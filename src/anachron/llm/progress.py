"""How far a block is: one live line in a terminal, a plain line every few seconds elsewhere, and a small file.

The file, ``<store>/<model>.status.json``, lets another terminal say how far a run is; it is replaced in one
step and says nothing that the store does not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PLAIN_SECONDS = 5.0
"""A log gets a line at most this often."""

BEAT_SECONDS = 2.0
"""The file is written at most this often."""

Advance = Callable[[], None]


@dataclass(slots=True)
class Tally:
    """What has happened to a block so far."""

    model: str
    suite: str
    label: str
    """What is collected, for the line."""
    total: int
    cached: int
    """Requests that needed no asking."""
    done: int = 0
    """Requests answered by this process."""
    failed: int = 0
    """Attempts that brought no answer."""
    tokens: int = 0
    """Input and output tokens of the answers of this process."""
    cost_usd: float | None = 0.0
    """Dollars that this process has spent; None as soon as one answer's cost is unknown."""
    maybe_billed: int = 0
    """Attempts without an answer that may be billed."""
    started: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """Return the tally in one line."""
        rate = self.done / max(time.monotonic() - self.started, 1e-9)
        left = self.total - self.cached - self.done
        parts = [f"{self.cached + self.done:,} of {self.total:,} done", f"{self.cached:,} cached"]
        if self.failed:
            parts.append(f"{self.failed:,} failed tries")
        if self.maybe_billed:
            parts.append(f"{self.maybe_billed:,} of them may be billed")
        if self.tokens:
            parts.append(f"{self.tokens:,} tokens")
        if self.cost_usd:
            parts.append(f"${self.cost_usd:,.4f}")
        elif self.cost_usd is None:
            parts.append("cost unknown")
        if self.done:
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if self.done and left:
            parts.append(f"about {_duration(left / rate)} left")
        return f"{self.label}: " + ", ".join(parts)


@contextmanager
def showing(tally: Tally, shown: bool = True, beat: Path | None = None) -> Iterator[Advance]:
    """Show how far `tally` is while it changes.

    Parameters
    ----------
    tally
        Changed by the caller.
    shown
        False shows nothing.
    beat
        The file for other processes; None writes none.

    Yields
    ------
    callable
        To be called whenever the tally has changed.
    """
    show: Callable[[], Any]
    with (
        _live(tally) if shown and _terminal() and tally.cached < tally.total else _plain(tally, shown) as show
    ):
        pulse = _Pulse(tally, beat)
        state = "stopped"
        try:
            pulse.write("collecting")

            def advance() -> None:
                show()
                pulse.due()

            yield advance
            state = "finished"
        finally:
            pulse.write(state)


class _Pulse:
    """Writes the file of a tally."""

    def __init__(self, tally: Tally, path: Path | None):
        self._tally, self._path = tally, path
        self._written = 0.0
        self._started = _now()

    def due(self) -> None:
        if self._path is not None and time.monotonic() - self._written >= BEAT_SECONDS:
            self.write("collecting")

    def write(self, state: str) -> None:
        if self._path is None:
            return
        tally = self._tally
        self._written = time.monotonic()
        document = {
            "model": tally.model,
            "suite": tally.suite,
            "label": tally.label,
            "state": state,
            "pid": os.getpid(),
            "started": self._started,
            "updated": _now(),
            "total": tally.total,
            "cached": tally.cached,
            "done": tally.done,
            "failed": tally.failed,
            "maybe_billed": tally.maybe_billed,
            "tokens": tally.tokens,
            "cost_usd": tally.cost_usd,
        }
        part = self._path.with_name(self._path.name + ".part")
        with suppress(OSError):  # a full disk stops the collecting where it matters: at the store
            part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            part.replace(self._path)


@contextmanager
def _live(tally: Tally) -> Iterator[Advance]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        BarColumn(bar_width=16), TextColumn("{task.description}"), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task(escape(tally.line()), total=tally.total, completed=tally.cached)
        shown = 0.0

        def advance() -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown >= 0.1:
                shown = now
                bar.update(task, completed=tally.cached + tally.done, description=escape(tally.line()))

        try:
            yield advance
        finally:
            bar.update(task, completed=tally.cached + tally.done, description=escape(tally.line()))


@contextmanager
def _plain(tally: Tally, shown: bool) -> Iterator[Advance]:
    printed = time.monotonic()

    def advance() -> None:
        nonlocal printed
        now = time.monotonic()
        if shown and now - printed >= PLAIN_SECONDS:
            printed = now
            print(tally.line(), file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        if shown:
            print(tally.line(), file=sys.stderr, flush=True)


def _terminal() -> bool:
    return sys.stderr.isatty()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
