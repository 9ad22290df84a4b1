"""Power: what effect an audit would have found, so that a null says how much it excludes.

Semi-synthetic: whole clusters are drawn from the observed panel, whose own effect is taken out first (null-centred);
an effect of known size is put into the side before the cutoff; the estimator and its interval run on each such
panel as they do on the real one. Source: the paper, §D.7 and §E.7; the suite's specification, Estimators.

An effect added to every score before the cutoff moves a gap, and both ends of its percentile interval, by exactly
that much, draw for draw. One interval a panel therefore serves every effect: the effect is found when the interval's
low end at no effect lies above minus the effect. The minimum detectable effect is a quantile of these ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from anachron.stats.bootstrap import product
from anachron.stats.cluster import LEVEL, SEED, cluster_weights, codes, sums
from anachron.stats.gaps import Floats

EFFECTS = (0.02, 0.05, 0.09)
INJECTED = "injected before the cutoff into panels of drawn clusters whose own effect is taken out"


@dataclass(frozen=True)
class Power:
    """What a design would find.

    Attributes
    ----------
    mde
        Minimum detectable effect: found in `target` of the panels, in `unit`; None where no effect is.
    effects, detected, errors
        Effects injected, the share of panels in which each is found, and the Monte Carlo error of the share.
    false_positive
        The share that is "found" where nothing was injected (one-sided; 0.025 for a level of 0.95).
    """

    mde: float | None
    effects: tuple[float, ...]
    detected: tuple[float, ...]
    errors: tuple[float, ...]
    false_positive: float | None
    target: float
    unit: str
    replicates: int
    draws: int
    seed: int | None
    method: str


def of_gap(
    score: ArrayLike,
    before: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    effects: Iterable[float] = EFFECTS,
    replicates: int = 300,
    draws: int = 1000,
    seed: int = SEED,
    target: float = 0.8,
    level: float = LEVEL,
) -> Power:
    """Return the power of a gap of means, before minus after, with its clustered percentile interval.

    Parameters
    ----------
    score
        Shape (n,): a score for a naive gap; a paired difference of scores for a difference in differences.
        NaN drops out.
    before
        Shape (n,), bool.
    cluster
        Shape (n,): labels; whole clusters are drawn, over both sides at once. None: each question for itself.
    weight
        Shape (n,): weights of questions, as a standardised gap gives them; held fixed.
    effects
        Effects to inject, in units of the score.
    replicates, draws
        Panels, and draws of each panel's interval.
    """
    score, before = np.asarray(score, dtype=float), np.asarray(before, dtype=bool)
    known = np.isfinite(score)
    heft = np.ones(len(score)) if weight is None else np.asarray(weight, dtype=float)
    labels = np.arange(len(score)) if cluster is None else codes(cluster)
    score, heft = np.where(known, score, 0.0), np.where(known, heft, 0.0)
    parts = [part for side in (before, ~before) for part in (side * heft * score, side * heft)]
    totals = sums(np.stack(parts, axis=1), labels, int(labels.max(initial=-1)) + 1)
    totals = totals[totals[:, 1::2].sum(axis=1) > 0]
    whole = totals.sum(axis=0)
    if len(totals) < 2 or whole[1] == 0 or whole[3] == 0:
        return _nothing(effects, target, "score", replicates, draws, seed, "a side has no question")
    totals[:, 0] -= (whole[0] / whole[1] - whole[2] / whole[3]) * totals[:, 1]
    number = len(totals)
    taken = np.random.default_rng(seed).integers(0, number, (replicates, number))
    # A cluster that a panel holds twice is two clusters to the analyst who draws from it. Panels are exchangeable in
    # the order of their clusters, so that one matrix of draws serves them all.
    inner = product(
        cluster_weights(number, draws, seed + 1), totals[taken].transpose(1, 0, 2).reshape(number, -1)
    )
    low = _low_ends(inner.reshape(draws, replicates, 4), level)
    return _of_ends(
        low,
        effects,
        target,
        level,
        "score",
        draws,
        seed,
        INJECTED,
    )


def of_jump(
    days: ArrayLike,
    score: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    half_width: float | None = None,
    effects: Iterable[float] = EFFECTS,
    replicates: int = 100,
    seed: int = SEED,
    target: float = 0.8,
    level: float = LEVEL,
) -> Power:
    """Return the power of `rd.jump`: the whole estimator, bandwidth included, on each panel.

    A constant added before the cutoff moves the local line's end, its bias-corrected twin and the interval alike,
    and leaves bandwidths as they are. About 0.05 CPU seconds a panel.
    """
    from anachron.stats import rd

    days, score = np.asarray(days, dtype=float), np.asarray(score, dtype=float)
    labels = np.arange(len(days)) if cluster is None else codes(cluster)
    observed = rd.jump(days, score, cluster, half_width=half_width, level=level)
    if observed.corrected is None:
        return _nothing(effects, target, "score", replicates, 0, seed, observed.gates[0].text)
    centred = score - np.where(days < 0, observed.corrected, 0.0)
    number = int(labels.max()) + 1
    members = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[members], np.arange(number + 1))
    generator = np.random.default_rng(seed)
    low = np.full(replicates, np.nan)
    for place in range(replicates):
        taken = generator.integers(0, number, number)
        rows = np.concatenate([members[starts[one] : starts[one + 1]] for one in taken])
        new = np.repeat(np.arange(number), starts[taken + 1] - starts[taken])
        found = rd.jump(
            days[rows], centred[rows], None if cluster is None else new, half_width=half_width, level=level
        )
        low[place] = np.nan if found.low is None else found.low
    return _of_ends(
        low,
        effects,
        target,
        level,
        "score",
        0,
        seed,
        INJECTED,
    )


def of_draws(
    null: Floats,
    injected: Callable[[float], Floats],
    effects: Iterable[float],
    *,
    unit: str,
    seed: int | None,
    target: float = 0.8,
    level: float = LEVEL,
) -> Power:
    """Return the power of a statistic that an effect does not merely shift, from its bootstrap draws.

    Parameters
    ----------
    null
        Shape (draws,): draws of the statistic without injection; centred here, they give the critical value.
    injected
        Gives the draws of the statistic, by the same resampling, with an effect of the given size injected; the
        draws keep the panel's own deviation from zero, which is taken out likewise.
    effects
        Rising sizes; the minimum detectable effect is interpolated between them.
    """
    sizes = tuple(float(effect) for effect in effects)
    defined = null[np.isfinite(null)]
    if len(defined) < 2:
        return _nothing(sizes, target, unit, 0, len(null), seed, "no draw of the statistic is defined")
    own = float(defined.mean())
    critical = float(np.percentile(defined - own, 50 * (1 + level)))
    shares = []
    for size in sizes:
        drawn = injected(size)
        drawn = drawn[np.isfinite(drawn)] - own
        shares.append(float(np.mean(drawn > critical)) if len(drawn) else math.nan)
    return Power(
        _interpolated((0.0, *sizes), ((1 - level) / 2, *shares), target),
        sizes,
        tuple(shares),
        tuple(_share_error(share, len(defined)) for share in shares),
        float(np.mean(defined - own > critical)),
        target,
        unit,
        0,
        len(null),
        seed,
        "injected into the observed panel, clusters drawn, critical value from the null-centred draws",
    )


def of_error(error: float, *, target: float = 0.8, level: float = LEVEL, unit: str = "score") -> Power:
    """Return the power that a normal estimate with this standard error has: (z + z) · error."""
    normal = NormalDist()
    critical = normal.inv_cdf((1 + level) / 2) * error
    mde = critical + normal.inv_cdf(target) * error
    detected = tuple(1 - normal.cdf((critical - effect) / error) if error > 0 else 1.0 for effect in EFFECTS)
    none, method = (0.0,) * len(EFFECTS), "normal formula from the standard error"
    return Power(
        mde,
        EFFECTS,
        detected,
        none,
        (1 - level) / 2,
        target,
        unit,
        0,
        0,
        None,
        method,
    )


def words(power: Power, unit: str = "Brier points") -> str:
    """Return the sentence that stands beside a null."""
    if power.mde is None:
        return f"What this design could have found is not known: {power.method}."
    return (
        f"An effect of {power.mde:.3f} {unit} or more would have been found in {power.target:.0%} of such panels; "
        "smaller ones are not excluded."
    )


def _low_ends(drawn: Floats, level: float) -> Floats:
    """Return the low end of each panel's percentile interval, NaN where fewer than half its draws are defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = drawn[..., 0] / drawn[..., 1] - drawn[..., 2] / drawn[..., 3]
    undefined = np.isnan(gaps).mean(axis=0) > 0.5
    gaps[:, undefined] = 0.0
    return np.asarray(np.where(undefined, np.nan, np.nanpercentile(gaps, 50 * (1 - level), axis=0)))


def _of_ends(
    low: Floats,
    effects: Iterable[float],
    target: float,
    level: float,
    unit: str,
    draws: int,
    seed: int,
    method: str,
) -> Power:
    sizes = tuple(float(effect) for effect in effects)
    # A panel whose interval is undefined finds nothing, whatever the effect.
    needed = np.where(np.isfinite(low), -low, np.inf)
    mde = float(np.quantile(needed, target, method="inverted_cdf"))
    shares = tuple(float(np.mean(needed < size)) for size in sizes)
    errors = tuple(_share_error(share, len(low)) for share in shares)
    finite = mde if math.isfinite(mde) else None
    return Power(
        finite, sizes, shares, errors, float(np.mean(needed < 0)), target, unit, len(low), draws, seed, method
    )


def _nothing(
    effects: Iterable[float],
    target: float,
    unit: str,
    replicates: int,
    draws: int,
    seed: int | None,
    reason: str,
) -> Power:
    sizes = tuple(float(effect) for effect in effects)
    none = (math.nan,) * len(sizes)
    return Power(None, sizes, none, none, None, target, unit, replicates, draws, seed, reason)


def _share_error(share: float, number: int) -> float:
    return math.sqrt(share * (1 - share) / number) if number else math.nan


def _interpolated(sizes: tuple[float, ...], shares: tuple[float, ...], target: float) -> float | None:
    """Return where the power first reaches the target, on a straight line between neighbouring sizes."""
    for place in range(1, len(sizes)):
        if shares[place] >= target:
            before, after = shares[place - 1], shares[place]
            step = (target - before) / (after - before) if after > before else 1.0
            return sizes[place - 1] + step * (sizes[place] - sizes[place - 1])
    return None
