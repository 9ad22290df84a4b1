"""The ledger of a row: what the answers that it rests on cost, from their token counts and the price file.

It follows from sealed transcripts and the price file alone, so that recomputing gives the same bytes. Attempts
that failed or brought no answer are not in it; `anachron cost --actual` reads those from the stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anachron.config import ModelEntry
from anachron.llm import prices
from anachron.llm.prices import Line

TOKEN_KINDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def ledger(
    entry: ModelEntry, usages: Mapping[str, Mapping[str, Any]], price_lines: Sequence[Line] = ()
) -> dict[str, Any]:
    """Return calls, tokens and dollars of a model's suites, and in words what is not known of them.

    Parameters
    ----------
    entry
        The model's registry entry.
    usages
        Per suite, `usage` of its estimates document.
    price_lines
        The price file. Transcripts carry no day, so all calls are counted at the newest price of the model's key.

    Returns
    -------
    dict
        As `row_model.Ledger` describes it. A total that lacks a suite is null rather than too small, and so are
        dollars when a call carries no token counts.
    """
    gaps = []
    calls = silent = 0
    for suite, usage in usages.items():
        asked, unstated = usage.get("calls") or 0, usage.get("calls_without_usage") or 0
        calls, silent = calls + asked, silent + unstated
        if unstated:
            gaps.append(f"{suite}: {unstated:,} of {asked:,} calls carry no token counts")
    tokens: dict[str, int | None] = {}
    for kind in TOKEN_KINDS:
        amounts = [usage.get(kind) for usage in usages.values()]
        known = [int(amount) for amount in amounts if amount is not None]
        tokens[kind] = sum(known) if len(known) == len(amounts) else None
    found: dict[str, Any] = {"calls": calls, **tokens, "dollars": None}
    if entry.provider == "planted":
        found["dollars"] = 0.0
    elif all(usage.get("dollars") is not None for usage in usages.values()):
        found["dollars"] = float(sum(usage["dollars"] for usage in usages.values()))
    else:
        found |= _priced(entry, list(usages.values()), silent, price_lines, gaps)
    return {**found, "gaps": gaps}


def _priced(
    entry: ModelEntry,
    usages: Sequence[Mapping[str, Any]],
    silent: int,
    price_lines: Sequence[Line],
    gaps: list[str],
) -> dict[str, Any]:
    """Return the dollars of the suites and their price, adding to `gaps` what is not known."""
    history = prices.newest(price_lines, entry.price)
    if not history or not history[0].known:
        gaps.append("the price of these calls is not known here")
        return {}
    line = history[0]
    if len(history) > 1:
        gaps.append(
            f"price {line.price} has changed; all calls are counted at the one from {line.valid_from} on, "
            "and the store says what each did cost"
        )
    found: dict[str, Any] = {
        "price": {
            "key": line.price,
            "valid_from": line.valid_from,
            "input": line.input,
            "cached_input": line.cached_input,
            "output": line.output,
            "reasoning": line.reasoning,
            "sha256": prices.fingerprint(price_lines, entry.price),
        }
    }
    costs = [prices.dollars(line, *(usage.get(kind) for kind in TOKEN_KINDS)) for usage in usages]
    known = [cost for cost in costs if cost is not None]
    if line.free or (not silent and len(known) == len(costs)):
        found["dollars"] = float(sum(known))
    else:
        gaps.append(f"the calls that carry token counts cost ${sum(known):,.2f}; the rest is not known")
    return found
