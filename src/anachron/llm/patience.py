"""How failures that may pass are waited out: how often, how long, and what a provider asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from tenacity import RetryCallState
from tenacity.wait import wait_random_exponential

from anachron.llm.providers import Failure

LONGEST_WAIT_S = 3600.0
"""A provider that asks to wait longer than this has closed the account for now: the job stops."""

PAGE_TRIES = 3
"""Tries of a request that a web page answers: a gateway's page passes soon, a portal or a wrong address never."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How failures that may pass are waited out."""

    tries: int = 8
    first_wait_s: float = 1.0
    """Backoff is uniform between nothing and a bound (full jitter): this, doubled with each try."""
    longest_wait_s: float = 120.0


class Again(Exception):  # noqa: N818 - no error of the user's
    """A try failed in a way that another may mend."""

    def __init__(self, words: str, wait_s: float | None = None, page: bool = False):
        super().__init__(words)
        self.words, self.wait_s, self.page = words, wait_s, page
        self.tries = 1


def enough(patience: Patience) -> Callable[[RetryCallState], bool]:
    """Return what says whether a request has been tried often enough, for tenacity; the error is told how often."""

    def stop(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, Again):
            return True
        error.tries = state.attempt_number
        return error.tries >= (min(PAGE_TRIES, patience.tries) if error.page else patience.tries)

    return stop


def backoff(patience: Patience) -> Callable[[RetryCallState], float]:
    """Return what says how long to wait before the next try, for tenacity: as the provider asks, or full jitter."""
    jitter = wait_random_exponential(multiplier=patience.first_wait_s, max=patience.longest_wait_s)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_s if isinstance(error, Again) else None
        return jitter(state) if asked is None else asked

    return wait


def asked_to_wait(failure: Failure, headers: Mapping[str, str]) -> float | None:
    """Return how long a response asks to wait, in seconds, by its headers or its body, whichever is longer."""
    asked = [seconds for seconds in (retry_after(headers), failure.after_s) if seconds is not None]
    return max(asked, default=None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how long the headers of a response ask to wait, in seconds; None when they do not say.

    A date is held against the response's own date, so that this machine's clock does not matter.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            if math.isfinite(seconds):
                return max(0.0, seconds)
    with suppress(ValueError, TypeError):
        until = parsedate_to_datetime(headers["retry-after"]) if "retry-after" in headers else None
        if until is not None:
            return max(0.0, (until - parsedate_to_datetime(headers["date"])).total_seconds())
    return None
