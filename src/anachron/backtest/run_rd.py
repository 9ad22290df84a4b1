"""Regression discontinuity at the cutoff: the jump, the plain difference beside it, and the checks of continuity.

Source: Temporal Leakage, section 5.1; the suite's specification, "RD".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anachron.backtest.convert import (
    date_of,
    finding,
    finite,
    gate,
    null,
    number,
    study_of_gap,
    study_of_width,
)
from anachron.backtest.curves import around
from anachron.backtest.options import Options
from anachron.backtest.outcome import Outcome
from anachron.backtest.result import Check, Curve, Finding, Point
from anachron.publish.text import fixed
from anachron.stats import power, rd

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable

WIDTHS = (0.5, 0.75, 1.0, 1.5, 2.0)
"""Bandwidths of the curve, as multiples of the chosen one."""
SHIFTS = (-1.5, -1.0, 1.0, 1.5)
"""Distances of the pretended cutoffs from the true one, in bandwidths; each uses its own side alone."""
MOST_KINDS = 12
"""Sources or difficulties up to which each is checked for a jump of its share."""


def run(table: ScoreTable, target: str, cutoff: int, options: Options) -> Outcome:
    """Run the regression discontinuity of a model's score at its cutoff.

    Parameters
    ----------
    table
        Scores by question and model.
    target
        Model to audit.
    cutoff
        Its cutoff, in days since 1970-01-01; the day itself belongs to the clean side.
    options
        The user's choices.
    """
    own = table.take(~np.isnan(table.column(target)))
    days = np.asarray(own.days, dtype=float) - cutoff
    score, cluster = own.column(target), np.asarray(own.cluster)
    found = rd.jump(days, score, cluster, level=options.level)
    width = found.half_width or float(options.window_days)
    means = (
        f"Score just before {date_of(cutoff)} minus score from that day on, by a local line on each side, "
        f"{width:.0f} days wide; the interval is bias-corrected."
    )
    study = study_of_width(number(found))
    if options.panels:
        study = power.of_jump(
            days,
            score,
            cluster,
            replicates=max(1, options.panels // 3),
            seed=options.seed,
            level=options.level,
        )
    findings = [
        finding("jump", "Jump at the cutoff", means, number(found), study),
        _plain(days, score, cluster, width, options),
    ]
    if not options.thorough:
        return Outcome(findings=findings, curves=around(days, score, width, target))
    checks = [_density(days), *_covariates(own, days, width)]
    curves = [*around(days, score, width, target)]
    if found.estimate is not None:
        curves.append(_bandwidths(days, score, cluster, width, target))
        placebos = rd.placebo_dates(
            days, score, cluster, [round(one * width) for one in SHIFTS], half_width=width
        )
        curves.append(_placebo_curve(placebos, target))
        checks += [_placebos(placebos), _steady(curves[-2], findings[0])]
    return Outcome(findings=findings, checks=checks, curves=curves)


def _plain(days: Any, score: Any, cluster: Any, width: float, options: Options) -> Finding:
    found = rd.mean_difference(
        days, score, cluster, half_width=width, draws=options.draws, seed=options.seed, level=options.level
    )
    inside = np.where(np.abs(days) <= width, score, np.nan)
    study = study_of_gap(number(found), inside, days < 0, cluster, options)
    means = f"Plain difference of means within {width:.0f} days of the cutoff. No trend is taken out of it."
    return finding("window means", "Difference of means in the window", means, number(found), study)


def _density(days: Any) -> Check:
    held = gate(rd.density(days))
    tested = held.figure is not None
    return Check(
        name="density",
        label="The number of questions does not jump at the cutoff",
        passed=held.passed if tested else None,
        figure=held.figure,
        says=held.text,
    )


def _covariates(own: ScoreTable, days: Any, width: float) -> list[Check]:
    known: dict[str, Any] = {}
    crowd = np.asarray(own.crowd, dtype=float)
    if np.isfinite(crowd).any():
        known["the crowd’s forecast"] = crowd
    for name, labels in (("source", own.source), ("difficulty", own.difficulty)):
        kinds = sorted(set(labels.tolist()) - {""})
        if 2 <= len(kinds) <= MOST_KINDS:
            known |= {f"share of {name} {kind}": (labels == kind).astype(float) for kind in kinds}
    checks = []
    # Clusters are made of sources and months: the share of a source does not vary inside one.
    for name, held in rd.covariate_jumps(days, known, half_width=width).items():
        jump = number(held)
        flat = null(jump)
        says = "cannot be computed" if jump.estimate is None else _ends(jump.estimate, jump.low, jump.high)
        checks.append(
            Check(
                name=f"covariate {name}",
                label=f"No jump in {name}",
                passed=flat,
                figure=jump.estimate,
                says=f"jump {says}" if jump.estimate is not None else says,
            )
        )
    return checks


def _bandwidths(days: Any, score: Any, cluster: Any, width: float, target: str) -> Curve:
    widths = [round(one * width, 1) for one in WIDTHS]
    points = [
        Point(
            x=one,
            y=finite(held.estimate),
            low=finite(held.low),
            high=finite(held.high),
            n=held.n_pre + held.n_post,
        )
        for one, held in zip(widths, rd.bandwidth_curve(days, score, cluster, widths), strict=True)
    ]
    return Curve(name="bandwidths", label="Jump by bandwidth", model=target, points=points)


def _placebo_curve(placebos: list[rd.Placebo], target: str) -> Curve:
    points = [
        Point(x=float(shift), y=finite(held.estimate), low=finite(held.low), high=finite(held.high))
        for shift, held in placebos
    ]
    return Curve(name="placebo dates", label="Jump at pretended cutoffs", model=target, points=points)


def _placebos(placebos: list[rd.Placebo]) -> Check:
    held = [number(jump) for _, jump in placebos]
    tested = [null(one) for one in held if null(one) is not None]
    label = "No jump at pretended cutoffs"
    if not tested:
        return Check(
            name="placebo dates", label=label, passed=None, says="too few questions at the pretended dates"
        )
    found = tested.count(False)
    return Check(
        name="placebo dates",
        label=label,
        passed=found == 0,
        figure=float(found),
        says=f"{found} of {len(tested)} pretended cutoffs show a jump",
    )


def _steady(curve: Curve, main: Finding) -> Check:
    """Return the check that the jump keeps its sign from half to twice the bandwidth."""
    known = [point.y for point in curve.points if point.y is not None]
    here = main.number.estimate or 0.0
    same = sum(1 for one in known if one * here > 0)
    return Check(
        name="bandwidths",
        label="The jump keeps its sign at other bandwidths",
        passed=same == len(known) if known else None,
        figure=float(same),
        says=f"same sign at {same} of {len(known)} bandwidths from half to twice {curve.points[2].x} days",
    )


def _ends(value: float, low: float | None, high: float | None) -> str:
    ends = "" if low is None or high is None else f" [{fixed(low, 3)}, {fixed(high, 3)}]"
    return fixed(value, 3, plus=True) + ends
