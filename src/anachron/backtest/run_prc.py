"""Paraphrases: whether forecasts move with what they should not know. A detector, never an amount.

Source: Temporal Leakage, section 5.3, appendix C.2; the suite's specification, "PRC".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anachron.backtest.convert import finding, finite, gate
from anachron.backtest.options import Options
from anachron.backtest.outcome import Outcome
from anachron.backtest.result import Check, Finding, Number
from anachron.publish.text import fixed
from anachron.stats import prc
from anachron.stats.gaps import Floats

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable

PREFERRED = "platt"
"""Calibrator whose excess stands first: it mends both spread and base rate, which anchors and targets differ in."""
LABELS = {
    "stable": "All calibrators say the same",
    "anchors": "Enough clean questions to calibrate on",
    "targets": "Enough questions before the cutoff",
    "few_clusters": "Enough clusters on each side",
}


def run(table: ScoreTable, frame: pd.DataFrame, target: str, cutoff: int, options: Options) -> Outcome:
    """Run the residual covariance of a model's paraphrases, calibrated on its clean questions.

    Parameters
    ----------
    table
        Scores by question and model; its questions are those looked at.
    frame
        The forecasts (`contract.Forecasts`), with all wordings.
    target
        Model to audit.
    cutoff
        Its cutoff, in days since 1970-01-01. Questions of the first `clean_days` after it count on neither side.
    options
        The user's choices.
    """
    wordings = worded(table, frame, target)
    days = np.asarray(table.days)
    several = np.isfinite(wordings).sum(axis=1) >= 2
    clean = days >= cutoff + options.clean_days
    rows = several & (clean | (days < cutoff))
    given = (wordings[rows], table.outcome[rows], clean[rows], np.asarray(table.cluster)[rows])
    found = prc.detect(*given, draws=options.draws, seed=options.seed, level=options.level)
    names = sorted(found.by_method, key=lambda name: (name != PREFERRED, name))
    findings = [_finding(name, held, found) for name, held in found.by_method.items() for name in [name]]
    findings.sort(key=lambda one: names.index(one.name.removeprefix("prc ")))
    if findings:
        findings[0] = findings[0] if not options.panels else _with_power(findings[0], given, options)
        findings.append(_finding("without calibration", found.raw, found))
    checks = [
        Check(
            name=f"prc {one.name}",
            label=LABELS.get(one.name, one.name.replace("_", " ")),
            passed=one.passed,
            figure=finite(one.figure),
            says=one.text,
        )
        for one in found.gates
    ]
    return Outcome(findings=findings, checks=checks)


def worded(table: ScoreTable, frame: pd.DataFrame, target: str) -> Floats:
    """Return a model's forecasts by question and wording, shape (questions, wordings), NaN where there is none."""
    own = frame[frame["model"] == target]
    wide = own.pivot(index="question", columns="paraphrase", values="forecast").reindex(table.questions)
    return wide.to_numpy(dtype=float)


def _finding(name: str, held: prc.PrcEstimate, found: prc.Detection) -> Finding:
    how = f"calibrated ({name})" if name in found.by_method else name
    excess = Number(
        estimate=finite(held.excess.estimate),
        low=finite(held.excess.low),
        high=finite(held.excess.high),
        n_before=found.n_target,
        n_after=found.n_anchors,
        method=found.method,
        draws=found.draws,
        seed=found.seed,
        gates=[gate(one) for one in found.gates if one.name == "stable"],
    )
    means = (
        f"Covariance of forecast and residual before the cutoff minus that of the clean questions, {how}: "
        f"{_plain(held.target.estimate)} against {_plain(held.anchors.estimate)}."
    )
    says = (
        ""
        if name in found.by_method
        else "Overconfidence makes it negative: it is shown for comparison alone."
    )
    return finding(f"prc {name}", f"Excess residual covariance, {how}", means, excess, says=says)


def _with_power(held: Finding, given: tuple[Floats, Floats, Floats, Floats], options: Options) -> Finding:
    study = prc.detectable(*given, method=PREFERRED, seed=options.seed, level=options.level)
    mde = finite(study.mde)
    if held.null is True:
        bound = (
            "no extraction weight tried would have been found"
            if mde is None
            else (
                f"a model pulled {mde:.0%} of the way to every outcome would have been found in four of five cases"
            )
        )
        says = f"Null: {bound}. Complete memorisation is not found by this statistic at any size."
    else:
        says = held.says
    return held.model_copy(update={"mde": mde, "mde_method": f"{study.method}; {study.unit}", "says": says})


def _plain(value: float) -> str:
    known = finite(value)
    return "undefined" if known is None else fixed(known, 4, plus=True)
