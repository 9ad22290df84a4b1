"""What a run will cost, what it has cost, and how far it is: request tables and stores in, text out.

Nothing here asks a model or writes to a store.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.config import ModelEntry
from anachron.errors import ContractError
from anachron.llm import prices
from anachron.pipeline import Plan

if TYPE_CHECKING:
    import pandas as pd


def cost(plan: Plan, day: str | None = None) -> Iterator[str]:
    """Say what the run will cost, before anything is spent; what the stores hold is paid.

    Parameters
    ----------
    plan
        The run.
    day
        Day whose prices hold (YYYY-MM-DD); today when absent.

    Raises
    ------
    ConfigError
        When the price file breaks its contract.
    ContractError
        When a request table is missing; the text says what builds it.
    """
    from anachron.llm import cost as costs
    from anachron.llm import ledger

    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for model, entry in plan.models.items():
        if entry.provider == "replay":
            notes.append(f"{entry.name}: replayed from records; nothing is asked")
            continue
        line = prices.at(plan.prices, entry.price, day or prices.today())
        tries = ledger.attempts(_store(plan, model))
        for suite in plan.suites_of(model):
            requests = _requests(plan, model, suite)
            if entry.free:
                calls = int(sum(entry.tier in tiers.split(",") for tiers in requests["tiers"]))
                rows.append(
                    {"model": entry.name, "suite": suite, "calls": calls, "to ask": None}
                    | dict.fromkeys(("low", "expected", "worst"), 0.0)
                )
                notes.append(f"{entry.name}, {suite}: answers in this process; nothing is paid")
                continue
            wanted = _sizes(entry, suite, requests)
            answers = tries[(tries["status"] == "answered") & (tries["suite"] == suite)]
            lacking = wanted[~wanted["key"].isin(answers["key"])]
            figures = costs.estimate(lacking, answers, line)
            rows.append(costs.as_row(entry.name, suite, len(wanted) - len(lacking), figures))
            notes += [f"{entry.name}, {suite}: {text}" for text in costs.basis(entry, figures, line)]
    yield from table(
        rows, ("calls", "stored", "to ask", "tokens in", "tokens out"), ("low", "expected", "worst")
    )
    yield from (f"- {note}" for note in notes)
    yield from _budget(plan, rows)


def _budget(plan: Plan, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Say what the budget of the run is, and which one would do."""
    from anachron.llm import ledger

    spent = doubt = 0.0
    for path in sorted(Path(plan.config.store).glob("*.sqlite")):
        tries = ledger.attempts(path)
        spent += float(tries["cost_usd"].sum())
        doubt += float(tries.loc[tries["cost_usd"].isna(), "most_usd"].sum())
    unknown = [row["model"] for row in rows if row["to ask"] and row["worst"] is None]
    enough = math.ceil(100 * (spent + doubt + sum(row["worst"] or 0.0 for row in rows))) / 100
    yield (
        f"`budget_usd` is {plan.config.budget_usd:,.2f}; the stores in {plan.config.store} have spent {dollars(spent)}"
        + (f", and up to {dollars(doubt)} more for calls whose cost is not known" if doubt else "")
        + f". It is a stop for everything in them: {dollars(enough)} lets this run end however long the answers are, "
        "if no call has to be repeated."
    )
    if unknown:
        yield (
            f"Unknown, and in no total: {', '.join(dict.fromkeys(unknown))}. Such a model is not asked unless "
            f"`unknown_prices: allow` is set; then no budget stops it. Better: add its line to {plan.config.prices}."
        )


def actual(plan: Plan) -> Iterator[str]:
    """Say what the stores say was spent, against what would have been estimated for the same answers."""
    from anachron.llm import cost as costs
    from anachron.llm import ledger

    rows: list[dict[str, Any]] = []
    gaps: list[str] = []
    for model, entry in plan.models.items():
        tries = ledger.attempts(_store(plan, model))
        if entry.provider == "replay" or tries.empty:
            gaps.append(
                f"{entry.name}: " + ("replayed" if entry.provider == "replay" else "nothing was asked yet")
            )
            continue
        line = prices.at(plan.prices, entry.price, prices.today())
        for suite in sorted({*plan.suites_of(model), *tries["suite"].dropna()}):
            mine = tries[tries["suite"] == suite]
            sums = ledger.spent(mine)
            row = {"model": entry.name, "suite": suite, **sums}
            gaps += [f"{entry.name}, {suite}: {text}" for text in _gaps(sums)]
            if not entry.free and suite in plan.suites_of(model):
                try:
                    wanted = _sizes(entry, suite, _requests(plan, model, suite))
                except ContractError as error:
                    gaps.append(f"{entry.name}, {suite}: no estimate to hold this against ({error})")
                else:
                    answered = mine[mine["status"] == "answered"]
                    asked = answered["key"].isin(wanted["key"])
                    figures = costs.estimate(
                        wanted[wanted["key"].isin(answered["key"])], answered.iloc[:0], line
                    )
                    row["estimated"] = figures.expected
                    paid_for = answered.loc[asked, "cost_usd"]
                    row["actual"] = None if paid_for.isna().any() else float(paid_for.sum())
                    others = answered[~asked]
                    if len(others):
                        paid = dollars(float(others["cost_usd"].sum()))
                        gaps.append(
                            f"{entry.name}, {suite}: {len(others):,} answers, {paid}, are to requests that this run "
                            "does not ask"
                        )
                    if figures.expected is None:
                        gaps.append(f"{entry.name}, {suite}: no price holds today, so nothing is estimated")
            rows.append(row)
        lost = tries[tries["suite"].isna()]
        if len(lost):
            gaps.append(f"{entry.name}: {len(lost):,} attempts whose request is not in the store any more")
    counts = ("tries", "answered", "refused", "maybe_billed", "input_tokens", "output_tokens")
    yield from table(rows, counts, ("dollars", "estimated", "actual"))
    yield (
        "`dollars` is all that is known to be spent; `estimated` is what would have been expected before the run for "
        "those answers of this run that the store holds, `actual` what these cost."
    )
    yield from (f"- {gap}" for gap in gaps)


def _gaps(sums: dict[str, Any]) -> list[str]:
    """Return in words what a ledger does not know."""
    said = []
    if sums["maybe_billed"]:
        limit = (
            f"up to {dollars(sums['maybe_dollars'])} in all"
            if not sums["limitless"]
            else "at an unknown price"
        )
        if sums["limitless"] and sums["maybe_dollars"]:
            limit = f"up to {dollars(sums['maybe_dollars'])}, and {sums['limitless']:,} of them at an unknown price"
        said.append(f"{sums['maybe_billed']:,} calls brought no answer and may be billed, {limit}")
    if sums["unpriced_answers"]:
        said.append(
            f"the cost of {sums['unpriced_answers']:,} answers is not known (no price at the time, or no token counts)"
        )
    return said


def status(plan: Plan) -> Iterator[str]:
    """Say how far the run is: blocks sealed against planned, answers in the stores, and what is at work now."""
    from anachron.llm import ledger
    from anachron.llm import status as states

    for model, entry in plan.models.items():
        blocks = [
            Path(plan.config.results) / "transcripts" / model / suite / arm / f"{block}.parquet"
            for suite in plan.suites_of(model)
            for arm in plan.arms_of(model, suite)
            for block in plan.blocks_of(model, suite)
        ]
        sealed = sum(path.is_file() for path in blocks)
        row = Path(plan.config.results) / "rows" / f"{model}.json"
        yield f"{entry.name}: {sealed:,} of {len(blocks):,} blocks sealed" + (
            ", row made" if row.is_file() else ""
        )
        store = _store(plan, model)
        sums = ledger.spent(ledger.attempts(store))
        if sums["tries"]:
            yield (
                f"  store: {sums['answered']:,} answers in {sums['tries']:,} tries ({sums['refused']:,} refused, "
                f"{sums['maybe_billed']:,} without an answer), {sums['input_tokens']:,} tokens in, "
                f"{sums['output_tokens']:,} out, {dollars(sums['dollars'])}"
                + (
                    f" and {sums['unpriced_answers']:,} answers of unknown cost"
                    if sums["unpriced_answers"]
                    else ""
                )
            )
        beat = states.beat_of(store)
        if beat is not None:
            yield f"  last job: {states.told(beat)}"


def _store(plan: Plan, model: str) -> Path:
    return Path(plan.config.store) / f"{model}.sqlite"


def _requests(plan: Plan, model: str, suite: str) -> pd.DataFrame:
    """Return all requests of a model's suite, of every arm and block that the run plans."""
    import pandas as pd

    from anachron import frames

    paths = [
        Path(plan.config.results) / "requests" / suite / arm / f"{block}.parquet"
        for arm in plan.arms_of(model, suite)
        for block in plan.blocks_of(model, suite)
    ]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise ContractError(
            f"{missing[0]}: no such file ({len(missing):,} of {len(paths):,} request tables are missing); "
            f"`snakemake --cores 2 cost --config model={plan.models[model].name!r}` builds them, which costs nothing"
        )
    tables = [frames.read(path, frames.Requests) for path in paths]
    return pd.concat(tables, ignore_index=True) if tables else frames.empty(frames.Requests)


def _sizes(entry: ModelEntry, suite: str, requests: pd.DataFrame) -> pd.DataFrame:
    from anachron.llm import cost as costs
    from anachron.llm import providers
    from anachron.llm.plan import plan as plan_requests

    return costs.sizes(plan_requests(entry, providers.get(entry.provider), suite, requests))


def table(rows: Sequence[dict[str, Any]], counts: Sequence[str], money: Sequence[str]) -> Iterator[str]:
    """Give rows as lines of aligned text, with a total where there is more than one row.

    A total of dollars leaves out what is unknown, and is marked with a plus then.
    """
    header = ["model", "suite", *(name.replace("_", " ") for name in (*counts, *money))]
    lines = [header]
    for row in rows:
        cells = [str(row["model"]), str(row["suite"])]
        cells += ["" if row.get(name) is None else f"{row[name]:,}" for name in counts]
        cells += ["" if name not in row else _amount(row[name]) for name in money]
        lines.append(cells)
    if len(rows) > 1:
        total = ["total", ""]
        total += [f"{sum(row.get(name) or 0 for row in rows):,}" for name in counts]
        for name in money:
            amounts = [row[name] for row in rows if name in row]
            known = [amount for amount in amounts if amount is not None]
            total.append(dollars(sum(known)) + ("+" if len(known) < len(amounts) else ""))
        lines.append(total)
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    for line in lines:
        left = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        yield "  ".join([*left, *right]).rstrip()


def _amount(amount: float | None) -> str:
    return "unknown" if amount is None else dollars(amount)


def dollars(amount: float) -> str:
    """Return an amount as text: cents, and more digits where cents would show nothing."""
    return f"${amount:,.2f}" if amount == 0 or abs(amount) >= 0.1 else f"${amount:,.4f}"
