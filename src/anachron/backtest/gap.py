"""The naive gap: what the usual check of a backtest compares, always beside the gap of a standardised mix.

A naive gap says nothing alone: recency, the mix of questions and leakage all make one. It is computed because it
is what is read, and because placebos can be put through it.

Source: Temporal Leakage, section 1 (figure 1) and appendix D.2; the suite's specification, "Naive gap".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from anachron.backtest.score import ScoreTable, date, question_cells
from anachron.errors import BacktestError
from anachron.stats.cluster import DRAWS, LEVEL, SEED, Floats, gap
from anachron.stats.result import GapEstimate
from anachron.stats.standardise import Mix, Standardised, standardised_gap

CLEAN_DAYS = 30
"""Days after a cutoff from which on a resolution is taken to lie outside the training data."""
LABEL = "uninformative alone: recency and the mix of questions make such a gap without any leakage"
Grouping = Literal["cluster", "question"]


@dataclass(frozen=True)
class NaiveGap:
    """The gap of one forecaster at one split, of plain means and within cells."""

    model: str
    boundary: str
    """First day of the later side, YYYY-MM-DD."""
    first: str
    """First and last resolution day of the window's questions that were scored."""
    last: str
    clean_from: str | None
    """First day of the clean window, where the gap is taken inside it."""
    raw: GapEstimate
    standardised: Standardised | None
    """None where nothing is known of the questions that cells could be made of."""
    label: str = LABEL

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        within = None if self.standardised is None else self.standardised.as_dict()
        return vars(self) | {"raw": self.raw.as_dict(), "standardised": within}


def naive_gap(
    scores: ScoreTable,
    model: str,
    *,
    boundary: int | None = None,
    cutoff: int | None = None,
    clean_days: int = CLEAN_DAYS,
    half_width: int | None = None,
    cells: ArrayLike | Literal["auto"] | None = "auto",
    grouping: Grouping = "cluster",
    mix: Mix = "before",
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> NaiveGap:
    """Return a model's gap between the older and the later questions.

    Parameters
    ----------
    boundary
        First day of the later side; the median resolution day of the window's questions when None.
    cutoff
        When given, only questions resolved at least `clean_days` after it count: a gap among them cannot be
        leakage.
    half_width
        When given, only questions in [boundary − half_width, boundary + half_width) count; needs `boundary`.
    cells
        Shape (questions,): labels of like questions; ``auto`` as `score.question_cells`; None for none.
    grouping
        What a draw of the bootstrap takes: whole clusters, or single questions.

    Raises
    ------
    BacktestError
        When the window holds no scored question, or a half-width comes without a boundary.
    """
    within = question_cells(scores) if isinstance(cells, str) else cells
    if half_width is not None and boundary is None:
        raise BacktestError("a half-width needs the boundary that it is a width around")
    score = scores.column(model)
    inside = ~np.isnan(score)
    clean_from = None if cutoff is None else cutoff + clean_days
    if clean_from is not None:
        inside &= scores.days >= clean_from
    if half_width is not None and boundary is not None:
        inside &= (scores.days >= boundary - half_width) & (scores.days < boundary + half_width)
    if not inside.any():
        raise BacktestError(f"model {model!r} has no scored question in the window of its gap")
    days = scores.days[inside]
    split = median_day(days) if boundary is None else boundary
    fixed: dict[str, Any] = {"draws": draws, "seed": seed, "level": level}
    groups = scores.cluster[inside] if grouping == "cluster" else None
    before = days < split
    return NaiveGap(
        model=model,
        boundary=date(split),
        first=date(int(days.min())),
        last=date(int(days.max())),
        clean_from=None if clean_from is None else date(clean_from),
        raw=gap(score[inside], before, groups, **fixed),
        standardised=None
        if within is None
        else standardised_gap(score[inside], before, np.asarray(within)[inside], groups, mix=mix, **fixed),
    )


def median_day(days: ArrayLike) -> int:
    """Return the median resolution day: the day on which the half of the questions has been reached."""
    ordered = np.sort(np.asarray(days, dtype=np.int64))
    return int(ordered[len(ordered) // 2])


def matched_window(
    scores: ScoreTable,
    cutoffs: Mapping[str, int],
    *,
    boundary: int | None = None,
    clean_days: int = CLEAN_DAYS,
    **fixed: Any,
) -> list[NaiveGap]:
    """Return the gaps of several models in their common clean window, at one split.

    Parameters
    ----------
    cutoffs
        Cutoff days by model; the latest of them opens the window.
    boundary
        The common split; the median resolution day of all the window's questions when None.
    fixed
        As `naive_gap`.
    """
    latest = max(cutoffs.values())
    window = scores.window(first=latest + clean_days)
    if not len(window.days):
        raise BacktestError(f"no question resolves {clean_days} days after {date(latest)} or later")
    split = median_day(window.days) if boundary is None else boundary
    return [
        naive_gap(scores, model, boundary=split, cutoff=latest, clean_days=clean_days, **fixed)
        for model in cutoffs
    ]


def median_split(scores: ScoreTable, models: Sequence[str] | None = None) -> int:
    """Return the median resolution day of the questions that any of `models` has scored."""
    columns: Floats = scores.score[:, [scores.place(model) for model in models or scores.models]]
    return median_day(scores.days[~np.isnan(columns).all(axis=1)])
