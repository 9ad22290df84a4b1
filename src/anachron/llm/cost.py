"""What asking will cost, before anything is spent: calls, tokens and dollars of a model and suite.

Three figures, each for what the store lacks:

========= ================================================= =================================================
figure    prompt                                            answer
========= ================================================= =================================================
low       as expected                                       what a quarter of the store's answers in the arm
                                                            stay under; without any, 1/8 of the protocol's cap
expected  the mean of the store's answers in the arm;       the mean of the store's answers in the arm;
          without any, a token for four characters          without any, 1/4 of the protocol's cap
worst     a token for every byte                            runs to its cap
========= ================================================= =================================================

A quarter of the cap is what a published audit comes to: HindsightBench (section 5.2) reports $29.45 for 10.5
million tokens of Claude Haiku 4.5 and $19.30 for 8.5 million of GPT-5.4-mini, which at their list prices are
some 2,300 and 1,700 tokens for each of 2,064 answers under a cap of 8,000. What a model reasons is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from anachron.config import ModelEntry
from anachron.llm import prices
from anachron.llm.plan import Plan
from anachron.llm.prices import Line

CHARACTERS_A_TOKEN = 4
SCORED_TOKENS = 1
"""What a request asks for that wants the log-probabilities of its prompt: not every server takes none."""
EXPECTED_SHARE = 1 / 4
LOW_SHARE = 1 / 8

COUNTS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Figures:
    """An estimate for some requests: tokens, and dollars where the price is known."""

    calls: int
    input_tokens: int
    """Expected."""
    output_tokens: int
    """Expected."""
    low: float | None
    expected: float | None
    worst: float | None
    seen: int
    """Answers of the store that expected lengths rest on."""
    assumed: int
    """Calls whose length is assumed, because the store has no answer in their arm."""


def sizes(made: Plan) -> pd.DataFrame:
    """Return what decides the cost of each request of a plan.

    Returns
    -------
    DataFrame
        Along `made.keys`: `key`, `arm`, `characters` and `bytes` of both prompts, `cap` (tokens, as it is sent)
        and `protocol_cap` (tokens, before the model's own replaces it).
    """
    table, entry = made.table, made.entry
    suite = str(table["suite"].iloc[0]) if len(table) else ""
    return pd.DataFrame(
        {
            "key": made.keys,
            "arm": table["arm"].tolist(),
            "characters": (table["system"].str.len() + table["prompt"].str.len()).tolist(),
            "bytes": list(map(prices.prompt_bytes, table["system"], table["prompt"])),
            "cap": [
                entry.cap(suite, str(arm), int(cap)) if cap > 0 else SCORED_TOKENS
                for arm, cap in zip(table["arm"], table["max_tokens"], strict=True)
            ],
            "protocol_cap": table["max_tokens"].astype(int).tolist(),
        }
    )


def estimate(requests: pd.DataFrame, answers: pd.DataFrame, line: Line | None) -> Figures:
    """Estimate what requests will cost.

    Parameters
    ----------
    requests
        Rows of `sizes`.
    answers
        `ledger.attempts` of the same model and suite that were answered; empty to assume all lengths.
    line
        The price; None when it is not known, and then so are the dollars.
    """
    totals = dict.fromkeys(("input", "output", "low", "expected", "worst"), 0.0)
    seen = assumed = 0
    for arm, rows in requests.groupby("arm", sort=True):
        known = answers[(answers["arm"] == arm) & answers["output_tokens"].notna()]
        tokens, low_output = _lengths(rows, known)
        seen += len(known)
        assumed += 0 if len(known) else len(rows)
        totals["input"] += tokens["input_tokens"] * len(rows)
        totals["output"] += tokens["output_tokens"] * len(rows)
        if line is None:
            continue
        expected = _dollars(line, tokens) * len(rows)
        low = _dollars(line, tokens | {"output_tokens": low_output, "reasoning_tokens": 0.0}) * len(rows)
        worst = float(
            sum(prices.at_most(line, size, cap) for size, cap in zip(rows["bytes"], rows["cap"], strict=True))
        )
        totals["expected"] += expected
        totals["low"] += min(low, expected)
        totals["worst"] += max(worst, expected)
    return Figures(
        calls=len(requests),
        input_tokens=round(totals["input"]),
        output_tokens=round(totals["output"]),
        low=totals["low"] if line is not None else None,
        expected=totals["expected"] if line is not None else None,
        worst=totals["worst"] if line is not None else None,
        seen=seen,
        assumed=assumed,
    )


def _lengths(rows: pd.DataFrame, known: pd.DataFrame) -> tuple[dict[str, float], float]:
    """Return the expected tokens of a call of one arm, and the output tokens of a short answer."""
    assumed_input = float(rows["characters"].mean()) / CHARACTERS_A_TOKEN
    if len(known):
        means = known[list(COUNTS)].mean()
        unstated = pd.Series(dict.fromkeys(COUNTS, 0.0) | {"input_tokens": assumed_input})
        tokens = {str(name): float(mean) for name, mean in means.fillna(unstated).items()}
        return tokens, float(known["output_tokens"].quantile(0.25))
    tokens = dict.fromkeys(COUNTS, 0.0)
    tokens["input_tokens"] = assumed_input
    tokens["output_tokens"] = _share(rows, EXPECTED_SHARE)
    return tokens, _share(rows, LOW_SHARE)


def _share(rows: pd.DataFrame, share: float) -> float:
    """Return the mean of a share of the protocol's cap, no more than the cap that is sent."""
    return float((rows["protocol_cap"] * share).clip(upper=rows["cap"]).mean())


def _dollars(line: Line, tokens: dict[str, float]) -> float:
    cost = prices.dollars(line, *(tokens[name] for name in COUNTS))
    assert cost is not None
    return cost


def basis(entry: ModelEntry, figures: Figures, line: Line | None) -> list[str]:
    """Return in words what an estimate rests on."""
    said: list[str] = []
    if line is None:
        key = f"price {entry.price!r} has no line that holds today" if entry.price else "no `price` is named"
        said.append(f"the price is not known ({key}); dollars are not known either")
    else:
        said.append(f"price {line.price} of {line.valid_from}, read on {line.read_on}")
    if figures.seen:
        said.append(f"lengths from {figures.seen:,} answers in the store")
    if figures.assumed:
        said.append(
            f"{figures.assumed:,} answers assumed a quarter of the protocol's cap long, prompts four characters a "
            "token"
        )
        if entry.thinking != "off":
            said.append("what the model reasons comes on top of the expected figure: make a smoke run first")
    return said


def as_row(model: str, suite: str, stored: int | None, figures: Figures) -> dict[str, Any]:
    """Return an estimate as a row of the printed table."""
    return {
        "model": model,
        "suite": suite,
        "calls": figures.calls + (stored or 0),
        "stored": stored,
        "to ask": figures.calls,
        "tokens in": figures.input_tokens,
        "tokens out": figures.output_tokens,
        "low": figures.low,
        "expected": figures.expected,
        "worst": figures.worst,
    }
