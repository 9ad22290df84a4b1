"""A sheet: the answers about one series in one arm beside the truth, and the numbers that describe it.

Errors count in whole basis points. Source: NumLeak §2; the suite's specification, "Metrics".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.suites.numleak import naming

Floats = NDArray[np.float64]
SCORED = {"paper": "published", "anachron": "value"}
"""Column of the answers that each scoring reads."""
BAND_BP = 25
APART = (naming.DEFENCE, naming.PILOT)
"""Arms that are scored on their own."""


@dataclass(frozen=True)
class Sheet:
    """Answered months in recorded order, and how many were asked.

    Attributes
    ----------
    name
        Arm and series, joined by a point; with the panel's number where it is one of several.
    months, truth, said
        Of the answers that hold a number and whose truth is known.
    asked
        Answers asked for, whatever became of them.
    given
        Answers that hold a number, whether the truth is known or not.
    asked_months
        Their months, one for every answer asked for.
    readings
        How many of them read as what (`parse.READINGS`).
    """

    name: str
    series: str
    arm: str
    months: NDArray[np.str_]
    truth: Floats
    said: Floats
    asked: int
    given: int
    asked_months: tuple[str, ...]
    readings: dict[str, int]

    @property
    def n(self) -> int:
        """Number of answered rows."""
        return len(self.said)


def sheets(answers: pd.DataFrame, truth: dict[str, float], scoring: str) -> Iterator[Sheet]:
    """Yield the sheets of a model, by name: every arm and series whose items have a true value."""
    known = {naming.series_of(item) for item in truth}
    value = [
        naming.pair_of(item) is None and naming.series_of(item) in known and not arm.startswith(APART)
        for item, arm in zip(answers["item"], answers["arm"], strict=True)
    ]
    part = answers[np.array(value, bool)]
    if part.empty:
        return
    part = part.assign(series=[naming.series_of(name) for name in part["item"]])
    part = part.sort_values(["place", "item", "rep", "duplicate"], kind="stable", na_position="last")
    for (arm, series), rows in part.groupby(["arm", "series"], sort=True):
        yield sheet_of(rows, truth, scoring, f"{arm}.{series}")
        if rows["rep"].nunique() > 1 and arm in (naming.PANELS, naming.HISTORY):
            for rep, own in rows.groupby("rep", sort=True):
                yield sheet_of(own, truth, scoring, f"{arm}.{rep}.{series}")


def sheet_of(rows: pd.DataFrame, truth: dict[str, float], scoring: str, name: str) -> Sheet:
    """Return answers of one series as a sheet."""
    said = rows[SCORED[scoring]].to_numpy(float)
    true = np.array([truth.get(item, math.nan) for item in rows["item"]], float)
    months = np.array([naming.month_of(item) for item in rows["item"]], dtype=str)
    kept = np.isfinite(said) & np.isfinite(true)
    counted = {str(key): int(count) for key, count in rows["reading"].value_counts().sort_index().items()}
    first = str(rows["item"].iloc[0])
    return Sheet(
        name,
        naming.series_of(first),
        str(rows["arm"].iloc[0]),
        months[kept],
        true[kept],
        said[kept],
        len(rows),
        int(np.isfinite(said).sum()),
        tuple(months.tolist()),
        counted,
    )


def correlation(one: Floats, other: Floats) -> float:
    """Return Pearson's r; NaN for fewer than two points or a constant.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])), 3)
    0.866
    """
    return float(correlations(one[None, :], other[None, :])[0])


def correlations(one: Floats, other: Floats) -> Floats:
    """Return Pearson's r of each row of two arrays; NaN where a row is constant."""
    if one.shape[1] < 2:
        return np.full(len(one), np.nan)
    x = one - one.mean(axis=1, keepdims=True)
    y = other - other.mean(axis=1, keepdims=True)
    xx, yy, xy = (x * x).sum(axis=1), (y * y).sum(axis=1), (x * y).sum(axis=1)
    scale = np.sqrt(xx * yy)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(scale > 1e-12, xy / scale, np.nan)
    return np.asarray(np.clip(found, -1.0, 1.0))


def slope(x: Floats, y: Floats) -> float:
    """Return the least-squares slope of y on x; NaN where x is constant."""
    if len(x) < 2:
        return math.nan
    centred = x - x.mean()
    below = float(centred @ centred)
    return float(centred @ (y - y.mean())) / below if below > 1e-12 else math.nan


def basis_points(truth: Floats, said: Floats) -> NDArray[np.int64]:
    """Return absolute errors in whole basis points (hundredths of the series' unit)."""
    return np.abs(np.rint(100 * said).astype(np.int64) - np.rint(100 * truth).astype(np.int64))


def within(truth: Floats, said: Floats, band: int = BAND_BP) -> NDArray[np.bool_]:
    """Return which answers are off by at most `band` basis points."""
    return basis_points(truth, said) <= band


def same_sign(truth: Floats, said: Floats) -> NDArray[np.bool_]:
    """Return which answers have the truth's sign; zero is a sign of its own."""
    return np.asarray(np.sign(truth) == np.sign(said))


def wilson(hits: int, n: int, z: float = 1.96) -> tuple[float, float] | None:
    """Return Wilson's interval of a share, fractions of one."""
    if n == 0:
        return None
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def wald(hits: int, n: int, z: float = 1.96) -> tuple[float, float] | None:
    """Return Wald's interval of a share, which the paper gives for ranks."""
    if n == 0:
        return None
    p = hits / n
    half = z * math.sqrt(p * (1 - p) / n)
    return p - half, p + half
