"""Requests: each question in its original wording, and in the other wordings of the protocol.

Requests do not depend on the model. Wordings are the protocol's own: they vary framing and keep the event, and cannot
tell the outcome, since they do not know it. Source: Temporal Leakage, appendices C.3 and D.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from anachron.blocks import in_words
from anachron.errors import ContractError
from anachron.suites.asking import Request, known_arm, table
from anachron.suites.leakage.protocol import ARMS, FORECAST, Protocol
from anachron.suites.protocols import TIERS, Tier


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    """Return no fixed requests to read before a run: which questions there are, the panel alone knows."""
    return []


def build(protocol: Protocol, known: pd.DataFrame, arm: str, items: Sequence[str]) -> pd.DataFrame:
    """Return the requests of one arm.

    Parameters
    ----------
    protocol
        The protocol.
    known
        A frame that fulfils `items.Contract` and holds every item.
    arm
        ``forecast``, the original wording, or ``paraphrase``, the others; rep is the wording's place.
    items
        Items, in any order.

    Returns
    -------
    DataFrame
        Fulfils `frames.Requests`, sorted by item and rep.
    """
    chosen = known_arm(arm, ARMS)
    by_item: dict[str, Any] = {str(row.item): row for row in known.itertuples(index=False)}
    wordings = range(1) if chosen == FORECAST else range(1, len(protocol.task.wordings))
    rows: list[Request] = []
    for item in sorted(items):
        if item not in by_item:
            raise ContractError(f"item {item}, arm {arm}: is not among the questions; build them again")
        question = by_item[item]
        for wording in wordings:
            prompt = text(protocol, question, wording)
            rows.append(
                (item, wording, protocol.task.system, prompt, question.asked_on, tiers(protocol, item))
            )
    rule = protocol.arms[chosen]
    return table(protocol.suite, chosen, rule.temperature, rule.max_tokens, rows)


def text(protocol: Protocol, question: Any, wording: int) -> str:
    """Return the prompt of a question, a row of `items.Contract`, in one wording."""
    held = {name: getattr(question, name) for name in ("source", "reference", "threshold", "text")}
    if held["text"]:
        asked = protocol.task.own_wordings[wording].format(question=held["text"])
    else:
        entry = protocol.entry(held["source"])
        asked = protocol.task.wordings[wording].format(
            label=entry.label, unit=entry.unit, month=in_words(held["reference"]), threshold=held["threshold"]
        )
    dates = {name: getattr(question, name) for name in ("asked_on", "resolved_on")}
    return f"{asked}\n\n{protocol.task.answer.format(**dates)}"


def tiers(protocol: Protocol, item: str) -> list[Tier]:
    """Return the tiers that ask a question; `reduced` asks the same share of them whatever months there are."""
    from anachron.files import sha256_text

    few = int(sha256_text(item)[:8], 16) / 16**8 < protocol.reduced_share
    return [tier for tier in TIERS if tier != "reduced" or few]
