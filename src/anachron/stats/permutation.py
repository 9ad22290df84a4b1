"""Permutation tests of boundary jumps; each asks another question, so that all are named.

`reassignments` keeps the jumps and gives the cutoffs to other models: do the jumps lie at the models' own
cutoffs more than at one another's? `date_shuffle` keeps the cutoffs and gives the dates to other questions: are
the jumps at the own cutoffs larger than those of questions in no order of time? `cluster_shuffle` does so with whole
clusters, for one jump.

Source: Temporal Leakage, appendices D.5 and E.5; the suite's specification, "Boundary matrix".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.cluster import DRAWS, SEED, Floats, Ints

MOST_EXACT = 10
"""Models up to which every reassignment is looked at (3,628,800 of them)."""
TIE = 1e-12
AT_ONCE = 100
NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Permutation:
    """A one-sided test; small p where the jumps at the own cutoffs are large."""

    statistic: float | None
    """Mean of the own-cutoff cells minus mean of the others (of the cell alone, where there is one)."""
    p: float | None
    arrangements: int
    """Arrangements looked at; all there are when exact."""
    exact: bool
    seed: int | None
    method: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return dict(vars(self))


def contrast(matrix: Floats, places: Ints) -> Floats:
    """Return the mean of one cell per row minus the mean of all other cells, for each choice of cells.

    Parameters
    ----------
    matrix
        Shape (models, boundaries); NaN is left out on both sides of the contrast.
    places
        Shape (choices, models): the boundary whose cell counts as the model's own.
    """
    there = ~np.isnan(matrix)
    filled = np.where(there, matrix, 0.0)
    rows = np.arange(len(matrix))
    own, number = filled[rows, places].sum(axis=1), there[rows, places].sum(axis=1)
    others = there.sum() - number
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(own / number - np.where(others > 0, (filled.sum() - own) / others, 0.0))


def reassignments(
    matrix: ArrayLike, own: ArrayLike, *, most_exact: int = MOST_EXACT, draws: int = 100_000, seed: int = SEED
) -> Permutation:
    """Return the test over reassignments of the cutoffs to the models.

    Parameters
    ----------
    matrix
        Shape (models, boundaries): jumps, positive where they look like leakage.
    own
        Shape (models,): each model's own boundary, as a column of `matrix`.
    most_exact
        Models up to which all permutations are looked at; beyond, `draws` random ones and the observed.
    """
    jumps, place = np.asarray(matrix, dtype=float), np.asarray(own, dtype=np.int64)
    models = len(jumps)
    name = "cutoffs reassigned to models"
    observed = float(contrast(jumps, place[None, :])[0]) if models else math.nan
    if math.isnan(observed) or len(np.unique(place)) < 2:
        # With one cutoff for all models every reassignment is the observed one: there is no test.
        return Permutation(None if math.isnan(observed) else observed, None, 0, True, None, name)
    exact = models <= most_exact
    reached = defined = 0
    for chunk in _all(models) if exact else _random(models, draws, seed):
        found = contrast(jumps, place[chunk])
        found = found[~np.isnan(found)]
        reached += int((found >= observed - TIE).sum())
        defined += len(found)
    p = reached / defined if exact else (1 + reached) / (1 + defined)
    how = "all of them" if exact else f"{draws:,} random ones"
    return Permutation(observed, p, defined, exact, None if exact else seed, f"{name}, {how}; one-sided")


def _all(models: int) -> Iterator[Ints]:
    """Yield all permutations of 0 … models − 1, in chunks that share their first element."""
    rest = np.zeros((1, 0), dtype=np.int64)
    for size in range(1, models):
        rest = np.concatenate([np.insert(rest, place, size - 1, axis=1) for place in range(size)])
    for first in range(models):
        others = np.delete(np.arange(models), first)
        yield np.column_stack([np.full(len(rest), first), others[rest]])


def _random(models: int, draws: int, seed: int) -> Iterator[Ints]:
    generator = np.random.default_rng(seed)
    for start in range(0, draws, 10_000):
        size = min(10_000, draws - start)
        yield generator.permuted(np.tile(np.arange(models), (size, 1)), axis=1)


def date_shuffle(
    values: ArrayLike,
    days: ArrayLike,
    boundaries: ArrayLike,
    own: ArrayLike,
    half_width: int,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Permutation:
    """Return the test over random exchanges of the questions' dates.

    Parameters
    ----------
    values
        Shape (n,) or (n, models): target minus control; NaN is left out.
    days
        Shape (n,): resolution days. All models' scores of a question move together to its new day. Questions
        that no window holds take part too: restrict the rows to the window to exchange within it.
    boundaries, own
        Shape (boundaries,): days; shape (models,): places of the own ones in it.
    half_width
        Days on each side: [boundary − half_width, boundary) against [boundary, boundary + half_width).

    Returns
    -------
    Permutation
        p is (1 + arrangements at least as large) / (1 + arrangements): the observed one is one of them. Questions
        that belong together (a cluster) are exchanged singly, so that p is too small where they move together.
    """
    days = np.asarray(days, dtype=np.int64)
    score = np.asarray(values, dtype=float).reshape(len(days), -1)
    edges, place = np.asarray(boundaries, dtype=np.int64), np.asarray(own, dtype=np.int64)
    order = np.argsort(days, kind="stable")
    score, cuts = score[order], _cuts(days[order], edges, half_width)
    there = (~np.isnan(score)).astype(float)
    filled = np.where(there > 0, score, 0.0)
    complete = bool(there.all())
    observed = _statistic(filled[None], None if complete else there[None], cuts, place)[0]
    name = "dates exchanged between questions"
    if np.isnan(observed):
        return Permutation(None, None, 0, False, seed, name)
    generator = np.random.default_rng(seed)
    found = []
    together = max(1, min(AT_ONCE, NUMBERS_AT_ONCE // max(1, score.size)))
    for start in range(0, draws, together):
        number = min(together, draws - start)
        taken = generator.permuted(np.tile(np.arange(len(days)), (number, 1)), axis=1)
        found.append(_statistic(filled[taken], None if complete else there[taken], cuts, place))
    shuffled = np.concatenate(found)
    shuffled = shuffled[~np.isnan(shuffled)]
    p = (1 + int((shuffled >= observed - TIE).sum())) / (1 + len(shuffled))
    return Permutation(
        float(observed), p, len(shuffled), False, seed, f"{name}, {draws:,} random ones; one-sided"
    )


def cluster_shuffle(
    values: ArrayLike, before: ArrayLike, cluster: ArrayLike, *, draws: int = DRAWS, seed: int = SEED
) -> Permutation:
    """Return the test of one gap over random exchanges of the sides of whole clusters.

    The companion of `date_shuffle` where questions of a cluster move together: it keeps its size there, and has less
    to exchange. A cluster with questions on both sides is two.

    Parameters
    ----------
    values
        Shape (n,): target minus control; NaN is left out.
    before, cluster
        Shape (n,): side of the cutoff, and labels.
    """
    score, side = np.asarray(values, dtype=float), np.asarray(before, dtype=bool)
    known = ~np.isnan(score)
    score, side, labels = score[known], side[known], np.asarray(cluster)[known]
    name = "dates exchanged between whole clusters"
    if not side.any() or side.all():
        return Permutation(None, None, 0, False, seed, name)
    _, group = np.unique(np.stack([np.unique(labels, return_inverse=True)[1], side], axis=1), axis=0,
                         return_inverse=True)  # fmt: skip
    group = group.reshape(-1)
    totals, counts = np.bincount(group, score).astype(float), np.bincount(group).astype(float)
    first = np.zeros(len(totals), dtype=bool)
    first[group[side]] = True
    arranged = np.random.default_rng(seed).permuted(np.tile(first, (draws, 1)), axis=1)
    gaps = _side_gaps(totals, counts, np.vstack([first, arranged]).astype(float))
    observed, shuffled = gaps[0], gaps[1:]
    p = (1 + int((shuffled >= observed - TIE).sum())) / (1 + draws)
    how = f"{name}, {draws:,} random ones; one-sided"
    return Permutation(float(observed), p, draws, False, seed, how)


def _side_gaps(totals: Floats, counts: Floats, first: Floats) -> Floats:
    """Return the mean over questions of the chosen clusters minus that of the others, for each choice."""
    above, number = first @ totals, first @ counts
    return np.asarray(above / number - (totals.sum() - above) / (counts.sum() - number))


def _cuts(days: Ints, boundaries: Ints, half_width: int) -> Ints:
    """Return where each window begins, splits and ends among the sorted days, shape (3, boundaries)."""
    return np.stack([np.searchsorted(days, boundaries + shift) for shift in (-half_width, 0, half_width)])


def _statistic(filled: Floats, there: Floats | None, cuts: Ints, own: Ints) -> Floats:
    """Return the contrast of each arrangement; `filled` is (arrangements, n, models), in order of days."""
    total = _between(filled, cuts)
    everywhere = np.diff(cuts, axis=0)[None, :, :, None].astype(float)
    count = everywhere if there is None else _between(there, cuts)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = total / count
    jumps: NDArray[np.float64] = (means[:, 0] - means[:, 1]).transpose(0, 2, 1)
    known = ~np.isnan(jumps)
    jumps = np.where(known, jumps, 0.0)
    rows = np.arange(jumps.shape[1])
    mine, number = jumps[:, rows, own].sum(axis=1), known[:, rows, own].sum(axis=1)
    others = known.sum(axis=(1, 2)) - number
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(others > 0, (jumps.sum(axis=(1, 2)) - mine) / others, 0.0)
        return np.asarray(mine / number - rest)


def _between(parts: Floats, cuts: Ints) -> Floats:
    """Return the sums before and after each boundary, shape (arrangements, 2, boundaries, models)."""
    cumulated = np.zeros((parts.shape[0], parts.shape[1] + 1, parts.shape[2]))
    np.cumsum(parts, axis=1, out=cumulated[:, 1:])
    return np.stack(
        [cumulated[:, cuts[1]] - cumulated[:, cuts[0]], cumulated[:, cuts[2]] - cumulated[:, cuts[1]]], axis=1
    )
