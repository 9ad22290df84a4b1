"""Gaps, standardised gaps, differences and permutations against plain loops, closed forms and planted truths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anachron.stats import permutation
from anachron.stats.cluster import cluster_weights, codes, gap, gap_draws
from anachron.stats.did import did, paired
from anachron.stats.permutation import date_shuffle, reassignments
from anachron.stats.standardise import combine, crowd_cells, standardised_gap

Array = np.ndarray[Any, Any]


def sample(number: int, seed: int) -> tuple[Array, Array, Array]:
    """Return scores, sides and clusters, some of them on both sides."""
    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, 12, number)
    before = (cluster < 4) | ((cluster < 8) & (draw.random(number) < 0.5))
    return draw.normal(size=number) + cluster * 0.1, before, cluster


def test_draws_are_those_of_a_plain_loop_over_drawn_clusters() -> None:
    values, before, cluster = sample(90, 1)
    table = pd.DataFrame({"value": values, "before": before, "cluster": cluster})
    names = sorted(table["cluster"].unique())
    weights = cluster_weights(len(names), 50, 3)
    plain = []
    for row in weights:
        drawn = pd.concat(
            [
                table[table["cluster"] == name]
                for name, times in zip(names, row, strict=True)
                for _ in range(times)
            ]
        )
        means = drawn.groupby("before")["value"].mean()
        plain.append(means[True] - means[False])
    ours = gap_draws(values[:, None], before, ~before, codes(cluster), weights)[:, 0]
    np.testing.assert_allclose(ours, plain, atol=1e-12)
    found = gap(values, before, cluster, draws=50, seed=3)
    assert [found.low, found.high] == pytest.approx(np.percentile(plain, [2.5, 97.5]), abs=1e-12)
    assert found.estimate == pytest.approx(values[before].mean() - values[~before].mean(), abs=1e-12)
    assert (found.clusters_pre, found.clusters_post, found.clusters) == (8, 8, 12)
    assert found.gates[0].name == "few_clusters"
    assert found.gates[0].passed is False


def test_columns_with_missing_values_are_what_each_gives_alone() -> None:
    values, before, cluster = sample(80, 2)
    holed = np.where(np.random.default_rng(0).random(80) < 0.2, np.nan, values)
    weights = cluster_weights(12, 40, 0)
    both = gap_draws(np.stack([values, holed], axis=1), before, ~before, codes(cluster), weights)
    there = ~np.isnan(holed)
    alone = gap_draws(holed[there][:, None], before[there], ~before[there], codes(cluster)[there], weights)
    np.testing.assert_allclose(both[:, 1], alone[:, 0], atol=1e-12)
    assert gap(holed, before, cluster).n_pre == int((there & before).sum())


def test_the_bootstrap_of_questions_has_the_closed_forms_error() -> None:
    draw = np.random.default_rng(4)
    values, before = draw.normal(size=600) * 2, np.arange(600) < 250
    found = gap(values, before)
    closed = np.sqrt(values[before].var() / 250 + values[~before].var() / 350)
    assert found.error == pytest.approx(closed, rel=0.04)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * closed, rel=0.06)
    assert found.gates[0].passed


def test_an_empty_side_leaves_a_gap_undefined() -> None:
    found = gap([1.0, 2.0], [True, True], ["a", "b"])
    assert (found.estimate, found.low, found.high, found.error, found.null) == (None, None, None, None, None)
    within = standardised_gap([1.0, 2.0], [True, True], ["x", "y"])
    assert within.gap.estimate is None
    assert (within.cells, within.cells_dropped, within.pre_dropped) == (0, 2, 2)
    assert gap([], []).estimate is None


def test_a_gap_of_composition_alone_goes_away_at_the_same_mix() -> None:
    cell = np.repeat([0, 1, 0, 1], [30, 10, 10, 30])
    before = np.repeat([True, True, False, False], [30, 10, 10, 30])
    score = np.where(cell == 0, 0.4, 0.0)
    assert gap(score, before).estimate == pytest.approx(0.2)
    found = standardised_gap(score, before, cell)
    assert found.gap.estimate == pytest.approx(0)
    assert found.gap.low == pytest.approx(0)
    assert found.gap.high == pytest.approx(0)
    assert found.gap.gates[1].passed


def test_cells_are_weighted_by_the_mix_before_or_of_the_window_and_lone_ones_are_counted() -> None:
    cell = np.array([0, 0, 0, 1, 0, 1, 1, 1, 2, 3])
    before = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0], dtype=bool)
    score = np.array([3.0, 3, 3, 1, 1, 2, 2, 2, 50, 70])
    found = standardised_gap(score, before, cell)
    assert found.gap.estimate == pytest.approx((3 * 2 + 1 * -1) / 4)
    assert (found.cells, found.cells_dropped, found.pre_dropped, found.post_dropped) == (2, 2, 1, 1)
    assert (found.gap.n_pre, found.gap.n_post) == (4, 4)
    assert found.gap.gates[1].passed is False
    assert found.gap.gates[1].figure == pytest.approx(0.8)
    assert standardised_gap(score, before, cell, mix="window").gap.estimate == pytest.approx(
        (4 * 2 + 4 * -1) / 8
    )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_with_one_cell_the_standardised_gap_is_the_gap(seed: int) -> None:
    values, before, cluster = sample(40, seed)
    plain = gap(values, before, cluster, draws=50)
    within = standardised_gap(values, before, np.zeros(40), cluster, draws=50).gap
    assert plain.estimate is not None
    assert within.estimate == pytest.approx(plain.estimate, abs=1e-12)
    assert within.low == pytest.approx(plain.low, abs=1e-12)
    assert within.high == pytest.approx(plain.high, abs=1e-12)


def test_an_edge_belongs_to_the_bin_below_it_and_an_unknown_crowd_to_its_own() -> None:
    assert crowd_cells([0.0, 0.02, 0.0201, 0.1, 0.3, 0.6, 0.61, np.nan]).tolist() == [0, 0, 1, 1, 2, 3, 4, -1]
    assert combine(["a", "b", "a"], [1, 1, 2]).tolist() == [0, 2, 1]


def test_a_control_is_the_mean_of_those_that_answered() -> None:
    target = [1.0, 1.0, 1.0, np.nan]
    controls = [[0.2, 0.4], [0.2, np.nan], [np.nan, np.nan], [0.1, 0.1]]
    difference, control = paired(target, controls)
    np.testing.assert_allclose(control, [0.3, 0.2, np.nan, np.nan])
    np.testing.assert_allclose(difference, [0.7, 0.8, np.nan, np.nan])


def test_a_difference_of_differences_is_the_difference_of_gaps() -> None:
    target, before, cluster = sample(100, 5)
    control = sample(100, 6)[0]
    found = did(target, control, before, cluster, cells=np.arange(100) % 2)
    assert found.target_gap is not None
    assert found.control_gap is not None
    assert found.raw.estimate == pytest.approx(found.target_gap - found.control_gap)
    assert found.target_gap == pytest.approx(gap(target, before).estimate)
    assert found.standardised is not None
    assert found.standardised.cells == 2


def brute(matrix: Array, own: list[int]) -> float:
    def contrast(places: tuple[int, ...]) -> float:
        mine = [matrix[row, place] for row, place in enumerate(places)]
        others = [
            matrix[row, column]
            for row, column in itertools.product(range(len(matrix)), range(matrix.shape[1]))
            if places[row] != column
        ]
        return float(np.nanmean(mine) - np.nanmean(others))

    observed = contrast(tuple(own))
    all_of_them = [
        contrast(tuple(own[k] for k in order)) for order in itertools.permutations(range(len(own)))
    ]
    return float(np.mean([one >= observed - 1e-12 for one in all_of_them]))


@pytest.mark.parametrize("own", [[0, 1, 2, 3], [3, 1, 0, 2], [0, 0, 2, 3]])
def test_every_reassignment_of_cutoffs_is_looked_at(own: list[int]) -> None:
    matrix = np.random.default_rng(7).normal(size=(4, 5))
    matrix[1, 4] = np.nan
    found = reassignments(matrix, own)
    assert (found.exact, found.arrangements, found.seed) == (True, 24, None)
    assert found.p == pytest.approx(brute(matrix, own))


def test_a_jump_at_every_own_cutoff_has_the_least_p_there_is_and_many_models_are_drawn() -> None:
    matrix = np.eye(5) * 0.1
    assert reassignments(matrix, range(5)).p == pytest.approx(1 / 120)
    many = reassignments(np.eye(12), range(12), draws=5_000)
    assert (many.exact, many.seed) == (False, 0)
    assert many.p == pytest.approx(1 / 5_001)
    assert reassignments(matrix, [2] * 5).p is None


def test_the_shuffle_of_dates_is_that_of_a_plain_loop() -> None:
    draw = np.random.default_rng(8)
    days, score = draw.integers(-60, 60, 70), draw.normal(size=(70, 2))
    score[draw.random((70, 2)) < 0.1] = np.nan
    boundaries, own = [-10, 15], [1, 0]

    def statistic(at: Array) -> float:
        jumps = np.array(
            [
                [
                    np.nanmean(score[(at >= edge - 30) & (at < edge), model])
                    - np.nanmean(score[(at >= edge) & (at < edge + 30), model])
                    for edge in boundaries
                ]
                for model in range(2)
            ]
        )
        return float((jumps[0, 1] + jumps[1, 0]) / 2 - (jumps[0, 0] + jumps[1, 1]) / 2)

    found = date_shuffle(score, days, boundaries, own, 30, draws=300, seed=1)
    observed = statistic(days)
    assert found.statistic == pytest.approx(observed, abs=1e-12)
    shuffled = [statistic(draw.permutation(days)) for _ in range(1500)]
    share = np.mean([one >= observed for one in shuffled])
    assert found.p == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) * (1 / 300 + 1 / 1500)))


def planted(seed: int, *, leak: float = 0.0, flat: bool = False) -> tuple[Array, Array, Array, Array]:
    """Return target's and control's scores, side and clusters: both know less of later questions; the target leaks."""
    draw = np.random.default_rng(seed)
    day = draw.integers(-360, 360, 500)
    crowd = draw.uniform(0.15, 0.85, 500)
    outcome = (draw.random(500) < crowd).astype(float)
    recency = 0.5 - 0.4 * (day + 360) / 720

    def forecast(skill: Array | float, w: Array | float) -> Array:
        honest = crowd + skill * (outcome - crowd) + draw.normal(scale=0.05, size=500)
        return np.asarray((crowd - outcome) ** 2 - ((1 - w) * (honest - outcome)) ** 2)

    before = day < 0
    target = forecast(recency, leak * before)
    control = forecast(0.3 if flat else recency, 0.0)
    return target, control, before, day // 9


def test_recency_alone_is_no_leakage_to_a_matched_control_and_leakage_is_found() -> None:
    naive, null, found, truth = [], [], [], []
    for seed in range(200):
        target, control, before, cluster = planted(seed)
        naive.append(gap(target, before, cluster, draws=400).starred)
        null.append(did(target, control, before, cluster, draws=400).raw.starred)
    for seed in range(60):
        honest, *_ = planted(seed)
        target, control, before, cluster = planted(seed, leak=0.4)
        one = did(target, control, before, cluster, draws=400).raw
        assert one.low is not None
        assert one.high is not None
        b = float((target - honest)[before].mean())
        truth.append(one.low <= b <= one.high)
        found.append(one.starred)
    # 200 panels: two standard errors of a share of 5 % are 3 percentage points.
    assert np.mean(naive) > 0.9
    assert 0.01 <= np.mean(null) <= 0.09
    assert np.mean(found) > 0.95
    assert np.mean(truth) > 0.85


def test_a_weak_control_reads_recency_as_leakage() -> None:
    weak = [did(*planted(seed, flat=True)[:3], draws=300).raw for seed in range(20)]
    assert np.mean([one.starred and (one.estimate or 0) > 0 for one in weak]) > 0.9


def test_the_shuffle_of_clusters_is_that_of_a_plain_loop_and_keeps_its_size_where_clusters_share_luck() -> (
    None
):
    draw = np.random.default_rng(3)
    cluster = np.repeat(np.arange(30), 8)
    before = np.repeat(np.arange(30) < 14, 8)
    values = draw.normal(0, 1, 240) + 0.4 * before
    found = permutation.cluster_shuffle(values, before, cluster, draws=300, seed=5)
    assert found.statistic == pytest.approx(values[before].mean() - values[~before].mean(), abs=1e-12)
    # Equal clusters: the mean over questions is the mean over clusters, whose labels a plain loop exchanges.
    means, side = values.reshape(30, 8).mean(axis=1), np.arange(30) < 14
    order = np.random.default_rng(8)
    plain = [order.permutation(side) for _ in range(4000)]
    reached = np.mean([means[one].mean() - means[~one].mean() >= found.statistic - 1e-12 for one in plain])
    assert found.p == pytest.approx(reached, abs=0.07)
    fired = {"clusters": 0, "questions": 0}
    for _ in range(200):
        luck = np.repeat(draw.normal(0, 1, 30), 8) + draw.normal(0, 1, 240)
        fired["clusters"] += (permutation.cluster_shuffle(luck, before, cluster, draws=199).p or 1) <= 0.05
        days = np.where(before, -1, 0)
        fired["questions"] += (permutation.date_shuffle(luck, days, [0], [0], 1, draws=199).p or 1) <= 0.05
    assert 2 <= fired["clusters"] <= 20 < fired["questions"]
    assert permutation.cluster_shuffle([1.0], [True], ["a"]).p is None
