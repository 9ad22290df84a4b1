"""Forecasters that know nothing, through the estimator that the model went through.

A constant cannot have memorised anything. What gap it shows comes from the questions: older and later ones that
differ. So does as much of a model's gap as a constant reproduces, as far as the model's forecasts are like it.

Source: the suite's specification, "Model-free placebos".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anachron.backtest.gap import NaiveGap, naive_gap
from anachron.backtest.score import ScoreTable, brier
from anachron.stats.cluster import Floats
from anachron.stats.result import GapEstimate, Gate
from anachron.stats.standardise import Standardised

CONSTANTS = (0.1, 0.15, 0.2, 0.5)
HALF_CROWD = "0.5·c0"


@dataclass(frozen=True)
class Placebo:
    """The gap of a forecaster without knowledge."""

    name: str
    """``P = 0.15``, or ``0.5·c0``: half the crowd's probability."""
    raw: GapEstimate
    standardised: Standardised | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        within = None if self.standardised is None else self.standardised.as_dict()
        return {"name": self.name, "raw": self.raw.as_dict(), "standardised": within}


def placebo_table(scores: ScoreTable) -> ScoreTable:
    """Return `scores` with the placebos in place of the models; no model where the table holds scores."""
    forecasters: dict[str, Floats] = {}
    if scores.anchor != "score":
        forecasters = {f"P = {constant:g}": np.full(len(scores.days), constant) for constant in CONSTANTS}
        if not np.isnan(scores.crowd).all():
            forecasters[HALF_CROWD] = 0.5 * scores.crowd
    forecast = (
        np.stack(list(forecasters.values()), axis=1) if forecasters else np.zeros((len(scores.days), 0))
    )
    crowd = scores.crowd if scores.anchor == "crowd" else None
    return replace(
        scores,
        models=tuple(forecasters),
        forecast=forecast,
        score=brier(forecast, scores.outcome, crowd),
        cutoffs=dict.fromkeys(forecasters),
        roles=dict.fromkeys(forecasters),
    )


def placebos(
    scores: ScoreTable,
    *,
    like: str | None = None,
    estimate: Callable[..., NaiveGap] = naive_gap,
    **fixed: Any,
) -> list[Placebo]:
    """Return the placebos' gaps; none for a table of scores, where no forecast can be made up.

    Parameters
    ----------
    like
        A model whose questions alone count, so that a placebo answers what the model answered.
    estimate, fixed
        The model's own estimator and its options (boundary, cutoff, half_width, cells, draws, seed).
    """
    answered = scores if like is None else scores.take(~np.isnan(scores.column(like)))
    made_up = placebo_table(answered)
    found = [estimate(made_up, name, **fixed) for name in made_up.models]
    return [Placebo(one.model, one.raw, one.standardised) for one in found]


def could_be_composition(own: GapEstimate, found: list[Placebo]) -> Gate:
    """Return whether a gap may come from the mix of questions alone: not passed where a placebo reaches it.

    A placebo reaches a gap when it has its sign and at least half of its size, and is starred or no smaller than
    it. Passed is None without placebos, or without a gap.
    """
    name = "composition"
    known = [one for one in found if one.raw.estimate is not None]
    if not known or own.estimate is None:
        return Gate(name, None, None, None, "no placebo can be put through this estimator")
    sign = 1 if own.estimate >= 0 else -1
    largest = max(known, key=lambda one: sign * float(one.raw.estimate or 0))
    figure = float(largest.raw.estimate or 0)
    reached = sign * figure >= abs(own.estimate) or (
        sign * figure >= abs(own.estimate) / 2 and largest.raw.starred
    )
    text = (
        f"{largest.name}, which knows nothing, shows {figure:+.3f} where the model shows {own.estimate:+.3f}: "
        + ("the gap could be the mix of questions alone" if reached else "not what the mix alone gives")
    )
    return Gate(name, not reached, figure, own.estimate, text)
