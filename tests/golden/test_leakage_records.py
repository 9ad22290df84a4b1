"""The public forecasting panel, a code benchmark's dated scores and real forecasts: published numbers come out.

The control pool, the windows and the dates are the published ones, and nothing is fitted to these records.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anachron.backtest import control, gap, matrix, panel, placebos, reader, score
from anachron.backtest.audit import audit
from anachron.backtest.options import Options
from anachron.backtest.score import ScoreTable, day
from anachron.errors import BacktestError
from anachron.stats import dose

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data")) / "leakage"
pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no published records at {DATA}"),
]

LATER = dt.date(2027, 1, 1)
"""One question of the panel is recorded as resolved on the last day of 2026."""
GPT4O = "GPT-4O-2024-08-06"
POOL = (
    "Gemini-2.5-Pro",
    "Gemini-2.5-Flash-Preview",
    "O4-Mini (High)",
    "O4-Mini (Medium)",
    "Grok-3-Mini (High)",
    "Claude-3.7-Sonnet (Thinking)",
    "O3-Mini-2025-01-31 (High)",
)
OCTOBER = day("2023-10-01")
M1 = ("GPT-5", "Gemini-3.1-Pro", "Kimi-K2.6", "GPT-5.5", "MiniMax-M3")


def published() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "published.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The paper's panel as a table of forecasts of a constant."""
    whole = pd.read_parquet(DATA / "panel.parquet")
    kept = whole[whole["in_paper_panel"]]
    path = tmp_path_factory.mktemp("panel") / "constant.csv"
    pd.DataFrame(
        {
            "question": kept["id"],
            "resolved_on": kept["resolution_date"],
            "outcome": kept["outcome"],
            "forecast": 0.15,
            "model": "constant",
            "crowd": kept["c0"],
            "frozen_on": kept["freeze_date"],
            "source": kept["source"],
        }
    ).to_csv(path, index=False)
    return reader.read(path, today=LATER, file_date=LATER).frame


@pytest.fixture(scope="module")
def code(tests_of_code: reader.Backtest) -> ScoreTable:
    return score.table(tests_of_code.frame)


@pytest.fixture(scope="module")
def tests_of_code(tmp_path_factory: pytest.TempPathFactory) -> reader.Backtest:
    """The code benchmark's pass@1, each model from its newest release."""
    whole = pd.read_parquet(DATA / "lcb.parquet").sort_values(["model", "problem_id", "release"])
    newest = whole.drop_duplicates(["model", "problem_id"], keep="last")
    path = tmp_path_factory.mktemp("code") / "scores.parquet"
    pd.DataFrame(
        {
            "question": newest["problem_id"],
            "resolved_on": newest["contest_date"],
            "score": newest["pass1"],
            "model": newest["model"],
            "difficulty": newest["difficulty"],
            "source": newest["platform"],
        }
    ).to_parquet(path)
    found = reader.read(path)
    assert found.kind == "score"
    assert any("5 questions have resolution days a day apart" in told for told in found.warnings)
    return found


def test_the_panel_has_the_published_counts_by_quarter(questions: pd.DataFrame) -> None:
    counts = panel.counts_by_quarter(questions["resolved_on"])
    assert counts == published()["panel_counts_by_quarter"] | {"26Q4": 1}
    assert sum(counts.values()) == 1646


def test_a_resolution_that_lies_ahead_is_told(tmp_path: Path, questions: pd.DataFrame) -> None:
    path = tmp_path / "panel.parquet"
    questions[["question", "resolved_on", "outcome", "forecast", "model"]].to_parquet(path)
    with pytest.raises(BacktestError, match="'2026-12-31'; allowed is up to today, 2026-11-30"):
        reader.read(path, today=dt.date(2026, 11, 30), file_date=LATER)


@pytest.mark.parametrize("model", M1)
def test_clean_windows_split_on_the_published_days(questions: pd.DataFrame, model: str) -> None:
    cutoff, clean_from, boundary, before, after, *_ = published()["M1_naive_gaps"][model]
    table = score.table(questions, anchor="none")
    found = gap.naive_gap(table, "constant", cutoff=day(cutoff), cells=None, draws=10)
    assert (found.clean_from, found.boundary) == (clean_from, boundary)
    # The models left one to three questions of a window unanswered.
    assert 0 <= found.raw.n_pre - before <= 3
    assert 0 <= found.raw.n_post - after <= 3


def test_constants_show_the_gap_that_was_published_of_models(questions: pd.DataFrame) -> None:
    table = score.table(questions)
    assert table.anchor == "crowd"
    cells = pd.cut(table.crowd, [-1, 0.02, 0.1, 0.3, 0.6, 1]).codes
    long, short = (
        {
            one.name: one
            for one in placebos.placebos(table, boundary=day(boundary), cutoff=day(cutoff), cells=cells)
        }
        for boundary, cutoff in (("2026-04-01", "2025-12-01"), ("2026-05-14", "2026-01-31"))
    )
    named = long["P = 0.15"].raw
    assert (named.n_pre, named.n_post) == (406, 538)
    assert named.estimate == pytest.approx(0.062, abs=0.0006)
    assert named.starred
    assert long["P = 0.2"].raw.estimate == pytest.approx(0.038, abs=0.0006)
    assert long["P = 0.2"].raw.starred
    within = long["P = 0.15"].standardised
    assert within is not None
    assert within.gap.estimate == pytest.approx(-0.011, abs=0.0006)
    assert within.gap.null
    brief = short["P = 0.15"].raw
    assert (brief.n_pre, brief.n_post) == (330, 333)
    assert brief.estimate == pytest.approx(0.027, abs=0.0006)
    assert brief.null


def test_a_models_published_gap_is_one_that_a_constant_shows(questions: pd.DataFrame) -> None:
    *_, estimate, low, high = published()["M1_naive_gaps"]["GPT-5.5"]
    nothing = placebos.placebos(
        score.table(questions), boundary=day("2026-04-01"), cutoff=day("2025-12-01"), draws=1000
    )
    assert max(one.raw.estimate or 0 for one in nothing) > estimate
    constant = next(one for one in nothing if one.name == "P = 0.15").raw
    assert low < (constant.estimate or 0) < high


def test_the_code_benchmarks_gap_is_the_published_one_to_the_last_digit(code: ScoreTable) -> None:
    found = gap.naive_gap(code, GPT4O, boundary=OCTOBER, half_width=160, grouping="question")
    assert found.raw.estimate == pytest.approx(0.118867971512526, abs=1e-14)
    assert (found.raw.n_pre, found.raw.n_post) == (207, 194)
    assert found.raw.estimate == pytest.approx(
        published()["code_benchmark_GPT-4O-2024-08-06"]["g_target"], abs=1e-14
    )


def test_the_difference_to_the_pool_is_the_published_one(code: ScoreTable) -> None:
    around: dict[str, Any] = {"half_width": 160}
    found = control.paired_did(code, GPT4O, POOL, OCTOBER, grouping="question", **around)
    assert found.raw.estimate == pytest.approx(0.0900, abs=0.00005)
    # 4,000 draws leave the ends of an interval uncertain by 0.002.
    assert found.raw.low == pytest.approx(0.008, abs=0.004)
    assert found.raw.high == pytest.approx(0.172, abs=0.004)
    assert found.target_gap == pytest.approx(0.118867971512526, abs=1e-14)
    stratified = control.paired_did(
        code, GPT4O, POOL, OCTOBER, grouping="question", cells=code.difficulty, mix="window", **around
    ).standardised
    assert stratified is not None
    assert stratified.gap.estimate == pytest.approx(0.089, abs=0.0005)
    assert stratified.gap.starred
    assert stratified.cells_dropped == 0


def test_an_audit_prints_the_published_gap_and_difference(tests_of_code: reader.Backtest) -> None:
    options = Options(
        target=GPT4O,
        controls=POOL,
        cutoffs={GPT4O: dt.date(2023, 10, 1), **dict.fromkeys(POOL, dt.date(2024, 12, 1))},
        window_days=160,
        draws=200,
        panels=0,
    )
    held = reader.read(
        tests_of_code.path,
        target=GPT4O,
        controls=POOL,
        cutoffs={name: day.isoformat() for name, day in options.cutoffs.items()},
    )
    found = audit(held, options)
    numbers = {one.name: one.number for one in found.findings}
    assert found.route.route == "did-boundary" and found.adjusted.score is None
    assert numbers["naive window"].estimate == pytest.approx(0.118867971512526, abs=1e-14)
    assert (numbers["naive window"].n_before, numbers["naive window"].n_after) == (207, 194)
    assert numbers["boundary did"].estimate == pytest.approx(0.0900, abs=0.00005)


def test_an_audit_prints_the_published_gap_of_a_clean_window(tmp_path: Path) -> None:
    whole = pd.read_parquet(DATA / "panel.parquet")
    kept = whole[whole["in_paper_panel"] & whole["c0"].notna()]
    path = tmp_path / "constant.csv"
    columns = {"question": "id", "resolved_on": "resolution_date", "outcome": "outcome", "crowd": "c0"}
    frame = pd.DataFrame(
        {name: kept[column] for name, column in columns.items()} | {"source": kept["source"]}
    )
    frame.assign(forecast=0.15, model="constant").to_csv(path, index=False)
    cutoff = dt.date(2025, 12, 1)
    held = reader.read(path, cutoffs={"constant": cutoff.isoformat()}, today=LATER, file_date=LATER)
    found = audit(held, Options(cutoffs={"constant": cutoff}, draws=400, panels=0, thorough=False))
    clean = next(one for one in found.findings if one.name == "naive clean")
    # Questions with a crowd alone: the median lies elsewhere than in the published window of all questions.
    table = score.table(held.frame)
    own = gap.naive_gap(table, "constant", cutoff=day(cutoff), draws=10)
    assert clean.number.estimate == own.raw.estimate
    assert (clean.number.n_before or 0) + (clean.number.n_after or 0) == 406 + 538
    assert "always 15 %" in clean.means and "None of it can be leakage" in clean.means


def test_the_dose_response_is_the_published_one() -> None:
    whole = pd.read_parquet(DATA / "dose_response.parquet")
    own = whole[whole["pair"] == "8b-500b"]
    found = dose.response(own["dup"], own["B_pair"], own["task"])
    assert found.doses == (1, 4, 16, 64, 256)
    assert found.centred == pytest.approx([0.0114, 0.0752, 0.2074, 0.3803, 0.4030], abs=0.00005)
    assert (found.rho, found.p, found.arrangements) == (pytest.approx(1.0), 1 / 120, 120)


def test_the_difference_clustered_by_contest_is_the_published_one(code: ScoreTable) -> None:
    import numpy as np

    from anachron.stats.did import did

    near = code.around(OCTOBER, 160)
    # A contest is named in the problem's name, and by its day where the platform gives problems plain numbers.
    contest = np.array(
        [
            name.split("_")[0] if "_" in name else str(on)
            for name, on in zip(near.questions, near.days, strict=True)
        ]
    )
    pool = near.score[:, [near.place(name) for name in POOL]]
    found = did(near.column(GPT4O), pool, near.days < OCTOBER, contest).raw
    assert found.low == pytest.approx(0.013, abs=0.004)
    assert found.high == pytest.approx(0.168, abs=0.004)


def test_the_jump_is_at_the_own_cutoff_by_the_shuffle_of_dates(code: ScoreTable) -> None:
    found = matrix.boundary_matrix(
        code, [GPT4O], POOL, cutoffs={GPT4O: OCTOBER}, half_width=160, grouping="question", shuffles=20_000
    )
    (cell,) = found.cells
    assert cell.own
    assert cell.gap.estimate == pytest.approx(0.0900, abs=0.00005)
    assert cell.dates is not None
    # Published from 4,000 shuffles: 0.0125, of which the standard error is 0.0018.
    assert cell.dates.p == pytest.approx(0.0125, abs=2 * 0.0018)


def test_gaps_of_real_forecasts_after_all_cutoffs_are_null(tmp_path: Path) -> None:
    whole = pd.read_parquet(DATA / "forecasts.parquet")
    path = tmp_path / "forecasts.parquet"
    pd.DataFrame(
        {
            "question": whole["question_id"],
            "resolved_on": whole["resolution_date"],
            "outcome": whole["outcome"],
            "forecast": whole["p"],
            "model": whole["model"],
            "source": whole["source"],
        }
    ).to_parquet(path)
    table = score.table(reader.read(path).frame)
    assert table.anchor == "none"
    assert (len(table.questions), len(table.models)) == (242, 6)
    for model in table.models:
        for grouping in ("cluster", "question"):
            found = gap.naive_gap(table, model, grouping=grouping)  # type: ignore[arg-type]
            assert found.boundary == "2024-07-22"
            assert found.raw.null, model
