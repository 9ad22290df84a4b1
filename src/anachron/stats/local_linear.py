"""Local lines on either side of a date by plain weighted least squares, for one sample or many at once.

The jump between them is what `stats.rd` estimates with bias correction; this is its independent check, and what
the synthetic study of the paper (§E.1, T2) runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anachron.stats.cluster import codes
from anachron.stats.gaps import Floats


class LocalLinear(NamedTuple):
    """A jump by plain weighted least squares and its cluster-robust (CR1) standard error."""

    estimate: float
    error: float
    n_pre: int
    n_post: int


def local_linear(
    days: ArrayLike, score: ArrayLike, half_width: float, cluster: ArrayLike | None = None
) -> LocalLinear:
    """Return the jump by weighted least squares with a triangular kernel: the independent check of `rd.jump`.

    The bias of the line is not corrected. NaN where a side has fewer than two distinct days in the window.
    """
    days, score = np.asarray(days, dtype=float), np.asarray(score, dtype=float)
    label = np.arange(len(days)) if cluster is None else codes(cluster)
    estimate, influence = 0.0, np.zeros(len(days))
    weight = np.clip(1 - np.abs(days) / half_width, 0, None)
    for sign, side in ((1.0, days < 0), (-1.0, days >= 0)):
        leverage = _intercept_leverage(days, weight * side)
        intercept = float(leverage @ score)
        slope = _weighted_slope(days, score, weight * side)
        estimate += sign * intercept
        influence += sign * leverage * (score - intercept - slope * days)
    inside = weight > 0
    totals = np.bincount(label, influence, minlength=label.max(initial=0) + 1)
    groups, number = len(np.unique(label[inside])), int(inside.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = groups / np.float64(groups - 1) * (number - 1) / np.float64(number - 4)
        error = float(np.sqrt(factor * (totals @ totals)))
    return LocalLinear(estimate, error, int((inside & (days < 0)).sum()), int((inside & (days >= 0)).sum()))


def local_linear_jumps(days: Floats, score: Floats, half_width: float) -> Floats:
    """Return the jump of `local_linear` for many samples at once, shape (samples,) from (samples, n)."""
    weight = np.clip(1 - np.abs(days) / half_width, 0, None)
    sides = [
        np.sum(_intercept_leverage(days, weight * side) * score, axis=-1) for side in (days < 0, days >= 0)
    ]
    return np.asarray(sides[0] - sides[1])


def _intercept_leverage(days: Floats, weight: Floats) -> Floats:
    """Return the weights with which scores sum to the intercept of a weighted line at day 0, per row."""
    first = np.sum(weight * days, axis=-1, keepdims=True)
    second = np.sum(weight * days * days, axis=-1, keepdims=True)
    whole = np.sum(weight, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weight * (second - first * days) / (whole * second - first * first))


def _weighted_slope(days: Floats, score: Floats, weight: Floats) -> float:
    whole = weight.sum()
    centred = days - weight @ days / whole
    return float((weight * centred) @ score / ((weight * centred) @ centred))
