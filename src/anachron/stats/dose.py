"""Dose response: does the measured inflation rise with how often the answers were in the training data.

A contrast per dose (contaminated minus clean model) is centred at dose 0, where both models saw the same, so that
a difference between two training runs does not count. The trend test is exact: all orders of the non-zero doses.
Source: the paper, §D.3 and §D.4; the suite's specification, Estimators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.bootstrap import product
from anachron.stats.cluster import DRAWS, LEVEL, SEED, cluster_weights, codes, few_clusters
from anachron.stats.gaps import Floats
from anachron.stats.result import Gate

# All 362,880 orders of nine doses take a tenth of a second.
EXACT_UP_TO = 9


class Trend(NamedTuple):
    """One-sided exact Spearman test: rank correlation, p, and the number of orders counted."""

    rho: float
    p: float
    arrangements: int


@dataclass(frozen=True)
class Response:
    """The dose response, in units of the contrast.

    Attributes
    ----------
    doses
        Non-zero doses, rising.
    raw, centred
        Contrast per dose, and the same minus the contrast at dose 0.
    low, high
        Interval of `centred`; NaN where no errors were given.
    at_zero
        Contrast at dose 0.
    rho, p, arrangements
        Exact one-sided Spearman test over `doses`.
    """

    doses: tuple[float, ...]
    raw: tuple[float, ...]
    centred: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_zero: float
    rho: float
    p: float
    arrangements: int
    method: str
    draws: int
    seed: int | None
    gates: tuple[Gate, ...]


def spearman_exact(dose: ArrayLike, value: ArrayLike) -> Trend:
    """Return Spearman's rank correlation and the share of all orders of `value` that give as much or more.

    Ties have mean ranks. Five rising values give p = 1/120.

    Raises
    ------
    ValueError
        With fewer than two doses, or more than nine: the orders are counted, not sampled.
    """
    x, y = _ranks(np.asarray(dose, dtype=float)), _ranks(np.asarray(value, dtype=float))
    if not 2 <= len(x) <= EXACT_UP_TO:
        raise ValueError(f"the exact test takes 2 to {EXACT_UP_TO} doses, not {len(x)}")
    x, y = x - x.mean(), y - y.mean()
    orders = np.array(list(permutations(range(len(x)))))
    scale = math.sqrt(float(x @ x) * float(y @ y))
    if scale == 0:
        return Trend(math.nan, 1.0, len(orders))
    observed = float(x @ y)
    # Sums of half ranks are exact; the margin is for the subtraction of the mean.
    reached = y[orders] @ x >= observed - 1e-9
    return Trend(observed / scale, float(reached.mean()), len(orders))


def response(
    dose: ArrayLike,
    contrast: ArrayLike,
    group: ArrayLike | None = None,
    error: ArrayLike | None = None,
    *,
    level: float = LEVEL,
) -> Response:
    """Return the dose response of published contrasts.

    Parameters
    ----------
    dose, contrast
        Shape (n,): one row per dose and group, dose 0 among them.
    group
        Shape (n,): tasks; contrasts are averaged over groups without weights. Every group has every dose.
    error
        Shape (n,): standard errors of the contrasts, independent of one another; None gives no interval.

    Raises
    ------
    ValueError
        When dose 0 is missing, or a group lacks a dose.
    """
    dose, contrast = np.asarray(dose, dtype=float), np.asarray(contrast, dtype=float)
    groups = np.zeros(len(dose), dtype=int) if group is None else np.unique(group, return_inverse=True)[1]
    levels, places = np.unique(dose, return_inverse=True)
    table = np.full((len(levels), int(groups.max()) + 1), np.nan)
    table[places, groups] = contrast
    if levels[0] != 0 or np.isnan(table).any() or table.size != len(dose):
        raise ValueError("each group needs each dose once, dose 0 (the placebo) among them")
    means = table.mean(axis=1)
    half = np.full(len(levels) - 1, np.nan)
    if error is not None:
        errors = np.full(table.shape, np.nan)
        errors[places, groups] = np.asarray(error, dtype=float)
        squares = np.sum(errors**2, axis=1) / table.shape[1] ** 2
        half = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(squares[1:] + squares[0])
    centred = means[1:] - means[0]
    method = "mean over groups, centred at dose 0; interval from the given errors"
    return _response(levels[1:], means, centred, centred - half, centred + half, method, 0, None, ())


def response_of_questions(
    dose: ArrayLike,
    contrast: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Response:
    """Return the dose response of questions to which doses were assigned; whole clusters are drawn.

    Parameters
    ----------
    dose
        Shape (n,): documents injected per question, 0 among them.
    contrast
        Shape (n,): loss of the clean twin minus loss of the contaminated one; positive is inflation.
    cluster
        Shape (n,): labels; None takes each question for itself.

    Raises
    ------
    ValueError
        When no question has dose 0.
    """
    dose, contrast = np.asarray(dose, dtype=float), np.asarray(contrast, dtype=float)
    levels, places = np.unique(dose, return_inverse=True)
    if levels[0] != 0:
        raise ValueError("no question has dose 0, the placebo that centres the others")
    labels = np.arange(len(dose)) if cluster is None else codes(cluster)
    number = int(labels.max()) + 1
    sums, counts = np.zeros((number, len(levels))), np.zeros((number, len(levels)))
    np.add.at(sums, (labels, places), contrast)
    np.add.at(counts, (labels, places), 1.0)
    weights = cluster_weights(number, draws, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = product(weights, sums) / product(weights, counts)
    moved = drawn[:, 1:] - drawn[:, :1]
    tails = [50 * (1 - level), 50 * (1 + level)]
    low, high = np.nanpercentile(moved, tails, axis=0)
    means = sums.sum(axis=0) / counts.sum(axis=0)
    held = np.count_nonzero(counts, axis=0)
    gate = few_clusters(int(held[0]), int(held[1:].min()))
    method = "mean over questions, centred at dose 0; percentile interval, whole clusters drawn"
    return _response(levels[1:], means, means[1:] - means[0], low, high, method, draws, seed, (gate,))


def _response(
    doses: Floats,
    means: Floats,
    centred: Floats,
    low: Floats,
    high: Floats,
    method: str,
    draws: int,
    seed: int | None,
    gates: tuple[Gate, ...],
) -> Response:
    trend = spearman_exact(doses, centred)
    return Response(
        doses=tuple(doses.tolist()),
        raw=tuple(means[1:].tolist()),
        centred=tuple(centred.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        at_zero=float(means[0]),
        rho=trend.rho,
        p=trend.p,
        arrangements=trend.arrangements,
        method=method,
        draws=draws,
        seed=seed,
        gates=gates,
    )


def _ranks(values: NDArray[np.float64]) -> Floats:
    """Return ranks from 1, ties at their mean."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=float)
