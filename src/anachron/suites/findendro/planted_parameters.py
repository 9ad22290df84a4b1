"""The parameters of planted respondents, validated.

docs/reference/findendro.md says what each does.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from anachron.config import Month, StrictModel
from anachron.suites.protocols import Share

ByMonth = dict[Month, Share]
"""Shares that hold from a month on, until the next month named."""


class Form(StrictModel):
    """How an answer is written, one draw an answer; what is left over is the letter alone."""

    prose: Share = Field(0.0, description="A sentence around the letter.")
    long: Share = Field(0.0, description="Several lines, the letter in the last.")
    refusal: Share = Field(0.0, description="A refusal in words.")
    not_offered: Share = Field(0.0, description="A letter that is no option.")
    no_letter: Share = Field(0.0, description="Words without a letter.")
    truncated: Share = Field(0.0, description="Cut off before the letter.")
    empty: Share = Field(0.0, description="No text.")

    @property
    def unread(self) -> float:
        """The share of answers that hold no choice."""
        return self.refusal + self.not_offered + self.no_letter + self.truncated + self.empty

    @model_validator(mode="after")
    def _at_most_all(self) -> Form:
        if self.unread + self.prose + self.long > 1 + 1e-12:
            raise ValueError("the shares of `form` add up to more than 1; lower one")
        return self


class Parameters(StrictModel):
    """A planted respondent."""

    seed: int = Field(description="Seed of everything it does.")
    knowledge: ByMonth = Field(
        min_length=1, description="Share of the facts of a month that it knows, from each month named on."
    )
    claims_known: ByMonth = Field(
        min_length=1, description="Share of known facts that it claims to know, by month."
    )
    claims_unknown: ByMonth = Field(
        min_length=1, description="Share of facts unknown to it that it claims to know, by month."
    )
    predict_claims: Share = Field(
        1.0, description="Share of these claims that it also makes in the predictive wording."
    )
    date_obedience: Share = Field(
        0.0, description="Share of the predictive claims that it drops when a date is stated."
    )
    date_forgets: Share = Field(0.0, description="Share of known facts it answers like unknown ones then.")
    position_bias: Share = Field(
        0.0, description="Share of answers that are the first option, whatever it says."
    )
    numeric_guess: Literal["uniform", "persistence"] = Field(
        "uniform", description="What it answers to a numerical fact that it does not know."
    )
    policy_guess: Literal["uniform", "persistence", "unchanged"] = Field(
        "uniform", description="What it answers to a policy fact that it does not know."
    )
    self_report: Month | None = Field(None, description="The cutoff it states; null: it states none.")
    form: Form = Form()

    @model_validator(mode="after")
    def _covers_the_first_month(self) -> Parameters:
        for name in ("knowledge", "claims_known", "claims_unknown"):
            if min(getattr(self, name)) > "1999-01":
                raise ValueError(
                    f"`{name}` must begin in 1999-01 or earlier; found {min(getattr(self, name))}"
                )
        return self


def at(shares: ByMonth, month: str) -> float:
    """Return the share that holds in a month."""
    return shares[max(start for start in shares if start <= month)]
