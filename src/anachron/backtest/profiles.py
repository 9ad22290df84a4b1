"""How much a control is like a target on clean questions, so that one is chosen before any gap is read.

Source: Temporal Leakage, appendix D.7 ("Control selection"); the suite's specification, "DiD".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anachron.backtest.score import ScoreTable, date
from anachron.errors import BacktestError
from anachron.stats.cluster import Floats

BINS = 10
FEWEST_IN_BIN = 5


@dataclass(frozen=True)
class Profile:
    """How far a control is from the target on clean questions; smaller is more alike."""

    control: str
    distance: float | None
    """Sum of the two parts; None where neither can be had."""
    sources: float | None
    """Mean squared difference of the mean scores by source."""
    calibration: float | None
    """Mean squared difference of the calibration curves (share of outcomes 1 by bin of forecasts; mean score by
    difficulty in a table of scores)."""
    n: int
    """Clean questions that the target and all candidates answered."""


def profile_distance(
    scores: ScoreTable, target: str, candidates: Sequence[str], clean_from: int
) -> list[Profile]:
    """Return each candidate's distance to the target, nearest first.

    Parameters
    ----------
    clean_from
        First resolution day on which the target and every candidate are clean.

    Raises
    ------
    BacktestError
        When the target and the candidates have no clean question in common.
    """
    columns = [scores.place(name) for name in (target, *candidates)]
    common = (scores.days >= clean_from) & ~np.isnan(scores.score[:, columns]).any(axis=1)
    if not common.any():
        raise BacktestError(
            f"{target!r} and its candidates for a control ({', '.join(candidates)}) have no question in common that "
            f"resolves on {date(clean_from)} or later"
        )
    clean = scores.take(common)
    return sorted(
        (_profile(clean, target, name) for name in candidates),
        key=lambda one: (one.distance is None, one.distance or 0.0, one.control),
    )


def _profile(clean: ScoreTable, target: str, control: str) -> Profile:
    scored = (clean.column(target), clean.column(control))
    by_source = _squared(scored, (clean.source, clean.source))
    if clean.anchor == "score":
        shape = _squared(scored, (clean.difficulty, clean.difficulty))
    else:
        bins = tuple(
            np.minimum(clean.forecasts(name) * BINS, BINS - 1).astype(int) for name in (target, control)
        )
        shape = _squared((clean.outcome, clean.outcome), (bins[0], bins[1]))
    parts = [part for part in (by_source, shape) if part is not None]
    return Profile(control, sum(parts) if parts else None, by_source, shape, len(clean.days))


def _squared(values: tuple[Floats, Floats], labels: tuple[NDArray[Any], NDArray[Any]]) -> float | None:
    """Return the mean squared difference of the two means of each label that both have often enough."""
    means: list[dict[Any, float]] = []
    for value, label in zip(values, labels, strict=True):
        names, place, count = np.unique(label, return_inverse=True, return_counts=True)
        total = np.bincount(place.reshape(-1), weights=value, minlength=len(names))
        means.append(
            {
                name: one / number
                for name, one, number in zip(names.tolist(), total, count, strict=True)
                if number >= FEWEST_IN_BIN
            }
        )
    shared = sorted(means[0].keys() & means[1].keys())
    return float(np.mean([(means[0][one] - means[1][one]) ** 2 for one in shared])) if shared else None


def choose_control(scores: ScoreTable, target: str, candidates: Sequence[str], clean_from: int) -> Profile:
    """Return the candidate nearest to the target (see `profile_distance`); no gap is looked at."""
    return profile_distance(scores, target, candidates, clean_from)[0]
