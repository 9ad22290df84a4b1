"""What a user may say of a backtest beside its table."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from anachron.stats.cluster import DRAWS, LEVEL, SEED


@dataclass(frozen=True)
class Options:
    """Choices of an audit; the defaults are the specification's."""

    target: str | None = None
    """Model to audit; may be left out where the table has one model, or names roles."""
    controls: tuple[str, ...] = ()
    """Models to compare with; every other model that may serve where neither this nor a role says."""
    clean_controls: tuple[str, ...] = ()
    """Controls that the user declares to know none of the answers."""
    cutoffs: Mapping[str, datetime.date] = field(default_factory=dict)
    """Cutoffs by model, before those of the table."""
    split: datetime.date | None = None
    """First day of the later side where there is no cutoff; the median resolution date when None."""
    window_days: int = 90
    """Half-width of the window around a cutoff."""
    clean_days: int = 30
    """Days after a cutoff before a question counts as clean: text reaches a model late, and cutoffs are round."""
    extrapolate: int | None = None
    """Degree of the polynomial by which the user accepts that honest performance goes on before the cutoff."""
    anchor: Literal["auto", "crowd", "none"] = "auto"
    """Whether scores are anchored to the crowd's forecast; `auto` where every question has one."""
    draws: int = DRAWS
    seed: int = SEED
    level: float = LEVEL
    panels: int = 300
    """Panels of the power studies, a third of them for a jump; 0 takes the normal formula in their place."""

    thorough: bool = True
    """Whether continuity at a cutoff is checked (density, covariates, bandwidths, pretended cutoffs): most of the time
    of an audit."""

    def plain(self) -> dict[str, Any]:
        """Return the choices as plain values, for the result."""
        return {
            "target": self.target,
            "controls": list(self.controls),
            "clean_controls": list(self.clean_controls),
            "cutoffs": {model: day.isoformat() for model, day in sorted(self.cutoffs.items())},
            "split": None if self.split is None else self.split.isoformat(),
            "window_days": self.window_days,
            "clean_days": self.clean_days,
            "extrapolate": self.extrapolate,
            "anchor": self.anchor,
            "draws": self.draws,
            "seed": self.seed,
            "level": self.level,
            "panels": self.panels,
            "thorough": self.thorough,
        }
