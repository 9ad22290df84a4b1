"""The sections of the protocol file, each validated on its own."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from anachron.config import Month, StrictModel
from anachron.suites.protocols import Share

FactKind = Literal["real", "synthetic"]
Family = Literal["macro", "stock", "policy"]
ArmName = Literal[
    "value", "recall", "predict", "dated", "value-text", "recall-text", "predict-text", "dated-text", "cutoff"
]

FAMILIES: tuple[Family, ...] = ("macro", "stock", "policy")
PROMPTS: tuple[ArmName, ...] = ("value", "recall", "predict", "dated")
"""The four prompts of a fact."""
TEXTS: dict[str, ArmName] = {
    "value-text": "value",
    "recall-text": "recall",
    "predict-text": "predict",
    "dated-text": "dated",
}
"""Arms that ask how likely the text of each option is, with the prompt whose question they put."""
ALL_ARMS: tuple[ArmName, ...] = get_args(ArmName)
OUTCOMES = ("lowered", "unchanged", "raised")
"""The candidates of a policy fact, in the order of a number line."""


class Dates(StrictModel):
    """The months of the pool."""

    start: Month = Field("1999-01", description="First reference month.")
    dense: Month = Field("2021-01", description="First month of the dense sample.")
    end: Month = Field("2026-09", description="Last reference month.")


class Sample(StrictModel):
    """How many facts are asked a month, beside the policy fact."""

    sparse_series: int = Field(2, ge=0, description="Macro series a month before `dates.dense`.")
    sparse_companies: int = Field(1, ge=0, description="Companies a month before `dates.dense`.")
    dense_companies: int = Field(4, ge=0, description="Companies a month from `dates.dense` on.")


class Spacing(StrictModel):
    """The window whose typical monthly change spaces the candidates."""

    start: Month = Field("2001-01", description="First month whose change counts.")
    end: Month = Field("2020-12", description="Last month whose change counts.")
    min_changes: int = Field(60, ge=1, description="Fewer changes than this space nothing.")
    multiples: list[float] = Field(
        min_length=1, description="Steps are one of these numbers times a power of ten, in display units."
    )


class SeriesEntry(StrictModel):
    """A macro series."""

    id: str = Field(pattern=r"^[A-Z0-9]+$", description="FRED series id.")
    label: str = Field(description="The figure in words.")
    unit: str = Field(description="Unit of the value asked.")
    decimals: int = Field(ge=0, le=6, description="Places after the point.")
    change: int | None = Field(None, gt=0, description="Months of the percent change asked; null: the level.")
    floor: float | None = Field(
        description="No candidate lies below; null where negative values are possible."
    )


class Policy(StrictModel):
    """The policy fact."""

    id: str = Field("FEDTARGET", pattern=r"^[A-Z0-9]+$")
    label: str


class Prices(StrictModel):
    """How closing prices are asked."""

    unit: str
    decimals: int = Field(2, ge=0, le=6)
    floor: float = Field(0.01, ge=0)


class Company(StrictModel):
    """A company."""

    ticker: str = Field(pattern=r"^[A-Z][A-Z.-]*$")
    name: str
    listed: Month | None = Field(
        None, description="First month end with a price; null: before `dates.start`."
    )
    note: str | None = Field(None, description="What is uncertain of its prices or its name.")


class ArmRule(StrictModel):
    """Sampling of an arm."""

    temperature: float = Field(0.0, ge=0)
    max_tokens: int = Field(
        1024, ge=0, description="Cap; 0 asks how likely the prompt is, and for no answer."
    )
    default: bool = Field(True, description="Whether a model is asked this arm unless its entry names arms.")


class Baseline(StrictModel):
    """The months that the ends of knowledge and claims are held against."""

    start: Month = "2015-01"
    end: Month = "2020-12"


class Ends(StrictModel):
    """The rule of the ends."""

    threshold: float = Field(
        0.5, gt=0, lt=1, description="Place of the threshold between chance and baseline."
    )
    alternative: float = Field(1 / 3, gt=0, lt=1, description="Reported beside.")
    window: int = Field(2, ge=1, description="Quarters of the rolling mean.")
    sustained: int = Field(2, ge=1, description="Quarters below that make a sustained fall.")
    level: float = Field(0.95, gt=0, lt=1, description="Level of the bounds of an end.")
    toward: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Levels that the bounds hold the threshold against, as a share of the way from it to floor and "
        "baseline. They decide how narrow the bounds are, not whether they hold.",
    )


class Bootstrap(StrictModel):
    """Resampling of facts."""

    draws: int = Field(1000, ge=100)
    seed: int = 2611
    level: float = Field(0.95, gt=0, lt=1)
    min_valid_share: Share = 0.5


class Gates(StrictModel):
    """Bounds without which an estimate is undefined."""

    position: Share = Field(0.6, description="Highest share of one letter among the answers of an arm.")
    min_answers: int = Field(20, ge=1, description="Fewer letters than this are no ground for an estimate.")


class Wording(StrictModel):
    """A text per fact family."""

    macro: str
    stock: str
    policy: str


class Outcomes(StrictModel):
    """The three policy outcomes in words."""

    raised: str
    lowered: str
    unchanged: str


class Tenses(StrictModel):
    """Policy outcomes in the past and in the future tense."""

    past: Outcomes
    future: Outcomes


class Claim(StrictModel):
    """A candidate with either claim; `{value}` is the candidate."""

    knows: str
    denies: str


class Claims(StrictModel):
    """The claims of the recall wording, and of the predictive one."""

    recall: Claim
    predict: Claim


class Task(StrictModel):
    """All wording."""

    system: str
    own_knowledge: str
    as_of: str = Field(description="Sets today to `{date}`.")
    value: Wording
    recall: Wording
    predict: Wording
    subject: Wording
    period: str
    unit: str
    outcomes: Tenses
    claims: Claims
    option: str
    closing: str
    candidate: str = Field(
        pattern=r"\S", description="Stands before an option's text where its likelihood is asked."
    )
    cutoff: str


def without(part: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a mapping without some keys."""
    return {key: value for key, value in part.items() if key not in keys}
