"""The parameters of planted respondents, validated: every share they can reach lies within 0..1.

docs/reference/planted.md says what each does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from anachron.blocks import ordinal
from anachron.config import Month, StrictModel

Share = Annotated[float, Field(ge=0, le=1)]
Effect = Annotated[float, Field(ge=-1, le=1)]
Regime = Literal["crisis", "calm", "ordinary"]


class ByRegime(StrictModel):
    """An effect on the bearish share, in crisis and in calm months; other months have none."""

    crisis: Effect = Field(0.0, description="Added in crisis months.")
    calm: Effect = Field(0.0, description="Added in calm months.")

    def at(self, regime: Regime) -> float:
        """Return the effect in a regime."""
        return self.crisis if regime == "crisis" else self.calm if regime == "calm" else 0.0


class Bearish(StrictModel):
    """The share of bearish sketches."""

    base: Share = Field(0.4, description="Bearish share where nothing else is added.")
    context: ByRegime = Field(
        ByRegime(), description="What the data lines do: by the true date, in every arm."
    )
    trigger: ByRegime = Field(
        ByRegime(),
        description="What a stated date does, up to the cutoff: by the stated date, in R, D, W, W72.",
    )
    revealed_crisis: Effect = Field(0.0, description="Added in arm R at crisis months up to the cutoff.")
    unfamiliar: Effect = Field(0.0, description="Added where the stated date lies after the cutoff.")
    signal_skill: Effect = Field(
        0.0,
        description="Arm R, up to the cutoff: taken off the bearish share when the realised direction is up, "
        "added when it is down, times the month's claim probability.",
    )
    context_spread: Share = Field(
        0.0, description="Half width of a true date's departure, the same in all arms."
    )
    date_spread: Share = Field(
        0.0, description="Half width of a stated date's departure, the same in all arms."
    )


class Recall(StrictModel):
    """Recall of realised outcomes."""

    cutoff: Month | None = Field(
        None, description="Last month of the training data; null: it remembers nothing."
    )
    claim: Share = Field(0.9, description="Probability of claiming an outcome, up to the ramp.")
    claim_spread: Share = Field(0.0, description="Half width of a month's departure from `claim`.")
    ramp_months: int = Field(
        0, ge=0, le=120, description="Months, the cutoff the last, over which claims fall."
    )
    claim_after: Share = Field(
        0.0, description="Probability of claiming an outcome after the cutoff: guesses."
    )
    knows: Share = Field(
        1.0, description="Probability that a month up to the cutoff is known; others are guessed."
    )
    accuracy: Share = Field(1.0, description="Probability that a claim about a known month is right.")
    guess_up: Share = Field(0.5, description="Probability that a guess says up.")

    @model_validator(mode="after")
    def _claims_stay_probabilities(self) -> Recall:
        if not 0 <= self.claim - self.claim_spread <= self.claim + self.claim_spread <= 1:
            raise ValueError(
                f"`claim` {self.claim} with `claim_spread` {self.claim_spread} leaves 0..1; narrow the spread"
            )
        return self

    def familiar(self, month: str) -> bool:
        """Return whether a month lies within the training data."""
        return self.cutoff is not None and month[:7] <= self.cutoff

    def claim_at(self, month: str) -> tuple[float, float]:
        """Return the mean and the half width of the claim probability in a month."""
        if self.cutoff is None or month[:7] > self.cutoff:
            return self.claim_after, 0.0
        into = ordinal(month) - ordinal(self.cutoff) + self.ramp_months
        if into <= 0:
            return self.claim, self.claim_spread
        return self.claim + (self.claim_after - self.claim) * into / (self.ramp_months + 1), 0.0


class Recovery(StrictModel):
    """Recovery of the date from the masked data lines."""

    month: Share = Field(0.0, description="Probability of the exact month, up to the cutoff.")
    year: Share = Field(
        0.0, description="Probability of the right year (exact month included), up to the cutoff."
    )
    month_after: Share = Field(0.0, description="The same after the cutoff.")
    year_after: Share = Field(0.0, description="The same after the cutoff.")
    spread_years: int = Field(
        5, ge=1, le=30, description="A wrong year is off by 1 to this many, either way."
    )
    year_only: Share = Field(0.0, description="Share of answers that give the year alone.")
    silent: Share = Field(0.0, description="Share of answers without any date.")

    @model_validator(mode="after")
    def _months_lie_in_years(self) -> Recovery:
        for month, year, name in ((self.month, self.year, ""), (self.month_after, self.year_after, "_after")):
            if month > year:
                raise ValueError(f"`month{name}` {month} exceeds `year{name}` {year}, which includes it")
        if self.year_only + self.silent > 1:
            raise ValueError(f"`year_only` {self.year_only} and `silent` {self.silent} exceed 1 together")
        return self


class Form(StrictModel):
    """The form of the answers."""

    compliance: Share = Field(1.0, description="Probability that a sketch is valid.")
    fenced: Share = Field(0.0, description="Share of arm answers in a code fence.")
    trailing_comma: Share = Field(0.0, description="Share with a comma before a closing bracket.")
    unterminated: Share = Field(0.0, description="Share that lacks only the final bracket.")
    truncated: Share = Field(0.0, description="Share cut off inside a sketch, any of them alike.")
    refusal: Share = Field(0.0, description="Share that declines in words.")
    empty: Share = Field(0.0, description="Share that is empty.")
    lap_invalid: Share = Field(0.0, description="Share of recall answers that name no direction.")
    names_stated_year: Share = Field(0.0, description="Share of answers to a stated date that name its year.")
    names_true_year: Share = Field(0.0, description="Share of arm answers that name the true year.")
    names_event: Share = Field(
        0.0, description="Share of answers to a stated crisis date that name its event."
    )

    @model_validator(mode="after")
    def _kinds_exclude_each_other(self) -> Form:
        total = sum(getattr(self, kind) for kind in FORM_KINDS)
        if total > 1 + 1e-12:
            raise ValueError(f"{', '.join(FORM_KINDS)} add up to {total:g}; allowed: at most 1")
        return self


FORM_KINDS = ("fenced", "trailing_comma", "unterminated", "truncated", "refusal", "empty")
"""Forms of an arm answer that exclude each other; the rest is plain JSON."""


class Parameters(StrictModel):
    """A planted respondent of the suite `hindsightbench`."""

    seed: int = Field(0, ge=0, lt=2**63, description="All chance follows from it.")
    bearish: Bearish = Bearish()
    recall: Recall = Recall()
    recovery: Recovery = Recovery()
    form: Form = Form()

    @model_validator(mode="after")
    def _shares_stay_probabilities(self) -> Parameters:
        part = self.bearish
        spread = part.context_spread + part.date_spread
        regimes: tuple[Regime, ...] = ("crisis", "calm", "ordinary")
        for true in regimes:
            mean = part.base + part.context.at(true)
            skill = abs(part.signal_skill) * (self.recall.claim + self.recall.claim_spread)
            sums = {f"arm M, {true} date": (mean, part.context_spread)}
            sums[f"{true} date, stated date after the cutoff"] = (mean + part.unfamiliar, spread)
            if self.recall.cutoff is not None:
                for stated in regimes:
                    told = mean + part.trigger.at(stated)
                    sums[f"{true} date, stated {stated} date"] = (told, spread)
                told = mean + part.trigger.at(true) + (part.revealed_crisis if true == "crisis" else 0.0)
                sums[f"arm R, {true} date"] = (told, spread + skill)
            for where, (share, width) in sums.items():
                if share - width < -1e-12 or share + width > 1 + 1e-12:
                    raise ValueError(
                        f"`bearish`: the share reaches {share - width:.3f}..{share + width:.3f} ({where}); "
                        "choose effects and spreads that keep it within 0..1"
                    )
        return self
