"""Planted respondents: what they do is a parameter, so that what the estimators find can be held against it.

A respondent's bearish share is a sum of effects, which keeps every expectation exact (`planted_truth`):

    base + context (regime of the true date) + trigger (regime of the date it believes in)
         + revealed (arm R, crisis) + unfamiliar (a stated date after its cutoff) − skill (arm R) + departures

It believes the date that the prompt states, and none where the prompt states none. Departures are uniform,
one per true date and one per stated date; all chance comes from SHAKE-256 over (seed, what is drawn), so that
every machine and every Python gives the same answer.

Source: the suite's specification, "Arms" and "Parsing"; docs/reference/planted.md describes each parameter.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import lru_cache
from hashlib import shake_256
from typing import Any

from anachron.suites.hindsightbench.planted_parameters import FORM_KINDS, Parameters, Regime
from anachron.suites.hindsightbench.protocol import Protocol

__all__ = ["FORM_KINDS", "Parameters", "Regime", "bearish_share", "respond", "truth"]


def bearish_share(
    parameters: Parameters,
    protocol: Protocol,
    arm: str,
    item: str,
    stated: str | None,
    skill_claim: float,
    realised: int,
) -> float:
    """Return the bearish share of an answer, its departures left out.

    Parameters
    ----------
    parameters, protocol
        The respondent and its task.
    arm
        R, D, M, W or W72.
    item
        The true decision date.
    stated
        The date the prompt states, None where it states none.
    skill_claim
        The claim probability of the month, for `signal_skill`.
    realised
        +1, −1, or 0 where the realised direction is not known.
    """
    part = parameters.bearish
    share = part.base + part.context.at(regime(protocol, item))
    if stated is None:
        return share
    if not parameters.recall.familiar(stated):
        return share + part.unfamiliar
    told = regime(protocol, stated)
    share += part.trigger.at(told)
    if arm == "R":
        share += part.revealed_crisis if told == "crisis" else 0.0
        share -= part.signal_skill * realised * skill_claim
    return share


def regime(protocol: Protocol, date: str) -> Regime:
    """Return the regime of a date's month."""
    month = date[:7]
    if month in protocol.sets.crisis:
        return "crisis"
    return "calm" if int(month[:4]) in protocol.sets.calm_years else "ordinary"


def uniforms(count: int, *what: object) -> tuple[float, ...]:
    """Return `count` numbers in [0, 1) that belong to `what`, the same on every machine."""
    raw = shake_256("\x1f".join(map(str, what)).encode()).digest(8 * count)
    return tuple((word >> 11) * 2.0**-53 for word in struct.unpack(f"<{count}Q", raw))


def departure(half_width: float, *what: object) -> float:
    """Return a departure in ±`half_width`, uniform, that belongs to `what`."""
    return half_width * (2.0 * uniforms(1, *what)[0] - 1.0) if half_width else 0.0


def claim_probability(parameters: Parameters, month: str) -> float:
    """Return the probability that this very respondent claims an outcome in a month."""
    return _claim(parameters.seed, month, *parameters.recall.claim_at(month))


@lru_cache(maxsize=4096)
def _claim(seed: int, month: str, mean: float, width: float) -> float:
    """A month is asked twenty times over; its departure is drawn once."""
    return mean + departure(width, seed, "claim", month)


def respond(
    request: Mapping[str, Any],
    parameters: Parameters | Mapping[str, Any],
    protocol: Protocol,
    world: Mapping[str, int],
) -> Any:
    """Answer one request as a provider's model would: text, a finish reason and nominal token counts.

    Parameters
    ----------
    request
        Neutral request; arm, item, rep, prompt, system and shown_date are looked at. The wording is not: a
        reworded prompt gets the same answer.
    parameters
        The respondent, or its mapping from the registry.
    protocol
        The protocol the request was made from.
    world
        Realised direction (+1, −1) per decision date; a date that is missing is guessed.

    Returns
    -------
    anachron.llm.providers.Reply
        Tokens are nominal: one for every four characters.
    """
    from anachron.llm.providers import Reply
    from anachron.suites.hindsightbench import planted_text as text

    who = parameters if isinstance(parameters, Parameters) else _parameters(repr(parameters), parameters)
    arm, item = str(request["arm"]), str(request["item"])
    if arm == "LAP":
        said, finish = text.lap_answer(who, item, request["rep"], world.get(item, 0)), "stop"
    elif arm == "REC":
        said, finish = text.rec_answer(who, item, request["rep"]), "stop"
    else:
        said, finish = text.arm_answer(who, protocol, request, world.get(item, 0))
    asked = len(str(request.get("system", ""))) + len(str(request.get("prompt", "")))
    return Reply(text=said, finish_reason=finish, input_tokens=asked // 4, output_tokens=len(said) // 4)


_VALIDATED: dict[str, Parameters] = {}


def _parameters(key: str, mapping: Mapping[str, Any]) -> Parameters:
    """Validate a mapping once; a block asks a respondent thousands of times."""
    if key not in _VALIDATED:
        _VALIDATED[key] = Parameters.model_validate(dict(mapping))
    return _VALIDATED[key]


def truth(
    parameters: Parameters | Mapping[str, Any], protocol: Protocol, world: Mapping[str, int], **options: Any
) -> dict[str, float | str]:
    """Return what the estimators should find; see `planted_truth.truth`."""
    from anachron.suites.hindsightbench import planted_truth

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    return planted_truth.truth(who, protocol, world, **options)
