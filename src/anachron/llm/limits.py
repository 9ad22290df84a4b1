"""How fast an account is asked: how many requests are in flight, and how many go out a minute.

Concurrency starts small and doubles each round trip until the provider says that requests come too fast; then
it falls by a fifth, nothing is sent until a cool-down is over, and it grows by one a round trip. A provider
that fails every request is asked one at a time, with pauses that double, until it answers again. All waiting
is by the monotonic clock: setting the machine's clock changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from aiolimiter import AsyncLimiter

from anachron.registry import Limits

START = 8
DECREASE = 0.8
PAUSE_CAP_S = 60.0
OUTAGE = 3
"""Failures in a row, with no answer between them, that count as the provider being down."""


class Pace:
    """Requests in flight, on one event loop.

    Parameters
    ----------
    cap
        Requests in flight at most.
    pause_s
        First pause after a setback, in seconds; it doubles with each that follows without an answer between.
    clock
        Seconds by a clock that never jumps.
    """

    def __init__(self, cap: int, pause_s: float = 1.0, clock: Callable[[], float] = time.monotonic):
        self.cap, self.pause_s, self.clock = cap, pause_s, clock
        self.limit = float(min(START, cap))
        self.in_flight = 0
        self.setbacks = 0
        """Pauses in a row with no answer between them."""
        self._slow_start = True
        self._failures = 0
        self._before_outage: float | None = None
        self._resume = self._last_cut = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    async def enter(self) -> float:
        """Wait until one more request may be in flight, and return the time it enters."""
        while self.in_flight >= int(self.limit) or self.clock() < self._resume:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            self._wake()
            await future
        self.in_flight += 1
        return self.clock()

    def answered(self) -> None:
        """Count a request out that was answered."""
        self.in_flight -= 1
        self._failures = self.setbacks = 0
        if self._before_outage is not None:
            self.limit, self._before_outage = max(1.0, self._before_outage * DECREASE), None
        self.limit = min(self.cap, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
        self._wake()

    def failed(self, entered: float, slow_down: bool, retry_after_s: float | None) -> None:
        """Count a request out that failed in a way that another try may mend.

        Parameters
        ----------
        entered
            What `enter` returned. Requests that were in flight together are one setback, not many.
        slow_down
            Whether the provider says that requests come too fast.
        retry_after_s
            How long it asks to wait, in seconds.
        """
        self.in_flight -= 1
        self._failures += 1
        now = self.clock()
        fresh = entered > self._last_cut
        if fresh and (slow_down or self._failures >= OUTAGE):
            self._last_cut = now
            self._slow_start = False
            self._resume = max(self._resume, now + min(PAUSE_CAP_S, self.pause_s * 2.0**self.setbacks))
            self.setbacks += 1
            if slow_down:
                self.limit = max(1.0, self.limit * DECREASE)
            elif self._before_outage is None:
                self._before_outage, self.limit = self.limit, 1.0
        if slow_down and retry_after_s is not None:
            self._resume = max(self._resume, now + retry_after_s)
        self._wake()

    def left(self) -> None:
        """Count a request out of which nothing follows for the others."""
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        wait = self._resume - self.clock()
        if wait > 0:
            if self._waiting:
                self._alarm = asyncio.get_running_loop().call_later(wait, self._wake)
            return
        room = int(self.limit) - self.in_flight
        while room > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                room -= 1


class PerMinute:
    """A hard cap on an amount a minute: no window of 60 seconds lets more through.

    Parameters
    ----------
    most
        The amount a minute; None caps nothing.
    largest
        The largest amount that is asked for at once; one above half the cap counts as half of it.
    """

    def __init__(self, most: float | None, largest: float = 1.0):
        self._limiter: AsyncLimiter | None = None
        if most is not None:
            # A bucket of size b that leaks r a second lets at most b + 60 r through in a minute; one that
            # holds a single request spaces them evenly.
            self._size = max(min(largest, max(1.0, most / 2)), most / 60)
            rate = (most if self._size <= 1 else most - self._size) / 60
            self._limiter = AsyncLimiter(self._size, self._size / rate)

    async def take(self, amount: float = 1.0) -> None:
        """Wait until `amount` may go out."""
        if self._limiter is not None:
            await self._limiter.acquire(min(amount, self._size))


def tokens_at_most(system_and_prompt_bytes: float, max_tokens: float) -> float:
    """Return what a request counts against a cap on tokens: its text at four bytes a token, and its answer's cap."""
    return system_and_prompt_bytes / 4 + max_tokens


def per_minute(limits: Limits, largest_tokens: float) -> tuple[PerMinute, PerMinute]:
    """Return the caps on requests and on tokens a minute."""
    return PerMinute(limits.requests_per_minute), PerMinute(limits.tokens_per_minute, largest_tokens)
