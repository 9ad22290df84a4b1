"""The contrasts between arms: gaps, E1, E2, E3 and the placebo, with their gates and intervals.

Source: HindsightBench §3.1, §3.3; the suite's specification, Metrics and Intervals.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from anachron.estimates import Estimate, Gate, Interval
from anachron.stats.bootstrap import bootstrap_gap, date_weights, percentile_interval
from anachron.stats.gaps import Contrast, Floats, contrast, gap, pooled_share
from anachron.stats.intervals import linearised_t
from anachron.suites.hindsightbench.cells import Arm, Cells, Grid, Places
from anachron.suites.hindsightbench.protocol import Protocol

PERCENTILE = "percentile, paired date bootstrap"
LINEARISED = "t, linearised date contributions"


@dataclass(frozen=True)
class Side:
    """One side of a contrast: bearish and valid sketches by the date they are keyed by, shape (dates,).

    `origin` holds the date whose answers these are (itself, but for the W arm keyed by its false date).
    """

    name: str
    arm: str
    bearish: Floats
    valid: Floats
    origin: Places


def side(cells: Cells, arm: str, name: str, reps: list[int] | None = None) -> Side | None:
    """Return an arm keyed by its own dates; None when it has no record."""
    if arm not in cells.arms:
        return None
    bearish, valid = cells.arms[arm].pooled(reps)
    return Side(name, arm, bearish, valid, np.arange(len(bearish)))


def keyed_sides(cells: Cells, arm: str) -> tuple[Side, Side] | None:
    """Return the pre dates' answers of a wrong-date arm, keyed by the false and by the true date."""
    if arm not in cells.arms:
        return None
    known: Arm = cells.arms[arm]
    pre = np.zeros(len(cells.grid.dates), dtype=bool)
    pre[cells.grid.pre] = True
    bearish, valid = known.pooled()
    bearish, valid = np.where(pre, bearish, 0.0), np.where(pre, valid, 0.0)
    size = len(bearish)
    fake_bearish, fake_valid, origin = np.zeros(size), np.zeros(size), np.arange(size)
    sent = np.flatnonzero(pre & (known.shown >= 0))
    np.add.at(fake_bearish, known.shown[sent], bearish[sent])
    np.add.at(fake_valid, known.shown[sent], valid[sent])
    origin[known.shown[sent]] = sent
    return (
        Side(f"{arm}.fake", arm, fake_bearish, fake_valid, origin),
        Side(f"{arm}.true", arm, bearish, valid, np.arange(size)),
    )


def side_gap(one: Side, crisis: Places, calm: Places) -> float:
    """Return the crisis-calm gap of a side; NaN where it is undefined."""
    return gap(one.bearish, one.valid, crisis, calm)


def restrict(left: Side, right: Side, places: Places, shared: bool) -> Places:
    """Return the places a contrast rests on: all of them, or those on which both sides are non-empty."""
    return places[(left.valid[places] > 0) & (right.valid[places] > 0)] if shared else places


def gap_contrast(left: Side, right: Side, crisis: Places, calm: Places) -> Contrast:
    """Return Gap(left) - Gap(right) as four pooled shares over the dates whose answers they are."""
    rows = [
        (sign, one.origin[places], one.bearish[places], one.valid[places])
        for one, outer in ((left, 1.0), (right, -1.0))
        for sign, places in ((outer, crisis), (-outer, calm))
    ]
    return contrast(rows, len(left.bearish))


def coverage(one: Side, places: Places) -> int:
    """Return on how many of the dates a side has a valid sketch."""
    return int((one.valid[places] > 0).sum())


def parity_gate(left: Side, right: Side, window: dict[str, Places], needed: float) -> Gate:
    """Return gate k: each side must cover at least the share `needed` of the contrast's dates.

    The contrast's window is given in its named parts (crisis and calm), which the text counts one by one; the
    condition holds for all its dates together, and no part may be empty on a side.
    """
    parts, empty = [], False
    size = sum(len(places) for places in window.values())
    covered_dates = [0, 0]
    for name, places in window.items():
        counts = [coverage(one, places) for one in (left, right)]
        parts.append(f"{name}: {left.name} {counts[0]}, {right.name} {counts[1]} of {len(places)}")
        empty = empty or (0 in counts and len(places) > 0)
        covered_dates = [sum(pair) for pair in zip(covered_dates, counts, strict=True)]
    lowest = min(covered_dates) / size if size else 0.0
    text = f"both sides cover at least {needed:.0%} of the {size} dates; " + "; ".join(parts)
    return Gate("k", size > 0 and lowest >= needed and not empty, lowest, needed, text)


def generated_gate(cells: Cells, arms: tuple[str, ...], where: Places) -> Gate:
    """Return gate c: each arm has a record on the dates."""
    missing = [arm for arm in arms if not cells.has(arm, where)]
    text = f"arm {', '.join(missing)} has no record on these dates" if missing else "every arm has a record"
    return Gate("c", not missing, float(len(missing)), 0.0, text)


def gap_estimates(cells: Cells, crisis: Places, calm: Places) -> list[Estimate]:
    """Return the gaps of the arms that were asked."""
    found = []
    for arm in ("R", "D", "M"):
        one = side(cells, arm, arm)
        if one is not None:
            found.append(_gap_estimate(f"gap.{arm}", one, crisis, calm))
    for arm in ("W", "W72"):
        sides = keyed_sides(cells, arm)
        for one in sides or ():
            found.append(_gap_estimate(f"gap.{one.name}", one, crisis, calm))
    return found


def _gap_estimate(metric: str, one: Side, crisis: Places, calm: Places) -> Estimate:
    n = coverage(one, np.concatenate([crisis, calm]))
    return Estimate(metric, "share difference", side_gap(one, crisis, calm), n)


def contrast_estimate(
    metric: str,
    cells: Cells,
    left: Side | None,
    right: Side | None,
    arms: tuple[str, ...],
    protocol: Protocol,
    stream: int,
    parity: float | None,
) -> Estimate:
    """Return E1, E2 or E3 with gates c and k.

    Parameters
    ----------
    stream
        Which draws of the bootstrap's stream the percentile interval takes: 0 the first, 1 those after.
    parity
        Share of each window both sides need; None for no gate k.
    """
    grid = cells.grid
    generated = generated_gate(cells, arms, grid.contrasted)
    if left is None or right is None or not generated.passed:
        return Estimate(metric, "share difference", None, 0, gates=(generated,))
    gates = [generated]
    if parity is not None:
        gates.append(parity_gate(left, right, {"crisis": grid.crisis, "calm": grid.calm}, parity))
    shared = cells.scoring == "anachron"
    crisis, calm = (restrict(left, right, places, shared) for places in (grid.crisis, grid.calm))
    value = side_gap(left, crisis, calm) - side_gap(right, crisis, calm)
    both = restrict(left, right, grid.contrasted, True)
    if shared and len(both) < len(grid.contrasted):
        every = side_gap(left, grid.crisis, grid.calm) - side_gap(right, grid.crisis, grid.calm)
        words = (
            f"; {value:+.3f} on the {len(both)} shared dates, {every:+.3f} on all dates either side covers"
        )
        gates[-1] = dataclasses.replace(gates[-1], text=gates[-1].text + words)
    if shared:
        interval = linearised_interval(gap_contrast(left, right, crisis, calm), protocol.bootstrap.level)
    else:
        interval = percentile(left, right, crisis, calm, protocol, stream)
    return Estimate(metric, "share difference", value, len(both), interval, tuple(gates))


def linearised_interval(of: Contrast, level: float) -> Interval | None:
    """Return the interval of scoring `anachron`, or None where it cannot be made."""
    ends = linearised_t(of, level)
    return Interval(*ends, method=LINEARISED, level=level) if ends else None


def percentile(
    left: Side, right: Side, crisis: Places, calm: Places, protocol: Protocol, stream: int
) -> Interval | None:
    """Return the percentile interval of Gap(left) - Gap(right), or None where too few draws are defined."""
    rule = protocol.bootstrap
    if len(crisis) == 0 or len(calm) == 0:
        return None
    # E1 and E2 take the first draws of the stream and E3 the next: one matrix serves all, for every model.
    sizes, stop = (len(crisis), len(calm)), (stream + 1) * rule.draws
    every = sizes == (len(protocol.sets.crisis), 12 * len(protocol.sets.calm_years))
    weights = date_weights(sizes, 2 * rule.draws if every else stop, rule.seed)[stop - rule.draws : stop]
    order = np.concatenate([crisis, calm])
    bearish, valid = (
        np.stack([one[order] for one in pair], axis=1)
        for pair in ((left.bearish, right.bearish), (left.valid, right.valid))
    )
    gaps = bootstrap_gap(weights, bearish, valid, len(crisis))
    draws = gaps[:, 0] - gaps[:, 1]
    found = percentile_interval(draws, rule.level, rule.min_valid_share)
    if found is None:
        return None
    low, high, defined = found
    return Interval(low, high, PERCENTILE, rule.level, rule.draws, defined, rule.seed)


def placebo(
    cells: Cells, metric: str, window: Places, protocol: Protocol, marks: tuple[str, ...] = ()
) -> Estimate:
    """Return the pooled bearish share of D minus that of M over a window, with gates c and k."""
    generated = generated_gate(cells, ("D", "M"), window)
    left, right = side(cells, "D", "D"), side(cells, "M", "M")
    if left is None or right is None or not generated.passed:
        return Estimate(metric, "share difference", None, 0, gates=(generated,), marks=marks)
    shared = cells.scoring == "anachron"
    gate = parity_gate(left, right, {"placebo": window}, protocol.gates.parity if shared else 1.0)
    dates = restrict(left, right, window, shared)
    of = contrast(
        [(sign, dates, one.bearish[dates], one.valid[dates]) for sign, one in ((1.0, left), (-1.0, right))],
        len(cells.grid.dates),
    )
    interval = linearised_interval(of, protocol.bootstrap.level) if shared else None
    both = len(restrict(left, right, window, True))
    return Estimate(metric, "share difference", of.value, both, interval, (generated, gate), marks)


def contrasts(cells: Cells, protocol: Protocol) -> list[Estimate]:
    """Return E1, E2, E3 and E3 of the 72-month shift (where that arm was asked)."""
    strict = 1.0 if cells.scoring == "bm1" else protocol.gates.parity
    revealed, dated = cells.arms.get("R"), cells.arms.get("D")
    common = sorted({*revealed.reps} & {*dated.reps}) if revealed and dated else None
    found = [
        contrast_estimate(
            "E1",
            cells,
            side(cells, "R", "R", common),
            side(cells, "D", "D", common),
            ("R", "D"),
            protocol,
            0,
            None if cells.scoring == "bm1" else strict,
        ),
        contrast_estimate(
            "E2", cells, side(cells, "D", "D"), side(cells, "M", "M"), ("D", "M"), protocol, 0, strict
        ),
    ]
    for metric, arm in (("E3", "W"), ("E3_72", "W72")):
        sides = keyed_sides(cells, arm)
        if sides is not None or arm == "W":
            fake, true = sides or (None, None)
            found.append(contrast_estimate(metric, cells, fake, true, (arm,), protocol, 1, strict))
    return found


def bearish_share(one: Side, places: Places) -> float:
    """Return the pooled bearish share of a side over some dates; NaN where it has no valid sketch."""
    return float(pooled_share(one.bearish[places].sum(), one.valid[places].sum()))


def covered(cells: Cells) -> dict[str, dict[str, int]]:
    """Return, for every arm and keying, on how many dates of each window it has a valid sketch."""
    grid: Grid = cells.grid
    sides = [one for arm in ("R", "D", "M") if (one := side(cells, arm, arm)) is not None]
    sides += [one for arm in ("W", "W72") for one in keyed_sides(cells, arm) or ()]
    windows = {"crisis": grid.crisis, "calm": grid.calm, "placebo": grid.placebo}
    return {one.name: {name: coverage(one, places) for name, places in windows.items()} for one in sides}
