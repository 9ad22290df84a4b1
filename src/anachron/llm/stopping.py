"""Ending a job of collecting before its time: on request, and in words that say what is kept and how to go on."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm.budget import BudgetError
from anachron.llm.progress import Tally


class InterruptError(CollectError):
    """The user, or the workflow engine, has asked the job to end."""


def told(trouble: CollectError, words: str, entry: ModelEntry, tally: Tally, path: Path) -> CollectError:
    """Return what the user is told: what stopped the job (`words`), what is kept at `path`, how to go on."""
    missing = tally.total - tally.cached - tally.done
    unknown = (
        f" {tally.maybe_billed:,} {'calls' if tally.maybe_billed > 1 else 'call'} brought no answer and may be billed."
        if tally.maybe_billed
        else ""
    )
    return CollectError(
        f"model {entry.name!r} at {urlsplit(entry.base_url or '').hostname}, suite {tally.suite}, {words}\n"
        f"{tally.cached + tally.done:,} of {tally.total:,} answers are in {path} and are kept, "
        f"{missing:,} are missing.{unknown} {_remedy(trouble, entry)}: only what is missing is asked again"
    )


def _remedy(trouble: CollectError, entry: ModelEntry) -> str:
    if isinstance(trouble, BudgetError):
        return "Raise `budget_usd` in config/config.yaml and run again"
    if isinstance(trouble, InterruptError):
        return "Run again to go on"
    variable = f" (the API key is read from {entry.key_variable})" if entry.key_variable else ""
    return f"Mend that{variable} and run again"


@contextmanager
def interrupts(handle: Callable[[], None]) -> Iterator[None]:
    """Call `handle` on Ctrl-C and on a request to end, while inside."""
    loop = asyncio.get_running_loop()
    mine = [signal.SIGINT, signal.SIGTERM] if threading.current_thread() is threading.main_thread() else []
    for number in mine:
        loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        for number in mine:
            loop.remove_signal_handler(number)
