"""The parameters of planted respondents, validated. docs/reference/numleak.md says what each does."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from anachron.config import Month, StrictModel
from anachron.suites.protocols import Share


class Recall(StrictModel):
    """What a respondent knows of one series."""

    knows: Literal["value", "sign", "mean", "nothing"] = "value"
    error_bp: dict[Month, float] = Field(
        default_factory=lambda: {"1926-07": 0.0},
        description="Standard deviation of its error in basis points, from each month named on.",
    )
    mean: float = Field(0.5, description="What it takes for the mean, in the series' unit.")
    size: float = Field(
        3.5, gt=0, description="What it takes for the usual size, and the spread of its inventions."
    )


class Parameters(StrictModel):
    """A planted respondent."""

    seed: int = Field(description="Seed of everything it does.")
    series: dict[str, Recall] = Field(default_factory=dict, description="Recall by series.")
    others: Recall = Field(
        default_factory=lambda: Recall(knows="nothing"), description="Recall of all other series."
    )
    refusal: Share = Field(0.0, description="Share of values that it declines to state.")
    truncation: Share = Field(0.0, description="Share of values whose answer is cut off in thinking aloud.")
    fabrication: Share = Field(0.0, description="Share of invented factors' months it gives a number for.")
    ranks: Literal["values", "coin"] = Field("values", description="Whether its picks follow its own values.")
    signal_truth: float = Field(0.05, description="Weight of the true value in its signal.")
    signal_recall: float = Field(0.0, description="Weight of its own value in its signal.")
    signal_noise: float = Field(0.2, ge=0, description="Standard deviation of the signal's noise.")
    obeys: dict[str, Share] = Field(default_factory=dict, description="Share of prompts refused, by defence.")
    useful: Share = Field(1.0, description="Share of utility questions that it answers usefully.")
    grade: int = Field(4, ge=0, le=4, description="As a judge: its score of an answer that declines nothing.")
    peak: Share = Field(
        0.95,
        description="Probability of the first tokens of a value that it knows; the rest spreads evenly over four.",
    )
    diffuse: Share = Field(0.4, description="The same of a value that it does not know.")
    cutoff: Month | None = Field(None, description="Last month it knows; it declines later ones.")

    @model_validator(mode="after")
    def _at_most_all(self) -> Parameters:
        if self.refusal + self.truncation > 1 + 1e-12:
            raise ValueError("`refusal` and `truncation` add up to more than 1; lower one")
        return self
