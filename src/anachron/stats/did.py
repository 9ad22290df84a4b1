"""Difference in differences: a target's gap minus that of controls, on the same questions.

Source: Temporal Leakage, section 5.2, Proposition 7, appendices D.6 and D.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anachron.stats.cluster import DRAWS, LEVEL, SEED, Floats, gap
from anachron.stats.result import GapEstimate
from anachron.stats.standardise import Mix, Standardised, standardised_gap


@dataclass(frozen=True)
class Did:
    """A difference in differences in score units; positive where the target alone is better before the split."""

    raw: GapEstimate
    standardised: Standardised | None
    target_gap: float | None
    """The target's own gap on the common questions."""
    control_gap: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {
            "raw": self.raw.as_dict(),
            "standardised": None if self.standardised is None else self.standardised.as_dict(),
            "target_gap": self.target_gap,
            "control_gap": self.control_gap,
        }


def paired(target: ArrayLike, controls: ArrayLike) -> tuple[Floats, Floats]:
    """Return target minus control by question, and the control: the mean of the controls that are there.

    Parameters
    ----------
    target
        Shape (n,).
    controls
        Shape (n,) or (n, controls).

    Returns
    -------
    tuple of ndarray, shape (n,) each
        NaN where the target or every control is missing.
    """
    own = np.asarray(target, dtype=float)
    other = np.asarray(controls, dtype=float).reshape(len(own), -1)
    there = ~np.isnan(other)
    count = there.sum(axis=1)
    with np.errstate(invalid="ignore"):
        control = np.where(there, other, 0.0).sum(axis=1) / np.where(count > 0, count, np.nan)
    control = np.where(np.isnan(own), np.nan, control)
    return own - control, control


def did(
    target: ArrayLike,
    controls: ArrayLike,
    before: ArrayLike,
    clusters: ArrayLike | None = None,
    cells: ArrayLike | None = None,
    *,
    mix: Mix = "before",
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Did:
    """Return the gap of the paired differences, raw and within cells.

    Parameters
    ----------
    target, controls
        Scores, as `paired`.
    before, clusters, draws, seed, level
        As `cluster.gap`.
    cells, mix
        As `standardise.standardised_gap`; no standardised estimate without cells.
    """
    difference, control = paired(target, controls)
    side = np.asarray(before, dtype=bool)
    fixed: dict[str, Any] = {"draws": draws, "seed": seed, "level": level}
    within = None
    if cells is not None:
        within = standardised_gap(difference, side, cells, clusters, mix=mix, **fixed)
    return Did(
        raw=gap(difference, side, clusters, **fixed),
        standardised=within,
        target_gap=_plain(difference + control, side),
        control_gap=_plain(control, side),
    )


def _plain(score: Floats, side: np.ndarray[Any, Any]) -> float | None:
    there = ~np.isnan(score)
    pre, post = score[there & side], score[there & ~side]
    return float(pre.mean() - post.mean()) if len(pre) and len(post) else None
