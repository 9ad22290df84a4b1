"""What estimators of leakage return: estimates with their intervals, and the gates they were held against.

All estimates are in units of the score, higher is better; a positive gap or jump is what leakage would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Gate(NamedTuple):
    """A condition that an estimate was held against; `passed` is None where the data cannot tell."""

    name: str
    passed: bool | None
    figure: float | None
    """The number that decided."""
    threshold: float | None
    text: str


@dataclass(frozen=True)
class GapEstimate:
    """A gap in score units with its interval; `estimate` is None where a side has no question."""

    estimate: float | None
    low: float | None
    high: float | None
    error: float | None
    """Standard deviation of the draws."""
    n_pre: int
    n_post: int
    clusters_pre: int
    clusters_post: int
    clusters: int
    """Clusters drawn from; those on both sides count once."""
    method: str
    level: float
    draws: int
    valid_draws: int
    seed: int
    gates: tuple[Gate, ...]

    @property
    def starred(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def null(self) -> bool | None:
        """Whether the interval holds zero; None without an interval."""
        return None if self.low is None else not self.starred

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return vars(self) | {"gates": [gate._asdict() for gate in self.gates]}
