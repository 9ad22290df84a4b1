"""Gaps between two sides of a split, with intervals from whole clusters drawn again.

A gap is the mean before the split minus the mean after it: positive where the older side scores better, which
is what leakage would give, and recency and composition too. A draw takes as many clusters as the window has,
with replacement, both sides together; a cluster that lies on both sides gives to both. Draws are rows of one
matrix of counts, so that all of them, and many columns of scores at once, are one matrix product.

Source: Temporal Leakage, appendices D.2 and D.7; the suite's specification, "Estimators".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.bootstrap import Weights, percentile_interval, product
from anachron.stats.result import GapEstimate, Gate

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

DRAWS = 4000
SEED = 0
LEVEL = 0.95
FEWEST_CLUSTERS = 20
"""Fewer clusters than this on a side and the bootstrap's intervals are too narrow to be read as stated."""
FEWEST_VALID = 0.5
"""Share of draws with questions on both sides, below which there is no interval."""


def codes(labels: ArrayLike) -> Ints:
    """Return each label's place in the sorted list of the labels that occur, shape (n,)."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1).astype(np.int64)


@lru_cache(maxsize=4)
def cluster_weights(clusters: int, draws: int = DRAWS, seed: int = SEED) -> Weights:
    """Return how often each cluster is taken in each draw.

    Returns
    -------
    ndarray, shape (draws, clusters)
        Read-only whole numbers, each row summing to `clusters`. The stream is PCG64's from `seed`.
    """
    from anachron.stats.bootstrap import date_weights

    return date_weights((clusters,), draws, seed)


def gap(
    values: ArrayLike,
    before: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> GapEstimate:
    """Return mean before minus mean after, with the percentile interval of a cluster bootstrap.

    Parameters
    ----------
    values
        Shape (n,): a score per question, higher is better; NaN is left out.
    before
        Shape (n,), bool: whether the question lies before the split.
    clusters
        Shape (n,): labels; None makes every question its own cluster.
    draws, seed, level
        Draws of clusters, seed of PCG64, and probability of the interval with equal tails.
    """
    score = np.asarray(values, dtype=float)
    side = np.asarray(before, dtype=bool)
    there = ~np.isnan(score)
    score, side = score[there], side[there]
    group = np.arange(len(score)) if clusters is None else codes(np.asarray(clusters)[there])
    number = int(group.max()) + 1 if len(group) else 0
    weights = cluster_weights(number, draws, seed) if number else np.zeros((draws, 0), np.uint16)
    drawn = gap_draws(score[:, None], side, ~side, group, weights)[:, 0] if number else np.full(draws, np.nan)
    point = float(score[side].mean() - score[~side].mean()) if side.any() and not side.all() else math.nan
    unit = "questions" if clusters is None else "clusters"
    return summary(
        point,
        drawn,
        group,
        side,
        method=f"percentile bootstrap of whole {unit} over the window",
        seed=seed,
        level=level,
    )


def gap_draws(values: Floats, before: Bools, after: Bools, clusters: Ints, weights: NDArray[Any]) -> Floats:
    """Return the gap of each column in every draw, NaN where a side is empty.

    Parameters
    ----------
    values
        Shape (n, columns); NaN is left out of its column.
    before, after
        Shape (n,) for all columns, or (n, columns): the questions of each side. Those on no side are left out.
    clusters
        Shape (n,): places 0 to k − 1.
    weights
        Shape (draws, k), see `cluster_weights`.

    Returns
    -------
    ndarray, shape (draws, columns)
    """
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    sides = [there & _columns(side, values.shape[1]) for side in (before, after)]
    parts = [part for side in sides for part in (filled * side, side.astype(float))]
    drawn = product(weights, sums(np.concatenate(parts, axis=1), clusters, weights.shape[1]))
    total, count, later, number = np.split(drawn, 4, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / count - later / number)


def _columns(side: Bools, columns: int) -> Bools:
    return np.broadcast_to(side[:, None] if side.ndim == 1 else side, (len(side), columns))


def sums(parts: Floats, clusters: Ints, number: int) -> Floats:
    """Return the sums of the rows of each cluster, shape (number, columns of `parts`)."""
    order = np.argsort(clusters, kind="stable")
    found, starts = np.unique(clusters[order], return_index=True)
    total = np.zeros((number, parts.shape[1]))
    if len(found):
        total[found] = np.add.reduceat(parts[order], starts, axis=0)
    return total


def summary(
    point: float,
    drawn: Floats,
    clusters: Ints,
    before: Bools,
    *,
    method: str,
    seed: int,
    level: float,
    more: Sequence[Gate] = (),
) -> GapEstimate:
    """Return a gap's record from its point, its draws, and the questions it rests on.

    Parameters
    ----------
    point
        NaN where undefined.
    drawn
        Shape (draws,); NaN where a draw left a side empty.
    clusters, before
        Shape (n,), of the questions that the point rests on.
    """
    pre, post = np.unique(clusters[before]), np.unique(clusters[~before])
    valid = drawn[~np.isnan(drawn)]
    found = None if math.isnan(point) else percentile_interval(drawn, level, FEWEST_VALID)
    low, high = (None, None) if found is None else found[:2]
    return GapEstimate(
        estimate=None if math.isnan(point) else point,
        low=low,
        high=high,
        error=float(valid.std(ddof=1)) if found is not None and len(valid) > 1 else None,
        n_pre=int(before.sum()),
        n_post=int((~before).sum()),
        clusters_pre=len(pre),
        clusters_post=len(post),
        clusters=len(np.union1d(pre, post)),
        method=method,
        level=level,
        draws=len(drawn),
        valid_draws=len(valid),
        seed=seed,
        gates=(few_clusters(len(pre), len(post)), *more),
    )


def few_clusters(pre: int, post: int) -> Gate:
    """Return the gate on the number of clusters of each side; the estimate is printed all the same, marked."""
    fewer = min(pre, post)
    return Gate(
        "few_clusters",
        fewer >= FEWEST_CLUSTERS,
        float(fewer),
        float(FEWEST_CLUSTERS),
        f"{pre} clusters before the split and {post} after it; an interval is read as stated from "
        f"{FEWEST_CLUSTERS} on each side on",
    )
