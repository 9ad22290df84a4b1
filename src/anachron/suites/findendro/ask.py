"""Requests: four prompts a fact, each sent alone, and one request for the model's own cutoff.

Requests do not depend on the model: a row says which tiers ask it. Source: FinDendro §3.2, §3.4, §4.1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from anachron.errors import ContractError
from anachron.suites.asking import Request, known_arm, table
from anachron.suites.findendro.layout import layout
from anachron.suites.findendro.prompts import prompt, shown_date
from anachron.suites.findendro.protocol import ALL_ARMS, TIERS, Protocol
from anachron.suites.findendro.protocol_parts import OUTCOMES, PROMPTS


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    """Return arm and item of the requests to read before a run.

    One policy fact far back and one of the last year in all four prompts, the macro and company facts of the
    latter month's sample in the prompt with claims, and the cutoff request. Facts that are not at hand are not
    asked.
    """
    early, late = protocol.months[len(protocol.months) // 3], protocol.months[-12]
    asked: list[tuple[str, str]] = [
        (arm, protocol.item(month, protocol.policy.id)) for month in (early, late) for arm in PROMPTS
    ]
    others = [name for name in protocol.sample_of(late) if name != protocol.policy.id]
    asked += [("recall", protocol.item(late, name)) for name in others[:2] + others[-1:]]
    return [*asked, ("cutoff", protocol.cutoff_item)]


def build(protocol: Protocol, facts: pd.DataFrame, arm: str, items: Sequence[str]) -> pd.DataFrame:
    """Return the requests of one arm.

    Parameters
    ----------
    protocol
        The protocol.
    facts
        A frame that fulfils `items.Contract` and holds every item.
    arm
        value, recall, predict, dated or cutoff.
    items
        Items, in any order; the cutoff request's item is asked in arm cutoff alone, all others in the rest.

    Returns
    -------
    DataFrame
        Fulfils `frames.Requests`, sorted by item.

    Raises
    ------
    ContractError
        An item is not among the facts or cannot be asked; real and synthetic facts stand together; or a prompt
        would hold a candidate outside its options.
    """
    wanted = sorted(set(items))
    rule = protocol.arms[known_arm(arm, ALL_ARMS)]
    refuse_mixture(facts)
    system = protocol.task.system
    rows: list[Request] = []
    if arm == "cutoff":
        if protocol.cutoff_item in wanted:
            rows.append((protocol.cutoff_item, 1, system, protocol.task.cutoff.strip(), None, TIERS))
    else:
        known = {row["item"]: row for row in facts.to_dict("records")}
        for item in wanted:
            if item == protocol.cutoff_item:
                continue
            fact = known.get(item)
            if fact is None or isinstance(fact["missing"], str):
                reason = "not among the facts" if fact is None else fact["missing"]
                raise ContractError(
                    f"item {item}, arm {arm}: cannot be asked ({reason}); build the facts again"
                )
            candidates = json.loads(fact["candidates"])
            options = layout(protocol.seed, item, arm, len(candidates))
            text = prompt(protocol, arm, fact["month"], fact["name"], candidates, options)
            dated = shown_date(fact["month"]) if arm == "dated" else None
            rows.append((item, 1, system, text, dated, protocol.tiers(item)))
    return table(protocol.suite, arm, rule.temperature, rule.max_tokens, rows)


def refuse_mixture(facts: pd.DataFrame) -> None:
    """Raise `ContractError` when real and synthetic facts stand in one table."""
    kinds = sorted(set(facts["vintage_kind"].dropna()))
    if len(kinds) > 1:
        raise ContractError(
            f"the facts hold {' and '.join(kinds)} values; a question file holds one kind: build the facts of each "
            "protocol in a folder of its own"
        )


def candidate_count(protocol: Protocol, item: str) -> int:
    """Return how many candidates an item of a fact has."""
    return len(OUTCOMES) if item[8:] == protocol.policy.id else 4
