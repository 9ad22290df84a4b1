"""The routes in words: what each does, what it identifies and what it assumes.

Source: Temporal Leakage, section 5, Table 1 and Proposition 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Route = Literal["forward", "did", "extrapolation", "did-boundary", "rd", "did-split", "prc", "naive", "none"]
Identifies = Literal["zero", "global", "boundary", "detection", "nothing"]


@dataclass(frozen=True)
class Description:
    """A route in words."""

    title: str
    identifies: Identifies
    does: str
    assumes: tuple[str, ...]


STRONGEST_FIRST: tuple[Route, ...] = (
    *("forward", "did", "extrapolation", "did-boundary", "rd", "did-split", "prc", "naive"),
)

DESCRIPTIONS: dict[Route, Description] = {
    "forward": Description(
        "Forward evaluation",
        "zero",
        "Every question was resolved after the model's cutoff, so that its answer was not there to be learned: "
        "leakage is zero by construction and the score stands as measured.",
        (
            "The stated cutoff is true: no later text reached the model by further training, tools or retrieval.",
            "No answer was effectively decided, or published, before the cutoff.",
        ),
    ),
    "did": Description(
        "Difference in differences against a clean control",
        "global",
        "The change of the target's score from before to after its cutoff, minus the change of a control that "
        "cannot know any of the answers, on the same questions weighted to the mix before the cutoff. It identifies "
        "the mean leakage over the questions before the cutoff.",
        (
            "The control is clean on every question that is compared.",
            "Honest performance of target and control would have changed by the same amount between the two "
            "sides: a control that is too weak to get worse with distance makes leakage look larger than it is.",
            "Both models' questions cover, on both sides, the mix of questions before the cutoff.",
            "The target knows none of the answers after its cutoff.",
        ),
    ),
    "extrapolation": Description(
        "Extrapolation from the clean side",
        "global",
        "A polynomial in the time since the cutoff is fitted to the clean questions alone and carried on to the "
        "questions before the cutoff; what the measured score exceeds it by is the mean leakage.",
        (
            "Honest performance before the cutoff goes on as the polynomial of the stated degree says: no datum "
            "of this backtest can support or refute it.",
            "The mix of questions does not change otherwise than through the cells it is weighted by.",
        ),
    ),
    "did-boundary": Description(
        "Boundary difference in differences",
        "boundary",
        "The change of the target's score across its cutoff, within a window, minus that of controls whose own "
        "cutoffs lie elsewhere. It identifies leakage just before the cutoff, not over the whole backtest.",
        (
            "The controls' leakage, if any, does not change at the target's cutoff.",
            "Target and controls share any change of questions at the cutoff.",
            "The target knows none of the answers after its cutoff.",
        ),
    ),
    "rd": Description(
        "Regression discontinuity at the cutoff",
        "boundary",
        "The jump of the score at the cutoff, from a local linear fit on each side. It identifies leakage just "
        "before the cutoff, not over the whole backtest.",
        (
            "Honest performance is continuous in the resolution date at the cutoff.",
            "Neither the number nor the kind of questions changes at the cutoff.",
            "Answers that were decided before they were resolved, and text that reaches a model late, make the "
            "jump smaller: a small jump does not rule out leakage deeper in the past.",
        ),
    ),
    "did-split": Description(
        "Difference in differences at a split, cutoff unknown",
        "detection",
        "The change of the target's score across a date, minus that of a clean control. Without a cutoff either "
        "side may hold leaked questions: it detects leakage that differs between the sides, and no more.",
        (
            "The control is clean on every question that is compared.",
            "Honest performance of target and control would have changed by the same amount.",
        ),
    ),
    "prc": Description(
        "Covariance of forecast and residual over paraphrases",
        "detection",
        "Forecasts that have taken in part of the answer leave residuals that point the same way. After "
        "calibration on clean questions the covariance is zero without leakage. It detects; it measures no amount.",
        (
            "Calibration that is fitted on clean questions holds on the questions before the cutoff.",
            "Paraphrases change the framing and not what is known.",
            "Extraction is partial: a model that has memorised every answer shows none.",
        ),
    ),
    "naive": Description(
        "Naive gap alone",
        "nothing",
        "The mean score before a date minus the mean score after it. Leakage, a fresher memory of the recent past "
        "and a changing mix of questions all move it, and nothing here tells them apart.",
        ("None under which it would measure leakage.",),
    ),
    "none": Description(
        "Nothing usable",
        "nothing",
        "There are too few questions on either side of any date to compare.",
        (),
    ),
}

IDENTIFIES: dict[Identifies, str] = {
    "zero": "that leakage is zero, by construction",
    "global": "the mean leakage over the questions before the cutoff",
    "boundary": "leakage just before the cutoff only",
    "detection": "whether there is leakage, not how much",
    "nothing": "nothing",
}
