"""Every model at every cutoff, and the target alone around its own: where leakage shows and where it should not.

Leakage moves a model's score at its own cutoff and not at another model's. Which models take part is decided from
dates and counts alone. Source: Temporal Leakage, section 7.1; the suite's specification, "Boundary matrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anachron.backtest import gap, matrix, placebos
from anachron.backtest.convert import date_of, finding, null, number, study_of_gap, told
from anachron.backtest.opening import label as label_of
from anachron.backtest.options import Options
from anachron.backtest.result import BoundaryCell, BoundaryMatrix, Finding, Test
from anachron.backtest.routes import Thresholds
from anachron.backtest.supplied import candidates

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable
    from anachron.stats.permutation import Permutation


def window_gap(table: ScoreTable, target: str, options: Options) -> list[Finding]:
    """Return the target's own gap in the window around its cutoff, where questions lie on both sides of it.

    Parameters
    ----------
    table
        Scores of the questions that the target answered.
    target
        Model to audit.
    options
        The user's choices; `window_days` on either side.
    """
    cutoff = table.cutoffs.get(target)
    if cutoff is None:
        return []
    near = table.around(int(cutoff), options.window_days)
    before = near.days < cutoff
    if not before.any() or before.all():
        return []
    found = gap.naive_gap(
        table, target, boundary=int(cutoff), half_width=options.window_days, cells=None, **_drawn(options)
    )
    held = number(found.raw)
    means = (
        f"Mean score in the {options.window_days} days before {date_of(cutoff)} minus the mean in as many days from it "
        "on. Uninformative alone."
    )
    study = study_of_gap(held, near.column(target), before, near.cluster, options)
    return [finding("naive window", "Naive gap within the window around the cutoff", means, held, study)]


def clean_gaps(table: ScoreTable, target: str, options: Options) -> list[Finding]:
    """Return the target's gap between halves of its clean questions, alone and in the window clean for all models.

    Nothing there can be leakage: a gap is recency or composition, and what constants show of it is composition.

    Parameters
    ----------
    table
        Scores of the questions that the target answered.
    target
        Model to audit.
    options
        The user's choices; questions from `clean_days` after a cutoff are clean.
    """
    known = [int(one) for one in table.cutoffs.values() if one is not None]
    cutoff = table.cutoffs.get(target)
    if cutoff is None:
        return []
    windows = [("naive clean", "Naive gap among clean questions", int(cutoff))]
    if max(known) > cutoff:
        windows.append(("naive matched", "Naive gap among questions clean for every model", max(known)))
    found = []
    for name, label, edge in windows:
        clean = table.window(first=edge + options.clean_days)
        if len(clean.days) < 2 * Thresholds().side or len(np.unique(clean.days)) < 2:
            continue
        fixed: dict[str, Any] = {"cutoff": edge, "clean_days": options.clean_days, **_drawn(options)}
        split = gap.median_day(clean.days)
        held = number(gap.naive_gap(clean, target, boundary=split, cells=None, **fixed).raw)
        nothing = placebos.placebos(clean, boundary=split, cells=None, **fixed)
        shown = "; ".join(f"{label_of(one.name)} {told(number(one.raw))}" for one in nothing)
        means = (
            f"Mean score from {date_of(edge + options.clean_days)} to before {date_of(split)} minus mean from then on. "
            "None of it can be leakage."
            + (f" Forecasters that know nothing show on the same questions: {shown}." if shown else "")
        )
        study = study_of_gap(held, clean.column(target), clean.days < split, clean.cluster, options)
        says = (
            "" if held.low is None or null(held) else "Recency or composition: leakage is not possible here."
        )
        found.append(finding(name, label, means, held, study, says))
    return found


def every_cutoff(table: ScoreTable, target: str, options: Options) -> BoundaryMatrix | None:
    """Return the jumps of all models at all of their cutoffs; None where the target or a control cannot take part.

    A model takes part with enough questions on both sides of its cutoff within the window. A control is one that
    is declared clean, or whose cutoff lies outside all windows.
    """
    least = Thresholds().near
    named = {*options.controls, *options.clean_controls}
    named |= {model for model in table.models if table.roles.get(model) == "control"}
    models = [
        model
        for model in table.models
        if (model == target or model not in named) and _enough(table, model, options.window_days, least)
    ]
    edges = [int(table.cutoffs[model] or 0) for model in models]
    smooth = [
        name
        for name in candidates(table, target, options)
        if name not in models and _smooth(table, name, edges, options)
    ]
    if target not in models or not smooth:
        return None
    found = matrix.boundary_matrix(
        table, models, smooth, half_width=options.window_days, shuffles=options.draws, **_drawn(options)
    )
    return BoundaryMatrix(
        models=list(found.models),
        controls=list(found.controls),
        boundaries=list(found.boundaries),
        half_width=found.half_width,
        cells=[
            BoundaryCell(
                model=one.model,
                boundary=one.boundary,
                own=one.own,
                number=number(one.gap, p=None if one.dates is None else one.dates.p),
            )
            for one in found.cells
        ],
        reassigned=_test(found.reassigned),
        shuffled=_test(found.shuffled),
    )


def _enough(table: ScoreTable, model: str, width: int, least: int) -> bool:
    cutoff = table.cutoffs.get(model)
    if cutoff is None:
        return False
    days = table.days[~np.isnan(table.column(model))] - cutoff
    return bool(min(((days >= -width) & (days < 0)).sum(), ((days >= 0) & (days < width)).sum()) >= least)


def _smooth(table: ScoreTable, name: str, edges: list[int], options: Options) -> bool:
    if name in options.clean_controls:
        return True
    cutoff = table.cutoffs.get(name)
    return cutoff is not None and all(abs(cutoff - edge) > options.window_days for edge in edges)


def _test(held: Permutation) -> Test:
    return Test(
        statistic=held.statistic,
        p=held.p,
        arrangements=held.arrangements,
        exact=held.exact,
        seed=held.seed,
        method=held.method,
    )


def _drawn(options: Options) -> dict[str, Any]:
    return {"draws": options.draws, "seed": options.seed, "level": options.level}
