"""Planted respondents: what they recall and what they say is a parameter, so that what is measured can be checked.

A respondent's value of a series in a month is drawn once, whatever the prompt: the truth with normal error, the true
sign with the mean size, the mean, or an invention. Rank and signal rest on these values. All chance comes from
SHAKE-256 over (seed, what is drawn). Source: the suite's specification, "Metrics"; the planted-respondent checks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from anachron.blocks import in_words
from anachron.suites.numleak import naming
from anachron.suites.numleak.planted_parameters import Parameters, Recall
from anachron.suites.numleak.protocol import Protocol

__all__ = ["Parameters", "Recall", "respond", "truth"]

Memory = Mapping[str, float | None]
"""Per item its true value; None for invented factors, pairs and questions."""

JUDGES = "judge-"
"""Begins the arms under which a judge is asked."""
REFUSAL = "I cannot verify that figure."
NORMAL = NormalDist()


def uniform(*what: object) -> float:
    """Return a number in (0, 1) that depends on nothing but what it is drawn for."""
    text = "\x1f".join(map(str, what)).encode()
    return (int.from_bytes(hashlib.shake_256(text).digest(7), "big") + 0.5) / 2**56


def normal(*what: object) -> float:
    """Return a standard normal number; see `uniform`."""
    return NORMAL.inv_cdf(uniform(*what))


def recall_of(who: Parameters, series: str) -> Recall:
    """Return what a respondent knows of a series."""
    return who.series.get(series, who.others)


def error_of(recall: Recall, month: str) -> float:
    """Return the standard deviation of the error in a month, in the series' unit."""
    known = [start for start in sorted(recall.error_bp) if start <= month]
    return recall.error_bp[known[-1]] / 100 if known else 0.0


def value(who: Parameters, series: str, month: str, true: float | None) -> float:
    """Return the respondent's value of a series in a month, before rounding."""
    recall = recall_of(who, series)
    chance = normal(who.seed, "value", series, month)
    if true is None or recall.knows == "nothing":
        return recall.mean + recall.size * chance
    if recall.knows == "sign":
        return math.copysign(recall.size, true)
    if recall.knows == "mean":
        return recall.mean
    return true + error_of(recall, month) * chance


def respond(
    request: Mapping[str, Any], parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory
) -> Any:
    """Answer one request as a provider's model would: text, a finish reason and nominal token counts.

    Parameters
    ----------
    request
        Neutral request; arm, item and rep are looked at, the wording is not.
    parameters
        The respondent, or its mapping from the registry.
    protocol
        The protocol the request was made from.
    memory
        What `items.memory` gives.
    """
    from anachron.llm.providers.planted import nominal

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    arm, item, rep = str(request["arm"]), str(request["item"]), int(request.get("rep") or 0)
    if arm.startswith(JUDGES):
        return nominal(request, str(0 if REFUSAL in str(request["prompt"]) else who.grade), "stop")
    if arm == naming.CANDIDATES:
        return nominal(request, str(request["prompt"]), "stop")._replace(
            logprobs=likely(who, str(request["prompt"]), naming.month_of(item), memory)
        )
    said, finish = _answer(who, protocol, arm, item, rep, memory)
    reply = nominal(request, said, finish)
    if arm == naming.ENTROPY and said != REFUSAL:
        reply = reply._replace(logprobs=first_tokens(knows(who, item, memory), who))
    return reply


def knows(who: Parameters, item: str, memory: Memory) -> bool:
    """Whether a respondent has a value to recite for an item."""
    return memory.get(item) is not None and recall_of(who, naming.series_of(item)).knows == "value"


def first_tokens(known: bool, who: Parameters) -> str:
    """Return log-probabilities of two tokens, each with four others that share the rest evenly."""
    peak = who.peak if known else who.diffuse
    shares = [peak, *[(1 - peak) / 4] * 4]
    top = [[f"token {place}", math.log(max(share, 1e-12))] for place, share in enumerate(shares)]
    return json.dumps([{"token": "token 0", "logprob": top[0][1], "top": top}] * 2)


def likely(who: Parameters, prompt: str, month: str, memory: Memory) -> str:
    """Return a prompt's log-probabilities in two tokens: the last word's is minus its distance to what is known."""
    word = prompt.split()[-1]
    own = value(who, naming.MARKET, month, memory.get(naming.item(month, naming.MARKET)))
    odds = -abs(float(word) - own)
    steps = [(prompt[: -len(word)], -1.0), (word, odds)]
    return json.dumps([{"token": token, "logprob": odd, "top": []} for token, odd in steps])


def _answer(
    who: Parameters, protocol: Protocol, arm: str, item: str, rep: int, memory: Memory
) -> tuple[str, str]:
    series, month, pair = naming.series_of(item), naming.month_of(item), naming.pair_of(item)
    if arm.startswith(naming.UTILITY):
        if uniform(who.seed, "useful", arm, item) >= who.useful:
            return REFUSAL, "stop"
        return "In general terms: it depends on the period and on how it is measured.", "stop"
    if pair is not None:
        return in_words(_pick(who, series, pair, memory)), "stop"
    if series == naming.SIGNAL:
        return f"{signal(who, protocol, arm, month, memory):+.2f}", "stop"
    if arm.startswith(naming.DEFENCE):
        obeyed = who.obeys.get(arm.removeprefix(naming.DEFENCE), 0.0)
        if uniform(who.seed, "obeys", arm, item, rep) < obeyed:
            return REFUSAL, "stop"
    true = memory.get(item)
    if true is None and uniform(who.seed, "fabricates", item) >= who.fabrication:
        return REFUSAL, "stop"
    if who.cutoff is not None and month > who.cutoff:
        return REFUSAL, "stop"
    form = uniform(who.seed, "form", arm, item, rep)
    if true is not None and form < who.refusal:
        return REFUSAL, "stop"
    if true is not None and form < who.refusal + who.truncation:
        return "Let me go through what happened in that month. Shares began the month at", "length"
    decimals = next((entry.decimals for entry in protocol.series if entry.id == series), 2)
    said = f"{value(who, series, month, true):+.{decimals}f}"
    if arm in (naming.REASON, naming.DESCRIBE):
        return f"Some figures come close, such as +1.00% and -1.00%.\n\n{said}", "stop"
    return said, "stop"


def _pick(who: Parameters, series: str, pair: tuple[str, str], memory: Memory) -> str:
    if who.ranks == "coin":
        return pair[uniform(who.seed, "rank", *pair) < 0.5]
    values = [value(who, series, month, memory.get(naming.item(month, series))) for month in pair]
    return pair[values[1] > values[0]]


def signal(who: Parameters, protocol: Protocol, arm: str, month: str, memory: Memory) -> float:
    """Return the respondent's mood about a month: what its weights give, between -1 and 1."""
    if arm == naming.SIGNAL_SHIFTED:
        from anachron.blocks import from_ordinal, ordinal

        month = from_ordinal(ordinal(month) + protocol.shift_months)
    true = memory.get(naming.item(month, naming.MARKET))
    own = value(who, naming.MARKET, month, true)
    noise = who.signal_noise * normal(who.seed, "signal", month)
    mood = who.signal_truth * (true or 0.0) + who.signal_recall * own + noise
    return max(-1.0, min(1.0, mood))


def truth(
    parameters: Parameters | Mapping[str, Any], protocol: Protocol, memory: Memory, **options: Any
) -> dict[str, float | str]:
    """Return what the estimators should find; see `planted_truth.truth`."""
    from anachron.suites.numleak.planted_truth import truth as expected

    who = parameters if isinstance(parameters, Parameters) else Parameters.model_validate(dict(parameters))
    return expected(who, protocol, memory, str(options.get("tier", "full")))
