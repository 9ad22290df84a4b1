"""The joint signature, the factor shuffle, selectivity, and the fabrication control.

Source: NumLeak §2, §3, appendices C and K; the suite's specification, "Metrics".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from anachron.estimates import Estimate, Gate, Interval, Unit
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import SCORED, Sheet, correlation, same_sign, within
from anachron.suites.numleak.values import nulls, shuffled, weighted_correlations

MEASURES = ("sign", "r", "mae", "w25")
UNITS: dict[str, Unit] = {"sign": "share", "r": "coefficient", "mae": "score", "w25": "share"}
MC_DRAWS, MC_REPEATS = 1000, 200


def signature(
    sheet: Sheet, truth: dict[str, float], protocol: Protocol, siblings: Sequence[Sheet] = ()
) -> list[Estimate]:
    """Return the nulls of a sheet, and whether all four measures clear all of them at once.

    A measure clears a null when its one-sided bootstrap bound over months lies beyond the null's score on the same
    months. The sign predictor knows every sign, so that sign is not held against it. `<sheet>.memorised` is 1 or 0;
    mark `j` says that a null explains a measure (`clears.…` which). What recites nothing is told apart further:
    `sign_only` is 1 where sign clears its nulls and neither r nor error clears the sign predictor; `flat` is 1 where
    the answers hardly vary (`spread`: their standard deviation over the truth's).
    """
    base = f"{sheet.name}"
    found = []
    predicted = nulls(sheet, truth)
    if sheet.n >= 2:
        predicted["shuffle"] = shuffled(sheet)
    factors = sibling_scores(sheet, siblings, truth, protocol)
    if factors:
        predicted["factors"] = factors
    for name, scores in sorted(predicted.items()):
        for measure, value in sorted(scores.items()):
            found.append(Estimate(f"{base}.null.{name}.{measure}", UNITS[measure], value, sheet.n))
    months = len(np.unique(sheet.months))
    least = protocol.gates.correlation
    few = Gate("n", months >= least, months, least, f"{months} months answered; at least {least} are needed")
    if months < least:
        found.append(Estimate(f"{base}.memorised", "count", None, months, gates=(few,)))
        return found
    beaten = beats(sheet, predicted, protocol)
    cleared = {
        measure: all(own[measure] for name, own in beaten.items() if (name, measure) != ("sign", "sign"))
        for measure in MEASURES
    }
    for measure in MEASURES:
        value = best_null(predicted, measure)
        found.append(Estimate(f"{base}.best_null.{measure}", UNITS[measure], value, sheet.n))
        found.append(Estimate(f"{base}.clears.{measure}", "count", int(cleared[measure]), months))
    whole = all(cleared.values())
    varies = float(sheet.truth.std())
    spread = float(sheet.said.std()) / varies if varies > 0 else math.nan
    flat = spread < protocol.signature.flat
    sign_only = cleared["sign"] and not flat and not (beaten["sign"]["r"] or beaten["sign"]["mae"])
    marks = () if whole else ("j",)
    return [
        *found,
        Estimate(f"{base}.spread", "coefficient", spread, sheet.n),
        Estimate(f"{base}.flat", "count", int(flat), months),
        Estimate(f"{base}.sign_only", "count", int(sign_only), months),
        Estimate(f"{base}.memorised", "count", int(whole), months, None, (few,), marks),
    ]


def best_null(predicted: Mapping[str, Mapping[str, float]], measure: str) -> float:
    """Return the best score that any null reaches; the sign predictor's signs do not count."""
    known = [own[measure] for name, own in predicted.items() if (name, measure) != ("sign", "sign")]
    return min(known) if measure == "mae" else max(known)


def beats(
    sheet: Sheet, predicted: Mapping[str, Mapping[str, float]], protocol: Protocol
) -> dict[str, dict[str, bool]]:
    """Return per null and measure whether the measure's bootstrap bound lies beyond the null's score."""
    places = np.unique(sheet.months, return_inverse=True)[1]
    count = int(places.max()) + 1
    chance = np.random.default_rng(protocol.bootstrap.seed)
    drawn = chance.integers(0, count, (protocol.bootstrap.draws, count))
    weights = np.zeros((protocol.bootstrap.draws, count))
    np.add.at(weights, (np.arange(len(weights))[:, None], drawn), 1.0)
    weights = weights[:, places]
    whole = weights.sum(axis=1)
    level = protocol.signature.level
    drawn_r = weighted_correlations(sheet.truth, sheet.said, weights)
    drawn_r = drawn_r[np.isfinite(drawn_r)]
    low = {
        "r": float(np.quantile(drawn_r, level)) if len(drawn_r) else -1.0,
        "w25": float(np.quantile(weights @ within(sheet.truth, sheet.said) / whole, level)),
        "sign": float(np.quantile(weights @ same_sign(sheet.truth, sheet.said) / whole, level)),
    }
    high = float(np.quantile(weights @ np.abs(sheet.said - sheet.truth) / whole, 1 - level))
    return {
        name: {
            **{measure: low[measure] > own[measure] for measure in low},
            "mae": high < own["mae"],
            # Of a series of one sign every predictor gets all signs right: nothing to clear.
            "sign": low["sign"] > own["sign"] or low["sign"] == own["sign"] == 1.0,
        }
        for name, own in predicted.items()
    }


def sibling_scores(
    sheet: Sheet, siblings: Sequence[Sheet], truth: dict[str, float], protocol: Protocol
) -> dict[str, float]:
    """Return what siblings' answers of the same months score against this series' truth: the exact factor shuffle.

    All pairs count alike. Empty where fewer months than a correlation needs have a sibling's answer.
    """
    asked = set(sheet.months.tolist())
    pairs = [
        (month, truth[item], said)
        for sibling in siblings
        for month, said in zip(sibling.months.tolist(), sibling.said.tolist(), strict=True)
        if month in asked and (item := naming.item(month, sheet.series)) in truth
    ]
    if len({month for month, _, _ in pairs}) < protocol.gates.correlation:
        return {}
    true, said = (np.array([pair[place] for pair in pairs], float) for place in (1, 2))
    r = correlation(true, said)
    return {
        "r": r if math.isfinite(r) else 0.0,
        "mae": float(np.abs(true - said).mean()),
        "w25": float(within(true, said).mean()),
        "sign": float(same_sign(true, said).mean()),
    }


def factor_shuffle(
    target: Sheet | None, siblings: Sequence[Sheet], truth: dict[str, float], protocol: Protocol
) -> list[Estimate]:
    """Return how often answers for siblings hit the target's value of the same month, exactly and by simulation.

    The months are those of the target's sheet. `ratio` is the target's own share over it; `ratio_mc` repeats a
    simulation that draws one sibling's answer a month, 1,000 times: its mean, with its spread as the interval.
    """
    if target is None or not siblings or target.n == 0:
        return []
    asked = set(target.months.tolist())
    hits: dict[str, list[bool]] = {}
    for sheet in siblings:
        for month, said in zip(sheet.months.tolist(), sheet.said.tolist(), strict=True):
            if month in asked and (item := naming.item(month, target.series)) in truth:
                hits.setdefault(month, []).append(bool(within(np.array([truth[item]]), np.array([said]))[0]))
    pairs = [hit for own in hits.values() for hit in own]
    own = float(within(target.truth, target.said).mean())
    if not pairs:
        return []
    expected = sum(pairs) / len(pairs)
    base = f"{target.name}.factor_shuffle"
    some = Gate(
        "z",
        expected > 0,
        expected,
        0.0,
        f"siblings hit in {sum(pairs)} of {len(pairs)} pairs; none gives no ratio",
    )
    mean, spread = simulate(hits, own, protocol.bootstrap.seed)
    interval = None
    if math.isfinite(spread):
        interval = Interval(
            mean - spread, mean + spread, "mean ± standard deviation of simulations", 0.68, MC_DRAWS
        )
    return [
        Estimate(base, "share", expected, len(pairs)),
        Estimate(f"{base}.hits", "count", sum(pairs), len(pairs)),
        Estimate(f"{base}.months", "count", len(hits), len(hits)),
        Estimate(
            f"{base}.ratio", "coefficient", own / expected if expected else None, len(pairs), None, (some,)
        ),
        Estimate(f"{base}.ratio_mc", "coefficient", mean, len(pairs), interval, (some,)),
    ]


def simulate(hits: Mapping[str, Sequence[bool]], own: float, seed: int) -> tuple[float, float]:
    """Return mean and standard deviation over repeats of the ratio that a simulation of 1,000 draws gives.

    Each draw takes as many (month, sibling) answers as there are months, all answers equally likely.
    """
    pairs = np.array([hit for month in sorted(hits) for hit in hits[month]], float)
    chance = np.random.default_rng(seed)
    drawn = chance.binomial(MC_DRAWS * len(hits), pairs.mean(), MC_REPEATS) / (MC_DRAWS * len(hits))
    if (drawn == 0).any():
        return math.nan, math.nan
    ratios = own / drawn
    return float(ratios.mean()), float(ratios.std(ddof=1))


def selectivity(target: Sheet | None, siblings: Sequence[Sheet], protocol: Protocol) -> list[Estimate]:
    """Return the best sibling's share in the band over the target's, on months that both answered."""
    if target is None or target.n == 0 or not siblings:
        return []
    best: tuple[float, str, int] | None = None
    for sheet in siblings:
        both = np.isin(sheet.months, target.months)
        if both.sum() >= protocol.gates.correlation:
            share = float(within(sheet.truth[both], sheet.said[both]).mean())
            best = (
                max(best, (share, sheet.series, int(both.sum())))
                if best
                else (share, sheet.series, int(both.sum()))
            )
    own = float(within(target.truth, target.said).mean())
    n = best[2] if best else 0
    gate = Gate("n", best is not None, n, protocol.gates.correlation, f"{n} months in common with a sibling")
    ratio = best[0] / own if best and own > 0 else None
    marks = ("e",) if ratio is not None and ratio >= 1 else ()
    return [Estimate(f"{target.name}.selectivity", "coefficient", ratio, n, None, (gate,), marks)]


def fabrication(
    answers: pd.DataFrame, truth: dict[str, float], protocol: Protocol, scoring: str
) -> list[Estimate]:
    """Return how often invented factors get a number, and how far these numbers follow the true market.

    A control whose answers follow the market is no control: mark `m` from a correlation of one half on.
    """
    part = answers[answers["arm"] == naming.FABRICATED]
    if part.empty:
        return []
    said = part[SCORED[scoring]]
    means = said.groupby(part["item"].str[:7]).mean().dropna()
    market = np.array(
        [truth.get(naming.item(month, naming.MARKET), math.nan) for month in means.index], float
    )
    known = np.isfinite(market)
    r = correlation(market[known], means.to_numpy(float)[known]) if known.sum() >= 2 else math.nan
    least = protocol.gates.correlation
    gate = Gate(
        "n",
        int(known.sum()) >= least,
        int(known.sum()),
        least,
        f"{int(known.sum())} months; at least {least} are needed",
    )
    marks = ("m",) if math.isfinite(r) and abs(r) >= 0.5 and gate.passed else ()
    n = int(known.sum())
    return [
        Estimate("fabricated.commit", "share", float(said.notna().mean()), len(part), marks=marks),
        Estimate("fabricated.market_r", "coefficient", r, n, None, (gate,), marks),
    ]
