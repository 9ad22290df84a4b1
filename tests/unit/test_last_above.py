"""Bounds of the last period above a threshold, held against binomial likelihoods and against drawn declines."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from anachron.stats.last_above import Observations, bounds

PER_PERIOD = 12


def observations(shares: np.ndarray, generator: np.random.Generator) -> Observations:
    """Return twelve observations a period, drawn with a period's share."""
    period = np.repeat(np.arange(len(shares)), PER_PERIOD)
    hit = (generator.random(len(period)) < shares[period]).astype(float)
    return Observations(hit, np.ones(len(period)), period, len(shares))


def by_binomials(seen: Observations, window: int, level: float) -> tuple[int, int]:
    """Return the bounds from likelihoods of whole stretches, each counted afresh."""

    def ratio(first: int, last: int, other: float) -> float:
        part = seen.hit[(seen.period >= first) & (seen.period <= last)]
        return float(binom.logpmf(part.sum(), len(part), other) - binom.logpmf(part.sum(), len(part), 0.5))

    bar, end = np.log(2 / (1 - level)), seen.periods - 1
    held = []
    for last in range(seen.periods):
        reached = [ratio(first, last, 0.4) for first in range(max(1, last + 2 - window))]
        behind = [ratio(max(0, last + 2 - window), stop, 0.65) for stop in range(last + 1, end + 1)]
        if max(reached) < bar and max(behind, default=-np.inf) < bar:
            held.append(last)
    return held[0], held[-1]


def test_bounds_are_those_of_binomial_likelihoods() -> None:
    generator = np.random.default_rng(7)
    shares = np.array([0.8] * 6 + [0.6, 0.5, 0.4] + [0.3] * 6)
    for window in (1, 2, 3):
        for _ in range(20):
            seen = observations(shares, generator)
            assert bounds(seen, 0.5, 0.4, 0.65, window, 0.8) == by_binomials(seen, window, 0.8)


def test_the_end_of_a_decline_lies_inside_as_often_as_promised() -> None:
    generator = np.random.default_rng(8)
    # The hardest decline for the bounds: it stands at the threshold for long, and hardly falls below.
    shares = np.array([0.8] * 5 + [0.501] * 10 + [0.499] * 10)
    end = 14
    missed = 0
    for _ in range(1000):
        found = bounds(observations(shares, generator), 0.5, 0.4, 0.65, 1, 0.8)
        missed += found is None or not found[0] <= end <= found[1]
    assert 0 < missed < 200


def test_however_heavy_a_miss_refutes_no_more_than_its_chance_under_the_threshold() -> None:
    for misses, refuted in ((4, False), (5, True)):  # 2 ** -4 > 1 / 20 > 2 ** -5
        hit = np.array([1.0] * 5 + [0.0] * misses)
        period = np.array([0] * 5 + [1] * misses)
        found = bounds(Observations(hit, np.full(len(hit), 100.0), period, 2), 0.5, 0.25, 0.75, 1, 0.9)
        assert found == ((0, 0) if refuted else (0, 1))


def test_a_share_that_stays_up_ends_nowhere_before_the_last_period() -> None:
    seen = observations(np.full(10, 1.0), np.random.default_rng(9))
    assert bounds(seen, 0.5, 0.4, 0.65, 2, 0.95) == (9, 9)
