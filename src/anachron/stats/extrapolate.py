"""Global inflation by extrapolation: continue the honest trend of the clean side to before the cutoff.

The score after the cutoff is honest. A polynomial in time fitted there, continued to the questions before the
cutoff, says what an honest model would have scored on them; what is measured beyond it is inflation. That holds
if the trend is of this degree, and nothing in the data says so: the estimate is given only when it keeps its sign
over degrees and over the length of the clean period. Source: the paper, §B.4.2 and §E.6; the suite's
specification, Estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.bootstrap import product
from anachron.stats.cluster import DRAWS, LEVEL, SEED, cluster_weights, codes, few_clusters, sums
from anachron.stats.gaps import Floats
from anachron.stats.result import Gate

DEGREES = (0, 1, 2)
HORIZONS: tuple[int | None, ...] = (180, 365, None)
DAYS = 365.0
"""Time is scaled to years, so that powers of it stay of one size."""


class Spread(NamedTuple):
    """The estimate of one degree and one horizon (days after the cutoff used for the fit; None for all)."""

    degree: int
    horizon: int | None
    estimate: float
    low: float
    high: float
    n_post: int


@dataclass(frozen=True)
class Extrapolation:
    """Global inflation in units of the score; `estimate` is None when it is refused."""

    estimate: float | None
    low: float | None
    high: float | None
    degree: int
    n_pre: int
    n_post: int
    clusters: int
    spread: tuple[Spread, ...]
    refused: bool
    method: str
    draws: int
    seed: int
    gates: tuple[Gate, ...]


def global_inflation(
    days: ArrayLike,
    score: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    covariates: ArrayLike | None = None,
    degree: int = 1,
    degrees: Sequence[int] = DEGREES,
    horizons: Sequence[int | None] = HORIZONS,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Extrapolation:
    """Return mean score before the cutoff minus its extrapolation from the clean side.

    Parameters
    ----------
    days
        Shape (n,): resolution minus cutoff; day 0 belongs to the clean side.
    score
        Shape (n,): higher is better; NaN drops out.
    cluster
        Shape (n,): labels; whole clusters are drawn, the fit is repeated in every draw.
    covariates
        Shape (n, k): indicators of question type, adjusted for on both sides.
    degree
        Degree of the estimate that is given; fixed beforehand. It uses the whole clean side.
    degrees, horizons
        What the spread is taken over. A horizon that leaves fewer than ten questions a coefficient is left out.
    """
    every_day, every_score = np.asarray(days, dtype=float), np.asarray(score, dtype=float)
    known = np.isfinite(every_day) & np.isfinite(every_score)
    labels = np.arange(len(every_day)) if cluster is None else np.asarray(cluster)
    columns = np.zeros((len(every_day), 0)) if covariates is None else np.asarray(covariates, dtype=float)
    extra = columns.reshape(len(every_day), -1)[known]
    when, scores, groups = every_day[known], every_score[known], codes(labels[known])
    pre: NDArray[np.bool_] = when < 0
    method = (
        f"polynomial of degree {degree} in time on the clean side, continued to before the cutoff; percentile "
        "interval, whole clusters drawn, refitted in every draw"
    )
    sides = len(np.unique(groups[pre])), len(np.unique(groups[~pre]))
    number = int(groups.max(initial=-1)) + 1
    weights = cluster_weights(number, draws, seed) if number else np.zeros((draws, 0))
    wanted = dict.fromkeys([(degree, None), *((one, horizon) for one in degrees for horizon in horizons)])
    found = [
        one
        for power, horizon in wanted
        if (one := _one(when, scores, groups, extra, weights, power, horizon, level)) is not None
    ]
    main = next((one for one in found if (one.degree, one.horizon) == (degree, None)), None)
    sign = _one_sign(found)
    gates = (few_clusters(*sides), sign)
    refused = main is None or not sign.passed
    estimate, low, high = (
        (None, None, None) if main is None or refused else (main.estimate, main.low, main.high)
    )
    sizes = int(pre.sum()), int((~pre).sum()), number
    return Extrapolation(
        estimate, low, high, degree, *sizes, tuple(found), refused, method, draws, seed, gates
    )


def _one(
    days: Floats,
    score: Floats,
    groups: NDArray[np.int64],
    extra: Floats,
    weights: NDArray[np.uint16] | Floats,
    degree: int,
    horizon: int | None,
    level: float,
) -> Spread | None:
    pre = days < 0
    post = ~pre & (days < (np.inf if horizon is None else horizon))
    design = np.column_stack([(days / DAYS) ** power for power in range(degree + 1)] + [extra])
    # An indicator that does not vary on the clean side says nothing of the other.
    varies = np.ptp(design[post], axis=0) > 0 if post.any() else np.zeros(design.shape[1], dtype=bool)
    varies[0] = True
    design = design[:, varies]
    size = design.shape[1]
    if not pre.any() or post.sum() < 10 * size or len(np.unique(days[post])) <= degree:
        return None
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(days), -1)
    parts = np.column_stack(
        [
            post[:, None] * squares,
            post[:, None] * design * score[:, None],
            pre[:, None] * design,
            pre * score,
            pre,
        ]
    )
    totals = sums(parts, groups, weights.shape[1])
    point = _inflation(totals.sum(axis=0, keepdims=True), size)[0]
    drawn = _inflation(product(weights, totals), size)
    defined = drawn[np.isfinite(drawn)]
    low, high = (
        np.percentile(defined, [50 * (1 - level), 50 * (1 + level)]) if len(defined) else (np.nan, np.nan)
    )
    return Spread(degree, horizon, float(point), float(low), float(high), int(post.sum()))


def _inflation(totals: Floats, size: int) -> Floats:
    """Return measured minus extrapolated mean score from rows of summed moments."""
    square, cross, design, rest = np.split(totals, np.cumsum([size * size, size, size]), axis=1)
    # The generalised inverse serves draws in which an indicator vanished from the clean side.
    inverse = np.linalg.pinv(square.reshape(-1, size, size), rcond=1e-10, hermitian=True)
    coefficients = (inverse @ cross[:, :, None])[:, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((rest[:, 0] - (design * coefficients).sum(axis=1)) / rest[:, 1])


def _one_sign(found: Sequence[Spread]) -> Gate:
    if not found:
        return Gate(
            "one_sign",
            False,
            None,
            None,
            "the clean side is too thin for any fit: ten questions a coefficient",
        )
    estimates = [one.estimate for one in found]
    low, high = min(estimates), max(estimates)
    agree = low > 0 or high < 0
    said = "keeps its sign" if agree else "changes its sign"
    text = (
        f"over {len(found)} degrees and horizons the estimate runs from {low:+.3f} to {high:+.3f} and {said}"
    )
    return Gate("one_sign", agree, high - low, None, text)
