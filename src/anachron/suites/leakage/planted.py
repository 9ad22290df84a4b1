"""Planted forecasters with known skill, recency and leakage, so that what the audit finds can be checked.

An honest forecast is the crowd's (one half where there is none), moved a share `skill` of the way to the outcome, with
noise in logits; the skill fades with the days after the last month it draws on, which is recency and no leakage.
Questions resolved up to `knows_until` are pulled a further share w(q) of the way to the answer: their leakage is
b0·w(2 − w), with the honest loss b0. All chance comes from SHAKE-256 over (seed, what is drawn). Source: Temporal
Leakage, Assumption 2.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from anachron.blocks import last_day
from anachron.suites.leakage.items import Memory
from anachron.suites.leakage.planted_parameters import Parameters
from anachron.suites.leakage.protocol import Protocol

__all__ = ["Parameters", "respond", "truth"]

NORMAL = NormalDist()
EDGE = 0.001
REFUSAL = "I cannot give a forecast for this question."


def uniform(*what: object) -> float:
    """Return a number in (0, 1) that depends on nothing but what it is drawn for."""
    text = "\x1f".join(map(str, what)).encode()
    return (int.from_bytes(hashlib.shake_256(text).digest(7), "big") + 0.5) / 2**56


def aim(who: Parameters, item: str, memory: Memory) -> float:
    """Return the logit of the honest forecast of a question, noise aside."""
    _, resolved_on, crowd, outcome = memory[item]
    skill = who.skill
    fresh = who.fresh_until or who.knows_until
    if who.recency_days is not None and fresh is not None:
        skill *= math.exp(-max(0, distance(fresh, resolved_on)) / who.recency_days)
    start = 0.5 if math.isnan(crowd) else crowd
    base = min(1 - EDGE, max(EDGE, start + skill * (outcome - start)))
    return math.log(base / (1 - base))


def honest(who: Parameters, item: str, memory: Memory, wording: int = 0) -> float:
    """Return the forecast that a respondent gives of a question without having read the answer."""
    logit = aim(who, item, memory) + who.noise * NORMAL.inv_cdf(uniform(who.seed, "noise", item))
    if wording:
        logit += who.wording_noise * NORMAL.inv_cdf(uniform(who.seed, "wording", item, wording))
    return 1 / (1 + math.exp(-logit))


def distance(month: str, resolved_on: str) -> int:
    """Return the days from the last day of a month to a resolution."""
    end = datetime.date.fromisoformat(last_day(month))
    return (datetime.date.fromisoformat(resolved_on) - end).days


def pull(who: Parameters, item: str, memory: Memory) -> float:
    """Return w(q): how far a respondent is pulled to the answer of a question; 0 for one it has not read."""
    source, resolved_on, _, _ = memory[item]
    if who.knows_until is None or resolved_on[:7] > who.knows_until:
        return 0.0
    return who.w_by_source.get(source, who.w)


def respond(
    request: Mapping[str, Any], parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory
) -> Any:
    """Answer one request as a provider's model would: text, a finish reason and nominal token counts.

    Parameters
    ----------
    request
        Neutral request; item and rep (the wording's place) are looked at, the text is not.
    parameters
        The respondent, or its mapping from the registry.
    protocol
        The protocol the request was made from.
    memory
        What `items.memory` gives.
    """
    from anachron.llm.providers.planted import nominal

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    item, wording = str(request["item"]), int(request.get("rep") or 0)
    if uniform(who.seed, "refuses", item, wording) < who.refusal:
        return nominal(request, REFUSAL, "stop")
    own, w = honest(who, item, memory, wording), pull(who, item, memory)
    said = f"{own + w * (memory[item][3] - own):.2f}"
    if uniform(who.seed, "prose", item, wording) < who.prose:
        said = f"The last figure was 2.5 %, and 3 of 10 such changes went that far.\n\nProbability: {said}"
    return nominal(request, said, "stop")


def truth(
    parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory, **options: Any
) -> dict[str, float | str]:
    """Return what is planted, by metric; see `planted_truth.planted`."""
    from anachron.suites.leakage.planted_truth import planted

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    return planted(who, protocol, memory)
