"""The score without the leakage: given only where the route identifies the mean leakage and its checks stand.

Source: Temporal Leakage, Corollary 2, appendix C.1 step 4; the suite's specification, "Adjusted score".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anachron.backtest.outcome import Outcome
from anachron.backtest.result import Adjusted, Number
from anachron.backtest.route_words import DESCRIPTIONS, Route
from anachron.publish.text import fixed

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable

REFUSALS = {
    "boundary": (
        "No score without leakage: this route measures leakage just before the cutoff. It says nothing of the "
        "questions further back, and taking it off the whole score would be an invention."
    ),
    "detection": "No score without leakage: this route finds whether there is leakage, not how much.",
    "nothing": "No score without leakage: nothing in this backtest tells leakage from recency and composition.",
}


def adjust(
    table: ScoreTable, target: str, route: Route, edge: int | None, outcome: Outcome | None
) -> Adjusted:
    """Return the score without the leakage, or why there is none.

    Parameters
    ----------
    table
        Scores by question and model.
    target
        Model to audit.
    route
        The route taken.
    edge
        The cutoff in days since 1970-01-01: leakage is about the questions before it. None where not known.
    outcome
        What the route gave; None where nothing was run.
    """
    identifies = DESCRIPTIONS[route].identifies
    if identifies != "global" or outcome is None or outcome.leakage is None or edge is None:
        everything = np.ones(len(table.days), dtype=bool)
        measured, risk = _measured(table, target, everything)
        if identifies == "zero":
            says = (
                f"The score stands as measured: every question was resolved after the cutoff of {target}, so that none "
                "of it can be leakage."
            )
            return Adjusted(status="not needed", says=says, measured=measured, risk_measured=risk)
        return Adjusted(status="refused", says=REFUSALS[identifies], measured=measured, risk_measured=risk)
    inside = np.asarray(table.days) < edge
    if outcome.first_day is not None:
        inside &= np.asarray(table.days) >= outcome.first_day
    measured, risk = _measured(table, target, inside)
    leakage = outcome.leakage.number
    assumption = " ".join(DESCRIPTIONS[route].assumes)
    if leakage.estimate is None or leakage.low is None or leakage.high is None:
        failed = next((one.text for one in leakage.gates if one.passed is False), "it has no interval")
        says = f"No score without leakage: the estimate of leakage is undefined ({failed})."
        return Adjusted(status="refused", says=says, measured=measured, risk_measured=risk)
    if leakage.low == leakage.high:
        says = (
            "No score without leakage: the scores that it rests on do not vary, so that its interval has no width and "
            "says nothing of what is not known."
        )
        return Adjusted(status="refused", says=says, measured=measured, leakage=leakage, risk_measured=risk)
    if outcome.refusal:
        says = (
            f"No score without leakage: an estimate exists, but {outcome.refusal}. It is printed below and not taken "
            "off the score."
        )
        return Adjusted(status="refused", says=says, measured=measured, leakage=leakage, risk_measured=risk)
    value = measured.estimate or 0.0
    score = _propagated(leakage, value, sign=-1)
    share = f"the {measured.n_before:,} questions before the cutoff"
    says = (
        f"Without leakage {target} would have scored {fixed(score.estimate or 0.0, 3, plus=True)} "
        f"[{fixed(score.low or 0.0, 3, plus=True)}, {fixed(score.high or 0.0, 3, plus=True)}] on {share}, against "
        f"{fixed(value, 3, plus=True)} as measured."
    )
    return Adjusted(
        status="given",
        says=says,
        assumption=assumption,
        measured=measured,
        leakage=leakage,
        score=score,
        risk_measured=risk,
        risk=None if risk is None else _propagated(leakage, risk, sign=1),
    )


def _propagated(leakage: Number, measured: float, *, sign: int) -> Number:
    """Return measured score minus leakage, or measured risk plus leakage, with the interval of leakage."""
    low, estimate, high = (
        measured + sign * float(end or 0.0) for end in (leakage.low, leakage.estimate, leakage.high)
    )
    return leakage.model_copy(
        update={
            "estimate": estimate,
            "low": min(low, high),
            "high": max(low, high),
            "p": None,
            "method": f"as measured, {'minus' if sign < 0 else 'plus'} leakage with its interval ({leakage.method})",
        }
    )


def _measured(
    table: ScoreTable, target: str, inside: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Number, float | None]:
    """Return the mean score of a model on some questions, and its mean Brier score where there are forecasts."""
    score = table.column(target)
    rows = inside & ~np.isnan(score)
    if not rows.any():
        return Number(estimate=None), None
    held = Number(estimate=float(score[rows].mean()), n_before=int(rows.sum()), method="mean over questions")
    if table.anchor == "score":
        return held, None
    return held, float(((table.forecasts(target)[rows] - table.outcome[rows]) ** 2).mean())
