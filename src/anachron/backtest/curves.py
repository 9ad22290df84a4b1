"""Curves that the figures of an audit draw: scores by month, and around the cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anachron.backtest.convert import date_of
from anachron.backtest.result import Curve, Point

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable

BINS = 8
"""Bins on each side of the cutoff."""
FEWEST = 2
"""Questions below which a mean has no interval."""


def by_month(table: ScoreTable, models: list[str]) -> list[Curve]:
    """Return the mean score of each model by month of resolution, with a normal 95 % interval.

    Intervals are of questions drawn independently: they show spread, and no conclusion rests on them.
    """
    months = np.asarray([date_of(day).isoformat()[:7] for day in table.days])
    return [
        Curve(
            name="by month",
            label=model,
            model=model,
            points=[_mean(month, table.column(model)[months == month]) for month in sorted(set(months))],
        )
        for model in models
    ]


def around(days: Any, score: Any, width: float, model: str) -> list[Curve]:
    """Return binned means within twice the bandwidth of day 0, and the local line of each side within it.

    Parameters
    ----------
    days
        Shape (n,): days since the cutoff.
    score
        Shape (n,).
    width
        Bandwidth in days; lines have triangular weights.
    """
    step = 2 * width / BINS
    bins = [
        _mean(round((left + 0.5) * step, 2), score[(days >= left * step) & (days < (left + 1) * step)])
        for left in range(-BINS, BINS)
    ]
    curves = [Curve(name="boundary", label="Means around the cutoff", model=model, points=bins)]
    weight = np.clip(1 - np.abs(days) / width, 0, None)
    for sign, side in ((-1, days < 0), (1, days >= 0)):
        inside = side & (weight > 0)
        if len(np.unique(days[inside])) < 2:
            continue
        slope, level = np.polyfit(days[inside], score[inside], 1, w=np.sqrt(weight[inside]))
        points = [Point(x=float(x), y=float(level + slope * x)) for x in (sign * width, 0.0)]
        curves.append(Curve(name="boundary fit", label="Local line", model=model, points=points))
    return curves


def _mean(x: float | str, values: Any) -> Point:
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return Point(x=x, y=None, n=0)
    mean = float(known.mean())
    if len(known) < FEWEST:
        return Point(x=x, y=mean, n=len(known))
    half = 1.96 * float(known.std(ddof=1)) / float(np.sqrt(len(known)))
    return Point(x=x, y=mean, low=mean - half, high=mean + half, n=len(known))
