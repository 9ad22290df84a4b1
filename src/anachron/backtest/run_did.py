"""Difference in differences against controls: the estimate, its checks, and the sweep of the split.

Whether a control is fit is asked before any difference is read: a control that is too weak to get worse with distance
makes leakage look larger than it is. Source: Temporal Leakage, section 5.2, appendices C.1 and D.7; Proposition 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anachron.backtest import control as controls
from anachron.backtest.convert import chance, date_of, finding, gate, number, study_of_gap
from anachron.backtest.gap import median_day
from anachron.backtest.options import Options
from anachron.backtest.outcome import Outcome
from anachron.backtest.result import Check, Curve, Finding, Number, Point
from anachron.backtest.supplied import clean_from
from anachron.errors import BacktestError
from anachron.publish.text import fixed
from anachron.stats import power
from anachron.stats.did import Did, paired
from anachron.stats.permutation import cluster_shuffle, date_shuffle
from anachron.stats.result import GapEstimate

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable

CHECKS = {
    "level": "{control} is no worse than {target} where both are clean",
    "parallel": "{control} and {target} change alike where both are clean",
    "profile": "{control} and {target} rise and fall together",
}


def run(table: ScoreTable, target: str, names: tuple[str, ...], split: int, options: Options) -> Outcome:
    """Run the difference in differences at a split, against the clean control nearest to the target in profile.

    Parameters
    ----------
    table
        Scores by question and model.
    target
        Model to audit.
    names
        Controls that are clean, those with most common questions first.
    split
        First day of the later side.
    options
        The user's choices.
    """
    cutoff = table.cutoffs.get(target)
    after = None if cutoff is None else int(cutoff) + options.clean_days
    chosen = names[0] if after is None else _nearest(table, target, names, after, options)
    checks, fitness = _fitness(table, target, chosen, after, options)
    findings, leakage = _estimates(table, target, chosen, split, options)
    others = [_in_its_place(table, target, name, split, options) for name in names if name != chosen]
    more = [_reach(table, target, chosen, after, leakage, options), _agreement(leakage, others)]
    return Outcome(
        findings=[*findings, *others],
        checks=[*checks, *(one for one in more if one is not None)],
        curves=[_sweep(table, target, chosen, split, options)],
        leakage=leakage,
        refusal=_refusal(chosen, fitness),
        warning=fitness.text if fitness is not None and fitness.weak else "",
        first_day=clean_from(table, chosen, options),
    )


def run_boundary(
    table: ScoreTable, target: str, names: tuple[str, ...], cutoff: int, options: Options
) -> Outcome:
    """Run the difference in differences within the window around the cutoff, against the mean of smooth controls."""
    first, last = cutoff - options.window_days, cutoff + options.window_days - 1
    found = controls.paired_did(table, target, list(names), cutoff, first=first, last=last, **_drawn(options))
    which = f"the mean of {len(names)} controls" if len(names) > 1 else names[0]
    means = (
        f"Change of {target} across its cutoff minus that of {which}, within {options.window_days} days "
        f"({_plain(found.target_gap)} against {_plain(found.control_gap)}): leakage just before the cutoff."
    )
    near = table.window(first, last)
    difference, _ = paired(near.column(target), np.stack([near.column(name) for name in names], axis=1))
    known = ~np.isnan(difference)
    test = date_shuffle(
        difference[known], near.days[known], [cutoff], [0], options.window_days, draws=options.draws,
        seed=options.seed,
    )  # fmt: skip
    held = number(found.raw, p=test.p)
    study = _power(held, near, target, list(names), cutoff, options)
    main = finding("boundary did", f"Boundary difference against {which}", means, held, study)
    if test.p is not None:
        whole = cluster_shuffle(
            difference, near.days < cutoff, near.cluster, draws=options.draws, seed=options.seed
        )
        says = (
            f"{main.says} One-sided {chance(test.p)} where dates are exchanged between questions, "
            f"{chance(whole.p or 1.0)} where they are between whole clusters."
        )
        main = main.model_copy(update={"says": says})
    findings = [main]
    if found.standardised is not None:
        mixed = found.standardised.gap
        label = "The same, at the mix before the cutoff"
        findings.append(finding("boundary did same mix", label, means, number(mixed), _normal(mixed)))
    return Outcome(findings=findings)


def _nearest(table: ScoreTable, target: str, names: tuple[str, ...], after: int, options: Options) -> str:
    """Return the control nearest in profile on questions that none of them can know; the first where none is told."""
    starts = [clean_from(table, name, options) for name in names]
    try:
        nearest = controls.choose_control(table, target, names, max(after, *(one or after for one in starts)))
    except BacktestError:
        return names[0]
    return names[0] if nearest.distance is None else nearest.control


def _fitness(
    table: ScoreTable, target: str, name: str, after: int | None, options: Options
) -> tuple[list[Check], controls.ControlCheck | None]:
    if after is None:
        said = (
            "without a cutoff no question of the target is known to be clean, and profiles cannot be compared"
        )
        return [Check(name="control", label=f"{name} is like {target}", passed=None, says=said)], None
    clean = max(after, clean_from(table, name, options) or after)
    held = controls.control_checks(table, target, name, clean, **_drawn(options))
    checks = [
        Check(
            name=f"control {one.name}",
            label=CHECKS.get(one.name, one.name).format(control=name, target=target),
            passed=one.passed,
            figure=gate(one).figure,
            says=one.text,
        )
        for one in held.gates
    ]
    return checks, held


def _estimates(
    table: ScoreTable, target: str, name: str, split: int, options: Options
) -> tuple[list[Finding], Finding]:
    first = clean_from(table, name, options)
    found = controls.paired_did(table, target, [name], split, first=first, **_drawn(options))
    means = (
        f"Change of {target} from before {date_of(split)} to after it, minus that of {name}, on the questions that "
        f"both answered: {_plain(found.target_gap)} against {_plain(found.control_gap)}."
    )
    study = _power(number(found.raw), table.window(first), target, [name], split, options)
    label = f"Difference in differences against {name}"
    raw = finding("did raw", label, means, number(found.raw), study)
    if found.standardised is None:
        return [raw], raw
    mixed = finding(
        "did",
        f"{label}, at the mix before the split",
        f"{means} Within cells weighted to the mix of questions before the split, as identification needs it.",
        number(found.standardised.gap),
        _normal(found.standardised.gap),
    )
    return ([mixed, raw], mixed) if mixed.number.estimate is not None else ([raw, mixed], raw)


def _in_its_place(table: ScoreTable, target: str, name: str, split: int, options: Options) -> Finding:
    first = clean_from(table, name, options)
    found = _best(controls.paired_did(table, target, [name], split, first=first, **_drawn(options)))
    means = f"The same with {name} as the control: agreement speaks for both."
    return finding(
        f"did {name}", f"With the control {name} in its place", means, number(found), _normal(found)
    )


def _reach(
    table: ScoreTable, target: str, name: str, after: int | None, leakage: Finding, options: Options
) -> Check | None:
    """Return the check that unlike change as large as the estimate would have been seen where both are clean."""
    if after is None or leakage.number.estimate is None or leakage.null is not False:
        return None
    clean = table.window(max(after, clean_from(table, name, options) or after))
    common = clean.take(~np.isnan(clean.column(target)) & ~np.isnan(clean.column(name)))
    if len(common.days) < 2:
        return None
    high = controls.paired_did(
        common, target, [name], median_day(common.days), cells=None, **_drawn(options)
    ).raw.high
    if high is None:
        return None
    seen = high < leakage.number.estimate
    return Check(
        name="parallel reach",
        label=f"Unlike change of {name} and {target} as large as the estimate would be seen",
        passed=seen,
        figure=high,
        says=f"where both are clean, the halves leave open a drift of up to {fixed(high, 3, plus=True)}; the estimate "
        f"is {fixed(leakage.number.estimate, 3, plus=True)}",
    )


def _agreement(main: Finding, others: list[Finding]) -> Check | None:
    values = [one.number.estimate for one in others if one.number.estimate is not None]
    low, high = main.number.low, main.number.high
    if not values or low is None or high is None:
        return None
    inside = all(low <= value <= high for value in values)
    told = ", ".join(fixed(value, 3, plus=True) for value in values)
    return Check(
        name="agreement",
        label="Other clean controls agree",
        passed=inside,
        says=f"they give {told}; the chosen one's interval {'holds' if inside else 'does not hold'} them all",
    )


def _refusal(name: str, held: controls.ControlCheck | None) -> str:
    """Return why a difference may not be taken for leakage: honest performance is seen to change unlike.

    A control that is merely worse is warned of and used, since levels cancel.
    """
    unlike = held is not None and any(one.name == "parallel" and one.passed is False for one in held.gates)
    return f"where both are clean, {name} does not change as the target does" if unlike else ""


def _sweep(table: ScoreTable, target: str, name: str, split: int, options: Options) -> Curve:
    clean = table.window(clean_from(table, name, options))
    points = [
        Point(
            x=date_of(day).isoformat(),
            y=held.estimate,
            low=held.low,
            high=held.high,
            n=held.n_pre + held.n_post,
        )
        for day, held in controls.sweep(clean, target, [name], split, **_drawn(options))
        if held.estimate is not None
    ]
    return Curve(name="sweep", label="Difference in differences by split", model=target, points=points)


def _power(
    held: Number, table: ScoreTable, target: str, names: list[str], split: int, options: Options
) -> power.Power | None:
    columns = np.stack([table.column(name) for name in names], axis=1)
    difference, _ = paired(table.column(target), columns)
    return study_of_gap(held, difference, np.asarray(table.days) < split, np.asarray(table.cluster), options)


def _normal(found: GapEstimate) -> power.Power | None:
    return None if found.error is None else power.of_error(found.error)


def _best(found: Did) -> GapEstimate:
    mixed = found.standardised
    return mixed.gap if mixed is not None and mixed.gap.estimate is not None else found.raw


def _drawn(options: Options) -> dict[str, Any]:
    return {"draws": options.draws, "seed": options.seed, "level": options.level}


def _plain(value: float | None) -> str:
    return "undefined" if value is None else fixed(value, 3, plus=True)
