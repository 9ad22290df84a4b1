"""Jumps of every model at every candidate boundary: leakage shows at a model's own cutoff and nowhere else.

A cell is the mean of target minus controls before the boundary minus that after it, within a window: positive where
the target alone is better on the older questions. (The paper writes it for losses, the other way round.)

Source: Temporal Leakage, section 7.1, Table 2, appendices D.5 and D.6; the suite's specification, "Boundary matrix".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anachron.backtest.gap import Grouping
from anachron.backtest.score import ScoreTable, date
from anachron.errors import BacktestError
from anachron.stats.cluster import (
    DRAWS,
    LEVEL,
    SEED,
    Bools,
    Floats,
    cluster_weights,
    codes,
    gap_draws,
    summary,
)
from anachron.stats.did import paired
from anachron.stats.permutation import Permutation, date_shuffle, reassignments
from anachron.stats.result import GapEstimate

HALF_WIDTH = 90


@dataclass(frozen=True)
class Cell:
    """One model at one boundary."""

    model: str
    boundary: str
    own: bool
    """Whether the boundary is the model's own cutoff."""
    gap: GapEstimate
    dates: Permutation | None
    """The date-shuffle test of this cell alone, within its window; own cells only."""


@dataclass(frozen=True)
class Matrix:
    """All cells, and the two joint tests of the own ones against the others."""

    models: tuple[str, ...]
    controls: tuple[str, ...]
    boundaries: tuple[str, ...]
    half_width: int
    cells: tuple[Cell, ...]
    """By model and then boundary."""
    reassigned: Permutation
    """Cutoffs reassigned to models."""
    shuffled: Permutation
    """Dates exchanged between questions, all of them."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        cells = [
            vars(one)
            | {"gap": one.gap.as_dict(), "dates": None if one.dates is None else one.dates.as_dict()}
            for one in self.cells
        ]
        tests = {"reassigned": self.reassigned.as_dict(), "shuffled": self.shuffled.as_dict()}
        return vars(self) | {"cells": cells} | tests


def boundary_matrix(
    scores: ScoreTable,
    targets: Sequence[str],
    controls: Sequence[str],
    *,
    cutoffs: Mapping[str, int] | None = None,
    boundaries: Sequence[int] | None = None,
    half_width: int = HALF_WIDTH,
    grouping: Grouping = "cluster",
    draws: int = DRAWS,
    shuffles: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Matrix:
    """Return the jumps of all targets at all boundaries.

    Parameters
    ----------
    targets
        One without a cutoff has no own cell: its row is exploratory, and no test rests on it.
    controls
        Models without a cutoff inside any window; the mean of those that answered a question is its control.
    cutoffs
        Cutoff days by model; those of the table when None.
    boundaries
        Days; the targets' cutoffs when None. Cutoffs that are not among them are added.
    half_width
        Days on each side: [boundary − half_width, boundary) against [boundary, boundary + half_width).
    grouping, draws, seed, level
        As `gap.naive_gap`.
    shuffles
        Arrangements of the date-shuffle tests.

    Raises
    ------
    BacktestError
        When there is no target, no control, or no boundary.
    """
    known = scores.cutoffs if cutoffs is None else cutoffs
    own = {name: known.get(name) for name in targets}
    edges = sorted({*(boundaries or ()), *(one for one in own.values() if one is not None)})
    if not targets or not controls or not edges:
        raise BacktestError(
            "a boundary matrix needs a target, a control, and a boundary or a target's cutoff"
        )
    columns = [scores.place(name) for name in controls]
    difference = np.stack(
        [paired(scores.column(name), scores.score[:, columns])[0] for name in targets], axis=1
    )
    fixed: dict[str, Any] = {"grouping": grouping, "draws": draws, "seed": seed, "level": level}
    gaps = [_column(scores, difference, edge, half_width, **fixed) for edge in edges]
    cells = []
    for row, name in enumerate(targets):
        for edge, column in zip(edges, gaps, strict=True):
            mine = own[name] == edge
            test = _alone(scores, difference[:, row], edge, half_width, shuffles, seed) if mine else None
            cells.append(Cell(name, date(edge), mine, column[row], test))
    jumps = np.array(
        [[np.nan if one.estimate is None else one.estimate for one in column] for column in gaps]
    ).T
    dated = [row for row, name in enumerate(targets) if own[name] is not None]
    places = np.array([edges.index(own[targets[row]]) for row in dated], dtype=np.int64)  # type: ignore[arg-type]
    return Matrix(
        models=tuple(targets),
        controls=tuple(controls),
        boundaries=tuple(date(edge) for edge in edges),
        half_width=half_width,
        cells=tuple(cells),
        reassigned=reassignments(jumps[dated], places, seed=seed),
        shuffled=date_shuffle(
            difference[:, dated], scores.days, edges, places, half_width, draws=shuffles, seed=seed
        ),
    )


def _column(
    scores: ScoreTable,
    difference: Floats,
    boundary: int,
    half_width: int,
    *,
    grouping: Grouping,
    draws: int,
    seed: int,
    level: float,
) -> list[GapEstimate]:
    """Return the cells of one boundary, by target."""
    inside = (scores.days >= boundary - half_width) & (scores.days < boundary + half_width)
    window, side, cluster = difference[inside], scores.days[inside] < boundary, scores.cluster[inside]
    there = ~np.isnan(window)
    # Targets that answered the same questions draw from the same clusters: one product serves them all.
    patterns, which = np.unique(there, axis=1, return_inverse=True)
    found: list[GapEstimate | None] = [None] * window.shape[1]
    for number, rows in enumerate(patterns.T):
        columns = np.flatnonzero(which.reshape(-1) == number)
        drawn, group = _drawn(window[rows][:, columns], side[rows], cluster[rows], grouping, draws, seed)
        for place, column in enumerate(columns):
            values = window[rows, column]
            before = side[rows]
            point = (
                float(values[before].mean() - values[~before].mean())
                if before.any() and not before.all()
                else float("nan")
            )
            unit = "clusters" if grouping == "cluster" else "questions"
            found[column] = summary(
                point,
                drawn[:, place],
                group,
                before,
                method=f"percentile bootstrap of whole {unit} over the window",
                seed=seed,
                level=level,
            )
    return [one for one in found if one is not None]


def _drawn(
    values: Floats, side: Bools, cluster: np.ndarray[Any, Any], grouping: Grouping, draws: int, seed: int
) -> tuple[Floats, np.ndarray[Any, Any]]:
    if not len(values):
        return np.full((draws, values.shape[1]), np.nan), np.zeros(0, dtype=np.int64)
    group = codes(cluster) if grouping == "cluster" else np.arange(len(values))
    weights = cluster_weights(int(group.max()) + 1, draws, seed)
    return gap_draws(values, side, ~side, group, weights), group


def _alone(
    scores: ScoreTable, difference: Floats, boundary: int, half_width: int, shuffles: int, seed: int
) -> Permutation:
    inside = (scores.days >= boundary - half_width) & (scores.days < boundary + half_width)
    inside &= ~np.isnan(difference)
    return date_shuffle(
        difference[inside], scores.days[inside], [boundary], [0], half_width, draws=shuffles, seed=seed
    )
