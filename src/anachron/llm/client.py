"""Asking over HTTP: many requests in flight, each paid once and stored before its place is given away.

Workers pull requests from an iterator, so memory does not grow with their number. A request is noted in the
store before it is sent; its place is kept until its answer is committed. What can pass (busy, overloaded, a
broken connection) is tried again; what cannot (a key, a quota, a request the provider will not take) stops the
job at once. Then nothing more is sent, and what is in flight, being paid for, is waited for and kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from tenacity import AsyncRetrying, retry_if_exception_type

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm import http, limits, records, stopping
from anachron.llm.budget import Guard, Price
from anachron.llm.call import Line, api_key, counted_tokens
from anachron.llm.patience import LONGEST_WAIT_S, Again, Patience, backoff, enough
from anachron.llm.plan import Ask
from anachron.llm.progress import Advance, Tally
from anachron.llm.providers import Provider, Reply
from anachron.llm.providers.wire_errors import one_line
from anachron.llm.records import Try
from anachron.llm.store import Store, require_room
from anachron.llm.writer import Writer

DISK_LOOK_S = 0.2
"""Seconds between two looks at the room left on the disk."""


class _Stopped(Exception):  # noqa: N818
    """The job is ending; this request was not sent."""


def ask_all(
    store: Store,
    entry: ModelEntry,
    provider: Provider,
    asks: Iterator[Ask],
    largest_tokens: float,
    *,
    price: Price | None,
    budget_usd: float,
    tally: Tally,
    advance: Advance,
    patience: Patience | None = None,
) -> None:
    """Ask every request of `asks` and store each answer.

    Parameters
    ----------
    store
        Open; written to by one thread until this returns.
    entry, provider
        The model, and its provider, which speaks over a wire.
    asks
        The requests, pulled as they are needed.
    largest_tokens
        What the largest request counts against a cap on tokens a minute.
    price
        What calls cost; None when unknown.
    budget_usd
        What all stores of the folder may have cost together, in US dollars.
    tally, advance
        Kept up to date.
    patience
        How failures are waited out.

    Raises
    ------
    CollectError
        When asking had to stop. Every answer that came is in the store.
    """
    line = Line(entry, provider, api_key(entry))
    records.bury(store)
    job = _Job(store, entry, line, price, budget_usd, tally, advance, patience or Patience())
    asyncio.run(job.run(asks, largest_tokens))


class _Job:
    """The state of one `ask_all`."""

    def __init__(
        self,
        store: Store,
        entry: ModelEntry,
        line: Line,
        price: Price | None,
        budget_usd: float,
        tally: Tally,
        advance: Advance,
        patience: Patience,
    ):
        self.store, self.entry, self.line, self.price = store, entry, line, price
        self.budget_usd, self.tally, self.advance, self.patience = budget_usd, tally, advance, patience
        self.next_attempt = records.next_attempt(store)
        self.look_at_disk = 0.0
        self.trouble: BaseException | None = None

    async def run(self, asks: Iterator[Ask], largest_tokens: float) -> None:
        allowed = self.entry.limits
        workers = min(allowed.concurrency, self.tally.total - self.tally.cached)
        self.stopping = asyncio.Event()
        self.pace = limits.Pace(workers, self.patience.first_wait_s)
        self.requests_a_minute, self.tokens_a_minute = limits.per_minute(allowed, largest_tokens)
        self.guard = Guard(self.store, self.budget_usd)
        self.retrying = AsyncRetrying(
            stop=enough(self.patience),
            wait=backoff(self.patience),
            retry=retry_if_exception_type(Again),
            sleep=self._sleep,
            reraise=True,
        )
        self.writer = Writer(self.store)
        watching = [asyncio.create_task(self.guard.watch()), asyncio.create_task(self._tick())]
        try:
            async with http.transport(self.line.base_url, workers) as self.connections:
                tasks = [asyncio.create_task(self._work(asks)) for _ in range(workers)]
                with stopping.interrupts(partial(self._interrupted, tasks)):
                    await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for task in watching:
                task.cancel()
            await self.writer.close()
        if self.trouble is not None:
            raise self._told(self.trouble) from None

    async def _tick(self) -> None:
        """Keep what is shown moving while nothing arrives."""
        while True:
            await asyncio.sleep(1.0)
            self.advance()

    async def _work(self, asks: Iterator[Ask]) -> None:
        """Answer one request after the other until there are none or the job is stopping."""
        ask: Ask | None = None
        while not self.stopping.is_set():
            try:
                ask = next(asks, None)
                if ask is None:
                    return
                content = self.line.payload(ask)
                try:
                    await self._try(ask, content)
                except Again as error:
                    await self._again(error, ask, content)
            except _Stopped:
                return
            except Again as error:
                often = f"{error.tries} tries" if error.tries > 1 else "one try"
                self._stop(CollectError(f"after {often}: {error.words}"), ask)
            except Exception as error:
                self._stop(error, ask)
            self.advance()

    async def _again(self, failed: Again, ask: Ask, content: bytes) -> None:
        """Try on after a first try that failed; it counts."""
        first: list[Again] = [failed]

        async def next_try() -> None:
            if first:
                raise first.pop()
            await self._try(ask, content)

        await self.retrying(next_try)

    async def _try(self, ask: Ask, content: bytes) -> None:
        """Send one request once and store what comes; raise `Again` when another try may help."""
        most = self.price.worst(ask.request) if self.price else None
        await self.tokens_a_minute.take(counted_tokens(ask))
        await self.requests_a_minute.take()
        entered = await self.pace.enter()
        try:
            self._go_on()
            await self.guard.reserve(most)
        except BaseException:
            self.pace.left()
            raise
        cost: float | None = 0.0
        words = ""
        left: Callable[[], None] = self.pace.left
        try:
            self._go_on()
            self._require_room()
            attempt = Try(self.next_attempt, ask.call.key, time.time(), most)
            self.next_attempt += 1
            await self.writer.note(lambda store: records.write_sent(store, ask.call, attempt))
            cost = None
            try:
                came = await self.line.call(self.connections, ask, content)
            except asyncio.CancelledError:
                self.tally.failed += 1
                self.tally.maybe_billed += 1
                raise
            failure = came.failure
            if failure is None:
                reply = came.reply
                cost = self.price.cost(reply) if self.price and reply else None
                await self.writer.keep(
                    partial(records.write_answered, attempt=attempt, came=came, cost_usd=cost)
                )
                left = self.pace.answered
                self._count(reply, cost)
                return
            words = one_line(self.line.scrubbed(failure.words) or "it did not say why")
            cost = None if came.status in records.MAYBE_BILLED else 0.0
            self.tally.failed += 1
            self.tally.maybe_billed += cost is None
            await self.writer.note(
                partial(records.write_failed, attempt=attempt, came=came, words=words, cost_usd=cost)
            )
            if not failure.retry:
                raise CollectError(words)
            if came.wait_s is not None and came.wait_s > LONGEST_WAIT_S:
                raise CollectError(f"{words} (the provider asks to wait {came.wait_s / 3600:,.1f} hours)")
            left = partial(self.pace.failed, entered, failure.slow_down, came.wait_s)
            raise Again(words, came.wait_s, failure.page)
        finally:
            left()
            self.guard.settle(most, cost)
            if self.pace.setbacks >= self.patience.tries:
                self._stop(
                    CollectError(f"{self.pace.setbacks} pauses in a row have not helped: {words}"), ask
                )

    def _count(self, reply: Reply | None, cost: float | None) -> None:
        self.tally.done += 1
        if reply is not None:
            self.tally.tokens += (reply.input_tokens or 0) + (reply.output_tokens or 0)
        known = cost is not None and self.tally.cost_usd is not None
        self.tally.cost_usd = self.tally.cost_usd + cost if known else None  # type: ignore[operator]

    def _go_on(self) -> None:
        if self.stopping.is_set():
            raise _Stopped

    def _require_room(self) -> None:
        now = time.monotonic()
        if now >= self.look_at_disk:
            require_room(self.store)
            self.look_at_disk = now + DISK_LOOK_S

    def _stop(self, trouble: BaseException, ask: Ask | None) -> None:
        """Send nothing more. The first trouble is the one that is told."""
        if self.trouble is None:
            if isinstance(trouble, CollectError) and ask is not None and type(trouble) is CollectError:
                call = ask.call
                trouble = CollectError(f"arm {call.arm}, item {call.item}, rep {call.rep}: {trouble}")
            self.trouble = trouble
        self.stopping.set()

    def _told(self, trouble: BaseException) -> BaseException:
        """Return what the user is told of what stopped the job."""
        if not isinstance(trouble, CollectError):
            return trouble
        words = self.line.scrubbed(str(trouble))
        return stopping.told(trouble, words, self.entry, self.tally, self.store.path)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)
            raise _Stopped

    def _interrupted(self, tasks: list[asyncio.Task[None]]) -> None:
        if not self.stopping.is_set():
            self._stop(stopping.InterruptError("interrupted, after waiting for what was in flight"), None)
            return
        if isinstance(self.trouble, stopping.InterruptError):
            self.trouble = stopping.InterruptError(
                "interrupted again, without waiting for what was in flight"
            )
        for task in tasks:
            task.cancel()
