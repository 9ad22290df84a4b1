"""Where knowledge and claims end: rolling quarterly shares against a threshold that the baseline sets.

A policy fact weighs as much as makes each of the three outcomes count a third of all policy facts, so that the
share over all facts is exactly *Knows*, and a quarter's share is a plain weighted mean.

Source: FinDendro §3.4, appendix B; the suite's specification, measure 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anachron.stats.last_above import Observations
from anachron.suites.findendro.cells import CLASSES, NUMERIC, POLICY, UNCONTROLLED, Arm, Grid, chance_of
from anachron.suites.findendro.draws import Draws, Floats, ratio


@dataclass(frozen=True)
class Curve:
    """A share by quarter, of the sample (row 0) and of every draw.

    Attributes
    ----------
    above, below
        Weighted counts by quarter, shape (draws + 1, quarters); their ratio is the share.
    level
        The share over the baseline window, shape (draws + 1,).
    floor
        What the share falls to at the end: chance for knowledge, nothing for claims; shape (draws + 1,).
    """

    above: Floats
    below: Floats
    level: Floats
    floor: Floats


def class_weights(counts: Floats) -> Floats:
    """Return the weight of a fact of each class, from counts by class, shape (…, classes).

    Uncontrolled facts weigh nothing. An outcome that no fact has leaves its third to the others.
    """
    policy = counts[..., POLICY:]
    present = (policy > 0).sum(axis=-1, keepdims=True)
    found = np.zeros_like(counts)
    found[..., NUMERIC] = 1.0
    found[..., POLICY:] = ratio(policy.sum(axis=-1, keepdims=True), policy * present)
    found[..., UNCONTROLLED] = 0.0
    return np.nan_to_num(found)


def knowledge_curve(arm: Arm, grid: Grid, draws: Draws) -> Curve:
    """Return *Knows* by quarter."""
    cell = grid.quarter * CLASSES + grid.klass
    cells = grid.quarters * CLASSES
    asked, right = (
        draws.by_cell(one & grid.controlled, cell, cells).reshape(-1, grid.quarters, CLASSES)
        for one in (arm.asked, arm.right)
    )
    weight = class_weights(asked[:1].sum(axis=1))[:, None, :]
    above, below = (right * weight).sum(axis=2), (asked * weight).sum(axis=2)
    inside = baseline_quarters(grid)
    numeric, policy = asked[..., NUMERIC].sum(axis=1), asked[..., POLICY:].sum(axis=(1, 2))
    return Curve(
        above,
        below,
        ratio(above[:, inside].sum(axis=1), below[:, inside].sum(axis=1)),
        chance_of(numeric, policy),
    )


def claim_curve(arm: Arm, grid: Grid, draws: Draws) -> Curve:
    """Return the share of claims to know by quarter."""
    above, below = (draws.by_cell(one, grid.quarter, grid.quarters) for one in (arm.says, arm.asked))
    inside = baseline_quarters(grid)
    level = ratio(above[:, inside].sum(axis=1), below[:, inside].sum(axis=1))
    return Curve(above, below, level, np.zeros(len(level)))


def observations(arm: Arm, grid: Grid, name: str) -> Observations:
    """Return what the curve of `name`, knowledge or claims, is made of: facts asked, with their weights."""
    asked = arm.asked & grid.controlled if name == "knowledge" else arm.asked
    hit = arm.right if name == "knowledge" else arm.says
    weight = np.ones(len(grid))
    if name == "knowledge":
        counts = np.bincount(grid.klass[asked], minlength=CLASSES).astype(float)
        weight = class_weights(counts[None, :])[0][grid.klass]
    return Observations(hit[asked].astype(float), weight[asked], grid.quarter[asked], grid.quarters)


def baseline_quarters(grid: Grid) -> NDArray[np.bool_]:
    """Return which quarters hold facts of the baseline window."""
    found = np.zeros(grid.quarters, dtype=bool)
    found[grid.quarter[grid.baseline]] = True
    return found


def rolling(curve: Curve, window: int) -> Floats:
    """Return the share over each quarter and the ones before it in the window, weighted by facts."""
    sums = []
    for part in (curve.above, curve.below):
        total = np.cumsum(part, axis=1)
        total[:, window:] -= total[:, :-window].copy()
        sums.append(total)
    return ratio(*sums)


def threshold(curve: Curve, share: float) -> Floats:
    """Return the threshold at `share` of the way from the floor to the baseline level."""
    return curve.floor + share * (curve.level - curve.floor)


def last_above(curve: Curve, share: float, window: int) -> Floats:
    """Return the last quarter whose rolling share exceeds the threshold, NaN where none does."""
    with np.errstate(invalid="ignore"):
        above = rolling(curve, window) > threshold(curve, share)[:, None] + TIE
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    return np.where(above.any(axis=1), last, np.nan)


TIE = 1e-9
"""Shares this near a threshold are at it, not above: sums of thirds differ in their last digits."""


def first_fall(curve: Curve, share: float, window: int, sustained: int, after: int) -> Floats:
    """Return the first of `sustained` quarters running that do not exceed the threshold, NaN where there is none.

    Parameters
    ----------
    after
        Quarters up to this one are passed over: a fall is from the baseline, not inside it.
    """
    with np.errstate(invalid="ignore"):
        under = rolling(curve, window) <= threshold(curve, share)[:, None] + TIE
    under[:, : after + 1] = False
    running = under.copy()
    for step in range(1, sustained):
        later = np.zeros_like(under)
        later[:, :-step] = under[:, step:]
        running &= later
    return np.where(running.any(axis=1), np.argmax(running, axis=1), np.nan)


def overall(arm: Arm, grid: Grid, draws: Draws, inside: NDArray[np.bool_]) -> Floats:
    """Return *Knows* over some facts, balanced over the policy outcomes that each draw holds, shape (draws + 1,)."""
    sets = [
        here & (grid.klass == klass) & inside for here in (arm.asked, arm.right) for klass in range(CLASSES)
    ]
    counts = draws.sums(np.column_stack(sets)).reshape(-1, 2, CLASSES)
    return balanced(counts[:, 0], counts[:, 1])


def balanced(asked: Floats, right: Floats) -> Floats:
    """Return *Knows* from counts by class, shape (draws + 1, classes).

    (numerical facts · their accuracy + policy facts · the mean of the outcomes' accuracies) / all of them.
    """
    weight = class_weights(asked)
    return ratio((right * weight).sum(axis=1), (asked * weight).sum(axis=1))
