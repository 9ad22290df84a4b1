"""Stage `estimate`: answers to estimates under each scoring, every gate and mark by rule.

`anachron` reads the letter that an answer gives, `likelihood` the letter that its first token makes most likely,
`texts` and `texts_raw` the option whose text is most likely, by its mean log-probability per byte and by its sum. An
answer without a choice is wrong, and no claim. Source: FinDendro §3.4; the suite's specification, "Parsing" and
"Measures".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from anachron.blocks import ordinal
from anachron.estimates import Estimate, Gate, Result, count_readings, records, require_one_model
from anachron.suites.findendro import measures
from anachron.suites.findendro.boundaries import apart, boundary, distribution
from anachron.suites.findendro.cells import Grid, Scoring, arms_of, grid_of, scorings_of
from anachron.suites.findendro.draws import Draws, Floats
from anachron.suites.findendro.ends import Curve, claim_curve, knowledge_curve
from anachron.suites.findendro.items import missing
from anachron.suites.findendro.measures import Model
from anachron.suites.findendro.protocol import Protocol, Tier, quarter, quarter_end
from anachron.suites.findendro.protocol_parts import PROMPTS

VERSION = "2"
SUITE = "findendro"


def estimate(
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    protocol: Protocol,
    tier: Tier = "full",
    arms: Sequence[str] | None = None,
) -> Result:
    """Estimate every measure of the suite for one model.

    Parameters
    ----------
    answers
        The parser's `Contract`, one model.
    panel
        `items.Contract`: the facts, with the truth of each.
    protocol
        Windows, seeds and gates.
    tier
        The tier the model was asked under.
    arms
        Arms the model was asked; those that have answers when None.

    Returns
    -------
    Result
        Records by scoring; counts by arm and of missing facts; beside the row: the shares over time.

    Raises
    ------
    ContractError
        When the answers hold several models, or the tier asks about no fact.
    """
    require_one_model(answers)
    grid = grid_of(panel, protocol, tier)
    draws = Draws(len(grid), protocol.bootstrap)
    stated = answers.loc[answers["arm"] == "cutoff", "stated_month"].dropna().tolist()
    found: list[dict[str, Any]] = []
    side: dict[str, Any] = {}
    for scoring in scorings_of(answers):
        estimates, beside = score(answers, grid, draws, protocol, scoring, stated[0] if stated else None)
        found += records(estimates, SUITE, scoring)
        side[scoring] = beside
    last = quarter_end(grid.first_quarter + grid.quarters - 1)
    readings = count_readings(answers)
    answered = {arm: sum(readings.get(arm, {}).values()) for arm in (arms or sorted(readings))}
    counts = {
        "facts": {
            "sampled": int((panel["family"] != "cutoff").sum()),
            "asked": len(grid),
            "missing": dict(missing(panel)),
        },
        "readings": readings,
        "asked": {arm: len(grid) if arm in PROMPTS else answered[arm] for arm in answered},
        "answered": answered,
    }
    return Result(found, counts, {**side, "last_quarter": last})


def score(
    answers: pd.DataFrame, grid: Grid, draws: Draws, protocol: Protocol, scoring: Scoring, stated: str | None
) -> tuple[list[Estimate], dict[str, Any]]:
    """Return the estimates of one scoring, and the shares over time."""
    model = Model(grid, arms_of(answers, grid, scoring, protocol.policy.id), draws, protocol)
    found, curves, ends = measured(model)
    month = {name: stands(one) for name in curves for one in found if one.metric == f"{name}_end"}
    found += [*measures.families(model), *measures.position(model), *self_report(stated, month)]
    drawn = {name: distribution(model, draws) for name, draws in ends.items()}
    return found, {"over_time": over_time(curves, grid, protocol), "ends_in_draws": drawn}


def measured(model: Model) -> tuple[list[Estimate], dict[str, Curve], dict[str, Floats]]:
    """Return the measures 1 to 4 of a model; its shares by quarter; and its ends in quarters, by draw."""
    grid, arms, draws = model.grid, model.arms, model.draws
    found = [*measures.headline(model), *measures.by_claim(model)]
    curves: dict[str, Curve] = {}
    if "value" in arms:
        curves["knowledge"] = knowledge_curve(arms["value"], grid, draws)
    if "recall" in arms:
        curves["claims"] = claim_curve(arms["recall"], grid, draws)
    ends: dict[str, Floats] = {}
    month: dict[str, str | None] = {}
    for name, curve in curves.items():
        made, ends[name] = boundary(model, name, curve)
        found += made
        month[name] = stands(made[0])
    if len(ends) == 2:
        found.append(apart(model, curves, ends, found))
    located = month.get("knowledge")
    end = None if located is None else quarter(located) - grid.first_quarter
    if "value" in arms:
        found += measures.safeguards(model, end)
    return found, curves, ends


def stands(estimate: Estimate) -> str | None:
    """Return the month of an estimate whose gates passed."""
    passed = all(gate.passed for gate in estimate.gates)
    return str(estimate.value) if passed and estimate.value is not None else None


def self_report(stated: str | None, month: dict[str, str | None]) -> list[Estimate]:
    """Return the cutoff that the model states, and the months from it to the measured ends (measure 6)."""
    said = Gate(
        "s",
        stated is not None,
        None,
        None,
        "the model " + ("states a month" if stated else "states no month"),
    )
    found = [Estimate("self_report", "month", stated, 1 if stated else 0, gates=(said,))]
    for name, end in month.items():
        both = None if stated is None or end is None else ordinal(end) - ordinal(stated)
        located = Gate(
            "e", end is not None, None, None, f"the end of {name} is " + ("located" if end else "undefined")
        )
        found.append(Estimate(f"{name}_end.minus_self_report", "months", both, None, gates=(said, located)))
    return found


def over_time(curves: dict[str, Curve], grid: Grid, protocol: Protocol) -> list[dict[str, Any]]:
    """Return the shares of the sample over time: by year before the dense sample, then by quarter.

    Each entry names the last month it covers; `n` is the facts asked.
    """
    dense = quarter(protocol.dates.dense) - grid.first_quarter
    starts = [*range(0, dense, 4), *range(dense, grid.quarters)]
    found = []
    for start, stop in zip(starts, [*starts[1:], grid.quarters], strict=True):
        entry: dict[str, Any] = {
            "month": quarter_end(grid.first_quarter + stop - 1),
            "quarters": stop - start,
        }
        for name, curve in curves.items():
            below = float(curve.below[0, start:stop].sum())
            entry[name] = float(curve.above[0, start:stop].sum()) / below if below > 0 else None
        entry["n"] = int(((grid.quarter >= start) & (grid.quarter < stop)).sum())
        found.append(entry)
    return found
