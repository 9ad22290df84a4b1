"""What an audit of a backtest returns: one document that a program can read and the report is written from.

Its JSON Schema is `workflow/schemas/backtest.schema.json`. Numbers are in score units (Brier points, or the user's
own score) unless a name says otherwise; higher scores are better, and leakage would give a positive gap or jump.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from anachron.backtest.route_words import Identifies, Route
from anachron.validation import StrictModel

FORMAT: Literal["anachron-backtest-1"] = "anachron-backtest-1"


class Gate(StrictModel):
    """A condition that an estimate was held against."""

    name: str
    passed: bool | None
    figure: float | None = Field(None, description="The number the condition was held against.")
    text: str


class Number(StrictModel):
    """An estimate with its interval; `estimate` is null where a gate leaves it undefined."""

    estimate: float | None
    low: float | None = None
    high: float | None = None
    n_before: int | None = Field(None, description="Questions resolved before the split.")
    n_after: int | None = None
    clusters_before: int | None = None
    clusters_after: int | None = None
    p: float | None = Field(None, description="p of a test, where the number has one.")
    method: str = ""
    level: float | None = None
    draws: int | None = None
    seed: int | None = None
    gates: list[Gate] = Field(default_factory=list)


class Finding(StrictModel):
    """A number, what it is, and what it says."""

    name: str = Field(description="Stable name for programs.")
    label: str
    means: str = Field(description="What the number is, in one sentence.")
    number: Number
    null: bool | None = Field(None, description="Whether its interval holds 0; null without an interval.")
    mde: float | None = Field(None, description="Smallest effect found with a chance of 80 %.")
    mde_method: str = ""
    mde_clean: float | None = Field(
        None, description="False alarms of the same test at no effect, as the power study measured them."
    )
    says: str


class Placebo(StrictModel):
    """A forecaster that knows nothing, through the estimator that the target went through."""

    name: str
    label: str
    raw: Number
    standardised: Number | None = None


class Opening(StrictModel):
    """The model-free placebos, and whether the gap could be composition."""

    verdict: Literal["explained", "partly", "not seen", "no gap", "untested"]
    says: str
    split: str
    window: str
    target: Placebo
    placebos: list[Placebo]


class RouteNote(StrictModel):
    """A route with what it lacks."""

    route: Route
    title: str
    usable: bool
    lacking: list[str]


class Chosen(StrictModel):
    """The route taken."""

    route: Route
    title: str
    identifies: Identifies
    does: str
    assumes: list[str]
    controls: list[str]
    warning: str = Field("", description="What speaks against a control, told before its difference is read.")
    considered: list[RouteNote]
    stronger: list[RouteNote]


class Check(StrictModel):
    """A check of an assumption: `passed` is null where this backtest cannot test it."""

    name: str
    label: str
    passed: bool | None
    figure: float | None = None
    says: str


class Adjusted(StrictModel):
    """The score without the leakage, or why there is none."""

    status: Literal["given", "refused", "not needed"]
    says: str
    assumption: str = ""
    measured: Number
    leakage: Number | None = None
    score: Number | None = Field(None, description="Measured score minus leakage.")
    risk_measured: float | None = Field(None, description="Mean Brier score as measured, lower is better.")
    risk: Number | None = Field(None, description="Mean Brier score plus leakage.")


class Point(StrictModel):
    """A point of a curve that a figure draws."""

    x: float | str
    y: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


class Curve(StrictModel):
    """A curve: score by month, boundary bins, jumps by bandwidth, placebo dates, a sweep of splits."""

    name: str
    label: str
    model: str | None = None
    points: list[Point]


class Test(StrictModel):
    """A one-sided permutation test over a matrix: small p where the jumps at the own cutoffs stand out."""

    statistic: float | None = Field(description="Mean of the own-cutoff cells minus mean of the others.")
    p: float | None
    arrangements: int
    exact: bool
    seed: int | None
    method: str


class BoundaryCell(StrictModel):
    """One model at one candidate boundary; the number's p is of the exchange of dates, own cutoffs only."""

    model: str
    boundary: str
    own: bool
    number: Number


class BoundaryMatrix(StrictModel):
    """The boundary difference of every model at every cutoff, and both tests of the own cells against the others."""

    models: list[str]
    controls: list[str]
    boundaries: list[str]
    half_width: int
    cells: list[BoundaryCell]
    reassigned: Test = Field(description="Cutoffs reassigned to models.")
    shuffled: Test = Field(description="Dates exchanged between questions.")


class ModelNote(StrictModel):
    """What was read of one model."""

    model: str
    role: Literal["target", "control", "other"]
    cutoff: str | None
    forecasts: int
    questions: int


class Read(StrictModel):
    """What was read."""

    file: str
    sha256: str = Field(description="Of the file; empty for forecasts that stand in none.")
    kind: Literal["forecasts", "scores"]
    forecasts: int
    questions: int
    first_resolution: str
    last_resolution: str
    crowd: bool
    source: bool
    difficulty: bool
    paraphrases: int = Field(
        description="Most paraphrases of a question by the target, the original included."
    )
    clusters: int
    warnings: list[str]


class Audit(StrictModel):
    """The whole result."""

    format: Literal["anachron-backtest-1"] = FORMAT
    version: str
    read: Read
    models: list[ModelNote]
    target: str
    cutoff: str | None
    options: dict[str, Any]
    summary: list[str] = Field(description="The result in a few sentences.")
    opening: Opening
    route: Chosen
    checks: list[Check]
    findings: list[Finding]
    matrix: BoundaryMatrix | None = Field(
        None,
        description="Every model at every cutoff; null without a control whose own cutoff lies elsewhere.",
    )
    adjusted: Adjusted
    curves: list[Curve]
