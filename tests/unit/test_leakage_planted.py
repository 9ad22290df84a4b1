"""The paper's synthetic study T1 to T6 with fewer replicates; benchmarks/leakage_synthetic.py has it whole."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from anachron.stats import synthetic

Values = np.ndarray[Any, Any]


def assert_near(values: Values, published: float, replicates: int, rounding: float = 0.0005) -> None:
    """Hold a mean within three errors of a published mean over `replicates`, itself printed to a thousandth."""
    error = float(np.std(values, ddof=1)) * math.sqrt(1 / len(values) + 1 / replicates)
    assert abs(float(np.mean(values)) - published) <= 3 * error + rounding


def test_the_difference_recovers_the_inflation_and_its_interval_holds_both_truths() -> None:
    found = synthetic.recovery(1, (0.2, 0.4, 0.7, 1.0), replicates=100)
    for w, truth in {0.2: 0.038, 0.4: 0.067, 0.7: 0.095, 1.0: 0.105}.items():
        one = found[w]
        assert_near(one.own, truth, 300)
        assert abs(np.mean(one.estimate - one.own)) < 3 * np.std(one.estimate - one.own) / 10
        sample = np.mean((one.low <= one.own) & (one.own <= one.high))
        population = synthetic.population_inflation(2, w, 200_000)
        whole = np.mean((one.low <= population) & (population <= one.high))
        # Against the sample's own inflation the interval is too wide: the two share what varies.
        assert sample >= whole >= 0.87


@pytest.mark.parametrize(("w", "jump"), [(0.0, 0.0), (0.3, 0.039), (0.6, 0.065)])
def test_the_jump_at_the_cutoff_is_recovered_with_recency_on_both_sides(w: float, jump: float) -> None:
    assert_near(synthetic.jumps(3, w, replicates=80), jump, 300)


@pytest.mark.parametrize(
    ("w", "covariance", "score"),
    [(0.25, 0.0385, 0.0906), (0.5, 0.0520, 0.1564), (0.75, 0.0392, 0.1959), (1.0, 0.0, 0.2090)],
)
def test_the_covariance_is_blind_where_the_score_gains_most(
    w: float, covariance: float, score: float
) -> None:
    found = synthetic.complementarity(4, w, replicates=12)
    assert_near(found.covariance, covariance, 1, 0.00005)
    assert_near(found.score, score, 1, 0.00005)
    closed = w * (1 - w) * (0.25 - 0.7**2 / 12)
    # Wordings that would leave 0..1 are clipped, which the closed form leaves out.
    assert np.mean(found.corrected) == pytest.approx(closed, abs=0.0006)
    assert np.mean(found.score) / 0.2090 == pytest.approx(w * (2 - w), abs=0.01)


def test_overconfidence_reads_as_leakage_until_it_is_calibrated() -> None:
    for factor, naive in {2.0: 0.022, 4.0: 0.055, 8.0: 0.085}.items():
        assert_near(synthetic.overconfidence(5, factor, None, replicates=60), naive, 200)
        for anchors, limit in ((100, 0.008), (5000, 0.001)):
            off = synthetic.overconfidence(6, factor, anchors, replicates=30)
            assert abs(off.mean()) <= limit + 3 * off.std(ddof=1) / math.sqrt(30)


def test_noise_that_knows_nothing_never_inflates() -> None:
    for spread, mean in {0.25: -0.003, 0.5: -0.012, 1.0: -0.044}.items():
        assert_near(synthetic.no_free_inflation(7, spread, replicates=100), mean, 300)


def test_leakage_lies_where_the_crowd_was_surprised() -> None:
    observed, predicted = synthetic.concentration(8, replicates=40)
    for place, published in enumerate((0.018, 0.041, 0.083, 0.174)):
        assert_near(observed[:, place], published, 300)
        assert_near(predicted[:, place], published, 300)
