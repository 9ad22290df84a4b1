"""How a row's estimates of this suite are printed: the gap always beside what a forecaster without knowledge shows."""

from __future__ import annotations

from typing import Any

from anachron.publish.cells import Metrics, number
from anachron.suites.leakage import marks

MARKS = marks.MARKS
"""Marks and their meaning, for legends."""

SCORINGS = ("anachron",)

QUESTION = (
    "How much of a forecasting score is owed to having read the answers, and what is the score without?"
)
"""What the suite asks, for readers who do not know it."""

ARMS = {
    "forecast": "the probability that a resolved question ended in yes",
    "paraphrase": "the same question in other words",
}
"""What each arm asks."""

QUESTIONS = {
    "Skill": "How much better than the crowd's are its forecasts of questions that it cannot know? Brier points, after "
    "the stated cutoff.",
    "Before": "The same for questions resolved before the cutoff.",
    "Gap": "Mean score of older questions minus that of later ones. Uninformative alone.",
    "Placebo": "The largest such gap of a forecaster that knows nothing: always one probability, or half the crowd's.",
    "Gap, same mix": "The gap within cells of like questions, weighted to the older ones' mix.",
    "Jump": "How much does its score fall at the stated cutoff? What leakage just before it would give.",
    "Would find": "The smallest jump that these questions would have shown in four of five cases.",
    "Residuals": "Do its forecasts move with their own errors before the cutoff, beyond what they do after it? Detects "
    "partial leakage.",
    "VALID": "Share of answers that state one probability.",
}
"""What each column asks, for readers of the table alone."""

COLUMNS = tuple(QUESTIONS)

MACHINE = {
    "skill": "score.clean",
    "before": "score.before",
    "gap": "gap",
    "gap_mix": "gap.mix",
    "gap_mde": "gap.mde",
    "placebo": "placebo",
    "jump": "jump",
    "jump_mde": "jump.mde",
    "window": "window",
    "prc": "prc",
    "valid": "valid",
}
"""Columns of the machine-readable table and the metric each holds."""

LABELS = {
    "score.clean": "Skill",
    "score.before": "Score before the cutoff",
    "gap": "Naive gap",
    "gap.mix": "Gap at the same mix",
    "placebo": "Largest placebo gap",
    "jump": "Jump at the cutoff",
    "prc": "Excess residual covariance",
}
"""Metrics in words, for tables that name them in a row."""


def cells(found: Metrics) -> dict[str, str]:
    """Return a row's estimates as printed, one cell per column of `COLUMNS`."""
    return {
        "Skill": number(found.get("score.clean"), 3, plus=True, interval=True),
        "Before": number(found.get("score.before"), 3, plus=True, interval=True),
        "Gap": number(found.get("gap"), 3, plus=True, interval=True),
        "Placebo": number(found.get("placebo"), 3, plus=True, interval=True),
        "Gap, same mix": number(found.get("gap.mix"), 3, plus=True, interval=True),
        "Jump": number(found.get("jump"), 3, plus=True, interval=True),
        "Would find": number(found.get("jump.mde"), 3),
        "Residuals": number(found.get("prc"), 3, plus=True, interval=True),
        "VALID": number(found.get("valid")),
    }


def measured_ends(scorings: dict[str, Metrics], side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return no measured end: the audit takes the stated cutoff and asks what leaked before it."""
    return []
