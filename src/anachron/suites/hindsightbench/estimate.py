"""Stage `estimate`: answers to estimates under both scorings, every gate and mark by rule.

Source: HindsightBench §3.3; the suite's specification, Metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from anachron.errors import ContractError
from anachron.estimates import Estimate, Gate, Result, records, require_one_model
from anachron.stats.gaps import Floats
from anachron.suites.hindsightbench.ablation import ablate
from anachron.suites.hindsightbench.audit import answer_counts, transcript_audit
from anachron.suites.hindsightbench.cells import (
    SCORINGS,
    Cells,
    Grid,
    Part,
    Scoring,
    count_cells,
    counted,
    grid_of,
    split,
    valid_share,
)
from anachron.suites.hindsightbench.metrics import (
    contrasts,
    covered,
    gap_estimates,
    keyed_sides,
    percentile,
    placebo,
    restrict,
    side,
    side_gap,
)
from anachron.suites.hindsightbench.protocol import PROBES, Protocol, Tier
from anachron.suites.hindsightbench.recall import (
    count_recall,
    dissociation,
    locate,
    recovery,
    relative_window,
    sweep,
)
from anachron.suites.hindsightbench.stability import stability

__all__ = ["SUITE", "VERSION", "estimate", "stability"]

VERSION = "1"
SUITE = "hindsightbench"
CORE_ARMS = ("R", "D", "M", "W")


def estimate(
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    protocol: Protocol,
    tier: Tier = "full",
    arms: Sequence[str] | None = None,
) -> Result:
    """Estimate every metric of the suite for one model.

    Parameters
    ----------
    answers
        The parser's `Contract`, one model.
    panel
        Any frame with `decision_date` and `realised` (+1, -1 or missing), such as `frames.Panel`.
    protocol
        Sets, seeds and gates.
    tier
        The tier the model was asked under; it says how many cells were asked.
    arms
        Arms and probes the model was asked; those that have answers when None.

    Returns
    -------
    Result
        Records of `bm1` and `anachron`; counts by arm; beside the row: coverage, sweep, ablation, audits.

    Raises
    ------
    ContractError
        When the answers hold several models, or the panel gives one date two realised directions.
    """
    require_one_model(answers)
    grid = grid_of(protocol)
    realised = realised_directions(panel, grid)
    wanted = list(CORE_ARMS if arms is None else [arm for arm in CORE_ARMS if arm in arms])
    parts = split(answers, grid)
    found: list[dict[str, Any]] = []
    sides: dict[str, Any] = {"lap_by_month": {}}
    for scoring in SCORINGS:
        estimates, beside = score(parts, realised, grid, protocol, scoring, tier, wanted)
        found += records(estimates, SUITE, scoring)
        sides["lap_by_month"][scoring] = beside.pop("lap")
        sides[scoring] = beside
    asked = asked_counts(parts, protocol, tier, set(parts) if arms is None else set(arms))
    counts = answer_counts(parts, asked)
    sides["transcript_audit"] = transcript_audit(parts, protocol)
    return Result(found, counts, sides)


def score(
    parts: dict[str, Part],
    realised: Floats,
    grid: Grid,
    protocol: Protocol,
    scoring: Scoring,
    tier: Tier,
    arms: list[str],
) -> tuple[list[Estimate], dict[str, Any]]:
    """Return the estimates of one scoring, and what stands beside them."""
    cells = count_cells(parts, grid, protocol, scoring)
    recall = count_recall(parts, grid, scoring)
    located = locate(recall, realised, grid, protocol, scoring)
    delta, design = dissociation(cells, recall, realised, protocol, located.gate)
    share, cells_counted = valid_share(cells, protocol, tier, arms)
    repair = "repair" if scoring == "bm1" else "repair_recovered"
    commas = any("comma" in (name or "") for arm in arms if arm in parts for name in parts[arm][repair])
    marks = ("p",) if commas else ()
    estimates = [
        *contrasts(cells, protocol),
        *gap_estimates(cells, grid.crisis, grid.calm),
        *placebos(cells, located.cutoff, protocol),
        *recovery(parts, grid, protocol, scoring, located.cutoff),
        *located.estimates,
        *delta,
        Estimate("VALID", "share", share, cells_counted, marks=marks),
    ]
    beside: dict[str, Any] = {
        "lap": {
            date[:7]: float(share)
            for date, share in zip(grid.dates, recall.share, strict=True)
            if not np.isnan(share)
        },
        "coverage": covered(cells),
        "cutoff_sweep": sweep(recall, grid, protocol),
        "ablation": ablate(cells, protocol),
        "delta_design": design,
    }
    if scoring == "anachron":
        beside["percentile_intervals"] = percentile_beside(cells, protocol)
        beside["compliance"] = compliance(parts, protocol)
    return estimates, beside


def placebos(cells: Cells, cutoff: str | None, protocol: Protocol) -> list[Estimate]:
    """Return P1 and its two windows; P1 is the relative one (mark m) when the cutoff lies inside."""
    calendar = placebo(cells, "P1.calendar", cells.grid.placebo, protocol)
    window = relative_window(cutoff, cells.grid, protocol)
    if window is None:
        return [placebo(cells, "P1", cells.grid.placebo, protocol), calendar]
    if len(window) == 0:
        none = Gate("m", False, 0.0, 1.0, f"no decision date after the measured cutoff {cutoff}")
        empty = [Estimate(name, "share difference", None, 0, gates=(none,)) for name in ("P1", "P1.relative")]
        return [empty[0], calendar, empty[1]]
    return [
        placebo(cells, "P1", window, protocol, ("m",)),
        calendar,
        placebo(cells, "P1.relative", window, protocol),
    ]


def percentile_beside(cells: Cells, protocol: Protocol) -> dict[str, Any]:
    """Return E1, E2 and E3 with the percentile interval, beside the one that is printed.

    `shared_dates` resamples the dates both sides cover, as many of either set as there are; `all_dates` takes
    every date that either side covers, as the published scoring does.
    """
    revealed, dated = cells.arms.get("R"), cells.arms.get("D")
    common = sorted({*revealed.reps} & {*dated.reps}) if revealed and dated else None
    pairs = {
        "E1": (side(cells, "R", "R", common), side(cells, "D", "D", common), 0),
        "E2": (side(cells, "D", "D"), side(cells, "M", "M"), 0),
        "E3": (*(keyed_sides(cells, "W") or (None, None)), 1),
    }
    found: dict[str, Any] = {}
    for metric, (left, right, stream) in pairs.items():
        if left is None or right is None:
            continue
        found[metric] = {}
        for name, shared in (("all_dates", False), ("shared_dates", True)):
            crisis = restrict(left, right, cells.grid.crisis, shared)
            calm = restrict(left, right, cells.grid.calm, shared)
            if shared and len(crisis) + len(calm) == len(cells.grid.contrasted):
                found[metric][name] = found[metric]["all_dates"]
                continue
            value = side_gap(left, crisis, calm) - side_gap(right, crisis, calm)
            interval = percentile(left, right, crisis, calm, protocol, stream)
            found[metric][name] = {
                "value": None if np.isnan(value) else value,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
            }
    return found


def compliance(parts: dict[str, Part], protocol: Protocol) -> dict[str, float | None]:
    """Return the shares that never gate: sketches of the whole schema, answers of the number asked."""
    known = [counted(parts[arm], "anachron") for arm in CORE_ARMS if arm in parts]
    answered = sum(len(part["item"]) for part in known)
    if answered == 0:
        return {"full_schema": None, "as_many_as_asked": None}
    compliant = sum(int(value or 0) for part in known for value in part["n_compliant"])
    exact = sum(bool(value) for part in known for value in part["as_many_as_asked"])
    return {"full_schema": compliant / (protocol.sketches * answered), "as_many_as_asked": exact / answered}


def asked_counts(parts: dict[str, Part], protocol: Protocol, tier: Tier, arms: set[str]) -> dict[str, int]:
    """Return the requests per arm: the tier's dates times the reps found.

    Reps of an arm are counted from its records (from 1; LAP from 0), and are the protocol's where none is
    found: published records may have more reps than the tier asks.
    """
    dates = {probe: len(protocol.tier_dates(tier, "LAP" if probe else "D")) for probe in (False, True)}
    found: dict[str, int] = {}
    for arm, rule in protocol.arms.items():
        if arm in arms:
            reps = int(parts[arm]["rep"].max()) + (arm == "LAP") if arm in parts else rule.reps[tier]
            found[arm] = reps * dates[arm in PROBES]
    return found


def realised_directions(panel: pd.DataFrame, grid: Grid) -> Floats:
    """Return the realised direction of every date, shape (dates,), NaN where the panel knows none."""
    known = panel[["decision_date", "realised"]].dropna().drop_duplicates()
    twice = known[known["decision_date"].duplicated()]
    if len(twice):
        raise ContractError(
            f"the panel gives {twice.iloc[0]['decision_date']} two realised directions; rebuild it"
        )
    direction = dict(zip(known["decision_date"].tolist(), known["realised"].tolist(), strict=True))
    return np.array([float(direction.get(date, float("nan"))) for date in grid.dates])
