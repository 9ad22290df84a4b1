"""The sections of the protocol file, each validated on its own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anachron.config import Month, StrictModel

Placing = Literal["system", "prefix"]


class Dates(StrictModel):
    """The months of the pools."""

    start: Month = Field("1963-07", description="First month of any item.")
    window: Month = Field("1963-07", description="First month that all series have.")
    pool_end: Month = Field(
        "2026-02", description="Last month of the main panel's pool; a later `end` leaves the panel as it is."
    )
    panels_end: Month = Field("2022-12", description="Last month of the series' own panels.")
    recent: Month = Field(description="First month of the recent arm.")
    near_months: int = Field(
        12, ge=1, description="Months up to a stated cutoff that are told apart from earlier ones."
    )
    end: Month = Field(description="Last month.")


class Panels(StrictModel):
    """How months and pairs are drawn."""

    seed: int = Field(42, description="Seed of main panel, pairs and invented factors' months.")
    size: int = Field(40, ge=1, description="Months of a panel.")
    seeds: list[int] = Field(
        default_factory=lambda: [1, 2, 3], description="Seeds of the series' own panels."
    )
    series: list[str] = Field(
        default_factory=lambda: ["Mkt-RF", "SMB", "Mom"], description="Series of these."
    )
    pairs: int = Field(60, ge=0, description="Pairs of months that are ranked.")
    fabricated: int = Field(12, ge=0, description="Months asked about each invented factor.")
    reduced: int = Field(12, ge=1, description="Months of a panel that tier `reduced` asks.")


class SeriesEntry(StrictModel):
    """A series whose values are asked."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    label: str = Field(description="The series in words, as prompts name it.")
    unit: Literal["percent", "bps", "index"] = "percent"
    decimals: int = Field(2, ge=0, le=6)
    source: Literal["factor", "macro", "own"]
    name: str = Field(description="Factor, FRED series id, or path of a table with columns month and value.")
    change: int | None = Field(None, gt=0, description="Months of the percent change asked; null: the level.")
    family: str = Field(description="Series of one family are siblings.")


class Label(StrictModel):
    """Another name for the market."""

    label: str
    series: str = Field("Mkt-RF", description="The series that answers are held against.")


class Suffix(StrictModel):
    """What is added to a prompt to get round a defence."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    text: str


class Utility(StrictModel):
    """Questions that a defence should leave answerable, by group."""

    conceptual: list[str]
    historical: list[str]
    numeric: list[str]


class Judging(StrictModel):
    """Who grades the answers to utility questions, and how it is asked; a number from 0 to 4."""

    by: list[str] = Field(
        default_factory=list,
        description="Names of the registry; the first that is not the judged model grades it. Without one, utility "
        "questions cannot be asked.",
    )
    max_tokens: int = Field(256, gt=0)
    system: str = ""
    prompt: str = Field(description="Wording; `{question}` and `{answer}` are filled in.")


class ArmRule(StrictModel):
    """Sampling of an arm."""

    temperature: float = Field(0.0, ge=0)
    max_tokens: int = Field(256, ge=0, description="Cap; 0 asks how likely the prompt is, and for no answer.")
    default: bool = Field(True, description="Whether a model is asked this arm unless its entry names arms.")


class Bootstrap(StrictModel):
    """Resampling."""

    draws: int = Field(1000, ge=100, description="Draws of the bootstrap over months.")
    paper_draws: int = Field(1000, ge=100, description="Draws of the paper's bootstrap over rows.")
    permutations: int = Field(10000, ge=100, description="Draws of permutation nulls.")
    seed: int = 2612
    level: float = Field(0.95, gt=0, lt=1)


class Gates(StrictModel):
    """Bounds without which an estimate is undefined."""

    correlation: int = Field(10, ge=3, description="Fewest answered months of a correlation.")


class Signature(StrictModel):
    """How far the joint signature must clear every null."""

    level: float = Field(0.05, gt=0, lt=1, description="Chance of each one-sided bound.")
    flat: float = Field(
        0.25,
        gt=0,
        lt=1,
        description="Spread of the answers over that of the truth below which they are flat.",
    )


class Task(StrictModel):
    """All wording; `{label}`, `{month}` and `{unit}` are filled in."""

    system: str = ""
    value: str
    describe: str
    rank: str
    rank_forced: str
    reason: str
    signal: str
    candidate: str = Field(description="What stands between a value's question and a candidate.")
    units: dict[str, str]
