"""Extrapolation from the clean side: the mean leakage, if honest performance goes on as a polynomial says.

The user has to accept that assumption, since no datum of the backtest supports it. The estimate is printed with its
spread over degrees and horizons, and refused when the spread changes sign. Source: Temporal Leakage, Assumption 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anachron.backtest.convert import finding, finite, gate, number, study_of_width
from anachron.backtest.options import Options
from anachron.backtest.outcome import Outcome
from anachron.backtest.result import Check
from anachron.backtest.score import question_cells
from anachron.publish.text import fixed
from anachron.stats import extrapolate

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable


def run(table: ScoreTable, target: str, cutoff: int, degree: int, options: Options) -> Outcome:
    """Run the extrapolation of a model's clean scores to the questions before its cutoff.

    Parameters
    ----------
    table
        Scores by question and model.
    target
        Model to audit.
    cutoff
        Its cutoff, in days since 1970-01-01. Questions of the first `clean_days` after it are left out.
    degree
        Degree of the polynomial that the user accepts.
    options
        The user's choices.
    """
    days = np.asarray(table.days)
    rows = ~np.isnan(table.column(target)) & ((days < cutoff) | (days >= cutoff + options.clean_days))
    own = table.take(rows)
    found = extrapolate.global_inflation(
        np.asarray(own.days, dtype=float) - cutoff,
        own.column(target),
        np.asarray(own.cluster),
        covariates=_dummies(own),
        degree=degree,
        draws=options.draws,
        seed=options.seed,
    )
    held = number(found)
    main = finding(
        "extrapolation",
        f"Leakage by extrapolation, degree {degree}",
        f"Mean score of the {int((rows & (days < cutoff)).sum()):,} questions before the cutoff minus what a "
        f"polynomial of degree {degree} in time, fitted to the clean questions, says of them.",
        held,
        study_of_width(held),
    )
    signs = ", ".join(
        f"degree {one.degree}, {'all' if one.horizon is None else one.horizon} days: {_plain(finite(one.estimate))}"
        for one in found.spread
    )
    checks = [
        Check(
            name=f"extrapolation {one.name}",
            label="One sign over degrees and horizons"
            if one.name == "one_sign"
            else one.name.replace("_", " "),
            passed=gate(one).passed,
            figure=finite(one.figure),
            says=f"{one.text} ({signs})" if one.name == "one_sign" else one.text,
        )
        for one in found.gates
    ]
    refusal = "its sign depends on the degree and the horizon of the polynomial" if found.refused else ""
    return Outcome(findings=[main], checks=checks, leakage=main, refusal=refusal)


def _dummies(own: ScoreTable) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    cells = question_cells(own)
    if cells is None:
        return None
    kinds = np.unique(cells)[1:]
    return (np.asarray(cells)[:, None] == kinds[None, :]).astype(float) if len(kinds) else None


def _plain(value: float | None) -> str:
    return "undefined" if value is None else fixed(value, 3, plus=True)
