"""Least squares with Newey-West errors. Source: Newey and West (1987), Econometrica 55:703."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anachron.stats.gaps import Floats


@dataclass(frozen=True)
class Fit:
    """Coefficients, their standard errors, t statistics, and the rank of the design."""

    coefficients: Floats
    errors: Floats
    t: Floats
    rank: int


def newey_west(y: Floats, design: Floats, lags: int) -> Fit:
    """Regress `y` on the columns of `design`, with Bartlett weights and no small-sample factor.

    Parameters
    ----------
    y
        Shape (n,), in time order.
    design
        Shape (n, k), the constant included. A design short of full rank gets the solution of least norm;
        `rank` tells, and the caller decides whether that identifies anything.
    lags
        Lags of the autocovariance; weight 1 - lag / (lags + 1).
    """
    y, design = np.asarray(y, dtype=float), np.asarray(design, dtype=float)
    inverse = np.linalg.pinv(design)
    coefficients = inverse @ y
    scores = design * (y - design @ coefficients)[:, None]
    meat = scores.T @ scores
    for lag in range(1, min(lags, len(y) - 1) + 1):
        cross = scores[lag:].T @ scores[:-lag]
        meat += (1 - lag / (lags + 1)) * (cross + cross.T)
    bread = inverse @ inverse.T
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(np.diag(bread @ meat @ bread))
        t = coefficients / errors
    return Fit(coefficients, errors, t, int(np.linalg.matrix_rank(design)))
