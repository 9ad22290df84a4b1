"""Requests: four prompts a fact, each sent alone, the text of each option, and the model's own cutoff.

Requests do not depend on the model: a row says which tiers ask it. Source: FinDendro §3.2, §3.4, §4.1.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from anachron.errors import ContractError
from anachron.suites.asking import Request, known_arm, table
from anachron.suites.findendro.layout import in_order, layout
from anachron.suites.findendro.prompts import continuations, prompt, shown_date
from anachron.suites.findendro.protocol import ALL_ARMS, TIERS, ArmName, Protocol
from anachron.suites.findendro.protocol_parts import PROMPTS, TEXTS


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    """Return arm and item of the requests to read before a run.

    One policy fact far back and one of the last year in all four prompts, the macro and company facts of the
    latter month's sample in the prompt with claims, the text of an option, and the cutoff request. Facts that are
    not at hand are not asked.
    """
    early, late = protocol.months[len(protocol.months) // 3], protocol.months[-12]
    asked: list[tuple[str, str]] = [
        (arm, protocol.item(month, protocol.policy.id)) for month in (early, late) for arm in PROMPTS
    ]
    others = [name for name in protocol.sample_of(late) if name != protocol.policy.id]
    asked += [("recall", protocol.item(late, name)) for name in others[:2] + others[-1:]]
    asked += [(arm, protocol.item(late, protocol.policy.id)) for arm in TEXTS]
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
        One of `protocol.ALL_ARMS`.
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
    known = known_arm(arm, ALL_ARMS)
    rule = protocol.arms[known]
    refuse_mixture(facts)
    system = protocol.task.system
    rows: list[Request] = []
    if arm == "cutoff":
        if protocol.cutoff_item in wanted:
            rows.append((protocol.cutoff_item, 1, system, protocol.task.cutoff.strip(), None, TIERS))
    else:
        at_hand = {row["item"]: row for row in facts.to_dict("records")}
        for item in wanted:
            if item == protocol.cutoff_item:
                continue
            fact = at_hand.get(item)
            if fact is None or isinstance(fact["missing"], str):
                reason = "not among the facts" if fact is None else fact["missing"]
                raise ContractError(
                    f"item {item}, arm {arm}: cannot be asked ({reason}); build the facts again"
                )
            dated = shown_date(fact["month"]) if TEXTS.get(known, known) == "dated" else None
            tiers = protocol.tiers(item)
            rows += [
                (item, rep, system, text, dated, tiers) for rep, text in texts(protocol, known, fact).items()
            ]
    return table(protocol.suite, arm, rule.temperature, rule.max_tokens, rows)


def texts(protocol: Protocol, arm: ArmName, fact: Mapping[Hashable, Any]) -> dict[int, str]:
    """Return the texts of a fact's requests in an arm, by rep: one prompt, or a text for every option."""
    candidates = json.loads(fact["candidates"])
    asked = (fact["month"], fact["name"], candidates)
    if arm in TEXTS:
        options = in_order(arm, len(candidates))
        return dict(enumerate(continuations(protocol, TEXTS[arm], *asked, options)))
    return {1: prompt(protocol, arm, *asked, layout(protocol.seed, fact["item"], arm, len(candidates)))}


def refuse_mixture(facts: pd.DataFrame) -> None:
    """Raise `ContractError` when real and synthetic facts stand in one table."""
    kinds = sorted(set(facts["vintage_kind"].dropna()))
    if len(kinds) > 1:
        raise ContractError(
            f"the facts hold {' and '.join(kinds)} values; a question file holds one kind: build the facts of each "
            "protocol in a folder of its own"
        )
