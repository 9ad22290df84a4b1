"""The run-wide stop: what the stores of a folder have cost, what is in flight, and whether one more may be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm import prices
from anachron.llm.providers import Reply
from anachron.llm.store import Store, reading

POLL_S = 5.0
"""Seconds between two looks at what other stores have spent."""

SPENT = (
    "SELECT coalesce(sum(cost_usd), 0), "
    "coalesce(sum(CASE WHEN cost_usd IS NULL THEN {most} ELSE 0 END), 0) FROM attempts"
)


@dataclass(frozen=True, slots=True)
class Price:
    """What calls of one model cost, in US dollars."""

    cost: Callable[[Reply], float | None]
    """``cost(reply)``: what an answer cost; None when its usage does not say."""
    worst: Callable[[Mapping[str, Any]], float | None]
    """``worst(request)``: what a neutral request (system, prompt, max_tokens, …) can cost at most; None when
    unknown."""


def price_of(entry: ModelEntry, path: Path, day: str | None = None) -> Price | None:
    """Return what calls of a model cost on a day; None when that is not known.

    Parameters
    ----------
    entry
        The model; without a price key its price is not known, and no file is read.
    path
        The price file.
    day
        YYYY-MM-DD; today (UTC) when absent.

    Raises
    ------
    ConfigError
        When the model has a price key and the file cannot be read.
    """
    if entry.free or entry.price is None:
        return None
    line = prices.at(prices.read(path), entry.price, day or prices.today())
    if line is None:
        return None
    return Price(
        cost=lambda reply: prices.dollars(
            line, reply.input_tokens, reply.cached_tokens, reply.output_tokens, reply.reasoning_tokens
        ),
        worst=lambda request: prices.at_most(
            line, prices.prompt_bytes(request["system"], request["prompt"]), request["max_tokens"]
        ),
    )


class BudgetError(CollectError):
    """The budget of the run is reached."""


class Guard:
    """The budget of one collecting job, on one event loop.

    Parameters
    ----------
    store
        The job's own store: its spend is exact.
    budget_usd
        What all stores of the folder may have cost together, in US dollars.
    """

    def __init__(self, store: Store, budget_usd: float):
        self._path, self.budget_usd = store.path, budget_usd
        self.paid, self.maybe = _sums(store.connection)
        self.in_flight = 0.0
        self._flying = 0
        self._changed = asyncio.Event()
        self._elsewhere: dict[Path, tuple[tuple[int, ...], tuple[float, float]]] = {}
        self.look()

    def look(self) -> None:
        """Read what the other stores of the folder have spent; unchanged files are not read again."""
        found = {}
        for path in sorted(self._path.parent.glob("*.sqlite")):
            if path == self._path:
                continue
            state = _state(path)
            known = self._elsewhere.get(path)
            if known is not None and known[0] == state:
                found[path] = known
                continue
            with reading(path) as connection:
                found[path] = (state, _sums(connection))
        self._elsewhere = found

    async def watch(self) -> None:
        """Look again every few seconds until cancelled; a store that is busy keeps its last figure."""
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await asyncio.to_thread(self.look)
            except CollectError:
                continue

    @property
    def spent(self) -> float:
        """Dollars spent by all stores, what may have been billed counted at its most."""
        return self.paid + self.maybe + sum(sum(sums) for _, sums in self._elsewhere.values())

    async def reserve(self, most: float | None) -> None:
        """Set `most` dollars aside for a request about to be sent, waiting for those in flight where that helps.

        Raises
        ------
        BudgetError
            When the request could take the run over its budget, and nothing in flight can change that.
        """
        if most is None:
            return
        while most > 0 and self.spent + self.in_flight + most > self.budget_usd:
            if not self._flying or self.spent + most > self.budget_usd:
                raise BudgetError(
                    f"the budget of ${_cents(self.budget_usd)} is reached: the stores in {self._path.parent} have "
                    f"spent ${self.spent:,.4f}{self._doubt()}, and the next request can cost up to ${most:,.4f}"
                )
            self._changed.clear()
            await self._changed.wait()
        self.in_flight += most
        self._flying += 1

    def settle(self, most: float | None, cost: float | None) -> None:
        """Replace what was set aside by what a request cost; None counts it at its most."""
        if most is not None:
            self.in_flight -= most
            self._flying -= 1
        if cost is not None:
            self.paid += cost
        elif most is not None:
            self.maybe += most
        self._changed.set()

    def _doubt(self) -> str:
        maybe = self.maybe + sum(sums[1] for _, sums in self._elsewhere.values())
        return f" (${maybe:,.4f} of it for calls without an answer that may be billed)" if maybe else ""


def _cents(amount: float) -> str:
    """Write an amount of dollars; one below ten cents with four digits, because two would change it."""
    return f"{amount:,.2f}" if amount == 0 or amount >= 0.1 else f"{amount:,.4f}"


def _sums(connection: Any) -> tuple[float, float]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(attempts)")}
    # A store of an earlier version has no such column until its model is collected again.
    paid, maybe = connection.execute(
        SPENT.format(most="most_usd" if "most_usd" in columns else "0")
    ).fetchone()
    return float(paid), float(maybe)


def _state(path: Path) -> tuple[int, ...]:
    state: list[int] = []
    for part in (path, path.with_name(path.name + "-wal")):
        try:
            found = part.stat()
        except FileNotFoundError:
            state += (0, 0)
        else:
            state += (found.st_mtime_ns, found.st_size)
    return tuple(state)
