"""The protocol file of the suite: which questions are asked, in which wordings, and how the audit is made.

Source: Temporal Leakage, appendices C.3 and D.2; the suite's specification.
"""

from __future__ import annotations

from pathlib import Path
from string import Formatter
from typing import Any, Literal

from pydantic import Field, model_validator

from anachron.blocks import months
from anachron.config import Month, StrictModel
from anachron.files import digest, sha256_file
from anachron.sources import choice
from anachron.suites.protocols import Share, SuiteProtocol, Tier

__all__ = ["FORECAST", "PARAPHRASE", "Protocol", "Tier"]

FORECAST, PARAPHRASE = "forecast", "paraphrase"
ARMS = (FORECAST, PARAPHRASE)
MADE, OWN, DAYS = {"label", "month", "threshold", "unit"}, {"question"}, {"asked_on", "resolved_on"}
"""What wordings of questions made by rule, of a table's questions, and of the answer asked for must hold."""


class Dates(StrictModel):
    """Months in which questions are resolved."""

    start: Month
    end: Month


class SeriesEntry(StrictModel):
    """A series that questions are made of."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]+$", description="FRED's id.")
    label: str = Field(description="The figure in words, as prompts name it.")
    unit: str = Field(description="Unit in words, after the threshold.")
    decimals: int = Field(1, ge=0, le=6, description="Decimals of the threshold.")
    change: int | None = Field(None, gt=0, description="Months of the percent change asked; null: the level.")


class Made(StrictModel):
    """How questions and their crowd are made from a series' past."""

    offsets: list[float] = Field(
        min_length=1,
        description="Thresholds: the last figure known plus so many standard deviations of its past changes.",
    )
    history_months: int = Field(
        120, ge=24, description="Months of past changes that spread and crowd rest on."
    )


class ArmRule(StrictModel):
    """Sampling of an arm."""

    temperature: float = Field(0.0, ge=0)
    max_tokens: int = Field(512, gt=0)
    default: bool = Field(True, description="Whether a model is asked this arm unless its entry names arms.")


class AuditRule(StrictModel):
    """Choices of the audit (`anachron.backtest.options.Options`)."""

    window_days: int = Field(90, ge=1)
    clean_days: int = Field(30, ge=0)
    draws: int = Field(4000, ge=100)
    seed: int = 0
    level: float = Field(0.95, gt=0, lt=1)


class Task(StrictModel):
    """The wording of prompts. The first wording is the original; the others vary framing, never the event."""

    system: str = ""
    wordings: list[str] = Field(
        min_length=1, description="With {label}, {month}, {threshold} and {unit}; questions made by rule."
    )
    own_wordings: list[str] = Field(min_length=1, description="With {question}; questions of a table.")
    answer: str = Field(description="What follows every question; with {asked_on} and {resolved_on}.")

    @model_validator(mode="after")
    def _alike(self) -> Task:
        if len(self.wordings) != len(self.own_wordings):
            raise ValueError("`wordings` and `own_wordings` differ in number")
        texts = [(f"wordings.{place}", text, MADE) for place, text in enumerate(self.wordings)]
        texts += [(f"own_wordings.{place}", text, OWN) for place, text in enumerate(self.own_wordings)]
        for where, text, names in [*texts, ("answer", self.answer, DAYS)]:
            try:
                held = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
            except ValueError as error:
                raise ValueError(f"`{where}`: {error}; a brace that is meant is written twice") from None
            wrong = sorted(held ^ names)
            if wrong:
                state = "unknown" if wrong[0] in held else "missing"
                raise ValueError(
                    f"`{where}`: {{{wrong[0]}}} is {state}; it holds {', '.join(sorted(names))}, each in braces"
                )
        return self


class Protocol(SuiteProtocol):
    """A protocol file of the suite `leakage`."""

    suite: Literal["leakage"] = "leakage"
    dates: Dates
    facts: Literal["real", "synthetic"] = Field("real", description="Which values questions are made of.")
    series: list[SeriesEntry] = Field(default_factory=list)
    made: Made
    questions: str | None = Field(
        None,
        description="Table of questions, CSV or Parquet, in place of those made; columns question, text, frozen_on, "
        "resolved_on, outcome, and source and crowd where there are any.",
    )
    reduced_share: Share = Field(0.2, description="Share of the questions that tier `reduced` asks.")
    arms: dict[str, ArmRule]
    audit: AuditRule = AuditRule()
    task: Task

    @model_validator(mode="after")
    def _parts_agree(self) -> Protocol:
        if sorted(self.arms) != sorted(ARMS):
            raise ValueError(f"`arms` are {', '.join(ARMS)}")
        if not self.series and self.questions is None:
            raise ValueError("there is nothing to ask: give `series`, or a table in `questions`")
        ids = [entry.id for entry in self.series]
        if len(set(ids)) < len(ids):
            raise ValueError("`series` names an id twice")
        return self

    @property
    def months(self) -> list[str]:
        """All months, in order."""
        return months(self.dates.start, self.dates.end)

    @property
    def macro_series(self) -> list[str]:
        """What is fetched for this suite."""
        return [] if self.questions is not None else [entry.id for entry in self.series]

    def entry(self, series: str) -> SeriesEntry:
        """Return the entry of a series."""
        return next(one for one in self.series if one.id == series)

    def panel_digest(self) -> str:
        """Hash of what questions and outcomes depend on."""
        kept = self.model_dump(
            mode="json", include={"facts", "series", "made", "questions", "task", "reduced_share"}
        )
        return digest(kept)

    def ask_digest(self) -> str:
        """Hash of what a request depends on beside the panel."""
        dumped = self.model_dump(mode="json", exclude={"name", "title", "audit", "dates"})
        dumped["arms"] = {arm: {**rule, "default": None} for arm, rule in dumped["arms"].items()}
        return digest(dumped)

    def data_digest(self, sources: Any, month: str) -> str:
        """Hash of the tables that outcomes are read from."""
        if self.questions is None:
            return choice.digest_of(sources, ("alfred",))
        own = Path(self.questions)
        return sha256_file(own) if own.is_file() else "not there"
