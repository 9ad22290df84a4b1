"""CPU time of an audit's estimators beside a plain pandas loop that computes the same numbers.

    python benchmarks/leakage.py [--draws 4000] [--loop-draws 20] [--shuffles 4000]

A made-up panel of 1,646 questions and 10 models, each with its own cutoff, and two controls; 80-odd clusters of
source and month. Measured are the naive gap, the standardised gap and the paired difference of every model, the
boundary matrix (10 models at 10 cutoffs), the shuffle of dates and all reassignments of the cutoffs. The loop draws,
joins and averages frames, as one would write it down; it is timed over `--loop-draws` draws (and as many shuffles,
and 2,000 reassignments) and its time is multiplied up, for the whole takes an hour. What both compute is compared to
the last digits first.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from anachron.backtest import control, gap, matrix, score
from anachron.backtest.score import ScoreTable
from anachron.stats.cluster import cluster_weights, codes
from anachron.stats.permutation import reassignments

QUESTIONS, MODELS, SEED, HALF_WIDTH = 1646, 10, 0, 90
SOURCES = np.array(["infer", "manifold", "metaculus", "polymarket"])
FIRST = score.day("2024-07-01")
CONTROLS = ("control 1", "control 2")
LOOP_REASSIGNMENTS = 2000


def made_up() -> ScoreTable:
    """Return a panel in which every model knows less of later questions, and one in three leaks a little."""
    draw = np.random.default_rng(SEED)
    days = FIRST + np.sort(draw.integers(0, 730, QUESTIONS))
    crowd = np.clip(draw.beta(0.5, 1.2, QUESTIONS), 0.005, 0.995)
    outcome = (draw.random(QUESTIONS) < crowd).astype(float)
    source = SOURCES[draw.choice(4, QUESTIONS, p=(0.03, 0.17, 0.12, 0.68))]
    names = [f"model {place:02d}" for place in range(MODELS)] + list(CONTROLS)
    cutoffs = {name: int(FIRST + 120 + 50 * place) for place, name in enumerate(names[:MODELS])}
    forecast = np.empty((QUESTIONS, len(names)))
    for place, name in enumerate(names):
        skill = 0.3 - 0.0003 * (days - FIRST) + draw.normal(scale=0.05, size=QUESTIONS)
        honest = np.clip(crowd + skill * (outcome - crowd), 0.001, 0.999)
        leak = 0.2 if place % 3 == 0 and name in cutoffs else 0.0
        w = np.where(days < cutoffs.get(name, FIRST), leak, 0.0)
        forecast[:, place] = (1 - w) * honest + w * outcome
    month = days.astype("datetime64[D]").astype("datetime64[M]").astype(str)
    return ScoreTable(
        models=tuple(names),
        questions=np.array([f"q{place:04d}" for place in range(QUESTIONS)]),
        days=days,
        score=score.brier(forecast, outcome, crowd),
        forecast=forecast,
        outcome=outcome,
        crowd=crowd,
        source=source,
        difficulty=np.full(QUESTIONS, ""),
        cluster=np.char.add(np.char.add(source, " "), month),
        anchor="crowd",
        cutoffs={name: cutoffs.get(name) for name in names},
        roles=dict.fromkeys(names),
    )


def loop_means(frame: pd.DataFrame, weights: Any, statistic: Callable[[pd.DataFrame], float]) -> list[float]:
    """Return a statistic of each draw, joining the frames of the clusters that were drawn."""
    parts = dict(tuple(frame.groupby("cluster")))
    names = sorted(parts)
    found = []
    for row in weights:
        drawn = pd.concat([parts[name] for name, times in zip(names, row, strict=True) for _ in range(times)])
        found.append(statistic(drawn))
    return found


def plain_gap(frame: pd.DataFrame) -> float:
    means = frame.groupby("before")["value"].mean()
    return float(means.get(True, np.nan) - means.get(False, np.nan))


def plain_standardised(frame: pd.DataFrame) -> float:
    sides = frame.pivot_table(index="cell", columns="before", values="value", aggfunc=["mean", "size"])
    both = sides.dropna()
    weight = both["size"][True]
    return float(((both["mean"][True] - both["mean"][False]) * weight).sum() / weight.sum())


class Clock:
    """Seconds of CPU by name."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def run(self, name: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        found = work()
        self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - start
        return found


def frame_of(table: ScoreTable, values: Any, boundary: int, half_width: int | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "value": values,
            "day": table.days,
            "before": table.days < boundary,
            "cluster": table.cluster,
            "cell": score.question_cells(table),
        }
    )
    if half_width is None:
        return frame
    return frame[(frame["day"] >= boundary - half_width) & (frame["day"] < boundary + half_width)]


def vectorised(table: ScoreTable, clock: Clock, draws: int, shuffles: int) -> dict[str, Any]:
    """Run every estimator; `joint` is the matrix with its two tests."""
    targets = table.models[:MODELS]
    split = gap.median_split(table)
    fixed: dict[str, Any] = {"draws": draws, "seed": SEED}
    naive = clock.run(
        "gaps, raw and standardised",
        lambda: [gap.naive_gap(table, name, boundary=split, **fixed) for name in targets],
    )
    paired = clock.run(
        "differences, raw and standardised",
        lambda: [control.paired_did(table, name, CONTROLS, split, **fixed) for name in targets],
    )
    joint = clock.run(
        "matrix with both tests",
        lambda: matrix.boundary_matrix(
            table, targets, CONTROLS, half_width=HALF_WIDTH, shuffles=shuffles, **fixed
        ),
    )
    return {"split": split, "naive": naive, "paired": paired, "joint": joint}


def looped(table: ScoreTable, clock: Clock, found: dict[str, Any], loop_draws: int, draws: int) -> None:
    """Run the loops over a few draws, and compare with what the estimators found."""
    targets = table.models[:MODELS]
    pool = table.score[:, MODELS:].mean(axis=1)
    weights = cluster_weights(int(codes(table.cluster).max()) + 1, draws, SEED)[:loop_draws]
    for place, name in enumerate(targets):
        for key, result, values in (
            ("gaps, raw and standardised", found["naive"][place], table.column(name)),
            ("differences, raw and standardised", found["paired"][place], table.column(name) - pool),
        ):
            frame = frame_of(table, values, found["split"])
            np.testing.assert_allclose(plain_gap(frame), result.raw.estimate, atol=1e-12)
            np.testing.assert_allclose(
                plain_standardised(frame), result.standardised.gap.estimate, atol=1e-12
            )
            clock.run(key, lambda: loop_means(frame, weights, plain_gap))
            clock.run(key, lambda: loop_means(frame, weights, plain_standardised))
        for boundary in (table.cutoffs[one] for one in targets):
            frame = frame_of(table, table.column(name) - pool, boundary, HALF_WIDTH)
            cell = next(
                one
                for one in found["joint"].cells
                if (one.model, one.boundary) == (name, score.date(boundary))
            )
            np.testing.assert_allclose(plain_gap(frame), cell.gap.estimate, atol=1e-12)
            within = cluster_weights(frame["cluster"].nunique(), draws, SEED)[:loop_draws]
            clock.run("cells", lambda: loop_means(frame, within, plain_gap))


def looped_tests(table: ScoreTable, clock: Clock, found: dict[str, Any], loop_draws: int) -> None:
    """Run the shuffle of dates and the reassignments as loops, and compare the observed statistic."""
    targets = table.models[:MODELS]
    pool = table.score[:, MODELS:].mean(axis=1)
    edges = [table.cutoffs[name] for name in targets]
    frame = pd.DataFrame({name: table.column(name) - pool for name in targets} | {"day": table.days})

    def contrast(jumps: pd.DataFrame) -> float:
        own = [jumps.loc[name, edge] for name, edge in zip(targets, edges, strict=True)]
        rest = jumps.to_numpy().sum() - sum(own)
        return float(np.mean(own) - rest / (jumps.size - len(own)))

    def jumps_of(day: Any) -> pd.DataFrame:
        columns = {}
        for edge in edges:
            pre = frame.loc[(day >= edge - HALF_WIDTH) & (day < edge), list(targets)].mean()
            columns[edge] = pre - frame.loc[(day >= edge) & (day < edge + HALF_WIDTH), list(targets)].mean()
        return pd.DataFrame(columns)

    np.testing.assert_allclose(
        contrast(jumps_of(frame["day"])), found["joint"].shuffled.statistic, atol=1e-12
    )
    draw = np.random.default_rng(SEED)
    clock.run(
        "shuffles",
        lambda: [contrast(jumps_of(draw.permutation(frame["day"]))) for _ in range(loop_draws)],
    )
    observed = jumps_of(frame["day"])

    def reassigned() -> None:
        for order in itertools.islice(itertools.permutations(edges), LOOP_REASSIGNMENTS):
            own = [observed.loc[name, edge] for name, edge in zip(targets, order, strict=True)]
            np.mean(own) - (observed.to_numpy().sum() - sum(own)) / (observed.size - len(own))

    clock.run("reassignments", reassigned)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--loop-draws", type=int, default=20)
    parser.add_argument("--shuffles", type=int, default=4000)
    options = parser.parse_args()
    table = made_up()
    ours, plain = Clock(), Clock()
    found = vectorised(table, ours, options.draws, options.shuffles)
    looped(table, plain, found, options.loop_draws, options.draws)
    looped_tests(table, plain, found, options.loop_draws)
    times = options.draws / options.loop_draws
    all_orders = found["joint"].reassigned.arrangements
    scaled = {
        "gaps, raw and standardised": plain.spent["gaps, raw and standardised"] * times,
        "differences, raw and standardised": plain.spent["differences, raw and standardised"] * times,
        # Each own cell is shuffled alone besides: ten more rounds of shuffles of a tenth of the work.
        "matrix with both tests": plain.spent["cells"] * times
        + plain.spent["shuffles"] * options.shuffles / options.loop_draws
        + plain.spent["reassignments"] * all_orders / LOOP_REASSIGNMENTS,
    }
    print(
        f"{QUESTIONS:,} questions, {MODELS} models, {len(np.unique(table.cluster))} clusters, {options.draws:,} draws"
    )
    print(f"{'':36}{'here, s':>10}{'loop, s':>10}{'times':>8}")
    for name, spent in (*ours.spent.items(), ("all", sum(ours.spent.values()))):
        slow = scaled.get(name, sum(scaled.values()))
        print(f"{name:36}{spent:10.2f}{slow:10.0f}{slow / spent:8.0f}")
    jumps = np.array([one.gap.estimate for one in found["joint"].cells]).reshape(MODELS, MODELS)
    start = time.process_time()
    reassignments(jumps, range(MODELS))
    parts = {
        "cells": plain.spent["cells"] * times,
        "shuffles": plain.spent["shuffles"] * options.shuffles / options.loop_draws,
        "reassignments": plain.spent["reassignments"] * all_orders / LOOP_REASSIGNMENTS,
    }
    print(f"of which {all_orders:,} reassignments: {time.process_time() - start:.2f} s")
    print("the loop's matrix: " + ", ".join(f"{name} {spent:.0f} s" for name, spent in parts.items()))


if __name__ == "__main__":
    main()
