"""Extraction, dose response, extrapolation and power: against closed forms, plain loops and planted truth."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from anachron.stats import dose, extraction, extrapolate, power
from anachron.stats.cluster import gap
from anachron.stats.synthetic import held, panel, pulled, questions

Array = np.ndarray[Any, Any]


def test_five_rising_doses_have_the_least_p_there_is_and_ties_share_ranks() -> None:
    assert dose.spearman_exact([1, 4, 16, 64, 256], [0.01, 0.02, 0.3, 0.4, 0.41]) == (
        pytest.approx(1),
        1 / 120,
        120,
    )
    value = [0.2, 0.1, 0.2, 0.4]
    found = dose.spearman_exact([1, 2, 3, 4], value)
    assert found.rho == pytest.approx(stats.spearmanr([1, 2, 3, 4], value).statistic)
    ranks = stats.rankdata(value)
    reached = [
        np.dot([1, 2, 3, 4], order) >= np.dot([1, 2, 3, 4], ranks) for order in itertools.permutations(ranks)
    ]
    assert found.p == pytest.approx(np.mean(reached))
    with pytest.raises(ValueError, match="2 to 9 doses, not 1"):
        dose.spearman_exact([1], [0.2])


def test_a_dose_response_is_centred_at_dose_zero_and_averages_tasks() -> None:
    doses, tasks = np.tile([0, 1, 4], 2), np.repeat(["a", "b"], 3)
    found = dose.response(doses, [0.1, 0.2, 0.5, 0.3, 0.3, 0.5], tasks, np.full(6, 0.1))
    assert found.at_zero == pytest.approx(0.2)
    assert found.centred == pytest.approx([0.05, 0.3])
    # Two tasks each at dose and placebo: variance (0.01 + 0.01) / 4 twice.
    assert found.high[0] - found.centred[0] == pytest.approx(1.959964 * 0.1, rel=1e-6)
    with pytest.raises(ValueError, match="dose 0"):
        dose.response([1, 4], [0.1, 0.2])


def test_doses_of_questions_rise_where_leakage_was_injected_by_dose() -> None:
    generator = np.random.default_rng(1)
    drawn = questions(generator, (3000,))
    doses = generator.choice([0, 1, 4, 16, 64], 3000)
    w = np.array([0, 0.1, 0.25, 0.5, 0.8])[np.searchsorted([0, 1, 4, 16, 64], doses)]
    contrast = (drawn.honest - drawn.outcome) ** 2 - (
        pulled(drawn.honest, drawn.outcome, w) - drawn.outcome
    ) ** 2
    found = dose.response_of_questions(doses, contrast, np.arange(3000) // 10, draws=500)
    honest = np.mean((drawn.honest - drawn.outcome) ** 2)
    for place, weight in enumerate((0.1, 0.25, 0.5, 0.8)):
        assert found.low[place] < honest * weight * (2 - weight) < found.high[place]
    assert found.at_zero == 0 and found.p == 1 / 24


def test_the_extraction_weight_is_the_planted_one_and_the_law_holds_by_difficulty() -> None:
    drawn = questions(np.random.default_rng(2), (4000,), noise=0.0)
    leaked = np.arange(4000) < 3000
    forecast = pulled(drawn.honest, drawn.outcome, np.where(leaked, 0.4, 0.0))
    found = extraction.law(
        forecast, drawn.honest, drawn.outcome, np.arange(4000) // 20, clean=~leaked, draws=300
    )
    assert found.w.estimate == pytest.approx(0.4, abs=1e-12)
    assert found.clean_w is not None and found.clean_w.estimate == pytest.approx(0, abs=1e-12)
    assert len(found.bins) == 5
    for one in found.bins:
        assert one.observed == pytest.approx(one.b0 * 0.4 * 1.6, abs=1e-12) == one.pull
        assert one.all_or_nothing == pytest.approx(one.b0 * 0.4, abs=1e-12)
    assert found.bins[-1].observed > 10 * found.bins[0].observed
    assert found.misleading.passed is True


def test_memorising_a_share_of_questions_whole_follows_the_other_curve() -> None:
    generator = np.random.default_rng(3)
    drawn = questions(generator, (20_000,), noise=0.0)
    forecast = np.where(generator.random(20_000) < 0.4, drawn.outcome, drawn.honest)
    found = extraction.law(forecast, drawn.honest, drawn.outcome, draws=200)
    for one in found.bins:
        assert abs(one.observed - one.all_or_nothing) < abs(one.observed - one.pull)


def test_a_forecast_that_was_misled_is_told() -> None:
    drawn = questions(np.random.default_rng(4), (2000,), noise=0.0)
    noise = np.random.default_rng(5).normal(0, 0.1, 2000)
    misled = extraction.law(
        pulled(drawn.honest, drawn.outcome, -0.1) + noise, drawn.honest, drawn.outcome, draws=400
    )
    assert misled.misleading.passed is False and "away from the outcome" in misled.misleading.text
    assert misled.w.high < 0
    # One difficulty misled, which the mean of all hides.
    w = np.where(np.arange(2000) % 2 == 0, 0.5, -0.2)
    label = np.where(np.arange(2000) % 2 == 0, "easy", "hard")
    hidden = extraction.law(
        pulled(drawn.honest, drawn.outcome, w) + noise,
        drawn.honest,
        drawn.outcome,
        difficulty=label,
        draws=400,
    )
    assert hidden.w.low > 0 and hidden.misleading.passed is False and "bin hard" in hidden.misleading.text


def test_a_straight_line_goes_on_exactly_and_an_ordinary_fit_agrees() -> None:
    days = np.arange(-200.0, 400.0)
    score = 0.1 - 0.0002 * days + 0.08 * (days < 0)
    found = extrapolate.global_inflation(days, score, degrees=(1, 2), draws=100)
    assert found.estimate == pytest.approx(0.08, abs=1e-9) and found.refused is False
    noisy = score + np.random.default_rng(6).normal(0, 0.05, len(days))
    line = np.polyfit(days[days >= 0], noisy[days >= 0], 1)
    expected = np.mean(noisy[days < 0] - np.polyval(line, days[days < 0]))
    again = extrapolate.global_inflation(days, noisy, draws=100)
    by_degree = {(one.degree, one.horizon): one.estimate for one in again.spread}
    assert by_degree[1, None] == pytest.approx(expected, abs=1e-9)


def test_an_extrapolation_that_changes_its_sign_is_refused_with_its_spread() -> None:
    days = np.arange(-200.0, 400.0)
    found = extrapolate.global_inflation(days, 1e-6 * (days - 100) ** 2, degrees=(0, 1, 2), draws=50)
    assert found.estimate is None and found.low is None and found.refused
    assert min(one.estimate for one in found.spread) < 0 < max(one.estimate for one in found.spread)
    assert "changes its sign" in next(gate.text for gate in found.gates if gate.name == "one_sign")


def test_the_detectable_effect_of_a_gap_is_the_normal_formula_where_questions_are_alone() -> None:
    generator = np.random.default_rng(7)
    score, before = generator.normal(0.3, 0.2, 900), np.arange(900) < 400
    found = power.of_gap(score, before, replicates=1000, draws=600, seed=1)
    error = 0.2 * np.sqrt(1 / 400 + 1 / 500)
    assert found.mde == pytest.approx(2.80 * error, rel=0.12)
    assert found.mde == pytest.approx(power.of_error(error).mde, rel=0.12)
    assert found.false_positive == pytest.approx(0.025, abs=0.015)
    assert list(found.detected) == sorted(found.detected)


def test_one_interval_serves_every_effect_as_an_injection_into_each_panel_would() -> None:
    generator = np.random.default_rng(8)
    score, before, cluster = generator.normal(0, 0.2, 300), np.arange(300) < 150, np.arange(300) // 6
    plain = gap(score, before, cluster, draws=300)
    moved = gap(score + 0.07 * before, before, cluster, draws=300)
    assert (moved.low or 0) - (plain.low or 0) == pytest.approx(0.07, abs=1e-12)


def test_more_questions_find_smaller_effects_and_an_empty_side_none() -> None:
    found = []
    for n in (300, 1200):
        drawn = panel(np.random.default_rng(9), n=n)
        found.append(
            power.of_gap(drawn.score, drawn.days < 0, drawn.cluster, replicates=100, draws=200).mde or 9
        )
    assert found[1] < 0.7 * found[0]
    none = power.of_gap(np.ones(10), np.ones(10, dtype=bool))
    assert none.mde is None and "not known" in power.words(none)


def test_noise_of_a_logit_cannot_pass_for_extraction() -> None:
    generator = np.random.default_rng(10)
    drawn = questions(generator, (3000,), noise=0.0)
    noisy = held(drawn.honest + generator.normal(0, 0.1, 3000))
    assert abs(extraction.weight(noisy, drawn.honest, drawn.outcome, draws=200).estimate) < 0.02
