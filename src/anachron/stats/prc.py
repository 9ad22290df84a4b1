"""Prediction-residual covariance over paraphrases: whether a forecast moves with what it should not know.

A calibrated forecast is uncorrelated with its own error. One pulled part of the way to the outcome is not: with
extraction weight w the covariance is w(1 - w)E[c(1 - c)]. It is a detector and nothing else: it is blind to
complete memorisation (w = 1), it says nothing of how much a score gains, and it stands or falls with calibration.
So calibrators are fitted on leakage-free anchors, cross-fitted with whole questions in one fold, again in every
draw, and their agreement is a gate. Source: the paper, §5.3, §C.2, §E.8; the suite's specification, Estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.cluster import DRAWS, LEVEL, SEED, cluster_weights, codes, few_clusters
from anachron.stats.gaps import Floats
from anachron.stats.power import Power, of_draws
from anachron.stats.recalibrate import METHODS, calibrated_grid
from anachron.stats.result import Gate

FEW_ANCHORS = 50
# Thousandths: no finer than the edge at which logits are taken, and few enough for a calibrator in every draw.
DECIMALS = 3
NUMBERS_AT_ONCE = 4_000_000


class Estimate(NamedTuple):
    """A covariance with its percentile interval."""

    estimate: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1 where the interval lies above zero, -1 where below, else 0."""
        return int(self.low > 0) - int(self.high < 0)


class PrcEstimate(NamedTuple):
    """Covariance of the target questions, of the anchors, and the target's excess over the anchors."""

    target: Estimate
    anchors: Estimate
    excess: Estimate


@dataclass(frozen=True)
class Detection:
    """What the covariance says. `detected` is None where a gate fails; it is never a size of leakage."""

    by_method: dict[str, PrcEstimate]
    raw: PrcEstimate
    detected: bool | None
    n_target: int
    n_anchors: int
    paraphrases: int
    clusters: int
    draws: int
    seed: int
    method: str
    gates: tuple[Gate, ...]


class _Panel(NamedTuple):
    """Questions laid out for products: `grid` of distinct forecasts, its place for each paraphrase."""

    grid: Floats
    share: Any
    outcome: Floats
    clean: NDArray[np.bool_]
    fold: NDArray[np.intp]
    cluster: NDArray[np.intp]
    number: Floats
    folds: int


def residual_covariance(forecasts: ArrayLike, outcome: ArrayLike, *, finite_k: bool = True) -> float:
    """Return the covariance of the mean over paraphrases with its error.

    Parameters
    ----------
    forecasts
        Shape (n, K): probabilities, NaN where a paraphrase gave none. One column is allowed.
    outcome
        Shape (n,): 0 or 1.
    finite_k
        Add the mean of (variance over paraphrases) / K, by which noise of the wording pulls the covariance down.
        It leaves out questions with a single paraphrase.
    """
    values = np.asarray(forecasts, dtype=float).reshape(len(np.asarray(outcome)), -1)
    y = np.asarray(outcome, dtype=float)
    count = np.isfinite(values).sum(axis=1)
    kept = count >= (2 if finite_k else 1)
    values, y, count = values[kept], y[kept], count[kept]
    mean = np.nanmean(values, axis=1)
    covariance = float(np.cov(mean, y - mean)[0, 1])
    if not finite_k:
        return covariance
    return covariance + float(np.mean(np.nanvar(values, axis=1, ddof=1) / count))


def detect(
    forecasts: ArrayLike,
    outcome: ArrayLike,
    clean: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    methods: Sequence[str] = METHODS,
    folds: int = 5,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Detection:
    """Return the calibrated covariance of target questions beside that of leakage-free anchors.

    Parameters
    ----------
    forecasts
        Shape (n, K): probabilities, read to three decimals, NaN where a paraphrase gave none; questions left with
        fewer than two paraphrases are left out, unless none has two.
    outcome
        Shape (n,): 0 or 1.
    clean
        Shape (n,), bool: anchors (resolved after the cutoff).
    cluster
        Shape (n,): labels; whole clusters are drawn, anchors and targets together.
    folds
        Each anchor is calibrated by the fit of the other folds; targets by the mean of all fits.
    """
    panel, several = _panel(forecasts, outcome, clean, cluster, folds, seed)
    gates = _size_gates(panel, several)
    number = int(panel.cluster.max(initial=-1)) + 1
    sizes = (int((~panel.clean).sum()), int(panel.clean.sum()), int(panel.number.max(initial=0)), number)
    method = (
        f"covariance of the mean over paraphrases with its error{', finite-K corrected' if several else ''}; "
        f"{folds}-fold cross-fitted calibration refitted in every draw; percentile interval, whole clusters drawn"
    )
    if not all(gate.passed for gate in gates if gate.name in {"anchors", "targets"}):
        nothing = PrcEstimate(*[Estimate(np.nan, np.nan, np.nan)] * 3)
        return Detection({}, nothing, None, *sizes, draws, seed, method, gates)
    weights = cluster_weights(number, draws, seed)
    points = _statistics(panel, np.ones((1, number)), methods, several)
    drawn = _statistics(panel, weights, methods, several)
    found = {name: _estimates(points[name][0], drawn[name], level) for name in points}
    raw = found.pop("raw")
    stable = _stable(found)
    failed = any(gate.passed is False for gate in (*gates, stable))
    detected = None if failed else all(one.excess.verdict > 0 for one in found.values())
    return Detection(found, raw, detected, *sizes, draws, seed, method, (*gates, stable))


def detectable(
    forecasts: ArrayLike,
    outcome: ArrayLike,
    clean: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    weights: Iterable[float] = (0.05, 0.1, 0.2, 0.3, 0.5),
    method: str = "platt",
    folds: int = 5,
    draws: int = 1000,
    seed: int = SEED,
    target: float = 0.8,
    level: float = LEVEL,
) -> Power:
    """Return the extraction weight from which on the excess would be found (see `power.of_draws`).

    Every stated probability of the targets is pulled towards the outcome by the weight, and the whole pipeline,
    calibration included, runs again. Close to weight 1 the covariance falls to zero whatever the panel's size.
    """
    values, y = np.asarray(forecasts, dtype=float), np.asarray(outcome, dtype=float)
    values = values.reshape(len(y), -1)
    target_rows = ~np.asarray(clean, dtype=bool)[:, None]

    def excess(weight: float) -> Floats:
        pulled = np.where(target_rows, (1 - weight) * values + weight * y[:, None], values)
        panel, several = _panel(pulled, y, clean, cluster, folds, seed)
        drawn = cluster_weights(int(panel.cluster.max()) + 1, draws, seed)
        moments = _statistics(panel, drawn, (method,), several)[method]
        return np.asarray(moments[:, 0] - moments[:, 1])

    return of_draws(
        excess(0.0),
        excess,
        weights,
        unit=f"extraction weight ({method})",
        seed=seed,
        target=target,
        level=level,
    )


def _panel(
    forecasts: ArrayLike,
    outcome: ArrayLike,
    clean: ArrayLike,
    cluster: ArrayLike | None,
    folds: int,
    seed: int,
) -> tuple[_Panel, bool]:
    from scipy.sparse import csr_array

    y = np.asarray(outcome, dtype=float)
    values = np.asarray(forecasts, dtype=float).reshape(len(y), -1)
    count = np.isfinite(values).sum(axis=1)
    several = bool((count >= 2).any())
    rows = (count >= (2 if several else 1)) & np.isfinite(y)
    values, y, count = np.round(values[rows], DECIMALS), y[rows], count[rows].astype(float)
    anchors = np.asarray(clean, dtype=bool)[rows]
    labels = np.arange(len(y)) if cluster is None else np.asarray(cluster)[rows]
    groups = codes(labels)
    # Folds of equal size, in an order of their own, so that neighbours in time spread over all of them.
    fold = np.empty(len(y), dtype=np.intp)
    for side in (anchors, ~anchors):
        fold[side] = np.random.default_rng(seed).permutation(int(side.sum())) % folds
    question, column = np.nonzero(np.isfinite(values))
    grid, place = np.unique(values[question, column], return_inverse=True)
    shape = (len(y), len(grid))
    share = csr_array((1 / count[question], (question, place)), shape=shape)
    return _Panel(grid, share, y, anchors, fold, groups, count, folds), several


def _statistics(
    panel: _Panel, weights: NDArray[Any], methods: Sequence[str], several: bool
) -> dict[str, Floats]:
    """Return, for each calibrator and for none, the covariance of (targets, anchors) in every draw."""
    anchors = panel.clean
    ones, zeros = _fold_counts(panel)
    size = max(1, NUMBERS_AT_ONCE // max(1, len(panel.outcome), 2 * len(panel.grid)))
    found: dict[str, list[Floats]] = {name: [] for name in ("raw", *methods)}
    for start in range(0, len(weights), size):
        piece = weights[start : start + size].astype(float)
        heft = piece[:, panel.cluster]
        stated = np.broadcast_to(panel.grid, (1, len(panel.grid)))
        found["raw"].append(_covariances(panel, stated, stated, heft, anchors, several))
        hits = [piece @ part for part in ones]
        misses = [piece @ part for part in zeros]
        all_hits, all_misses = sum(hits), sum(misses)
        for name in methods:
            fits = np.stack(
                [
                    calibrated_grid(name, panel.grid, all_hits - hits[fold], all_misses - misses[fold])
                    for fold in range(panel.folds)
                ]
            )
            found[name].append(_covariances(panel, fits.mean(axis=0), fits, heft, anchors, several))
    return {name: np.concatenate(pieces) for name, pieces in found.items()}


def _fold_counts(panel: _Panel) -> tuple[list[Floats], list[Floats]]:
    """Return per fold the anchors' weight at each (cluster, forecast), by outcome; a question weighs one."""
    from scipy.sparse import csr_array

    number = int(panel.cluster.max()) + 1
    questions = np.arange(len(panel.outcome))
    counts: tuple[list[Floats], list[Floats]] = ([], [])
    for fold in range(panel.folds):
        inside = panel.clean & (panel.fold == fold)
        for place, value in enumerate((panel.outcome, 1 - panel.outcome)):
            spread = csr_array((value * inside, (panel.cluster, questions)), shape=(number, len(questions)))
            counts[place].append((spread @ panel.share).toarray())
    return counts


def _covariances(
    panel: _Panel, pooled: Floats, fits: Floats, heft: Floats, anchors: NDArray[np.bool_], several: bool
) -> Floats:
    """Return the covariances of targets (calibrated by `pooled`) and anchors (by the fit without their fold)."""
    mean = np.empty(heft.shape)
    square = np.empty(heft.shape)
    sets = [(~anchors, pooled)]
    if fits.ndim == 3:
        sets += [(anchors & (panel.fold == fold), fits[fold]) for fold in range(panel.folds)]
    else:
        sets.append((anchors, fits))
    for rows, values in sets:
        share = panel.share[np.flatnonzero(rows)]
        mean[:, rows] = (share @ values.T).T
        square[:, rows] = (share @ (values * values).T).T
    columns = []
    for side in (~anchors, anchors):
        w, m, y = heft[:, side], mean[:, side], panel.outcome[side]
        whole = w.sum(axis=1)
        residual = y - m
        with np.errstate(divide="ignore", invalid="ignore"):
            centre, off = (w * m).sum(axis=1) / whole, (w * residual).sum(axis=1) / whole
            value = ((w * m * residual).sum(axis=1) - whole * centre * off) / (whole - 1)
            if several:
                count = panel.number[side]
                value = value + (w * (square[:, side] - m * m) / (count - 1)).sum(axis=1) / whole
        columns.append(value)
    return np.stack(columns, axis=1)


def _estimates(point: Floats, drawn: Floats, level: float) -> PrcEstimate:
    tails = [50 * (1 - level), 50 * (1 + level)]
    values = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
    low, high = np.nanpercentile(values, tails, axis=0)
    points = (point[0], point[1], point[0] - point[1])
    return PrcEstimate(
        *(Estimate(float(a), float(b), float(c)) for a, b, c in zip(points, low, high, strict=True))
    )


def _size_gates(panel: _Panel, several: bool) -> tuple[Gate, ...]:
    anchors, targets = int(panel.clean.sum()), int((~panel.clean).sum())
    true = int(panel.outcome[panel.clean].sum())
    rarer = min(true, anchors - true)
    return (
        Gate(
            "anchors",
            anchors >= FEW_ANCHORS and rarer >= 5,
            float(anchors),
            float(FEW_ANCHORS),
            f"{anchors} leakage-free anchors, {rarer} of them with the rarer outcome",
        ),
        Gate(
            "targets",
            targets >= FEW_ANCHORS,
            float(targets),
            float(FEW_ANCHORS),
            f"{targets} target questions",
        ),
        Gate(
            "paraphrases",
            several,
            float(panel.number.max(initial=0)),
            2.0,
            "wording noise is measured"
            if several
            else "one wording a question: its noise pulls the covariance down",
        ),
        few_clusters(*(len(np.unique(panel.cluster[side])) for side in (~panel.clean, panel.clean))),
    )


def _stable(found: dict[str, PrcEstimate]) -> Gate:
    signs = {int(np.sign(one.excess.estimate)) for one in found.values()}
    verdicts = {one.excess.verdict for one in found.values()}
    agree = len(signs) == 1 and len(verdicts) == 1
    told = "; ".join(
        f"{name} {one.excess.estimate:+.4f} [{one.excess.low:+.4f}, {one.excess.high:+.4f}]"
        for name, one in found.items()
    )
    said = "calibrators agree" if agree else "calibrators disagree in sign or in verdict"
    return Gate("stable", agree, None, None, f"{said}: {told}")
