"""The extraction law: how much of a leaked outcome a forecast took, and what that is worth by difficulty.

Where leakage pulls an honest forecast P0 towards the outcome Y, P = (1 - w) P0 + w Y, the pull is seen in the
movement of the forecast alone, and its worth in squared error is b0 w (2 - w) with b0 = (P0 - Y)². Beside it
stands the other extreme with the same average movement, a share w of questions memorised whole and the rest
untouched: w b0. A movement away from the outcome (w < 0) is leakage that misleads, which the law excludes.

Noise in the honest forecast, which enters both the movement and what there was to move, pulls w up; rows where
nothing can have leaked show by how much. Source: the paper, §4 and §6.1; the suite's specification, Estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.bootstrap import product
from anachron.stats.cluster import DRAWS, LEVEL, SEED, cluster_weights, codes, few_clusters, sums
from anachron.stats.gaps import Floats
from anachron.stats.result import Gate

MISLEADING_LEVEL = 0.05


class Weight(NamedTuple):
    """An extraction weight with its percentile interval; `p_negative` is the one-sided p against w >= 0."""

    estimate: float
    low: float
    high: float
    p_negative: float
    n: int
    clusters: int


class LawBin(NamedTuple):
    """One bin of difficulty.

    `b0` is the mean honest loss, `observed` the measured saving (honest loss minus loss) with its interval, `pull`
    the prediction b0 w (2 - w) and `all_or_nothing` the prediction w b0, both by the weight of all bins together;
    `weight` is the bin's own.
    """

    label: str
    n: int
    b0: float
    observed: float
    low: float
    high: float
    pull: float
    all_or_nothing: float
    weight: Weight


@dataclass(frozen=True)
class Law:
    """Extraction weight overall (`w`), where nothing can have leaked (`clean_w`), and by difficulty."""

    w: Weight
    clean_w: Weight | None
    bins: tuple[LawBin, ...]
    misleading: Gate
    method: str
    draws: int
    seed: int
    gates: tuple[Gate, ...]


def weight(
    forecast: ArrayLike,
    honest: ArrayLike,
    outcome: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Weight:
    """Return the extraction weight: least squares of the movement P - P0 on Y - P0, through the origin.

    Parameters
    ----------
    forecast, honest, outcome
        Shape (n,): forecast of the audited model, honest forecast (of a clean twin or control, or the crowd), and
        outcome, as fractions. Rows with NaN drop out.
    cluster
        Shape (n,): labels; whole clusters are drawn.
    """
    p, p0, y, groups, _ = _rows(forecast, honest, outcome, cluster)
    parts = np.stack([(p - p0) * (y - p0), (y - p0) ** 2], axis=1)
    return _weight(parts, groups, draws, seed, level)


def law(
    forecast: ArrayLike,
    honest: ArrayLike,
    outcome: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    difficulty: ArrayLike | None = None,
    bins: int = 5,
    clean: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Law:
    """Return the saving by difficulty beside what the law predicts from the movement of the forecasts.

    Parameters
    ----------
    forecast, honest, outcome, cluster
        As in `weight`.
    difficulty
        Shape (n,): labels of bins; None bins by quantiles of the honest loss. Binning by a realised loss selects on
        what the saving is measured from: a bin of large honest losses shows some saving by regression to the mean,
        unless the honest forecast is free of noise.
    bins
        How many quantile bins.
    clean
        Shape (n,), bool: rows where nothing can have leaked. They give `clean_w` and enter nothing else.
    """
    p, p0, y, groups, rows = _rows(forecast, honest, outcome, cluster)
    untouched = np.zeros(len(p), dtype=bool) if clean is None else np.asarray(clean, dtype=bool)[rows]
    clean_w = None
    if untouched.any():
        moved = np.stack([(p - p0) * (y - p0), (y - p0) ** 2], axis=1)[untouched]
        clean_w = _weight(moved, codes(groups[untouched]), draws, seed, level)
    p, p0, y, groups = p[~untouched], p0[~untouched], y[~untouched], codes(groups[~untouched])
    labels = None if difficulty is None else np.asarray(difficulty)[rows][~untouched]
    names, places = _bins((p0 - y) ** 2, labels, bins)
    saved = (p0 - y) ** 2 - (p - y) ** 2
    parts = np.stack([(p - p0) * (y - p0), (y - p0) ** 2, saved, np.ones(len(p))], axis=1)
    overall = _weight(parts[:, :2], groups, draws, seed, level)
    found = tuple(
        _bin(
            name, parts[places == place], codes(groups[places == place]), overall.estimate, draws, seed, level
        )
        for place, name in enumerate(names)
    )
    misleading = _misleading(overall, found)
    gates = [
        few_clusters(overall.clusters, overall.clusters if clean_w is None else clean_w.clusters),
        misleading,
    ]
    if clean_w is not None:
        text = (
            f"extraction weight where nothing can have leaked: {clean_w.estimate:+.3f} "
            f"[{clean_w.low:+.3f}, {clean_w.high:+.3f}]"
        )
        gates.append(Gate("clean_weight", clean_w.low <= 0 <= clean_w.high, clean_w.estimate, 0.0, text))
    method = (
        "weight from the movement of forecasts, least squares; percentile intervals, whole clusters drawn"
    )
    return Law(overall, clean_w, found, misleading, method, draws, seed, tuple(gates))


def predicted(honest_loss: ArrayLike, w: float) -> Floats:
    """Return the saving b0 w (2 - w) of a pull by `w` at honest losses b0 (squared error)."""
    return np.asarray(np.asarray(honest_loss, dtype=float) * w * (2 - w))


def _rows(
    forecast: ArrayLike, honest: ArrayLike, outcome: ArrayLike, cluster: ArrayLike | None
) -> tuple[Floats, Floats, Floats, NDArray[np.int64], NDArray[np.bool_]]:
    p, p0, y = (np.asarray(values, dtype=float) for values in (forecast, honest, outcome))
    rows = np.isfinite(p) & np.isfinite(p0) & np.isfinite(y)
    labels = np.arange(len(p)) if cluster is None else np.asarray(cluster)
    return p[rows], p0[rows], y[rows], codes(labels[rows]), rows


def _weight(parts: Floats, groups: NDArray[np.int64], draws: int, seed: int, level: float) -> Weight:
    number = int(groups.max(initial=-1)) + 1
    whole = parts.sum(axis=0)
    if number < 2 or whole[1] == 0:
        return Weight(np.nan, np.nan, np.nan, np.nan, len(parts), number)
    drawn = product(cluster_weights(number, draws, seed), sums(parts, groups, number))
    return _of_draws(whole[0] / whole[1], drawn[:, 0], drawn[:, 1], len(parts), number, level)


def _of_draws(point: float, above: Floats, below: Floats, n: int, number: int, level: float) -> Weight:
    with np.errstate(divide="ignore", invalid="ignore"):
        values = above / below
    values = values[np.isfinite(values)]
    low, high = np.percentile(values, [50 * (1 - level), 50 * (1 + level)])
    p_negative = (1 + int((values >= 0).sum())) / (1 + len(values))
    return Weight(float(point), float(low), float(high), p_negative, n, number)


def _bin(
    label: str, parts: Floats, groups: NDArray[np.int64], overall: float, draws: int, seed: int, level: float
) -> LawBin:
    own = _weight(parts[:, :2], groups, draws, seed, level)
    _, loss, observed, _ = parts.mean(axis=0)
    low = high = np.nan
    if own.clusters >= 2:
        drawn = product(cluster_weights(own.clusters, draws, seed), sums(parts[:, 2:], groups, own.clusters))
        low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [50 * (1 - level), 50 * (1 + level)])
    return LawBin(
        label,
        len(parts),
        float(loss),
        float(observed),
        float(low),
        float(high),
        float(predicted(loss, overall)),
        float(overall * loss),
        own,
    )


def _bins(loss: Floats, labels: NDArray[Any] | None, bins: int) -> tuple[list[str], NDArray[np.intp]]:
    if labels is not None:
        names, places = np.unique(labels.astype(str), return_inverse=True)
        return names.tolist(), places
    if len(loss) == 0:
        return [], np.zeros(0, dtype=np.intp)
    # Right-closed: a loss on an edge belongs to the easier bin.
    edges = np.unique(np.quantile(loss, np.arange(1, bins) / bins))
    places = np.searchsorted(edges, loss, side="left")
    held, places = np.unique(places, return_inverse=True)
    return [f"{place + 1} of {len(held)}" for place in range(len(held))], places


def _misleading(overall: Weight, found: tuple[LawBin, ...]) -> Gate:
    """Return the gate: no weight, of all questions or of a bin, is below zero (Holm's correction over them)."""
    tested = [("all questions", overall), *((f"bin {one.label}", one.weight) for one in found)]
    tested = [(name, one) for name, one in tested if np.isfinite(one.p_negative)]
    adjusted = sorted((one.p_negative, name) for name, one in tested)
    if not adjusted:
        return Gate("misleading", None, None, MISLEADING_LEVEL, "no extraction weight is defined")
    smallest, name = adjusted[0]
    p = min(1.0, smallest * len(adjusted))
    said = (
        "forecasts moved away from the outcome"
        if p < MISLEADING_LEVEL
        else "no movement away from the outcome"
    )
    text = f"{said} (smallest p after Holm's correction {p:.3g}, {name})"
    return Gate("misleading", p >= MISLEADING_LEVEL, p, MISLEADING_LEVEL, text)
