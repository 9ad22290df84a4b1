"""The paired date bootstrap of protocol BM-1, and the resampling of reps behind a cutoff.

Each draw takes as many crisis dates and as many calm dates as there are, with replacement, the same for every
arm and keying. The stream is fixed: PCG64 from one seed, the crisis places and then the calm places of a
draw, E2's draws first and E3's after them. As the stream does not depend on the model, one matrix of
weights serves all models, and a draw's pooled counts are a matrix product. Source: the suite's
specification, Intervals.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anachron.stats.gaps import Floats, pooled_share

Weights = NDArray[np.uint16]
DRAWS_AT_ONCE = 1000


@lru_cache(maxsize=2)
def date_weights(sizes: tuple[int, ...], draws: int, seed: int) -> Weights:
    """Return how often each date is taken in each draw.

    Parameters
    ----------
    sizes
        Dates of each set, in the order they are drawn (crisis, calm).
    draws
        Draws, over all contrasts that share the stream.
    seed
        Seed of PCG64.

    Returns
    -------
    ndarray, shape (draws, sum(sizes))
        Read-only whole numbers; each set's columns sum to its size in every row.
    """
    # One call with the upper bounds laid end to end takes the same numbers from the stream as a call per set
    # and draw, a hundred times faster; a thousand draws at a time keep the memory small.
    generator = np.random.default_rng(seed)
    bounds = np.repeat(np.array(sizes), sizes)
    width = len(bounds)
    offset = np.repeat(np.cumsum((0, *sizes))[:-1], sizes)
    weights = np.empty((draws, width), dtype=np.uint16)
    for start in range(0, draws, DRAWS_AT_ONCE):
        number = min(DRAWS_AT_ONCE, draws - start)
        taken = generator.integers(0, np.tile(bounds, number)).reshape(number, width)
        taken += offset + np.arange(number)[:, None] * width
        counts = np.bincount(taken.ravel(), minlength=number * width)
        weights[start : start + number] = counts.reshape(number, width)
    weights.flags.writeable = False
    return weights


def bootstrap_gap(weights: NDArray[Any], bearish: Floats, total: Floats, crisis_size: int) -> Floats:
    """Return the crisis-calm gap of every draw, NaN where a side is empty.

    Parameters
    ----------
    weights
        Shape (draws, dates), crisis dates first.
    bearish, total
        Shape (dates,), in the same order; or (dates, sides) for the gaps of several sides at once.
    crisis_size
        How many of the dates are crisis dates.

    Returns
    -------
    ndarray, shape (draws,) or (draws, sides)
    """
    # One product over all dates, with zeros where a date is not in the set, reads the weights once.
    columns = np.stack([bearish, total]).reshape(2, len(bearish), -1)
    sets = np.zeros((len(bearish), 2, *columns.shape[::2]))
    sets[:crisis_size, 0] = columns[:, :crisis_size].transpose(1, 0, 2)
    sets[crisis_size:, 1] = columns[:, crisis_size:].transpose(1, 0, 2)
    counts = product(weights, sets.reshape(len(bearish), -1)).reshape(len(weights), *sets.shape[1:])
    gaps = pooled_share(counts[:, 0, 0], counts[:, 0, 1]) - pooled_share(counts[:, 1, 0], counts[:, 1, 1])
    return gaps.reshape(len(weights), *np.shape(bearish)[1:])


def product(tall: NDArray[Any], small: Floats) -> Floats:
    """Return `tall @ small` in pieces too small for a linear-algebra library to start threads over.

    Threads that wait for one another cost twice the processor time here and save none.
    """
    size = max(1, 200_000 // max(1, small.size))
    pieces = [tall[start : start + size].astype(float) @ small for start in range(0, len(tall), size)]
    return np.concatenate(pieces)


def percentile_interval(
    values: Floats, level: float, min_valid_share: float
) -> tuple[float, float, int] | None:
    """Return the percentile interval of bootstrap `values` (linear interpolation) and how many were defined.

    Undefined draws (NaN) are dropped; None when fewer than `min_valid_share` of them remain.
    """
    defined = values[~np.isnan(values)]
    if len(defined) == 0 or len(defined) < min_valid_share * len(values):
        return None
    tail = 50 * (1 - level)
    low, high = np.percentile(defined, [tail, 100 - tail])
    return float(low), float(high), len(defined)


def exceedance(counts: NDArray[np.int64], sizes: NDArray[np.int64], threshold: float) -> Floats:
    """Return the chance that a resampled share of each month is above `threshold`, strictly.

    Resampling a month's reps with replacement makes its count binomial, so the chance is exact and needs no
    draws. Months without reps have chance zero.
    """
    found: dict[tuple[int, int], float] = {}
    chances = np.zeros(len(counts))
    for place, (count, size) in enumerate(zip(counts.tolist(), sizes.tolist(), strict=True)):
        if (count, size) not in found:
            found[count, size] = _binomial_tail(count, size, threshold)
        chances[place] = found[count, size]
    return chances


def _binomial_tail(count: int, size: int, threshold: float) -> float:
    if size == 0 or count == 0:
        return 0.0
    share = count / size
    over = [hits for hits in range(size + 1) if hits / size > threshold]
    return float(sum(comb(size, hits) * share**hits * (1 - share) ** (size - hits) for hits in over))


def last_exceeding_interval(chances: Floats, level: float) -> tuple[int, int] | None:
    """Return the places between which the last exceeding month lies with probability `level`.

    Parameters
    ----------
    chances
        Shape (months,): chance that each month exceeds, independently (see `exceedance`).
    level
        Probability, with equal tails, of the resampled distribution; None when at least half of it has no
        exceeding month at all.
    """
    none_later = np.append(np.cumprod((1 - chances)[::-1])[::-1][1:], 1.0)
    mass = chances * none_later
    whole = mass.sum()
    if whole < 0.5:
        return None
    cumulated = np.cumsum(mass) / whole
    tail = (1 - level) / 2
    low = int(np.searchsorted(cumulated, tail, side="left"))
    high = int(np.searchsorted(cumulated, 1 - tail, side="left"))
    return low, min(high, len(chances) - 1)
