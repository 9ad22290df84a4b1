"""Where knowledge and claims end, with bounds, and how far claims outlast knowledge (measure 3).

The interval of an end is not the bootstrap's: `stats.last_above` says why. The bootstrap of facts is reported beside
it, as `knowledge_end.bootstrap` and `claims_end.bootstrap`.

Source: FinDendro §3.4, appendix B; the suite's specification, measure 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anachron.estimates import Estimate, Gate, Interval
from anachron.stats import last_above as sequential
from anachron.suites.findendro.draws import MONTH_METHOD, Floats
from anachron.suites.findendro.ends import (
    Curve,
    baseline_quarters,
    first_fall,
    last_above,
    observations,
    threshold,
)
from anachron.suites.findendro.measures import Model
from anachron.suites.findendro.protocol import quarter_end

METHOD = "sequential likelihood ratios of facts, quarters"
BOTH_METHOD = "bounds of both ends"
ARM = {"knowledge": "value", "claims": "recall"}


def boundary(model: Model, name: str, curve: Curve) -> tuple[list[Estimate], Floats]:
    """Return the end of knowledge or claims by each threshold, its fall, and the baseline it rests on.

    Parameters
    ----------
    model
        What the estimates are made from.
    name
        knowledge or claims.
    curve
        Its shares by quarter.

    Returns
    -------
    tuple
        The estimates, the end itself first; and the end in quarters, of the sample (row 0) and of every draw.
    """
    grid, rule = model.grid, model.protocol.ends
    arm = ARM[name]
    n = (
        int(curve.below[0].round().sum())
        if name == "claims"
        else int((model.arms[arm].asked & grid.controlled).sum())
    )
    level, floor = model.draws.interval(curve.level), float(curve.floor[0])
    inside = grid.baseline & model.arms[arm].asked & (grid.controlled if name == "knowledge" else True)
    gates = (*model.gates(arm), baseline_gate(name, level, floor))
    found: list[Estimate] = []
    ends: dict[str, Floats] = {}
    for metric, share in ((f"{name}_end", rule.threshold), (f"{name}_end.alternative", rule.alternative)):
        ends[metric] = last_above(curve, share, rule.window)
        span = bounds(model, name, curve, share, ends[metric], rule.level)
        found.append(dated(model, metric, ends[metric], span, n, gates))
    quarters = np.flatnonzero(baseline_quarters(grid))
    after = int(quarters[-1]) if len(quarters) else -1
    fall = first_fall(curve, rule.threshold, rule.window, rule.sustained, after)
    whole = ends[f"{name}_end"]
    found += [
        resampled(model, f"{name}_fall", fall, n, gates),
        resampled(model, f"{name}_end.bootstrap", np.r_[middle(whole[1:]), whole[1:]], n, gates),
        model.share(f"baseline.{name}", curve.level, int(inside.sum()), model.gates(arm)),
    ]
    if name == "knowledge":
        found.append(Estimate("chance", "share", floor, n))
    return found, whole


def baseline_gate(name: str, level: Interval | None, floor: float) -> Gate:
    """Return the gate of an end: the baseline's interval must lie above what the share falls to."""
    low = float(level.low) if level is not None else None
    mark, what = ("b", "chance") if name == "knowledge" else ("c", "none")
    figure = "undefined" if low is None else f"{low:.3f}"
    text = f"lower end of the baseline's interval is {figure}; it must exceed {what} ({floor:.3f})"
    return Gate(mark, low is not None and low > floor + 1e-9, low, floor, text)


def bounds(
    model: Model, name: str, curve: Curve, share: float, ends: Floats, level: float
) -> tuple[int, int] | None:
    """Return the first and the last quarter where the end may lie, the estimated one among them.

    None where there is no end, or the baseline does not lie above the floor.
    """
    base, floor, bar = float(curve.level[0]), float(curve.floor[0]), float(threshold(curve, share)[0])
    if np.isnan(ends[0]) or not floor < bar < base:
        return None
    rule, end = model.protocol.ends, int(ends[0])
    seen = observations(model.arms[ARM[name]], model.grid, name)
    # Held against levels between: after its end a model may still beat chance a little, and before it know less.
    below, above = (bar + rule.toward * (other - bar) for other in (floor, base))
    span = sequential.bounds(seen, bar, below, above, rule.window, level)
    return (end, end) if span is None else (min(span[0], end), max(span[1], end))


def dated(
    model: Model, metric: str, ends: Floats, span: tuple[int, int] | None, n: int, gates: tuple[Gate, ...]
) -> Estimate:
    """Return an end as an estimate, named by its quarter's last month; `o` marks one in the last quarter asked."""
    first, last = model.grid.first_quarter, model.grid.quarters - 1
    if np.isnan(ends[0]):
        nowhere = Gate("b", False, None, None, "no quarter exceeds the threshold")
        return Estimate(metric, "month", None, n, gates=(*gates, nowhere))
    where = int(ends[0])
    interval = None
    if span is not None:
        low, high = (quarter_end(first + one) for one in span)
        interval = Interval(low, high, METHOD, model.protocol.ends.level)
    marks = ("o",) if where == last else ()
    return Estimate(metric, "month", quarter_end(first + where), n, interval, gates, marks)


def resampled(model: Model, metric: str, values: Floats, n: int, gates: tuple[Gate, ...]) -> Estimate:
    """Return an estimate that is a quarter, with the percentiles of the draws."""
    first, rule = model.grid.first_quarter, model.draws.rule
    span = model.draws.whole_interval(values)
    if np.isnan(values[0]):
        return Estimate(metric, "month", None, n, gates=gates)
    interval = None
    if span is not None:
        low, high = (quarter_end(first + one) for one in span[:2])
        interval = Interval(low, high, MONTH_METHOD, rule.level, rule.draws, span[2], rule.seed)
    return Estimate(metric, "month", quarter_end(first + int(values[0])), n, interval, gates)


def middle(draws: Floats) -> float:
    """Return the median of the draws that are defined, one that occurred; NaN where none is."""
    defined = np.sort(draws[~np.isnan(draws)])
    return float(defined[(len(defined) - 1) // 2]) if len(defined) else float("nan")


def distribution(model: Model, ends: Floats) -> dict[str, int]:
    """Return in how many draws an end lies in each quarter, named by its last month; draws without an end as none."""
    draws = ends[1:]
    places, counts = np.unique(draws[~np.isnan(draws)].astype(int), return_counts=True)
    found = {
        quarter_end(model.grid.first_quarter + int(place)): int(count)
        for place, count in zip(places, counts, strict=True)
    }
    return found | {"none": int(np.isnan(draws).sum())}


def apart(
    model: Model, curves: dict[str, Curve], ends: dict[str, Floats], found: Sequence[Estimate]
) -> Estimate:
    """Return by how many months claims outlast knowledge, under the gates of both ends.

    Its bounds are those of both ends, each at a level that lets both hold at once.
    """
    both = [one for one in found if one.metric in ("knowledge_end", "claims_end")]
    gates = tuple(gate for one in both for gate in one.gates)
    months = 3 * (ends["claims"] - ends["knowledge"])
    rule = model.protocol.ends
    spans: Any = [
        bounds(model, name, curves[name], rule.threshold, ends[name], (1 + rule.level) / 2)
        for name in ("claims", "knowledge")
    ]
    interval = None
    if None not in spans:
        (claims_low, claims_high), (known_low, known_high) = spans
        low, high = 3 * (claims_low - known_high), 3 * (claims_high - known_low)
        interval = Interval(low, high, BOTH_METHOD, rule.level)
    value = None if np.isnan(months[0]) else int(months[0])
    n = max(int(one.n or 0) for one in both)
    return Estimate("claims_minus_knowledge", "months", value, n, interval, gates)
