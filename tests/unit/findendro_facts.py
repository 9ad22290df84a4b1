"""Complete, generated facts for tests of the suite `findendro`: every series, every company, every month."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from anachron import frames
from anachron.blocks import months as months_between
from anachron.llm.providers import outcome
from anachron.suites import load_protocol
from anachron.suites.findendro import ask, items, planted
from anachron.suites.findendro.chance import uniforms
from anachron.suites.findendro.facts import Facts, Value, months_needed
from anachron.suites.findendro.protocol import Protocol
from anachron.suites.findendro.protocol_parts import PROMPTS

ROOT = Path(__file__).resolve().parents[2]
LEVELS = {
    "EXUSEU": 1.1,
    "EXUSUK": 1.5,
    "EXJPUS": 110.0,
    "MCOILWTICO": 55.0,
    "MORTGAGE30US": 5.5,
    "UNRATE": 5.5,
}


def protocol(**changes: object) -> Protocol:
    """Return the suite's protocol, with some sections replaced."""
    loaded: Protocol = load_protocol("findendro", ROOT / "config/protocols/findendro.yaml")
    return Protocol.model_validate(loaded.model_dump(mode="json") | changes) if changes else loaded


@lru_cache(maxsize=4)
def sample() -> pd.DataFrame:
    """Return the whole sample of the suite's own protocol on complete generated facts."""
    return items.assemble(protocol(), complete(protocol()), protocol().months)


def transcripts(
    chosen: Protocol,
    known: pd.DataFrame,
    parameters: Mapping[str, Any],
    arms: Sequence[str] = (*PROMPTS, "cutoff"),
) -> pd.DataFrame:
    """Return what collecting would seal of a planted respondent, without a store."""
    who, memory = planted.Parameters.model_validate(dict(parameters)), items.memory(known)
    rows = []
    for arm in arms:
        for request in ask.build(chosen, known, arm, items.names(known)).to_dict("records"):
            reply = planted.respond(request, who, chosen, memory)
            rows.append(
                dict.fromkeys(frames.Transcripts.to_schema().columns)
                | {column: request[column] for column in ("suite", "arm", "item", "rep")}
                | {"model": "planted", "duplicate": 0, "key": "k", "provenance": "planted"}
                | {"outcome": outcome(reply), "text": reply.text, "finish_reason": reply.finish_reason}
                | {"logprobs": reply.logprobs}
            )
    return frames.check(pd.DataFrame(rows), frames.Transcripts, "test")


def complete(chosen: Protocol, until: str | None = None) -> Facts:
    """Return a value for every month and name that the protocol needs, as if published on time."""
    wanted = months_needed(chosen, chosen.months if until is None else months_between("1999-01", until))
    values: dict[tuple[str, str], Value] = {}
    for month in wanted:
        t = int(month[:4]) + int(month[5:7]) / 12
        for entry in chosen.series:
            noise = uniforms(1, "noise", entry.id, month)[0] - 0.5
            if entry.change:
                level = 2.5 + 2 * math.sin(t / 3) + 0.5 * noise
            elif entry.id in LEVELS:
                level = LEVELS[entry.id] * (1 + 0.15 * math.sin(t) + 0.03 * noise)
            else:
                level = max(0.03, 2.2 + 2.2 * math.sin(t / 2) + 0.1 * noise)
            values[month, entry.id] = Value(f"{level:.3f}")
        for company in chosen.companies:
            noise = uniforms(1, "noise", company.ticker, month)[0] - 0.5
            values[month, company.ticker] = Value(f"{40 * 1.05 ** (t - 1999) * (1 + 0.2 * noise):.2f}")
        drawn = uniforms(1, "policy", month)[0]
        outcome = "raised" if drawn < 0.13 else "lowered" if drawn < 0.22 else "unchanged"
        values[month, chosen.policy.id] = Value(outcome)
    return Facts(chosen, values)
