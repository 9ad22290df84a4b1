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

import numpy as np
from numpy.typing import NDArray

from anachron.stats.gaps import Floats, pooled_share


@lru_cache(maxsize=2)
def date_weights(sizes: tuple[int, ...], draws: int, seed: int) -> Floats:
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
    # and draw, a hundred times faster.
    bounds = np.repeat(np.array(sizes), sizes)
    taken = np.random.default_rng(seed).integers(0, np.tile(bounds, draws)).reshape(draws, len(bounds))
    taken += np.repeat(np.cumsum((0, *sizes))[:-1], sizes)
    width = len(bounds)
    taken += np.arange(draws)[:, None] * width
    counts = np.bincount(taken.ravel(), minlength=draws * width).reshape(draws, width)
    weights = counts.astype(float)
    weights.flags.writeable = False
    return weights


def bootstrap_gap(weights: Floats, bearish: Floats, total: Floats, crisis_size: int) -> Floats:
    """Return the crisis-calm gap of every draw, NaN where a side is empty.

    Parameters
    ----------
    weights
        Shape (draws, dates), crisis dates first.
    bearish, total
        Shape (dates,), in the same order.
    crisis_size
        How many of the dates are crisis dates.
    """
    # One product over all dates, with zeros where a date is not in the set, reads the weights once.
    sets = np.zeros((len(bearish), 4))
    sets[:crisis_size, 0], sets[:crisis_size, 1] = bearish[:crisis_size], total[:crisis_size]
    sets[crisis_size:, 2], sets[crisis_size:, 3] = bearish[crisis_size:], total[crisis_size:]
    counts = weights @ sets
    return pooled_share(counts[:, 0], counts[:, 1]) - pooled_share(counts[:, 2], counts[:, 3])


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
