"""Statistics against other software, closed forms and the definitions they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anachron.stats.bootstrap import (
    bootstrap_gap,
    date_weights,
    exceedance,
    last_exceeding_interval,
    percentile_interval,
)
from anachron.stats.gaps import contrast, gap, pooled_share
from anachron.stats.gates import agreement_table, cohens_kappa, fisher_p
from anachron.stats.hac import newey_west
from anachron.stats.intervals import influence, linearise, linearised_t, student_quantile


def test_the_stream_is_one_call_per_set_and_draw():
    generator = np.random.default_rng(2026)
    weights = date_weights((11, 36), 50, 2026)
    for draw in range(50):
        crisis, calm = generator.integers(0, 11, 11), generator.integers(0, 36, 36)
        assert weights[draw, :11].tolist() == np.bincount(crisis, minlength=11).tolist()
        assert weights[draw, 11:].tolist() == np.bincount(calm, minlength=36).tolist()


def test_a_draw_is_the_pooled_gap_of_the_dates_it_takes():
    generator = np.random.default_rng(1)
    total = generator.integers(0, 9, 47).astype(float)
    bearish = np.floor(total * generator.random(47))
    weights = date_weights((11, 36), 20, 7)
    values = bootstrap_gap(weights, bearish, total, 11)
    for draw in range(20):
        taken = np.repeat(np.arange(47), weights[draw].astype(int))
        crisis, calm = taken[taken < 11], taken[taken >= 11]
        share = bearish[crisis].sum() / total[crisis].sum() - bearish[calm].sum() / total[calm].sum()
        assert values[draw] == pytest.approx(share, abs=1e-15)


def test_a_share_is_a_ratio_of_pooled_counts():
    bearish, total = np.array([1.0, 8.0, 0.0]), np.array([2.0, 8.0, 4.0])
    assert gap(bearish, total, np.array([0, 1]), np.array([2])) == 0.9
    assert np.isnan(pooled_share(np.zeros(2), np.zeros(2))).all()
    assert np.isnan(gap(bearish, np.array([2.0, 8.0, 0.0]), np.array([0, 1]), np.array([2])))


def test_undefined_draws_are_dropped_and_half_must_remain():
    values = np.array([np.nan, 1.0, 2.0, 3.0])
    assert percentile_interval(values, 0.5, 0.5) == (1.5, 2.5, 3)
    assert percentile_interval(np.array([np.nan, np.nan, np.nan, 1.0]), 0.95, 0.5) is None
    assert percentile_interval(np.array([np.nan, np.nan]), 0.95, 0.0) is None


def test_linearised_t_is_welchs_interval_when_all_dates_weigh_the_same():
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(3)
    total = np.full(47, 16.0)
    arms = [generator.binomial(16, 0.4, 47).astype(float) for _ in range(2)]
    crisis, calm = np.arange(11), np.arange(11, 47)
    rows = [
        (outer * inner, where, arm[where], total[where])
        for outer, arm in ((1.0, arms[0]), (-1.0, arms[1]))
        for inner, where in ((1.0, crisis), (-1.0, calm))
    ]
    difference = (arms[0] - arms[1]) / 16
    welch = stats.ttest_ind(difference[crisis], difference[calm], equal_var=False).confidence_interval(0.95)
    assert linearised_t(contrast(rows, 47), 0.95) == pytest.approx((welch.low, welch.high), abs=1e-12)


def test_linearisation_is_the_derivative_of_the_contrast():
    generator = np.random.default_rng(4)
    total = generator.integers(4, 17, 30).astype(float)
    bearish = np.floor(total * generator.random(30))
    rows = [
        (1.0, np.arange(12), bearish[:12], total[:12]),
        (-1.0, np.arange(10, 30), bearish[10:], total[10:]),
    ]
    of = contrast(rows, 30)
    step = 1e-6
    for cluster in (3, 11, 25):
        weight = np.ones(30)
        weight[cluster] += step
        moved = pooled_share((of.bearish * weight).sum(axis=1), (of.total * weight).sum(axis=1))
        slope = (float(of.signs @ moved) - of.value) / step
        widened = [np.sqrt(12 / 11), np.sqrt(20 / 19)]
        inside = [cluster < 12, cluster >= 10]
        if sum(inside) == 1:
            slope *= widened[inside.index(True)]
            assert influence(of)[cluster] == pytest.approx(slope, rel=1e-4)


def test_one_date_a_side_has_no_interval():
    one = contrast([(1.0, np.array([0]), np.array([1.0]), np.array([2.0]))], 1)
    assert linearise(one) is None
    assert linearised_t(one, 0.95) is None


@pytest.mark.parametrize("lags", [0, 6])
def test_newey_west_against_statsmodels(lags):
    api = pytest.importorskip("statsmodels.api")
    generator = np.random.default_rng(5)
    signal, lap = np.sign(generator.standard_normal(200)), generator.random(200)
    design = np.column_stack([np.ones(200), signal, lap, signal * lap])
    y = (generator.random(200) < 0.6).astype(float)
    theirs = api.OLS(y, design).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": False})
    ours = newey_west(y, design, lags)
    assert ours.coefficients == pytest.approx(theirs.params, abs=1e-12)
    assert ours.t == pytest.approx(theirs.tvalues, abs=1e-9)
    assert ours.rank == 4
    assert newey_west(y, design[:, [0, 0]], lags).rank == 1


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4))
def test_fisher_against_scipy(counts):
    stats = pytest.importorskip("scipy.stats")
    table = np.array(counts).reshape(2, 2)
    if table.sum():
        assert fisher_p(table) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9, abs=1e-12)
    else:
        assert np.isnan(fisher_p(table))


def test_kappa_by_hand():
    answer, truth = np.array([1, 1, 1, -1, -1]), np.array([1, 1, -1, -1, 1])
    table = agreement_table(answer, truth)
    assert table.tolist() == [[2, 1], [1, 1]]
    assert cohens_kappa(table) == pytest.approx((0.6 - 0.52) / 0.48)
    assert np.isnan(cohens_kappa(np.array([[5, 0], [0, 0]])))


def test_exceedance_is_the_chance_under_resampling():
    counts, sizes = np.array([0, 2, 20, 1, 0]), np.array([20, 20, 20, 10, 0])
    generator = np.random.default_rng(6)
    draws = generator.binomial(
        sizes, np.divide(counts, sizes, out=np.zeros(5), where=sizes > 0), (200_000, 5)
    )
    simulated = (draws > 0.1 * sizes).mean(axis=0) * (sizes > 0)
    assert exceedance(counts, sizes, 0.1) == pytest.approx(simulated, abs=5e-3)


def test_interval_of_the_last_exceeding_month():
    assert last_exceeding_interval(np.array([1.0, 1.0, 0.0]), 0.95) == (1, 1)
    assert last_exceeding_interval(np.array([1.0, 0.5, 0.01]), 0.95) == (0, 1)
    assert last_exceeding_interval(np.array([0.1, 0.1, 0.0]), 0.95) is None


@given(st.floats(0.5, 0.9995), st.floats(1, 500))
def test_students_quantile_against_scipy(probability, freedom):
    special = pytest.importorskip("scipy.special")
    theirs = float(special.stdtrit(freedom, probability))
    assert student_quantile(probability, freedom) == pytest.approx(theirs, rel=1e-9, abs=1e-9)
