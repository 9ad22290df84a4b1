"""The protocol file of the suite: every constant that a number depends on, validated; its months and digests.

Source: NumLeak §2, §5 and appendices E, I, K, O, P; the suite's specification. Where the paper is silent, the file
records the choice.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from anachron.blocks import months
from anachron.config import Month
from anachron.files import digest
from anachron.sources import choice
from anachron.suites.numleak import naming
from anachron.suites.numleak.panels import main_panel, pairs, seeded_panel
from anachron.suites.numleak.protocol_parts import (
    ArmRule,
    Bootstrap,
    Dates,
    Gates,
    Judging,
    Label,
    Panels,
    Placing,
    SeriesEntry,
    Signature,
    Suffix,
    Task,
    Utility,
)
from anachron.suites.protocols import SuiteProtocol, Tier

__all__ = ["Protocol", "Tier"]


class Protocol(SuiteProtocol):
    """A protocol file of the suite `numleak`."""

    suite: Literal["numleak"] = "numleak"
    dates: Dates
    panels: Panels = Panels()
    facts: Literal["real", "synthetic"] = Field("real", description="Which values are asked about.")
    series: list[SeriesEntry] = Field(min_length=1)
    labels: dict[str, Label] = Field(default_factory=dict, description="Other names for the market, by id.")
    famous: list[Month] = Field(default_factory=list, description="Months that everyone has read about.")
    fabricated: list[str] = Field(default_factory=list, description="Names of factors that do not exist.")
    defences: dict[str, str] = Field(description="Instruction of each defence; empty for none.")
    placing: Placing = Field("system", description="Where a defence goes: `system`, or before the prompt.")
    suffixes: list[Suffix] = Field(default_factory=list)
    utility: Utility
    judging: Judging
    arms: dict[str, ArmRule] = Field(description="Sampling of each arm.")
    shift_months: int = Field(6, ge=1, description="Months by which the shifted signal's date is off.")
    bootstrap: Bootstrap = Bootstrap()
    gates: Gates = Gates()
    signature: Signature = Signature()
    task: Task

    @model_validator(mode="after")
    def _parts_agree(self) -> Protocol:
        known = self.known_arms()
        for arm in self.arms:
            if arm not in known:
                raise ValueError(f"`arms.{arm}` is not known; known arms: {', '.join(known)}")
        for arm in known:
            if arm not in self.arms:
                raise ValueError(f"`arms` lacks {arm!r}")
        ids = [entry.id for entry in self.series]
        if len(set(ids)) < len(ids):
            raise ValueError("`series` names an id twice")
        if naming.MARKET not in ids:
            raise ValueError(f"`series` lacks {naming.MARKET}, which labels, signal and defences rest on")
        if list(self.defences)[:1] != ["none"] or self.defences["none"].strip():
            raise ValueError("`defences` begins with `none`, which has no text")
        return self

    @property
    def months(self) -> list[str]:
        """All months, in order."""
        return months(self.dates.start, self.dates.end)

    def known_arms(self) -> list[str]:
        """Return every arm, in the order of the specification's table."""
        return [
            naming.VALUE,
            naming.PANELS,
            naming.DESCRIBE,
            naming.RANK,
            naming.RANK_FORCED,
            naming.REASON,
            naming.SAMPLE,
            *(naming.LABEL + label for label in self.labels),
            naming.FABRICATED,
            naming.RECENT,
            naming.FAMOUS,
            naming.SIGNAL,
            naming.SIGNAL_SHIFTED,
            *(naming.DEFENCE + defence for defence in self.defences),
            *(naming.UTILITY + defence for defence in self.defences),
            naming.ENTROPY,
            naming.CANDIDATES,
        ]

    @property
    def judged_arms(self) -> list[str]:
        """Arms whose answers a judge grades."""
        return [naming.UTILITY + defence for defence in self.defences]

    @property
    def judges(self) -> list[str]:
        """Who may judge, by name of the registry."""
        return self.judging.by

    def entry(self, series: str) -> SeriesEntry:
        """Return the entry of a series."""
        return next(one for one in self.series if one.id == series)

    def main_months(self) -> list[str]:
        """Return the months of the main panel: the same ones for every series."""
        return main_panel(months(self.dates.window, self.dates.pool_end), self.panels.seed, self.panels.size)

    def panel_months(self, series: str, seed: int) -> list[str]:
        """Return the months of one of a series' own panels."""
        pool = months(self.dates.window, self.dates.panels_end)
        return seeded_panel(pool, series, seed, self.panels.size)

    def recent_months(self) -> list[str]:
        """Return the last months, which lie around and after the cutoffs that vendors state."""
        return months(self.dates.recent, self.dates.end)

    def famous_months(self) -> list[str]:
        """Return the famous months that all series have."""
        return sorted(set(self.famous) & set(months(self.dates.window, self.dates.pool_end)))

    def pair_list(self) -> list[tuple[str, str]]:
        """Return the pairs of months that are ranked: months of the main panel, so that values are at hand."""
        return pairs(self.main_months(), self.panels.seed, self.panels.pairs)

    def fabricated_months(self) -> list[str]:
        """Return the months that invented factors are asked about."""
        return main_panel(self.main_months(), self.panels.seed, self.panels.fabricated)

    def panel_digest(self) -> str:
        """Hash of what items and truth depend on."""
        kept = {
            "dates",
            "panels",
            "facts",
            "series",
            "labels",
            "famous",
            "fabricated",
            "defences",
            "suffixes",
            "utility",
        }
        return digest(self.model_dump(mode="json", include=kept))

    def ask_digest(self) -> str:
        """Hash of what a request depends on beside the panel."""
        dumped = self.model_dump(
            mode="json", exclude={"name", "title", "bootstrap", "gates", "signature", "judging"}
        )
        dumped["arms"] = {arm: {**rule, "default": None} for arm, rule in dumped["arms"].items()}
        return digest(dumped)

    def data_digest(self, sources: Any, month: str) -> str:
        """Hash of the tables that true values are read from."""
        return choice.digest_of(sources, ("alfred", "french"))
