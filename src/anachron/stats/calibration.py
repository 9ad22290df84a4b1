"""Calibration: what replicates with a known truth say about an estimator and its interval.

Every figure comes with its Monte Carlo error, so that a miss can be told from too few replicates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from anachron.stats.gaps import Floats


@dataclass(frozen=True)
class Bias:
    """How far estimates lie from the truth on average.

    Attributes
    ----------
    truth, mean, spread
        The true value, the mean of the defined estimates, and their standard deviation (the standard error
        of one estimate), in the estimate's unit.
    in_errors
        (mean − truth) / spread; 0 where every estimate equals the truth, infinite where they all miss alike.
    error
        Monte Carlo standard error of `in_errors`: 1 / sqrt(defined).
    defined, replicates
        Replicates in which the estimate was defined, and all of them.
    """

    truth: float
    mean: float
    spread: float
    in_errors: float
    error: float
    defined: int
    replicates: int


@dataclass(frozen=True)
class Rate:
    """A share of replicates with its Monte Carlo standard error (binomial), over the defined ones."""

    share: float
    error: float
    defined: int
    replicates: int


def bias(estimates: Floats, truth: float) -> Bias:
    """Return the bias of `estimates`, shape (replicates,), NaN where undefined.

    Raises
    ------
    ValueError
        When fewer than two estimates are defined.
    """
    values = np.asarray(estimates, dtype=float)
    kept = values[np.isfinite(values)]
    if len(kept) < 2:
        raise ValueError(f"{len(kept)} of {len(values)} estimates are defined; a bias needs at least two")
    mean, spread = float(kept.mean()), float(kept.std(ddof=1))
    off = mean - truth
    scale = max(abs(truth), abs(mean), 1.0) * 1e-12
    in_errors = (
        (0.0 if abs(off) <= scale else math.copysign(math.inf, off)) if spread <= scale else off / spread
    )
    return Bias(truth, mean, spread, in_errors, 1 / math.sqrt(len(kept)), len(kept), len(values))


def coverage(low: Floats, high: Floats, truth: float | Floats) -> Rate:
    """Return the share of intervals, ends included, that hold the truth; undefined (NaN) intervals drop out.

    Parameters
    ----------
    low, high
        Shape (replicates,), in the estimate's unit.
    truth
        One value, or one per replicate.
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    defined = np.isfinite(low) & np.isfinite(high)
    held = (low <= truth) & (truth <= high)
    return rate(held[defined], len(low))


def rate(happened: Floats | np.ndarray, replicates: int | None = None) -> Rate:
    """Return the share of true entries.

    The error is that of a binomial, with one success and one failure added (Wilson's shrinkage), so that a
    share of 0 or 1 does not claim to be exact.
    """
    flags = np.asarray(happened, dtype=bool)
    count = len(flags)
    share = float(flags.mean()) if count else math.nan
    shrunk = (float(flags.sum()) + 1) / (count + 2)
    error = math.sqrt(shrunk * (1 - shrunk) / count) if count else math.nan
    return Rate(share, error, count, count if replicates is None else replicates)
