"""Extrapolation from the clean side: only by the user's word, and refused when its sign depends on the polynomial."""

from __future__ import annotations

from pathlib import Path

import backtest_tables as made

from anachron.backtest import reader
from anachron.backtest.audit import audit
from anachron.backtest.options import Options
from anachron.backtest.result import Audit

QUICK = Options(draws=400, panels=12, extrapolate=1)


def audited(folder: Path, held: made.Questions, noise: float) -> Audit:
    part = made.forecasts(held, "m", 5, w=0.7, noise=noise)
    path = made.write(folder, "table", part, cutoff={"m": made.CUTOFF.isoformat()})
    return audit(reader.read(path), QUICK)


def test_accepted_extrapolation_gives_a_score_that_holds_the_planted_truth(tmp_path: Path) -> None:
    held = made.questions(900, 1, first=240)
    found = audited(tmp_path, held, 0.02)
    assert (found.route.route, found.adjusted.status) == ("extrapolation", "given")
    leakage, score = found.adjusted.leakage, found.adjusted.score
    assert leakage is not None and score is not None
    assert leakage.low is not None and leakage.high is not None and leakage.estimate is not None
    assert leakage.low < made.leakage(held, 5, 0.7, noise=0.02) < leakage.high
    assert score.estimate is not None and found.adjusted.measured.estimate is not None
    assert abs(score.estimate - (found.adjusted.measured.estimate - leakage.estimate)) < 1e-12
    assert "no datum" in found.adjusted.assumption


def test_a_sign_that_depends_on_the_polynomial_leaves_no_score(tmp_path: Path) -> None:
    found = audited(tmp_path, made.questions(900, 1), 0.06)
    assert (found.route.route, found.adjusted.status) == ("extrapolation", "refused")
    assert found.adjusted.score is None and "changes its sign" in found.adjusted.says
    sign = next(one for one in found.checks if one.name == "extrapolation one_sign")
    assert sign.passed is False and "degree 2" in sign.says
