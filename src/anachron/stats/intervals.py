"""Intervals for contrasts of pooled shares that rest on few dates.

The percentile bootstrap of eleven dates is too narrow. `linearised_t` treats the contrast as what it
nearly is, a signed sum of means over independent dates, and takes the spread of the dates' linearised
contributions with Student's t and Satterthwaite's degrees of freedom. `benchmarks/interval.py` measures
its coverage beside the percentile, BCa and studentised intervals.

References: Satterthwaite (1946), Biometrics Bulletin 2:110; Welch (1947), Biometrika 34:28; Efron (1987),
JASA 82:171.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from anachron.stats.gaps import Contrast, Floats


@dataclass(frozen=True)
class Linearised:
    """Standard error of a contrast by linearisation, and its degrees of freedom."""

    value: float
    error: float
    freedom: float


def influence(contrast: Contrast) -> Floats:
    """Return each cluster's contribution to the deviation of the contrast, shape (clusters,).

    A share's contribution of cluster i is (bearish_i - share · total_i) / total, widened by sqrt(n / (n - 1))
    for the n clusters that the share rests on. A cluster in several shares sums its contributions, so that
    the pairing of arms, and one answer read under two keys, are taken into account.
    """
    share = contrast.shares[:, None]
    size = np.count_nonzero(contrast.total, axis=1)[:, None].astype(float)
    whole = contrast.total.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = (contrast.bearish - share * contrast.total) / whole * np.sqrt(size / (size - 1))
    return np.asarray(contrast.signs @ rows)


def groups(contrast: Contrast) -> NDArray[np.intp]:
    """Return the smallest share each cluster enters, as its group for the degrees of freedom; -1 for none."""
    inside = contrast.total > 0
    size = np.count_nonzero(inside, axis=1)
    order = np.argsort(size, kind="stable")
    # Shares over the same clusters (the two arms of a pair) are one group: the first of them stands for all.
    first = np.array(
        [next(j for j in order if np.array_equal(inside[j], inside[k])) for k in range(len(size))]
    )
    found = np.full(inside.shape[1], -1, dtype=np.intp)
    for row in order[::-1]:
        found[inside[row]] = first[row]
    return found


def linearise(contrast: Contrast) -> Linearised | None:
    """Return value, standard error and degrees of freedom; None when a share rests on under two clusters."""
    if np.count_nonzero(contrast.total, axis=1).min() < 2:
        return None
    contribution = influence(contrast)
    group = groups(contrast)
    parts, freedoms = [], []
    for name in np.unique(group[group >= 0]):
        members = contribution[group == name]
        parts.append(float(members @ members))
        freedoms.append(max(len(members) - 1, 1))
    variance = sum(parts)
    spread = sum(part * part / free for part, free in zip(parts, freedoms, strict=True))
    freedom = variance * variance / spread if spread > 0 else float(sum(freedoms))
    return Linearised(contrast.value, float(np.sqrt(variance)), float(freedom))


def linearised_t(contrast: Contrast, level: float) -> tuple[float, float] | None:
    """Return the interval value ± t · error of a contrast (see `linearise`), in the contrast's unit.

    None when the contrast is undefined or a share rests on fewer than two dates.
    """
    found = linearise(contrast)
    if found is None or not np.isfinite(found.value):
        return None
    half = student_quantile((1 + level) / 2, found.freedom) * found.error
    return found.value - half, found.value + half


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t, for a probability of a half or more and any freedom of 1 or more.

    Newton's method on the distribution function. Importing scipy for this one number takes longer than all
    other work of an estimating job.
    """
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = NormalDist().inv_cdf(probability)
    for _ in range(200):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        # The normal quantile lies left of the root, and from the left no step passes it: the function is concave.
        step = (probability - student_probability(t, freedom)) / density
        t += step
        if abs(step) <= 1e-14 * max(t, 1.0):
            break
    return t


def student_probability(t: float, freedom: float) -> float:
    """Return the distribution function of Student's t for t of 0 or more (Abramowitz and Stegun 26.7.1)."""
    share = freedom / (freedom + t * t)
    return 1 - incomplete_beta(share, freedom / 2, 0.5) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction (DLMF 8.17.22)."""
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
        - math.log(a)
    )
    # Evaluated from the far end: the terms alternate between the even and the odd coefficients.
    value = 1.0
    for m in range(80, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        value = 1 + even / (1 + odd / value)
    return front / (1 - (a + b) * x / (a + 1) / value)
