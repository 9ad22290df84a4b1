"""The protocol file of the suite: every constant that a number depends on, validated; its dates and digests.

Source: HindsightBench §3 (arms, probes, metrics, gates), §4 (panel), and the suite's specification.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from anachron.blocks import months, ordinal, span_of
from anachron.files import digest
from anachron.sources import choice, views
from anachron.sources.snapshot import digest_until
from anachron.suites.hindsightbench.protocol_parts import (
    ALL_ARMS,
    ARMS,
    FILL,
    PROBES,
    ArmName,
    ArmRule,
    Bootstrap,
    Dates,
    Gates,
    Lap,
    SeriesEntry,
    Sets,
    Shift,
    Target,
    Task,
)
from anachron.suites.protocols import TIERS, SuiteProtocol, Tier
from anachron.validation import nearest

__all__ = ["ALL_ARMS", "ARMS", "FILL", "PROBES", "TIERS", "Protocol", "SeriesEntry", "Task", "Tier"]


class Protocol(SuiteProtocol):
    """A protocol file of the suite `hindsightbench`."""

    suite: Literal["hindsightbench"] = "hindsightbench"
    dates: Dates = Dates()
    series: list[SeriesEntry] = Field(min_length=1, description="The catalog shown to the model.")
    target: Target
    sets: Sets
    shift: Shift = Shift()
    sketches: int = Field(8, gt=0, description="Sketches asked for in one answer.")
    domains: list[str] = Field(min_length=1, description="The domains a sketch may name.")
    horizons: list[Annotated[int, Field(gt=0)]] = Field(
        min_length=1, description="The horizons a sketch may name, in sessions."
    )
    arms: dict[ArmName, ArmRule]
    lap: Lap = Lap()
    bootstrap: Bootstrap = Bootstrap()
    gates: Gates = Gates()
    task: Task

    @model_validator(mode="after")
    def _sets_are_nodes(self) -> Protocol:
        nodes = set(self.months)
        if ordinal(self.dates.pre_end) < ordinal(self.dates.start):
            raise ValueError("`dates.pre_end` lies before `dates.start`")
        if ordinal(self.dates.end) < ordinal(self.dates.pre_end):
            raise ValueError("`dates.end` lies before `dates.pre_end`")
        pre = set(months(self.dates.start, self.dates.pre_end))
        for month in self.sets.crisis:
            if month not in nodes:
                raise ValueError(
                    f"`sets.crisis` holds {month}, which is not a decision month "
                    f"({self.dates.start}..{self.dates.end}); remove it or widen `dates`"
                )
            if month not in pre:
                raise ValueError(f"`sets.crisis` holds {month}, which lies after `dates.pre_end`")
        if len(set(self.sets.crisis)) != len(self.sets.crisis):
            raise ValueError("`sets.crisis` names a month twice")
        for key in ("months", "alternative_months"):
            if getattr(self.shift, key) % len(pre) == 0:
                raise ValueError(
                    f"`shift.{key}` {getattr(self.shift, key)} shows every date itself, as the pre cohort has "
                    f"{len(pre)} months; choose a number that is no multiple of that"
                )
        for calm in [self.sets.calm_years, *self.sets.alternative_calm_years]:
            if len(set(calm)) != len(calm):
                raise ValueError(f"a calm year is named twice in {calm}")
            for year in calm:
                missing = [month for month in months(f"{year}-01", f"{year}-12") if month not in pre]
                if missing:
                    raise ValueError(
                        f"calm year {year} holds {missing[0]}, which is not a pre decision month"
                    )
        overlap = sorted(set(self.sets.crisis) & set(self.calm_months))
        if overlap:
            raise ValueError(f"{overlap[0]} is in both `sets.crisis` and a calm year")
        for event, members in self.sets.events.items():
            unknown = sorted(set(members) - set(self.sets.crisis))
            if unknown:
                raise ValueError(f"`sets.events.{event}` holds {unknown[0]}, which is no crisis month")
        unknown = sorted(set(self.sets.event_words) - set(self.sets.events))
        if unknown:
            raise ValueError(
                f"`sets.event_words` names {unknown[0]!r}, which is no event of `sets.events`"
                + nearest(unknown[0], self.sets.events)
            )
        if set(self.arms) != set(ALL_ARMS):
            raise ValueError(f"`arms` must name exactly {', '.join(ALL_ARMS)}; found {', '.join(self.arms)}")
        if len({entry.id for entry in self.series}) != len(self.series):
            raise ValueError("`series` names an id twice")
        return self

    @property
    def months(self) -> list[str]:
        """All decision months, in order."""
        return months(self.dates.start, self.dates.end)

    @property
    def decision_dates(self) -> list[str]:
        """All decision dates, in order."""
        return [self.date(month) for month in self.months]

    @property
    def pre_dates(self) -> list[str]:
        """Decision dates of the pre cohort."""
        return [self.date(month) for month in months(self.dates.start, self.dates.pre_end)]

    @property
    def post_dates(self) -> list[str]:
        """Decision dates after the pre cohort."""
        return self.decision_dates[len(self.pre_dates) :]

    @property
    def placebo_dates(self) -> list[str]:
        """Decision dates of the calendar placebo window."""
        return [date for date in self.post_dates if date[:7] >= self.dates.placebo_start]

    @property
    def crisis_dates(self) -> list[str]:
        """Crisis dates, in calendar order (the bootstrap's draws depend on it)."""
        return [self.date(month) for month in sorted(self.sets.crisis)]

    @property
    def calm_months(self) -> list[str]:
        """Calm months, in calendar order."""
        return [
            month for year in sorted(self.sets.calm_years) for month in months(f"{year}-01", f"{year}-12")
        ]

    @property
    def calm_dates(self) -> list[str]:
        """Calm dates, in calendar order."""
        return [self.date(month) for month in self.calm_months]

    def date(self, month: str) -> str:
        """Return the decision date of a month."""
        return f"{month}-{self.dates.day:02d}"

    def fake_dates(self, shift: int) -> dict[str, str]:
        """Return the false date of every decision date for a cyclic shift in months (spec, arm W).

        Pre dates get the date `shift` places on, modulo the pre cohort. Post dates get a crisis date (even
        place) or a calm anchor (odd place) in turn; those never enter E3.
        """
        pre = self.pre_dates
        fakes = {date: pre[(place + shift) % len(pre)] for place, date in enumerate(pre)}
        crisis = self.crisis_dates
        anchors = [
            self.date(f"{year}-{month:02d}")
            for year in sorted(self.sets.calm_years)
            for month in self.shift.calm_anchor_months
        ]
        for place, date in enumerate(self.post_dates):
            pool = crisis if place % 2 == 0 else anchors
            fakes[date] = pool[(place // 2) % len(pool)]
        return fakes

    def tier_dates(self, tier: Tier, arm: str = "D") -> list[str]:
        """Return the decision dates a tier asks of an arm: all, or crisis, calm and post dates for the reduced tier.

        The probes are asked of every date in every tier: the cutoff is read off the whole monthly series.
        """
        if tier != "reduced" or arm in PROBES:
            return self.decision_dates
        wanted = {*self.crisis_dates, *self.calm_dates, *self.post_dates}
        return [date for date in self.decision_dates if date in wanted]

    def ask_digest(self) -> str:
        """Hash of what a request depends on beside the panel, apart from how far the dates reach.

        A later last month, another gate, seed or title leaves the requests of earlier blocks as they are.
        What is left out is named here, so that a new key counts until someone shows that it need not.
        """
        part: dict[str, Any] = self.model_dump(
            mode="json", exclude={"name", "title", "bootstrap", "gates", "lap"}
        )
        for key in ("end", "placebo_start"):
            part["dates"].pop(key)
        for key in ("alternative_calm_years", "events", "event_words"):
            part["sets"].pop(key)
        part["target"].pop("realised")
        for arm in part["arms"].values():
            arm.pop("default")
        return digest(part)

    def panel_digest(self) -> str:
        """Hash of what the panel depends on, apart from how far the dates reach."""
        part = {
            "day": self.dates.day,
            "start": self.dates.start,
            "series": [entry.model_dump(mode="json") for entry in self.series],
            "realised": self.target.realised.model_dump(mode="json"),
            "sessions": self.lap.sessions,
        }
        return digest(part)

    def data_digest(self, sources: Any, month: str) -> str:
        """Hash of the data that the decision dates of a span up to `month` can see; read while the workflow is parsed.

        With vintages that is what each date sees of each series; realised directions come from the snapshot.
        """
        part: dict[str, Any] = {
            "lags": sources.publication_lag_days,
            "months": digest_until(Path(sources.snapshot), month),
        }
        vintages = choice.alfred_table(sources)
        if vintages is not None:
            dates = [self.date(one) for one in self.months if span_of(one) == span_of(month) and one <= month]
            part["views"] = views.digest_of(vintages, self.macro_series, dates, sources.latest_on)
        return digest(part)

    @property
    def macro_series(self) -> list[str]:
        """The series that a table of vintages must hold."""
        return [entry.id for entry in self.series]
