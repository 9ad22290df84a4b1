"""The protocol file of the suite: every constant that a number depends on, validated; its months and digests.

Source: FinDendro §3 and appendix A; the suite's specification. Where the paper is silent, the file records the
choice.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from anachron.blocks import from_ordinal, months, ordinal
from anachron.config import Month
from anachron.files import digest
from anachron.sources import choice
from anachron.suites.findendro import chance
from anachron.suites.findendro.protocol_parts import (
    ALL_ARMS,
    FAMILIES,
    PROMPTS,
    TEXTS,
    ArmName,
    ArmRule,
    Baseline,
    Bootstrap,
    Company,
    Dates,
    Ends,
    FactKind,
    Family,
    Gates,
    Policy,
    Prices,
    Sample,
    SeriesEntry,
    Spacing,
    Task,
    without,
)
from anachron.suites.protocols import TIERS, SuiteProtocol, Tier

__all__ = ["ALL_ARMS", "FAMILIES", "PROMPTS", "TIERS", "ArmName", "Family", "Protocol", "Tier"]


class Protocol(SuiteProtocol):
    """A protocol file of the suite `findendro`."""

    suite: Literal["findendro"] = "findendro"
    dates: Dates = Dates()
    seed: int = Field(description="Seed of sample, ranks and order of options.")
    facts: FactKind = Field("real", description="Which facts are asked; a question file never holds both.")
    sample: Sample = Sample()
    spacing: Spacing
    series: list[SeriesEntry] = Field(min_length=1)
    never_published: dict[Month, list[str]] = Field(
        default_factory=dict, description="Series that have no figure for a month, and never will."
    )
    policy: Policy
    prices: Prices
    companies: list[Company] = Field(min_length=1)
    arms: dict[ArmName, ArmRule]
    reduced_share: float = Field(0.2, gt=0, le=1, description="Share of the facts that tier `reduced` asks.")
    baseline: Baseline = Baseline()
    periods: list[Month] = Field(
        min_length=1, description="First months of the periods; half-years follow from the last one on."
    )
    ends: Ends = Ends()
    bootstrap: Bootstrap = Bootstrap()
    gates: Gates = Gates()
    task: Task

    @model_validator(mode="after")
    def _parts_agree(self) -> Protocol:
        order = [self.dates.start, self.dates.dense, self.dates.end]
        if order != sorted(order):
            raise ValueError(
                f"`dates` must run start, dense, end; found {', '.join(order)}: put them in that order"
            )
        if set(self.arms) != set(ALL_ARMS):
            raise ValueError(f"`arms` must name exactly {', '.join(ALL_ARMS)}; found {', '.join(self.arms)}")
        for arm, rule in self.arms.items():
            if (arm in TEXTS) != (rule.max_tokens == 0):
                raise ValueError(
                    f"`arms.{arm}.max_tokens`: found {rule.max_tokens}; arms that ask how likely a text is "
                    f"({', '.join(TEXTS)}) have 0, all others more"
                )
        names = [entry.id for entry in self.series] + [entry.ticker for entry in self.companies]
        names.append(self.policy.id)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"{twice[0]!r} names two of `series`, `companies` and `policy`; names are unique"
            )
        unknown = {name for listed in self.never_published.values() for name in listed} - set(names)
        if unknown:
            raise ValueError(f"`never_published` names {sorted(unknown)[0]!r}, which is no series")
        if self.periods != sorted(set(self.periods)):
            raise ValueError("`periods` must be in order, each month once")
        if int(self.periods[-1][5:7]) not in (1, 7):
            raise ValueError("the last of `periods` must begin a half-year (January or July)")
        if self.baseline.start > self.baseline.end:
            raise ValueError("`baseline.start` lies after `baseline.end`")
        for key in ("start", "end"):
            if getattr(self.spacing, key) < self.dates.start:
                raise ValueError(f"`spacing.{key}` lies before `dates.start`, where no fact is read")
        return self

    @property
    def months(self) -> list[str]:
        """All reference months, in order."""
        return months(self.dates.start, self.dates.end)

    @property
    def cutoff_item(self) -> str:
        """The item of the one request that asks for the model's own cutoff."""
        return f"{self.dates.start} cutoff"

    def item(self, month: str, name: str) -> str:
        """Return the item of a fact: its month, then its series, ticker or policy id."""
        return f"{month} {name}"

    def families(self) -> dict[str, Family]:
        """Return the family of every series, ticker and the policy id."""
        found: dict[str, Family] = {entry.id: "macro" for entry in self.series}
        found |= dict.fromkeys((entry.ticker for entry in self.companies), "stock")
        return found | {self.policy.id: "policy"}

    def pool_of(self, month: str) -> list[str]:
        """Return the names that have a fact in a month, published ones and those still to come alike."""
        never = set(self.never_published.get(month, []))
        listed = [one.ticker for one in self.companies if one.listed is None or one.listed <= month]
        return [
            *(entry.id for entry in self.series if entry.id not in never),
            *listed,
            self.policy.id,
        ]

    def sample_of(self, month: str) -> list[str]:
        """Return the names asked about in a month; the draw depends on the month and the names alone."""
        pool = self.pool_of(month)
        family = self.families()
        series = [name for name in pool if family[name] == "macro"]
        companies = [name for name in pool if family[name] == "stock"]
        if month < self.dates.dense:
            series = chance.first(series, self.sample.sparse_series, self.seed, "series", month)
            taken = self.sample.sparse_companies
        else:
            taken = self.sample.dense_companies
        companies = chance.first(companies, taken, self.seed, "companies", month)
        return [*series, *companies, self.policy.id]

    def reduced(self, item: str) -> bool:
        """Whether tier `reduced` asks about a fact."""
        return chance.uniforms(1, self.seed, "reduced", item)[0] < self.reduced_share

    def tiers(self, item: str) -> list[Tier]:
        """Return the tiers that ask about a fact."""
        return [tier for tier in TIERS if tier != "reduced" or self.reduced(item)]

    def panel_digest(self) -> str:
        """Hash of what the facts and their candidates depend on, apart from how far the months reach."""
        kept = (
            "seed",
            "facts",
            "sample",
            "spacing",
            "series",
            "never_published",
            "policy",
            "prices",
            "companies",
        )
        dumped = self.model_dump(mode="json", include={*kept})
        return digest({**dumped, "start": self.dates.start, "dense": self.dates.dense})

    def ask_digest(self) -> str:
        """Hash of what a request depends on beside the panel, apart from how far the months reach.

        What is left out is named here, so that a new key counts until someone shows that it need not.
        """
        dumped = self.model_dump(mode="json")
        part = without(dumped, "name", "title", "dates", "baseline", "periods", "ends", "bootstrap", "gates")
        part["start"] = self.dates.start
        part["arms"] = {arm: without(rule, "default") for arm, rule in part["arms"].items()}
        return digest(part)

    def data_digest(self, sources: Any, month: str) -> str:
        """Hash of the tables that facts are read from: the spacing of all candidates rests on more than one month."""
        return choice.digest_of(sources)


def previous(month: str, by: int = 1) -> str:
    """Return the month `by` months before."""
    return from_ordinal(ordinal(month) - by)


def quarter(month: str) -> int:
    """Return the quarter of a month as a running number."""
    return ordinal(month) // 3


def quarter_end(number: int) -> str:
    """Return the last month of a quarter's running number."""
    return from_ordinal(3 * number + 2)
