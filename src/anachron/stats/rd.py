"""Regression discontinuity in time: does a model's score jump at its cutoff.

Honest competence drifts through time, memorised outcomes stop at the cutoff. A local line on either side of it
leaves the drift out and finds the jump. Estimates are the left limit minus the right limit of a score (higher is
better), so that a positive jump reads as leakage. It is leakage at the boundary and nowhere else.

References: Calonico, Cattaneo and Titiunik (2014), Econometrica 82:2295; Cattaneo, Jansson and Ma (2020),
JASA 115:1449. Source: the suite's specification, Estimators; the paper, §5.1.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.stats.cluster import DRAWS, LEVEL, SEED, codes, few_clusters, gap
from anachron.stats.gaps import Floats
from anachron.stats.result import GapEstimate, Gate

FEW_DAYS = 10
DENSITY_LEVEL = 0.05
# Cluster errors that stay near their size with twenty to fifty clusters a side (docs/reference/leakage-validation.md).
CLUSTER_ERRORS = "cr3"


@dataclass(frozen=True)
class Jump:
    """A jump at day 0, in units of the score; None where it cannot be computed (the gates say why).

    Attributes
    ----------
    estimate
        Local linear estimate, triangular kernel: score just before day 0 minus score from day 0 on.
    low, high, error
        Robust bias-corrected interval around `corrected`, and its standard error.
    n_pre, n_post, clusters_pre, clusters_post, days_pre, days_post
        Observations, clusters and distinct days inside the window.
    half_width, bias_width
        Bandwidths in days: of the estimate, and of its bias.
    """

    estimate: float | None
    low: float | None
    high: float | None
    error: float | None
    corrected: float | None
    n_pre: int
    n_post: int
    clusters_pre: int
    clusters_post: int
    days_pre: int
    days_post: int
    half_width: float | None
    bias_width: float | None
    method: str
    gates: tuple[Gate, ...]

    @property
    def starred(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Placebo(NamedTuple):
    """The jump at a date `shift` days from the cutoff, where nothing is known to change."""

    shift: int
    jump: Jump


def jump(
    days: ArrayLike,
    score: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    half_width: float | None = None,
    level: float = LEVEL,
    covariates: ArrayLike | None = None,
) -> Jump:
    """Return the jump of `score` at day 0 by `rdrobust`.

    Parameters
    ----------
    days
        Shape (n,): resolution minus cutoff, in days; day 0 belongs to the clean side.
    score
        Shape (n,): higher is better; pass minus the loss for a loss. NaN drops out.
    cluster
        Shape (n,): labels; None treats observations as independent (nearest-neighbour errors).
    half_width
        Bandwidth in days; None chooses it by mean squared error. Days are few distinct points, so that
        preliminary bandwidths hold at least ten of them.
    covariates
        Shape (n, k): adjusted for linearly.
    """
    days, score, cluster, covariates = _kept(days, score, cluster, covariates)
    method = "rdrobust: local linear, triangular, robust bias-corrected, " + (
        "nearest-neighbour errors" if cluster is None else f"clustered ({CLUSTER_ERRORS.upper()})"
    )
    wanted = half_width if half_width is not None else np.inf
    thin = _thin(days, wanted)
    if thin is not None:
        return _undefined(days, cluster, half_width, method, thin)
    options: dict[str, Any] = {"p": 1, "q": 2, "kernel": "tri", "level": 100 * level, "masspoints": "adjust"}
    if half_width is not None:
        options["h"] = half_width
    if cluster is not None:
        options |= {"cluster": codes(cluster), "vce": CLUSTER_ERRORS}
    if covariates is not None:
        options["covs"] = covariates
    fit = _quiet("rdrobust", score, days, **options)
    if isinstance(fit, str):
        return _undefined(days, cluster, half_width, method, Gate("not_computable", False, None, None, fit))
    width, bias_width = float(np.asarray(fit.bws)[0, 0]), float(np.asarray(fit.bws)[1, 0])
    few = _thin(days, width)
    coefficients, interval = np.asarray(fit.coef).ravel(), np.asarray(fit.ci)
    numbers = (
        coefficients[0],
        interval[2, 0],
        interval[2, 1],
        np.asarray(fit.se).ravel()[2],
        coefficients[1],
    )
    if few is None and not np.all(np.isfinite(numbers)):
        few = Gate(
            "not_computable",
            False,
            None,
            None,
            "the estimate is not finite: scores may not vary",
        )
    if few is not None:
        return _undefined(days, cluster, width, method, few)
    sizes = _sizes(days, cluster, width)
    # The package reports the right limit minus the left; leakage is the left minus the right.
    return Jump(
        -float(numbers[0]),
        -float(numbers[2]),
        -float(numbers[1]),
        float(numbers[3]),
        -float(numbers[4]),
        *sizes,
        width,
        bias_width,
        method,
        _gates(sizes),
    )


def mean_difference(
    days: ArrayLike,
    score: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    half_width: float,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> GapEstimate:
    """Return the plain difference of means in [-half_width, half_width) days, before minus after.

    It removes no trend: a model that is better near its cutoff, or questions that change, move it. It stands
    beside a jump to show how much of a jump is the window's level. Interval: whole clusters, percentile.
    """
    days, score, cluster, _ = _kept(days, score, cluster, None)
    inside = (days >= -half_width) & (days < half_width)
    groups = None if cluster is None else codes(cluster[inside])
    return gap(score[inside], days[inside] < 0, groups, draws=draws, seed=seed, level=level)


def density(days: ArrayLike) -> Gate:
    """Return the gate `density`: whether the number of questions jumps at day 0 (p of `rddensity`).

    Questions chosen for being near a date, or dropped after it, break the comparison of both sides.
    """
    days = np.asarray(days, dtype=float)
    thin = _thin(days, np.inf)
    if thin is None:
        # Dates are discrete; the test adjusts for repeated days.
        fit = _quiet("rddensity", days, c=0)
        if not isinstance(fit, str):
            p = float(fit.test["p_jk"])
            if np.isfinite(p):
                said = "does not jump" if p >= DENSITY_LEVEL else "jumps"
                text = f"the density of questions {said} at the cutoff (p = {p:.3g})"
                return Gate("density", p >= DENSITY_LEVEL, p, DENSITY_LEVEL, text)
        thin = Gate("density", False, None, None, fit if isinstance(fit, str) else "no finite p")
    return Gate("density", False, None, DENSITY_LEVEL, f"the density test cannot be computed: {thin.text}")


def covariate_jumps(
    days: ArrayLike,
    covariates: Mapping[str, ArrayLike],
    cluster: ArrayLike | None = None,
    *,
    half_width: float | None = None,
) -> dict[str, Jump]:
    """Return the jump of each covariate at day 0; one that is not null says that the questions change there."""
    return {
        name: jump(days, values, cluster, half_width=half_width)
        for name, values in sorted(covariates.items())
    }


def bandwidth_curve(
    days: ArrayLike, score: ArrayLike, cluster: ArrayLike | None, half_widths: Iterable[float]
) -> list[Jump]:
    """Return the jump at each bandwidth (days)."""
    return [jump(days, score, cluster, half_width=width) for width in half_widths]


def placebo_dates(
    days: ArrayLike,
    score: ArrayLike,
    cluster: ArrayLike | None,
    shifts: Iterable[int],
    *,
    half_width: float | None = None,
) -> list[Placebo]:
    """Return the jump at dates `shifts` days from the cutoff, each from the observations of its own side.

    The other side stays out, so that a jump at the cutoff is not read as one at a date beside it.
    """
    days, score, cluster, _ = _kept(days, score, cluster, None)
    found = []
    for shift in shifts:
        side = days < 0 if shift < 0 else days >= 0
        groups = None if cluster is None else cluster[side]
        found.append(
            Placebo(int(shift), jump(days[side] - shift, score[side], groups, half_width=half_width))
        )
    return found


def _kept(
    days: ArrayLike, score: ArrayLike, cluster: ArrayLike | None, covariates: ArrayLike | None
) -> tuple[Floats, Floats, NDArray[Any] | None, Floats | None]:
    x, y = np.asarray(days, dtype=float), np.asarray(score, dtype=float)
    known = np.isfinite(x) & np.isfinite(y)
    groups = None if cluster is None else np.asarray(cluster)[known]
    if covariates is None:
        return x[known], y[known], groups, None
    extra = np.asarray(covariates, dtype=float).reshape(len(x), -1)
    return x[known], y[known], groups, extra[known]


def _sizes(
    days: Floats, cluster: NDArray[Any] | None, half_width: float
) -> tuple[int, int, int, int, int, int]:
    inside = np.abs(days) <= half_width
    sides = [inside & (days < 0), inside & (days >= 0)]
    numbers = [int(side.sum()) for side in sides]
    groups = numbers if cluster is None else [len(np.unique(cluster[side])) for side in sides]
    distinct = [len(np.unique(days[side])) for side in sides]
    return numbers[0], numbers[1], groups[0], groups[1], distinct[0], distinct[1]


def _thin(days: Floats, half_width: float) -> Gate | None:
    *_, pre, post = _sizes(days, None, half_width)
    if min(pre, post) >= FEW_DAYS:
        return None
    text = (
        f"{pre} distinct days before the cutoff and {post} from it on inside the window; a line on either side "
        f"needs {FEW_DAYS}: widen the window or take dates by day, not by month"
    )
    return Gate("mass_points", False, float(min(pre, post)), float(FEW_DAYS), text)


def _gates(sizes: tuple[int, int, int, int, int, int]) -> tuple[Gate, ...]:
    _, _, *groups, pre, post = sizes
    days = min(pre, post)
    return (
        Gate(
            "mass_points", True, float(days), float(FEW_DAYS), f"at least {days} distinct days on either side"
        ),
        few_clusters(groups[0], groups[1]),
    )


def _undefined(
    days: Floats, cluster: NDArray[Any] | None, half_width: float | None, method: str, gate: Gate
) -> Jump:
    sizes = _sizes(days, cluster, np.inf if half_width is None else half_width)
    return Jump(None, None, None, None, None, *sizes, half_width, None, method, (gate,))


def _quiet(name: str, *values: Any, **options: Any) -> Any:
    """Return what the estimators' package returns, or its complaint as text; it prints and warns."""
    import rddensity
    import rdrobust

    estimator = rdrobust.rdrobust if name == "rdrobust" else rddensity.rddensity
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return estimator(*values, **options)
    except Exception as complaint:  # the packages raise plain exceptions for thin or constant data
        return f"{name} stopped: {complaint}"
