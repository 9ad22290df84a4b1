"""Controls: how one is chosen before any gap is read, what speaks against it, and the paired difference with it.

A control must be clean on the window and answer the timing of questions as the target does; its level may differ,
for levels cancel. The danger has a sign: a control too weak to show recency leaves the target's recency in the
difference, which then reads as leakage. That is checked on clean questions, before the difference is taken.

Source: Temporal Leakage, section 5.2, appendices C.1 and D.7; the suite's specification, "DiD".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anachron.backtest.gap import Grouping, median_day
from anachron.backtest.profiles import FEWEST_IN_BIN, Profile, choose_control, profile_distance
from anachron.backtest.score import ScoreTable, date, question_cells
from anachron.errors import BacktestError
from anachron.stats.cluster import DRAWS, LEVEL, SEED, Bools, Floats, cluster_weights, codes, gap, sums
from anachron.stats.did import Did, did, paired
from anachron.stats.result import GapEstimate, Gate
from anachron.stats.standardise import Mix

__all__ = [
    "ControlCheck",
    "Profile",
    "choose_control",
    "control_checks",
    "paired_did",
    "profile_distance",
    "sweep",
]

FEWEST_PERIODS = 4
LEAST_CORRELATION = 0.5
"""Correlation of the two models' scores over time, below which their profiles are not called alike."""
LEVEL_MARGIN = 0.01
"""Score units by which a control may be worse: levels cancel, and only a much weaker model shows no recency."""
REACH, STEP = 180, 30


@dataclass(frozen=True)
class ControlCheck:
    """What speaks for and against a control, from clean questions alone."""

    controls: tuple[str, ...]
    weak: bool
    """Whether the control may leave the target's recency in the difference; to be told before it is used."""
    gates: tuple[Gate, ...]
    text: str


def control_checks(
    scores: ScoreTable,
    target: str,
    controls: str | Sequence[str],
    clean_from: int,
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> ControlCheck:
    """Return what clean questions say of a control, or of the mean of several.

    Three conditions: `level`, the control is not much worse than the target; `parallel`, the paired difference has
    no gap between the earlier and the later half of the clean side, where there is no leakage; `profile`, the two
    rise and fall together over time. A weak control fails the first, or the second with the sign of leakage.

    Parameters
    ----------
    clean_from
        First resolution day on which the target is clean (its cutoff plus the clean days).
    """
    clean = scores.window(first=clean_from)
    controls = (controls,) if isinstance(controls, str) else tuple(controls)
    difference, control = _difference(clean, target, controls)
    there = ~np.isnan(difference)
    difference, control, clean = difference[there], control[there], clean.take(there)
    fixed: dict[str, Any] = {"draws": draws, "seed": seed, "level": level}
    if len(difference) < 2:
        missing = "target and control have no clean questions in common"
        gates = tuple(Gate(name, None, None, None, missing) for name in ("level", "parallel", "profile"))
        return ControlCheck(controls, False, gates, f"the control cannot be checked: {missing}")
    worse = _level(difference, clean.cluster, **fixed)
    split = median_day(clean.days)
    halves = gap(difference, clean.days < split, clean.cluster, **fixed)
    parallel = Gate(
        "parallel",
        halves.null,
        halves.estimate,
        0.0,
        f"among clean questions the difference to the control moves by {_signed(halves)} from before to after "
        f"{date(split)}, where there is no leakage",
    )
    profile = _together(difference + control, control, clean.days)
    weak = worse.passed is False or (parallel.passed is False and (halves.estimate or 0) > 0)
    failed = [gate.text for gate in (worse, parallel, profile) if gate.passed is False]
    named = " and ".join(controls) if len(controls) < 3 else f"the mean of {len(controls)} controls"
    if weak:
        text = (
            f"{named} may be a weak control, and then the difference overstates leakage: {'; '.join(failed)}"
        )
    elif failed:
        text = f"{named} does not move as {target} does: {'; '.join(failed)}"
    else:
        text = f"nothing in the clean questions speaks against {named} as a control of {target}"
    return ControlCheck(controls, weak, (worse, parallel, profile), text)


def _level(difference: Floats, cluster: NDArray[np.str_], *, draws: int, seed: int, level: float) -> Gate:
    """Return whether the control scores no worse than the target on clean questions."""
    group = codes(cluster)
    number = int(group.max()) + 1
    parts = sums(np.stack([difference, np.ones(len(difference))], axis=1), group, number)
    drawn = cluster_weights(number, draws, seed).astype(float) @ parts
    means = drawn[:, 0] / drawn[:, 1]
    low, high = np.percentile(means, [50 * (1 - level), 50 * (1 + level)])
    mean = float(difference.mean())
    return Gate(
        "level",
        bool(low <= LEVEL_MARGIN),
        mean,
        LEVEL_MARGIN,
        f"on clean questions the target scores {mean:+.3f} [{low:+.3f}, {high:+.3f}] against the control; a weak one "
        f"is worse by more than {LEVEL_MARGIN}",
    )


def _together(target: Floats, control: Floats, days: NDArray[np.int64]) -> Gate:
    """Return whether the two models' mean scores by quarter (by month in a short window) go together."""
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    for unit, period in (("quarter", months // 3), ("month", months)):
        group = codes(period)
        count = np.bincount(group)
        enough = count >= FEWEST_IN_BIN
        if enough.sum() < FEWEST_PERIODS:
            continue
        pair = [(np.bincount(group, weights=one) / count)[enough] for one in (target, control)]
        if min(np.ptp(one) for one in pair) == 0:
            continue
        figure = float(np.corrcoef(pair[0], pair[1])[0, 1])
        text = f"the mean scores of target and control correlate by {figure:.2f} over {int(enough.sum())} {unit}s"
        return Gate("profile", figure >= LEAST_CORRELATION, figure, LEAST_CORRELATION, text)
    return Gate(
        "profile", None, None, LEAST_CORRELATION, "too few months of clean questions to compare profiles"
    )


def _signed(found: GapEstimate) -> str:
    if found.estimate is None:
        return "an unknown amount"
    if found.low is None or found.high is None:
        return f"{found.estimate:+.3f}"
    return f"{found.estimate:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _difference(scores: ScoreTable, target: str, controls: Sequence[str]) -> tuple[Floats, Floats]:
    if not controls:
        raise BacktestError(f"no control is given for {target!r}")
    if target in controls:
        raise BacktestError(f"{target!r} is its own control")
    columns = [scores.place(name) for name in controls]
    return paired(scores.column(target), scores.score[:, columns])


def paired_did(
    scores: ScoreTable,
    target: str,
    controls: Sequence[str],
    boundary: int,
    *,
    first: int | None = None,
    last: int | None = None,
    half_width: int | None = None,
    cells: ArrayLike | Literal["auto"] | None = "auto",
    grouping: Grouping = "cluster",
    mix: Mix = "before",
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> Did:
    """Return the target's gap minus the controls', on the questions that the target and a control answered.

    Parameters
    ----------
    controls
        The mean of those that answered a question is its control.
    boundary
        First day of the later side.
    first, last
        First and last resolution day that count, both included; all when None.
    half_width, cells, grouping, mix, draws, seed, level
        As `gap.naive_gap`.

    Raises
    ------
    BacktestError
        When there is no control, or a model has no forecasts.
    """
    within = question_cells(scores) if isinstance(cells, str) else cells
    inside = _inside(scores, boundary, half_width)
    inside &= (scores.days >= (-np.inf if first is None else first)) & (
        scores.days <= (np.inf if last is None else last)
    )
    _difference(scores, target, controls)
    columns = [scores.place(name) for name in controls]
    return did(
        scores.column(target)[inside],
        scores.score[inside][:, columns],
        scores.days[inside] < boundary,
        scores.cluster[inside] if grouping == "cluster" else None,
        None if within is None else np.asarray(within)[inside],
        mix=mix,
        draws=draws,
        seed=seed,
        level=level,
    )


def _inside(scores: ScoreTable, boundary: int, half_width: int | None) -> Bools:
    if half_width is None:
        return np.ones(len(scores.days), dtype=bool)
    return (scores.days >= boundary - half_width) & (scores.days < boundary + half_width)


def sweep(
    scores: ScoreTable,
    target: str,
    controls: Sequence[str],
    boundary: int,
    *,
    reach: int = REACH,
    step: int = STEP,
    half_width: int | None = None,
    grouping: Grouping = "cluster",
    draws: int = DRAWS,
    seed: int = SEED,
    level: float = LEVEL,
) -> list[tuple[int, GapEstimate]]:
    """Return the raw difference in differences with the boundary placed elsewhere, by boundary day.

    Placements from `reach` days before to `reach` days after, every `step` days. A null at all of them does not
    exclude leakage that is even over the whole window.
    """
    difference, _ = _difference(scores, target, controls)
    found = []
    for placed in range(boundary - reach, boundary + reach + 1, step):
        inside = _inside(scores, placed, half_width)
        groups = scores.cluster[inside] if grouping == "cluster" else None
        before = scores.days[inside] < placed
        found.append((placed, gap(difference[inside], before, groups, draws=draws, seed=seed, level=level)))
    return found
