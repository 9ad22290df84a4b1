"""Expectations of what is normal about a centre, rounded to a step and held against a true value.

A spread of zero is the centre itself. All arguments are arrays of one length but `step`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from anachron.suites.numleak.sheets import BAND_BP, Floats


def cumulative(values: Floats) -> Floats:
    """Return the standard normal distribution function."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in values.tolist()])


def _standardised(edge: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return distances in spreads; without a spread an infinity with the distance's sign."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (edge - centre) / spread
    return np.where(np.isnan(found), 0.0, found)


def within_chance(true: Floats, centre: Floats, spread: Floats, step: float) -> Floats:
    """Return the chance that a rounded answer is off by at most 25 basis points."""
    edge = (math.floor(BAND_BP / 100 / step + 1e-9) + 0.5) * step
    said = np.where(spread > 0, centre, np.round(centre / step) * step)
    upper = cumulative(_standardised(true + edge, said, spread))
    return np.asarray(upper - cumulative(_standardised(true - edge, said, spread)))


def same_sign_chance(true: Floats, centre: Floats, spread: Floats, step: float) -> Floats:
    """Return the chance that a rounded answer has the truth's sign; zero is a sign of its own."""
    said = np.where(spread > 0, centre, np.round(centre / step) * step)
    half = np.full(len(true), step / 2)
    above = 1 - cumulative(_standardised(half, said, spread))
    below = cumulative(_standardised(-half, said, spread))
    return np.asarray(np.select([true > 0, true < 0], [above, below], 1 - above - below))


def distance(true: Floats, centre: Floats, spread: Floats) -> Floats:
    """Return the mean absolute error of an answer, rounding left aside."""
    off = centre - true
    z = _standardised(true, centre, spread)
    density = np.exp(-0.5 * np.where(np.isfinite(z), z, np.inf) ** 2) / math.sqrt(2 * math.pi)
    return np.asarray(np.where(spread > 0, off * (1 - 2 * cumulative(z)) + 2 * spread * density, np.abs(off)))


def later_is_larger(centre: Floats, spread: Floats) -> float:
    """Return the chance that the second of two values is the larger one."""
    both = math.hypot(*spread.tolist())
    gap = float(centre[1] - centre[0])
    return 0.5 * math.erfc(-gap / both / math.sqrt(2)) if both > 0 else float(gap > 0)


def hits(chances: Floats) -> Floats:
    """Return the distribution of the number of hits of independent trials, each with a chance of its own."""
    found = np.ones(1)
    for chance in chances.tolist():
        found = np.convolve(found, [1 - chance, chance])
    return found


def best_of(chances: Sequence[Floats]) -> float:
    """Return the expected largest share of hits among several independent sheets."""
    points = np.unique(np.concatenate([np.arange(len(own) + 1) / len(own) for own in chances]))
    below = np.ones(len(points))
    for own in chances:
        reached = np.cumsum(hits(own))
        below *= reached[np.floor(points * len(own) + 1e-9).astype(int)]
    return float(points @ np.diff(below, prepend=0.0))


def inverse(chances: Floats) -> float:
    """Return the expected inverse of a share of hits, given that there is any."""
    odds = hits(chances)[1:]
    return float((odds / (np.arange(1, len(odds) + 1) / len(chances))).sum() / odds.sum())
