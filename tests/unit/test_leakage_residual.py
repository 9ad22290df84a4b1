"""Recalibration and residual covariance: against an optimiser, plain loops, and the closed form of the pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize, minimize_scalar

from anachron.stats import prc, recalibrate
from anachron.stats.cluster import cluster_weights

Array = np.ndarray[Any, Any]


def anchors(number: int, seed: int) -> tuple[Array, Array, Array]:
    """Return overconfident forecasts with ties, outcomes, and weights some of which are zero."""
    draw = np.random.default_rng(seed)
    crowd = draw.uniform(0.05, 0.95, number)
    outcome = (draw.random(number) < crowd).astype(float)
    stated = np.round(recalibrate.expit(2.5 * recalibrate.logit(crowd) + 0.3), 2)
    return stated, outcome, draw.integers(0, 4, number).astype(float)


def panel(number: int, seed: int, weight: float, wordings: int = 4) -> tuple[Array, Array, Array, Array]:
    draw = np.random.default_rng(seed)
    crowd = draw.uniform(0.15, 0.85, (number, 1))
    outcome = (draw.random((number, 1)) < crowd).astype(float)
    clean = np.arange(number) < number // 2
    worded = np.clip(crowd + draw.normal(0, 0.08, (number, wordings)), 0.001, 0.999)
    pulled = np.where(clean[:, None], worded, (1 - weight) * worded + weight * outcome)
    stated = np.round(recalibrate.expit(2 * recalibrate.logit(pulled)), 2)
    return stated, outcome[:, 0], clean, draw.integers(0, 40, number)


def log_loss(p: Array, y: Array, w: Array) -> float:
    return float(-(w * (y * np.log(p) + (1 - y) * np.log1p(-p))).sum())


def test_a_temperature_is_the_optimisers_and_stays_in_bounds() -> None:
    stated, outcome, weight = anchors(300, 1)
    x = recalibrate.logit(stated)
    best = minimize_scalar(
        lambda t: log_loss(recalibrate.expit(x / t), outcome, weight), bounds=(0.3, 20), method="bounded",
        options={"xatol": 1e-9},
    ).x  # fmt: skip
    assert recalibrate.fit("temperature", stated, outcome, weight).parameters[0] == pytest.approx(
        best, rel=1e-5
    )
    wrong, right = (
        recalibrate.fit("temperature", stated, stated < 0.5),
        recalibrate.fit("temperature", stated, stated > 0.5),
    )
    # The search halves its bracket down to the bound; a temperature a thousandth off moves no probability by 1e-4.
    assert wrong.parameters == pytest.approx((20.0,), rel=1e-3) and wrong.parameters[0] <= 20
    assert right.parameters == pytest.approx((0.3,), rel=1e-3) and right.parameters[0] >= 0.3 * (1 - 1e-9)


def test_platt_is_the_optimisers_on_smoothed_targets_and_survives_separation() -> None:
    stated, outcome, weight = anchors(300, 2)
    x = recalibrate.logit(stated)
    ones, zeros = (weight * outcome).sum(), (weight * (1 - outcome)).sum()
    target = np.where(outcome == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    best = minimize(
        lambda b: log_loss(recalibrate.expit(b[0] + b[1] * x), target, weight), [0.0, 1.0], tol=1e-12
    ).x  # fmt: skip
    found = recalibrate.fit("platt", stated, outcome, weight)
    assert found.parameters == pytest.approx(best, abs=1e-4)
    separated = recalibrate.fit("platt", stated, stated > 0.5)
    assert np.all(np.isfinite(separated.parameters)) and separated.parameters[1] > 0
    one_value = recalibrate.apply(recalibrate.fit("platt", np.full(40, 0.7), np.arange(40) < 12), 0.7)
    assert one_value == pytest.approx((12 * 13 / 14 + 28 / 30) / 40, abs=1e-6)


def test_weightings_fitted_at_once_are_those_fitted_alone() -> None:
    stated, outcome, _ = anchors(120, 3)
    grid, place = np.unique(stated, return_inverse=True)
    weights = cluster_weights(120, 25, 0).astype(float)
    ones, zeros = np.zeros((25, len(grid))), np.zeros((25, len(grid)))
    for row in range(25):
        np.add.at(ones[row], place, weights[row] * outcome)
        np.add.at(zeros[row], place, weights[row] * (1 - outcome))
    for method in recalibrate.METHODS:
        together = recalibrate.calibrated_grid(method, grid, ones, zeros)
        alone = [
            recalibrate.apply(recalibrate.fit(method, stated, outcome, weight), grid) for weight in weights
        ]
        np.testing.assert_allclose(together, alone, atol=1e-5, err_msg=method)


def test_isotonic_is_scipys_between_its_points() -> None:
    stated, outcome, weight = anchors(200, 4)
    kept = np.unique(stated[weight > 0])
    mass = np.array([weight[stated == one].sum() for one in kept])
    mean = np.array([(weight * outcome)[stated == one].sum() for one in kept]) / mass
    expected = isotonic_regression(mean, weights=mass).x
    found = recalibrate.fit("isotonic", stated, outcome, weight)
    probe = np.array([0.0, 0.123, 0.5, 0.987, 1.0, np.nan])
    np.testing.assert_allclose(
        recalibrate.apply(found, probe)[:-1], np.interp(probe[:-1], kept, expected), atol=1e-12
    )
    assert np.isnan(recalibrate.apply(found, probe)[-1])


def test_an_unknown_calibrator_and_no_anchors_are_told() -> None:
    with pytest.raises(ValueError, match="temperature, platt, isotonic"):
        recalibrate.fit("beta", [0.5], [1])
    with pytest.raises(ValueError, match="at least one anchor"):
        recalibrate.fit("platt", [0.5], [1], [0])


@pytest.mark.parametrize("w", [0.0, 0.3, 0.7, 1.0])
def test_the_covariance_of_a_pull_is_its_closed_form(w: float) -> None:
    draw = np.random.default_rng(5)
    crowd = draw.uniform(0.2, 0.8, (60_000, 1))
    outcome = (draw.random((60_000, 1)) < crowd).astype(float)
    worded = (1 - w) * (crowd + draw.normal(0, 0.15, (60_000, 3))) + w * outcome
    expected = w * (1 - w) * (0.25 - 0.6**2 / 12)
    noise = (1 - w) ** 2 * 0.15**2 / 3
    assert prc.residual_covariance(worded, outcome[:, 0]) == pytest.approx(expected, abs=0.0015)
    assert prc.residual_covariance(worded, outcome[:, 0], finite_k=False) == pytest.approx(
        expected - noise, abs=0.0015
    )


def test_a_missing_wording_counts_by_the_wordings_that_are_there() -> None:
    values = np.array([[0.2, 0.4, np.nan], [0.5, 0.7, 0.9], [0.3, np.nan, np.nan], [0.1, 0.1, np.nan]])
    outcome = np.array([0.0, 1.0, 1.0, 0.0])
    mean = np.array([0.3, 0.7, 0.1])
    kept = outcome[[0, 1, 3]]
    expected = np.cov(mean, kept - mean)[0, 1] + np.mean([0.02 / 2, 0.04 / 3, 0.0])
    assert prc.residual_covariance(values, outcome) == pytest.approx(expected, abs=1e-14)


def plain(
    stated: Array, outcome: Array, clean: Array, fold: Array, times: Array, method: str
) -> tuple[float, float]:
    """The statistic of one draw as one would write it down: questions repeated, calibrators fitted fold by fold."""
    fits = []
    for one in range(fold.max() + 1):
        train = np.repeat(np.flatnonzero(clean & (fold != one)), times[clean & (fold != one)])
        share = np.full(stated[train].size, 1 / stated.shape[1])
        fits.append(
            recalibrate.fit(method, stated[train].ravel(), np.repeat(outcome[train], stated.shape[1]), share)
        )
    values = np.empty(stated.shape)
    for question in range(len(stated)):
        if clean[question]:
            values[question] = recalibrate.apply(fits[fold[question]], stated[question])
        else:
            values[question] = np.mean([recalibrate.apply(one, stated[question]) for one in fits], axis=0)
    sides = [np.repeat(np.flatnonzero(side), times[side]) for side in (~clean, clean)]
    target, anchor = (prc.residual_covariance(values[rows], outcome[rows]) for rows in sides)
    return target, anchor


@pytest.mark.parametrize("method", recalibrate.METHODS)
def test_draws_are_those_of_a_plain_loop_that_refits_in_every_draw(method: str) -> None:
    stated, outcome, clean, cluster = panel(160, 6, 0.3)
    held, several = prc._panel(stated, outcome, clean, cluster, 5, 0)
    assert several and len(np.unique(held.fold[clean])) == 5
    # Labels that no question has are no clusters.
    weights = cluster_weights(len(np.unique(cluster)), 6, 1)
    ours = prc._statistics(held, weights, [method], several)[method]
    for row, times in enumerate(weights):
        expected = plain(stated, outcome, clean, held.fold, times[held.cluster].astype(int), method)
        assert ours[row] == pytest.approx(expected, abs=2e-6)


def test_leakage_is_detected_and_calibration_is_what_tells() -> None:
    leaked, honest = (prc.detect(*panel(600, 7, w), draws=400) for w in (0.3, 0.0))
    assert leaked.detected is True and honest.detected is False
    assert all(one.excess.low > 0 for one in leaked.by_method.values())
    # Overconfidence alone makes the uncalibrated covariance of honest anchors negative.
    assert honest.raw.anchors.high < 0
    assert (leaked.n_target, leaked.n_anchors, leaked.paraphrases) == (300, 300, 4)
    again = prc.detect(*panel(600, 7, 0.3), draws=400)
    assert again == leaked


def test_what_cannot_carry_it_is_undefined_with_its_gate() -> None:
    stated, outcome, clean, cluster = panel(400, 8, 0.4)
    none = prc.detect(stated, outcome, np.zeros(400, dtype=bool), cluster, draws=50)
    assert none.detected is None and none.by_method == {}
    assert {gate.name for gate in none.gates if gate.passed is False} == {"anchors", "few_clusters"}
    single = prc.detect(stated[:, :1], outcome, clean, cluster, draws=50)
    assert single.detected is None
    assert next(gate for gate in single.gates if gate.name == "paraphrases").passed is False


def test_calibrators_that_disagree_fail_the_gate() -> None:
    def estimate(value: float) -> prc.PrcEstimate:
        one = prc.Estimate(value, value - 0.01, value + 0.01)
        return prc.PrcEstimate(one, one, one)

    assert prc._stable({"a": estimate(0.03), "b": estimate(0.02)}).passed is True
    assert prc._stable({"a": estimate(0.03), "b": estimate(0.005)}).passed is False
    assert prc._stable({"a": estimate(0.004), "b": estimate(-0.004)}).passed is False


def test_a_stronger_pull_is_detectable_sooner_on_more_questions() -> None:
    small, large = (prc.detectable(*panel(number, 9, 0.0), draws=300) for number in (160, 900))
    assert large.mde is not None and (small.mde is None or large.mde < small.mde)
    assert large.detected[-1] > 0.95 and large.detected[0] < 0.8
    assert large.false_positive == pytest.approx(0.025, abs=0.01)
