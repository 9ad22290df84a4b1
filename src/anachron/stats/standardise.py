"""Gaps between sides that hold the same mix of questions.

The mix of a panel's questions changes with time, and a gap of plain means holds that change. Here a gap is
taken within cells of like questions (the crowd's probability by source), and the cells are weighted by what
lies before the split. A cell with questions on one side only compares nothing: it is dropped and counted.

Source: Temporal Leakage, section 5.2 and appendix B.4.3 (risks standardised to the pre-cutoff mix); the suite's
specification, "Standardised gap and DiD".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.bootstrap import product
from anachron.stats.cluster import (
    DRAWS,
    LEVEL,
    SEED,
    Floats,
    Ints,
    cluster_weights,
    codes,
    summary,
    sums,
)
from anachron.stats.result import GapEstimate, Gate

CROWD_EDGES = (0.02, 0.1, 0.3, 0.6)
Mix = Literal["before", "window"]
MIXES = {"before": "the mix before the split", "window": "the mix of the whole window"}


@dataclass(frozen=True)
class Standardised:
    """A standardised gap, and what of the window it could not compare."""

    gap: GapEstimate
    cells: int
    """Cells with questions on both sides."""
    cells_dropped: int
    pre_dropped: int
    """Questions before the split that lie in a dropped cell."""
    post_dropped: int
    mix: Mix

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return vars(self) | {"gap": self.gap.as_dict()}


def crowd_cells(crowd: ArrayLike, edges: tuple[float, ...] = CROWD_EDGES) -> Ints:
    """Return the bin of each crowd probability, shape (n,); a probability on an edge belongs below it.

    NaN, an unknown crowd, is a bin of its own: −1.
    """
    known = np.asarray(crowd, dtype=float)
    return np.where(np.isnan(known), -1, np.searchsorted(edges, known, side="left")).astype(np.int64)


def combine(*labels: ArrayLike) -> Ints:
    """Return one code per combination of labels that occurs, shape (n,)."""
    whole = np.zeros(len(np.asarray(labels[0])), dtype=np.int64)
    for one in labels:
        part = codes(one)
        whole = codes(whole * (int(part.max()) + 1 if len(part) else 1) + part)
    return whole


def standardised_gap(
    values: ArrayLike,
    before: ArrayLike,
    cells: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    mix: Mix = "before",
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Standardised:
    """Return the gap within cells, averaged over a fixed mix of cells.

    Parameters
    ----------
    values, before, clusters, draws, seed, level
        As `cluster.gap`.
    cells
        Shape (n,): labels of like questions, known without the model.
    mix
        What the cells are weighted by: their questions before the split, as identification needs it, or all
        their questions in the window. In a draw the weights are the draw's own.
    """
    score, side = np.asarray(values, dtype=float), np.asarray(before, dtype=bool)
    there = ~np.isnan(score)
    score, side, cell = score[there], side[there], codes(np.asarray(cells)[there])
    group = np.arange(len(score)) if clusters is None else codes(np.asarray(clusters)[there])
    kinds, number = int(cell.max()) + 1 if len(cell) else 0, int(group.max()) + 1 if len(group) else 0
    counts = np.stack([np.bincount(cell[one], minlength=kinds) for one in (side, ~side)])
    usable = (counts[0] > 0) & (counts[1] > 0)
    kept = usable[cell]
    parts = _by_cell(score, side, cell, kinds, kept)
    point = float(_weighted(parts.sum(axis=0)[None, :], mix)[0]) if usable.any() else math.nan
    if usable.any():
        weights = cluster_weights(number, draws, seed)
        drawn = _weighted(product(weights, sums(parts, group, number)), mix)
    else:
        drawn = np.full(draws, np.nan)
    unit = "questions" if clusters is None else "clusters"
    whole = summary(
        point,
        drawn,
        group[kept],
        side[kept],
        method=f"gap within cells weighted by {MIXES[mix]}; percentile bootstrap of whole {unit} over the window",
        seed=seed,
        level=level,
        more=(_overlap(counts, usable),),
    )
    return Standardised(
        whole,
        cells=int(usable.sum()),
        cells_dropped=int((~usable).sum()),
        pre_dropped=int(counts[0, ~usable].sum()),
        post_dropped=int(counts[1, ~usable].sum()),
        mix=mix,
    )


def _by_cell(
    score: Floats, side: NDArray[np.bool_], cell: Ints, kinds: int, kept: NDArray[np.bool_]
) -> Floats:
    """Return sum and count before, sum and count after, by cell: shape (n, 4 · kinds)."""
    parts = np.zeros((len(score), 4, kinds))
    rows = np.arange(len(score))
    place = np.where(side, 0, 2)
    parts[rows, place, cell] = np.where(kept, score, 0.0)
    parts[rows, place + 1, cell] = kept
    return parts.reshape(len(score), -1)


def _weighted(drawn: Floats, mix: Mix) -> Floats:
    total, count, later, number = np.split(drawn, 4, axis=1)
    both = (count > 0) & (number > 0)
    weight = np.where(both, count if mix == "before" else count + number, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.where(both, total / count - later / number, 0.0)
        return np.asarray((weight * gaps).sum(axis=1) / weight.sum(axis=1))


def _overlap(counts: Ints, usable: NDArray[np.bool_]) -> Gate:
    pre, post = (int(side.sum()) for side in counts)
    lost = int(counts[:, ~usable].sum())
    share = 1 - lost / (pre + post) if pre + post else 0.0
    return Gate(
        "overlap",
        bool(lost == 0),
        share,
        1.0,
        f"{int((~usable).sum())} of {len(usable)} cells have questions on one side only and are left out: "
        f"{int(counts[0, ~usable].sum())} questions before the split, {int(counts[1, ~usable].sum())} after it",
    )
