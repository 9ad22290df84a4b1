"""Recalibration of probabilities on leakage-free anchors: temperature, Platt, isotonic.

Models state probabilities that are too extreme, and the residual covariance of an overconfident forecaster is
negative whatever it has memorised. Each calibrator is fitted where nothing can have leaked. Fits run over many
weightings of the same anchors at once, as a bootstrap needs them.

References: Guo, Pleiss, Sun and Weinberger (2017), ICML; Platt (1999), Advances in Large Margin Classifiers;
Zadrozny and Elkan (2002), KDD. Source: the suite's specification, Estimators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from anachron.stats.gaps import Floats

METHODS = ("temperature", "platt", "isotonic")
TEMPERATURES = (0.3, 20.0)
# A stated 0 or 1 is a rounded number: its logit is taken at this distance from the end.
EDGE = 1e-3
STEPS = 60
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Calibrator:
    """A fitted calibrator.

    Attributes
    ----------
    method
        One of `METHODS`.
    parameters
        temperature: (T,); platt: (intercept, slope) on the logit; isotonic: fitted values at `grid`.
    grid
        Forecasts at which an isotonic fit has values (linear in between, constant outside); empty otherwise.
    edge
        Distance from 0 and 1 at which logits are taken.
    """

    method: str
    parameters: tuple[float, ...]
    grid: tuple[float, ...] = ()
    edge: float = EDGE


def fit(
    method: str,
    forecast: ArrayLike,
    outcome: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    edge: float = EDGE,
) -> Calibrator:
    """Fit one calibrator to forecasts (fractions) with outcomes 0 or 1, by log-loss or, isotonic, least squares.

    Raises
    ------
    ValueError
        For an unknown method, or when no forecast has weight.
    """
    p, y = np.asarray(forecast, dtype=float), np.asarray(outcome, dtype=float)
    w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    if method not in METHODS:
        raise ValueError(f"there is no calibrator {method!r}; there are {', '.join(METHODS)}")
    if not w.sum() > 0:
        raise ValueError("a calibrator needs at least one anchor")
    grid, places = np.unique(p, return_inverse=True)
    ones: Floats = np.bincount(places, w * y, minlength=len(grid))[None].astype(float)
    zeros: Floats = np.bincount(places, w * (1 - y), minlength=len(grid))[None].astype(float)
    if method == "isotonic":
        kept = (ones + zeros)[0] > 0
        values = isotonic_values(grid, ones, zeros)[0]
        return Calibrator(method, tuple(values[kept].tolist()), tuple(grid[kept].tolist()), edge)
    x = logit(grid, edge)
    if method == "temperature":
        return Calibrator(method, (float(temperatures(x, ones, zeros)[0]),), (), edge)
    return Calibrator(method, tuple(platt(x, ones, zeros)[0].tolist()), (), edge)


def apply(calibrator: Calibrator, forecast: ArrayLike) -> Floats:
    """Return calibrated probabilities, same shape; NaN stays NaN."""
    p = np.asarray(forecast, dtype=float)
    if calibrator.method == "isotonic":
        return np.where(np.isnan(p), np.nan, np.interp(p, calibrator.grid, calibrator.parameters))
    x = logit(p, calibrator.edge)
    if calibrator.method == "temperature":
        return expit(x / calibrator.parameters[0])
    intercept, slope = calibrator.parameters
    return expit(intercept + slope * x)


def calibrated_grid(method: str, grid: Floats, ones: Floats, zeros: Floats, edge: float = EDGE) -> Floats:
    """Return the calibrated value of every grid point under every weighting, shape (draws, grid).

    Parameters
    ----------
    grid
        Shape (grid,): distinct forecasts, rising.
    ones, zeros
        Shape (draws, grid): weight of the anchors with this forecast that came true, and that did not.
    """
    if method == "isotonic":
        return isotonic_values(grid, ones, zeros)
    x = logit(grid, edge)
    # The weightings of a bootstrap lie near their mean; its fit is where their searches start.
    middle = ones.mean(axis=0, keepdims=True), zeros.mean(axis=0, keepdims=True)
    if method == "temperature":
        start = 1 / temperatures(x, *middle)[0]
        return expit(x / temperatures(x, ones, zeros, start=start)[:, None])
    first = platt(x, *middle)[0]
    found = platt(x, ones, zeros, start=(float(first[0]), float(first[1])))
    return expit(found[:, :1] + found[:, 1:] * x)


def temperatures(x: Floats, ones: Floats, zeros: Floats, *, start: float = 1.0) -> Floats:
    """Return the temperature in [0.3, 20] with the least log-loss under every weighting, shape (draws,).

    The loss is convex in 1/T, so its slope is searched for zero: Newton's steps inside a shrinking bracket.
    """
    low = np.full(len(ones), 1 / TEMPERATURES[1])
    high = np.full(len(ones), 1 / TEMPERATURES[0])
    inverse = np.clip(np.full(len(ones), start), low, high)
    whole = ones + zeros
    reach = ones @ x
    for _ in range(STEPS):
        p = expit(inverse[:, None] * x)
        slope = (whole * p) @ x - reach
        curve = (whole * p * (1 - p)) @ (x * x)
        low, high = np.where(slope < 0, inverse, low), np.where(slope > 0, inverse, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = inverse - slope / curve
        inside = (step >= low) & (step <= high)
        new = np.where(inside, step, (low + high) / 2)
        moved = np.abs(new - inverse).max()
        inverse = new
        if moved < TOLERANCE:
            break
    return np.asarray(1 / inverse)


def platt(x: Floats, ones: Floats, zeros: Floats, *, start: tuple[float, float] = (0.0, 1.0)) -> Floats:
    """Return intercept and slope on the logit with the least log-loss, shape (draws, 2); NaN where not found.

    Outcomes are Platt's smoothed targets, (n + 1)/(n + 2) and 1/(n + 2), so that separable anchors have a fit.
    """
    whole = ones + zeros
    n_one, n_zero = ones.sum(axis=1, keepdims=True), zeros.sum(axis=1, keepdims=True)
    target = ones * (n_one + 1) / (n_one + 2) + zeros / (n_zero + 2)
    totals = np.stack([target.sum(axis=1), target @ x], axis=1)
    found = np.tile(np.array(start), (len(ones), 1))
    settled = np.zeros(len(ones), dtype=bool)
    for _ in range(STEPS):
        p = expit(found[:, :1] + found[:, 1:] * x)
        held = whole * p
        slopes = np.stack([held.sum(axis=1), held @ x], axis=1) - totals
        held *= 1 - p
        a, b, c = held.sum(axis=1), held @ x, held @ (x * x)
        # A little on the diagonal keeps the step finite where all anchors state one probability.
        a, c = a * (1 + 1e-9) + 1e-12, c * (1 + 1e-9) + 1e-12
        step = np.stack([c * slopes[:, 0] - b * slopes[:, 1], a * slopes[:, 1] - b * slopes[:, 0]], axis=1)
        step /= (a * c - b * b)[:, None]
        size = np.abs(step).max(axis=1)
        # Newton's step overshoots where the curve is flat; a step of at most one stays where it is not.
        found -= step / np.maximum(size, 1.0)[:, None]
        settled = size < TOLERANCE
        if settled.all():
            break
    return np.asarray(np.where(settled[:, None], found, np.nan))


def isotonic_values(grid: Floats, ones: Floats, zeros: Floats) -> Floats:
    """Return the isotonic fit at every grid point under every weighting, shape (draws, grid).

    Points without weight are interpolated between their neighbours, as a fitted calibrator would be.
    """
    from scipy.optimize import isotonic_regression

    whole = ones + zeros
    draws, width = whole.shape
    row, column = np.nonzero(whole > 0)
    weight = whole[row, column]
    # All weightings laid end to end, each lifted above the one before, are one isotonic problem: outcomes lie in
    # 0..1, so that steps of 2 never pool two weightings.
    lifted = ones[row, column] / weight + 2.0 * row
    fitted = np.full(whole.shape, np.nan)
    fitted[row, column] = isotonic_regression(lifted, weights=weight).x - 2.0 * row
    held = whole > 0
    places = np.arange(width)
    before = np.maximum.accumulate(np.where(held, places, -1), axis=1)
    after = np.minimum.accumulate(np.where(held, places, width)[:, ::-1], axis=1)[:, ::-1]
    left, right = np.where(before < 0, after, before), np.where(after >= width, before, after)
    left, right = np.clip(left, 0, width - 1), np.clip(right, 0, width - 1)
    span = grid[right] - grid[left]
    share = np.divide(grid - grid[left], span, out=np.zeros_like(span), where=span > 0)
    rows = np.arange(draws)[:, None]
    return np.asarray(fitted[rows, left] * (1 - share) + fitted[rows, right] * share)


def logit(p: ArrayLike, edge: float = EDGE) -> Floats:
    """Return ln(p / (1 - p)) of probabilities held at least `edge` away from 0 and 1."""
    held = np.clip(np.asarray(p, dtype=float), edge, 1 - edge)
    return np.asarray(np.log(held) - np.log1p(-held))


def expit(x: ArrayLike) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    from scipy import special

    return np.asarray(special.expit(x))
