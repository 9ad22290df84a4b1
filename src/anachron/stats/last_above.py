"""Bounds of the last period in which a share lies above a threshold, from sequential likelihood ratios.

The last of many periods to exceed a threshold is the latest of many chances to do so. Noise therefore puts it too
late, and resampling adds noise to noise: percentiles of a bootstrap reach far beyond it. These bounds ask each period
instead whether it can be the last one above. It cannot when the observations that end with it speak against a share
as high as the threshold, nor when those that follow it speak against a share as low.

Observation x, 0 or 1, of weight w has the likelihood ratio exp(θwx) / (1 + t(exp(θw) − 1)): its numerator tilts the
threshold t toward the level it is held against, which lies below (θ < 0) or above. Under a chance of t or more, or of
t or less, it expects at most one. Products of such ratios are a supermartingale, and by Ville's inequality one ever
exceeds 2/α with a chance of at most α/2. So the bounds hold for any decline that stays down, with few observations as
with many, whatever the number of periods that are looked at; that the threshold is itself estimated is not counted.

References: Ville (1939), Étude critique de la notion de collectif; Robbins (1970), Ann. Math. Stat. 41:1397; Ramdas,
Grünwald, Vovk and Shafer (2023), Statistical Science 38:576.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Zeros and ones by period, shape (observations,) each.

    Attributes
    ----------
    hit
        1 where the observation counts into the share, 0 where it does not.
    weight
        How much it counts, positive.
    period
        Running number of its period, from 0.
    periods
        How many periods there are, empty ones included.
    """

    hit: Floats
    weight: Floats
    period: NDArray[np.intp]
    periods: int


def bounds(
    seen: Observations, threshold: float, below: float, above: float, window: int, level: float
) -> tuple[int, int] | None:
    """Return the first and the last period that may be the last one above a threshold.

    Parameters
    ----------
    seen
        The observations.
    threshold
        Share in (0, 1).
    below, above
        Shares in (0, 1) that the threshold is held against, on either side of it: the nearer to what the share is
        after and before its end, the narrower the bounds. They decide how narrow, not whether they hold.
    window
        Periods of the mean that is above: of a period and the ones before it.
    level
        Chance that both bounds hold, in (0, 1).

    Returns
    -------
    tuple of int, or None
        None where every period is refuted: then the share does not end once, it comes and goes.
    """
    gone, there = (_cumulated(seen, threshold, other) for other in (below, above))
    bar = np.log(2 / (1 - level))
    held = [
        period
        for period in range(seen.periods)
        if _against_reaching(gone, period, window) < bar and _against_ending(there, period, window) < bar
    ]
    return (held[0], held[-1]) if held else None


def _cumulated(seen: Observations, threshold: float, other: float) -> Floats:
    """Return the log-likelihood ratios of `other` against the threshold, summed up to before each period."""
    tilt = _logit(other) - _logit(threshold)
    ratios = tilt * seen.weight * seen.hit - np.log1p(threshold * np.expm1(tilt * seen.weight))
    return np.concatenate([[0.0], np.cumsum(np.bincount(seen.period, ratios, seen.periods))])


def _against_reaching(gone: Floats, period: int, window: int) -> float:
    """Return the strongest evidence, in stretches that end with a period, that the share was no longer up there."""
    starts = gone[: max(0, period + 1 - window) + 1]
    return float(gone[period + 1] - starts.min())


def _against_ending(there: Floats, period: int, window: int) -> float:
    """Return the strongest evidence, in stretches behind a period, that the share was still up there."""
    stops = there[period + 2 :]
    # The first mean that may not be above reaches back over the period itself.
    return float(stops.max() - there[max(0, period + 2 - window)]) if len(stops) else -np.inf


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))
