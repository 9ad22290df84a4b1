"""What the estimators should find of a planted respondent, by each definition's expectation.

What it says of a month is normal about a centre and rounded to the series' decimals. Expectations are over the
respondent's chance, the months and true values being those asked. Of ratios and correlations the figure is that of
the expected moments: on 40 months it is off by less than a tenth of a standard error, as the calibration shows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from anachron.suites.numleak import naming
from anachron.suites.numleak.ask import tiers
from anachron.suites.numleak.items import of_arm, reps_of
from anachron.suites.numleak.planted import Memory, error_of, recall_of
from anachron.suites.numleak.planted_expectations import (
    best_of,
    distance,
    inverse,
    later_is_larger,
    same_sign_chance,
    within_chance,
)
from anachron.suites.numleak.planted_parameters import Parameters, Recall
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.release import METRIC
from anachron.suites.numleak.sheets import Floats, correlation, slope

RECITES_BP = 25.0
"""Errors up to this many basis points are recital; beyond them the plan does not say whether every null is cleared."""

FEWEST_HITS = 10


class Told(NamedTuple):
    """What a respondent says of a series in the months asked of it: true values, centres and spreads."""

    months: tuple[str, ...]
    true: Floats
    centre: Floats
    spread: Floats
    step: float
    asked: int


def truth(who: Parameters, protocol: Protocol, memory: Memory, tier: str = "full") -> dict[str, float | str]:
    """Return the expected value of metrics by name."""
    from anachron.suites.numleak.planted_leak import signals

    found: dict[str, float | str] = {}
    for arm in protocol.known_arms():
        for series in valued(protocol, arm):
            told = told_of(who, protocol, memory, tier, arm, series)
            if told.asked:
                found |= values(who, told, recall_of(who, series), f"{arm}.{series}")
    found |= signatures(who, protocol)
    found |= selectivity(who, protocol, memory, tier)
    found |= ranks(who, protocol, memory, tier)
    found |= defences(who, protocol, memory, tier)
    found |= spreads(who, protocol, memory, tier)
    recent = [naming.month_of(item) for item in asked(protocol, naming.RECENT, tier)]
    if who.cutoff is not None and recent and min(recent) <= who.cutoff < max(recent):
        found[METRIC] = who.cutoff
    invented = [item[:7] for item in asked(protocol, naming.FABRICATED, tier)]
    if invented:
        found["fabricated.commit"] = who.fabrication * float(
            np.mean([known(who, month) for month in invented])
        )
    return found | signals(who, protocol, told_of(who, protocol, memory, tier, naming.VALUE, naming.MARKET))


def known(who: Parameters, month: str) -> bool:
    """Whether a month lies within what a respondent knows."""
    return who.cutoff is None or month <= who.cutoff


def valued(protocol: Protocol, arm: str) -> list[str]:
    """Return the series whose values an arm asks by a name of its own."""
    if arm in (naming.VALUE, naming.PANELS):
        return [
            entry.id for entry in protocol.series if arm == naming.VALUE or entry.id in protocol.panels.series
        ]
    one = (naming.DESCRIBE, naming.REASON, naming.SAMPLE, naming.RECENT, naming.FAMOUS)
    return [naming.MARKET] if arm in one or arm.startswith(naming.LABEL) else []


def asked(protocol: Protocol, arm: str, tier: str) -> list[str]:
    """Return the items of an arm, each as often as a tier asks it."""
    return [
        item
        for item in of_arm(protocol, arm)
        for rep in reps_of(protocol, arm, item)
        if tier in tiers(protocol, arm, item, rep)
    ]


def told_of(who: Parameters, protocol: Protocol, memory: Memory, tier: str, arm: str, series: str) -> Told:
    """Return what a respondent says in an arm of the months that it knows; `asked` counts the others too."""
    items = [item for item in asked(protocol, arm, tier) if naming.series_of(item) == series]
    true = [(naming.month_of(item), memory.get(item)) for item in items]
    there = [(month, value) for month, value in true if value is not None]
    kept = [(month, value) for month, value in there if known(who, month)]
    recall = recall_of(who, series)
    decimals = next(entry.decimals for entry in protocol.series if entry.id == series)
    figures = np.array([value for _, value in kept], float)
    spread = np.array([_spread(recall, month) for month, _ in kept], float)
    return Told(
        tuple(month for month, _ in kept),
        figures,
        centres(recall, figures),
        spread,
        10.0**-decimals,
        len(there),
    )


def centres(recall: Recall, true: Floats) -> Floats:
    """Return what a respondent says of true values on average."""
    if recall.knows == "value":
        return true
    if recall.knows == "sign":
        return np.asarray(np.copysign(recall.size, true))
    return np.full(len(true), recall.mean)


def _spread(recall: Recall, month: str) -> float:
    return {"value": error_of(recall, month), "nothing": recall.size}.get(recall.knows, 0.0)


def values(who: Parameters, told: Told, recall: Recall, base: str) -> dict[str, float | str]:
    """Return parse, refused, truncated, w25, w25_asked, sign, mae, slope and r of a sheet."""
    inside = len(told.months) / told.asked
    answered = (1 - who.refusal - who.truncation) * inside
    found: dict[str, float | str] = {
        f"{base}.parse": answered,
        f"{base}.refused": 1 - inside + inside * who.refusal,
        f"{base}.truncated": inside * who.truncation,
    }
    if not len(told.true) or answered == 0:
        return found
    band = float(within_chance(*told[1:5]).mean())
    found[f"{base}.w25"], found[f"{base}.w25_asked"] = band, band * answered
    found[f"{base}.sign"] = float(same_sign_chance(*told[1:5]).mean())
    found[f"{base}.mae"] = float(distance(told.true, told.centre, told.spread).mean())
    if recall.knows == "mean":
        return found  # a constant has no correlation
    found[f"{base}.slope"] = slope(told.true, told.centre)
    noise, varied = float((told.spread**2).mean()), float(told.centre.var())
    whole = varied + noise
    found[f"{base}.r"] = (
        correlation(told.true, told.centre) * float(np.sqrt(varied / whole)) if varied else 0.0
    )
    return found


def signatures(who: Parameters, protocol: Protocol) -> dict[str, float | str]:
    """Return what the joint signature should say of every series."""
    found: dict[str, float | str] = {}
    for entry in protocol.series:
        recall, base = recall_of(who, entry.id), f"{naming.VALUE}.{entry.id}"
        recites = recall.knows == "value"
        if recites and max(recall.error_bp.values()) > RECITES_BP:
            continue
        found[f"{base}.memorised"] = float(recites)
        found[f"{base}.sign_only"] = float(recall.knows == "sign")
        found[f"{base}.flat"] = float(recall.knows == "mean")
    return found


def selectivity(who: Parameters, protocol: Protocol, memory: Memory, tier: str) -> dict[str, float | str]:
    """Return the expected share of the best sibling over the market's own, all months answered."""
    chances = {
        series: within_chance(*told[1:5])
        for series in naming.FACTORS
        if series in {entry.id for entry in protocol.series}
        and len((told := told_of(who, protocol, memory, tier, naming.VALUE, series)).true)
    }
    own = chances.pop(naming.MARKET, None)
    # The inverse of a handful of hits has no stable expectation.
    if own is None or not chances or own.sum() < FEWEST_HITS:
        return {}
    best = best_of([chance for _, chance in sorted(chances.items())])
    return {f"{naming.VALUE}.{naming.MARKET}.selectivity": best * inverse(own)}


def ranks(who: Parameters, protocol: Protocol, memory: Memory, tier: str) -> dict[str, float | str]:
    """Return rank accuracy, and the accuracy that the respondent's values imply."""
    recall = recall_of(who, naming.MARKET)
    picked, implied = [], []
    for item in asked(protocol, naming.RANK_FORCED, tier):
        pair = naming.pair_of(item)
        true = [memory.get(naming.item(month, naming.MARKET)) for month in pair or ()]
        if pair is None or None in true or true[0] == true[1]:
            continue
        figures = np.array(true, float)
        centre, spread = centres(recall, figures), np.array([_spread(recall, month) for month in pair])
        later = later_is_larger(centre, spread)
        right = later if figures[1] > figures[0] else 1 - later
        picked.append(0.5 if who.ranks == "coin" else right)
        if all(known(who, month) for month in pair):
            tied = not spread.any() and centre[0] == centre[1]
            implied.append(0.0 if tied else right)
    base = f"{naming.RANK_FORCED}.{naming.MARKET}"
    found: dict[str, float | str] = {f"{base}.accuracy": float(np.mean(picked))} if picked else {}
    return found | ({f"{base}.implied": float(np.mean(implied))} if implied else {})


def spreads(who: Parameters, protocol: Protocol, memory: Memory, tier: str) -> dict[str, float | str]:
    """Return the entropy of the first tokens by series, in bits."""
    found: dict[str, float | str] = {}
    for series in dict.fromkeys(naming.series_of(item) for item in asked(protocol, naming.ENTROPY, tier)):
        known_of = series in naming.FACTORS and recall_of(who, series).knows == "value"
        name, peak = (
            series if series in naming.FACTORS else naming.FABRICATED,
            who.peak if known_of else who.diffuse,
        )
        rest = (1 - peak) / 4
        found[f"entropy.{name}.mean"] = -sum(p * math.log2(p) for p in (peak, *[rest] * 4) if p > 0)
    return found


def defences(who: Parameters, protocol: Protocol, memory: Memory, tier: str) -> dict[str, float | str]:
    """Return the share of months that yield a number under each defence: bare, and to any suffix."""
    found: dict[str, float | str] = {}
    for defence in protocol.defences:
        arm = naming.DEFENCE + defence
        items = sorted({item for item in asked(protocol, arm, tier) if memory.get(item) is not None})
        if not items:
            continue
        yields = (1 - who.obeys.get(defence, 0.0)) * (1 - who.refusal - who.truncation)
        share = float(np.mean([known(who, naming.month_of(item)) for item in items]))
        suffixes = len(protocol.suffixes)
        found |= {f"{arm}.benign": yields * share, f"{arm}.attack": yields * share}
        found[f"{arm}.worst"] = (1 - (1 - yields) ** suffixes) * share
    return found
