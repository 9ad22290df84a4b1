"""The sections of the protocol file of the suite, each validated by itself.

Source: HindsightBench §3 (arms, probes, metrics, gates), §4 (panel), and the suite's specification.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from anachron.config import Month, StrictModel
from anachron.suites.protocols import TIERS, Tier

ARMS = ("R", "D", "M", "W", "W72")
PROBES = ("LAP", "REC")
ALL_ARMS = (*ARMS, *PROBES)
ArmName = Literal["R", "D", "M", "W", "W72", "LAP", "REC"]
Direction = Literal["+", "-"]


class Dates(StrictModel):
    """The decision dates: one a month, on a fixed day."""

    day: int = Field(15, ge=1, le=28, description="Day of the month of every decision date.")
    start: Month = Field("2005-01", description="First decision month.")
    pre_end: Month = Field("2024-12", description="Last month of the pre cohort.")
    end: Month = Field("2026-06", description="Last decision month; a later one adds dates and changes none.")
    placebo_start: Month = Field("2025-02", description="First month of the calendar placebo window.")


class SeriesEntry(StrictModel):
    """One series of the catalog."""

    id: str = Field(description="Series identifier at the Federal Reserve Bank of St. Louis.")
    label: str = Field(description="What the series measures, in words.")
    unit: str = Field(description="Unit of the vintage's values.")
    decimals: int = Field(ge=0, le=6, description="Decimals printed, the same on every date.")


class Realised(StrictModel):
    """How the target's realised direction is measured."""

    source: Literal["equity_index", "series"] = Field(
        description="A daily equity index, or a monthly series."
    )
    series: str | None = Field(None, description="The monthly series, when the source is one.")
    sessions: int = Field(20, gt=0, description="Trading sessions of the realised move.")

    @model_validator(mode="after")
    def _series_is_named(self) -> Realised:
        if (self.source == "series") != (self.series is not None):
            raise ValueError("`series` is needed when `source` is 'series', and only then")
        return self


class Target(StrictModel):
    """What is predicted, and what its directions mean. No other place holds wording about the target."""

    name: str = Field(description="The target, as prompts name it.")
    definition: str = Field(description="One sentence that defines the predicted move.")
    plus: str = Field(description="What direction + means.")
    minus: str = Field(description="What direction - means; the bearish reading.")
    rose: str = Field(description="The event that counts as `up` in the outcome-recall probe.")
    fell: str = Field(description="The event that counts as `down` in the outcome-recall probe.")
    realised: Realised


class Task(StrictModel):
    """The wording of the prompts; docs/reference/prompts.md says where each text stands."""

    system: str = Field(description="System prompt of the arms, constant over all dates and arms.")
    date_line: str = Field(description="The line that states the date, as `{date}`.")
    undisclosed_line: str = Field(description="The line that stands in its place when the date is masked.")
    admissibility: str = Field(description="Which information is admissible; names the date as `{date}`.")
    undisclosed_date: str = Field(description="Fills `{date}` in `admissibility` when the date is masked.")
    target_text: str = Field(description="The target, its definition, and what the directions mean.")
    catalog_heading: str = Field(description="Heading of the catalog: a line of id and label per series.")
    statistics: str = Field(description="Statistics block of arm R: `{base_rate_up}` and `{base_rate_n}`.")
    statistics_none: str = Field(description="What stands there while no earlier outcome is known.")
    revealed_heading: str = Field(description="Heading of the observations in arm R.")
    lagged_heading: str = Field(description="Heading of the observations in arms D, M, W and W72.")
    instruction: str = Field(description="The task.")
    schema_text: str = Field(description="The output schema in words.")
    example_heading: str = Field(description="Heading of the format example.")
    example: str = Field(description="The format example, a JSON list of sketches.")
    lap_system: str = Field(description="System prompt of the outcome-recall probe.")
    lap: str = Field(description="Outcome-recall question; opens at `{date}` and ends at `{end}`.")
    rec_system: str = Field(description="System prompt of the date-recovery probe.")
    rec: str = Field(description="Date-recovery question; stands below the masked observations.")

    @model_validator(mode="after")
    def _fields_are_known(self) -> Task:
        for name in type(self).model_fields:
            allowed = (*COMMON_FIELDS, *OWN_FIELDS.get(name, ()))
            found = FILL.findall(getattr(self, name)) if name != "example" else []
            for field in found:
                if field not in allowed:
                    raise ValueError(
                        f"`{name}` holds {{{field}}}, which is not filled in there; allowed: "
                        + ", ".join(f"{{{word}}}" for word in allowed)
                    )
            for field in OWN_FIELDS.get(name, ()):
                if field not in found:
                    raise ValueError(f"`{name}` must hold {{{field}}}")
        try:
            example = json.loads(self.example)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"`example` is not JSON: {error}") from None
        if not isinstance(example, list):
            raise ValueError("`example` must be a JSON list of sketches")
        return self


COMMON_FIELDS = (
    "target",
    "definition",
    "plus",
    "minus",
    "rose",
    "fell",
    "sketches",
    "domains",
    "horizons",
    "catalog",
)
"""What may be filled into any text of `Task` but `example`: the same on every date."""

OWN_FIELDS = {
    "date_line": ("date",),
    "admissibility": ("date",),
    "statistics": ("base_rate_up", "base_rate_n"),
    "lap": ("date", "end"),
}
"""What is filled into one text of `Task` only, and must stand there: it differs from date to date."""

FILL = re.compile(r"\{([a-z_]+)\}")
"""A field to fill in; the braces of JSON are followed by a quotation mark or a space and stay as they are."""


class Sets(StrictModel):
    """The contrasted sets of decision months."""

    crisis: list[Month] = Field(min_length=2, description="Crisis months.")
    calm_years: list[int] = Field(min_length=1, description="Years whose twelve months are calm.")
    alternative_calm_years: list[list[int]] = Field(
        default_factory=list, description="Other calm sets of the perturbation ablation."
    )
    events: dict[str, list[Month]] = Field(
        default_factory=dict, description="Crisis months by event, for leaving one event out."
    )
    event_words: dict[str, list[str]] = Field(
        default_factory=dict, description="Words by which the transcript audit recognises an event."
    )


class Shift(StrictModel):
    """The false dates of arm W."""

    months: int = Field(66, gt=0, description="Shift of the pre dates, cyclic.")
    alternative_months: int = Field(72, gt=0, description="Shift of arm W72; keeps the calendar month.")
    calm_anchor_months: list[Annotated[int, Field(ge=1, le=12)]] = Field(
        default_factory=lambda: [2, 6, 10],
        min_length=1,
        description="Months of the calm years that post dates are given.",
    )


class ArmRule(StrictModel):
    """How one arm is sampled."""

    temperature: float = Field(ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(gt=0, description="Cap on an answer's tokens.")
    reps: dict[Tier, int] = Field(description="Repeated samples per tier.")
    default: bool = Field(True, description="Asked of a model whose registry entry names no arms.")

    @field_validator("reps")
    @classmethod
    def _every_tier(cls, reps: dict[str, int]) -> dict[str, int]:
        for tier in TIERS:
            if reps.get(tier, -1) < 0:
                raise ValueError(f"tier {tier!r} needs a number of reps, 0 or more")
        return reps


class Lap(StrictModel):
    """The outcome-recall probe."""

    sessions: int = Field(21, gt=0, description="Sessions from the first session on or after the date.")
    threshold: float = Field(0.1, gt=0, lt=1, description="A month is recalled above this share, strictly.")
    sweep: list[Annotated[float, Field(gt=0, lt=1)]] = Field(
        default_factory=lambda: [0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2],
        description="Thresholds of the sensitivity sweep.",
    )
    sustained_months: int = Field(
        3, ge=1, description="Months below the threshold that make a sustained fall."
    )


class Bootstrap(StrictModel):
    """Resampling."""

    draws: int = Field(10_000, ge=100, description="B.")
    seed: int = Field(2026, ge=0, description="Seed of PCG64.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Coverage the interval aims at.")
    min_valid_share: float = Field(0.5, ge=0, le=1, description="Share of defined draws an interval needs.")


class Gates(StrictModel):
    """Conditions without which an estimate is undefined."""

    rec_min_n: int = Field(10, ge=1, description="r: accepted date-recovery answers.")
    hit_rate: float = Field(0.60, ge=0, le=1, description="g (bm1): the hit rate must exceed this.")
    hit_p: float = Field(0.05, gt=0, lt=1, description="g (anachron): Fisher's exact p must be below this.")
    delta_min_n: int = Field(30, ge=0, description="v: the regression's dates must be more than this.")
    delta_min_variance: float = Field(1e-4, ge=0, description="v: LAP's variance must exceed this.")
    delta_min_signals: int = Field(10, ge=0, description="v (anachron): dates of each signal sign.")
    parity: float = Field(0.95, gt=0, le=1, description="k (anachron): share of each window both sides need.")
    hac_lags: int = Field(6, ge=0, description="Newey–West lags of δ.")
