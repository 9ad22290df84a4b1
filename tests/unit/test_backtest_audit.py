"""Audits of small backtests made by hand: the right route, checks, number or refusal, and a readable report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import backtest_tables as made
import jsonschema
import numpy as np
import pytest

from anachron.backtest import reader, render
from anachron.backtest.audit import audit
from anachron.backtest.options import Options
from anachron.backtest.report import blocks
from anachron.backtest.result import Audit
from anachron.errors import AnachronError

ROOT = Path(__file__).resolve().parents[2]
CUTOFF = made.CUTOFF.isoformat()
QUICK = Options(draws=400, panels=12)


def straddling(folder: Path) -> tuple[Path, Options]:
    held = made.questions(900, 1)
    return made.write(folder, "rd", made.forecasts(held, "m", 5, w=0.7), cutoff={"m": CUTOFF}), QUICK


def with_control(
    folder: Path, *, number: int = 900, recency: float = 0.0, w: float = 0.6
) -> tuple[Path, Options]:
    held = made.questions(number, 4)
    parts = [made.forecasts(held, "m", 5, w=w, recency=recency), made.forecasts(held, "old", 6)]
    cutoffs = {"m": CUTOFF, "old": "2023-06-30"}
    return made.write(folder, "did", *parts, cutoff=cutoffs), replace(QUICK, target="m")


def paraphrased(folder: Path) -> tuple[Path, Options]:
    early, late = made.questions(260, 8, last=240), made.questions(260, 9, first=460)
    late.frame["question"] = "late " + late.frame["question"]
    parts = [made.forecasts(one, "m", 11, w=0.4, wording=k) for one in (early, late) for k in range(4)]
    return made.write(folder, "prc", *parts, cutoff={"m": CUTOFF}), QUICK


def without_cutoff(folder: Path) -> tuple[Path, Options]:
    held = made.questions(900, 2, drift=0.5)
    flat = made.forecasts(held, "m", 5).assign(forecast=0.2).drop(columns="crowd")
    return made.write(folder, "naive", flat), QUICK


def a_handful(folder: Path) -> tuple[Path, Options]:
    return made.write(folder, "few", made.forecasts(made.questions(12, 3), "m", 5)), QUICK


def after_the_cutoff(folder: Path) -> tuple[Path, Options]:
    held = made.questions(200, 3, first=450)
    return made.write(folder, "forward", made.forecasts(held, "m", 5), cutoff={"m": CUTOFF}), QUICK


def with_a_later_control(folder: Path) -> tuple[Path, Options]:
    held = made.questions(900, 4)
    parts = [made.forecasts(held, "m", 5, w=0.8), made.forecasts(held, "late", 6)]
    cutoffs = {"m": CUTOFF, "late": "2025-10-01"}
    return made.write(folder, "boundary", *parts, cutoff=cutoffs), replace(QUICK, target="m")


def control_but_no_cutoff(folder: Path) -> tuple[Path, Options]:
    held = made.questions(600, 4)
    parts = [made.forecasts(held, "m", 5, w=0.8), made.forecasts(held, "old", 6)]
    return made.write(folder, "split", *parts), replace(QUICK, target="m", clean_controls=("old",))


BACKTESTS: dict[str, Callable[[Path], tuple[Path, Options]]] = {
    "rd": straddling,
    "did": with_control,
    "did-boundary": with_a_later_control,
    "did-split": control_but_no_cutoff,
    "prc": paraphrased,
    "naive": without_cutoff,
    "none": a_handful,
    "forward": after_the_cutoff,
}


@cache
def result(route: str) -> Audit:
    path, options = BACKTESTS[route](Path(mkdtemp()))
    return audit(reader.read(path, target=options.target), options)


@pytest.mark.parametrize(
    ("route", "identifies", "status"),
    [
        ("rd", "boundary", "refused"),
        ("did", "global", "given"),
        ("did-boundary", "boundary", "refused"),
        ("did-split", "detection", "refused"),
        ("prc", "detection", "refused"),
        ("naive", "nothing", "refused"),
        ("none", "nothing", "refused"),
        ("forward", "zero", "not needed"),
    ],
)
def test_each_backtest_gets_its_route_and_a_number_only_where_leakage_is_identified(
    route: str, identifies: str, status: str
) -> None:
    found = result(route)
    assert (found.route.route, found.route.identifies, found.adjusted.status) == (route, identifies, status)
    assert (found.adjusted.score is not None) == (status == "given")
    assert found.summary[-1] == found.adjusted.says
    if status == "given":
        assert found.adjusted.assumption
        assert found.adjusted.score is not None and found.adjusted.leakage is not None
        assert found.adjusted.score.low is not None and found.adjusted.score.high is not None


def test_the_planted_leakage_lies_in_the_interval_and_comes_off_the_score() -> None:
    found = result("did").adjusted
    truth = made.leakage(made.questions(900, 4), 5, 0.6)
    assert found.leakage is not None and found.score is not None and found.risk is not None
    assert found.leakage.low is not None and found.leakage.high is not None
    assert found.leakage.low < truth < found.leakage.high
    leaked = found.leakage.estimate
    assert leaked is not None and found.measured.estimate is not None and found.risk_measured is not None
    assert found.score.estimate == pytest.approx(found.measured.estimate - leaked)
    assert found.risk.estimate == pytest.approx(found.risk_measured + leaked)
    assert found.risk.high == pytest.approx(found.risk_measured + found.leakage.high)


def test_the_jump_is_found_and_is_not_taken_off_the_score() -> None:
    found = result("rd")
    jump = next(one for one in found.findings if one.name == "jump")
    truth = made.leakage(made.questions(900, 1), 5, 0.7)
    assert jump.null is False and jump.number.low is not None and jump.number.high is not None
    assert jump.number.low < truth < jump.number.high
    assert "further back" in found.adjusted.says


def test_partial_extraction_is_detected_by_paraphrases() -> None:
    found = result("prc")
    main = found.findings[0]
    assert main.name == "prc platt" and main.null is False and (main.number.estimate or 0) > 0


def test_the_opening_tells_composition_from_a_gap_that_no_constant_shows() -> None:
    drifted, leaked = result("naive").opening, result("did").opening
    assert drifted.verdict == "explained" and "composition alone" in drifted.says
    assert leaked.verdict == "not seen" and "recency" in leaked.says
    assert result("none").opening.verdict == "untested"
    # A constant forecast of 0.2 is the placebo itself: it has to show the same gap to the last digit.
    same = next(one for one in drifted.placebos if one.label == "always 20 %")
    assert same.raw.estimate == drifted.target.raw.estimate


def test_a_control_that_does_not_get_worse_is_warned_of_before_and_leakage_is_refused(tmp_path: Path) -> None:
    path, options = with_control(tmp_path, number=2600, recency=4.0, w=0.0)
    found = audit(reader.read(path, target="m"), options)
    main = next(one for one in found.findings if one.name == "did raw")
    assert (main.number.low or 0) > 0, "recency alone has to look like leakage against this control"
    assert "overstates leakage" in found.route.warning
    assert "Before the difference is read" in found.summary[1]
    assert found.adjusted.status == "refused" and found.adjusted.score is None


def test_a_check_that_could_not_see_as_much_as_the_estimate_is_told(tmp_path: Path) -> None:
    path, options = with_control(tmp_path, recency=4.0, w=0.0)
    drifting = {one.name: one for one in audit(reader.read(path, target="m"), options).checks}
    assert drifting["control parallel"].passed and drifting["parallel reach"].passed is False
    assert {one.name: one.passed for one in result("did").checks}["parallel reach"]


def test_every_null_says_what_it_would_have_found(tmp_path: Path) -> None:
    path, options = with_control(tmp_path, w=0.0)
    found = audit(reader.read(path, target="m"), options)
    nulls = [one for one in found.findings if one.null]
    assert {"did", "did raw", "jump", "naive"} <= {one.name for one in nulls}
    for one in nulls:
        assert one.mde is not None and one.mde > 0, one.name
        assert "smaller ones are not excluded" in one.says


def test_every_model_stands_at_every_cutoff_with_both_tests_named(tmp_path: Path) -> None:
    held = made.questions(1500, 4)
    early = {"m": CUTOFF, "n": "2024-06-01", "old": "2023-06-30"}
    parts = [
        made.forecasts(held, "m", 5, w=0.8),
        made.forecasts(held, "n", 7),
        made.forecasts(held, "old", 6),
    ]
    options = replace(QUICK, target="m")
    found = audit(reader.read(made.write(tmp_path, "matrix", *parts, cutoff=early), target="m"), options)
    matrix = found.matrix
    assert matrix is not None
    assert (matrix.models, matrix.controls) == (["m", "n"], ["old"])
    assert matrix.boundaries == ["2024-06-01", CUTOFF]
    own = {one.model: one.number for one in matrix.cells if one.own}
    assert (own["m"].low or 0) > 0 and (own["m"].p or 1) < 0.01 and (own["n"].p or 0) > 0.05
    assert matrix.reassigned.exact and matrix.reassigned.arrangements == 2 and matrix.reassigned.p == 0.5
    assert "reassigned to models" in matrix.reassigned.method and "dates exchanged" in matrix.shuffled.method
    text = render.markdown(blocks(found, []))
    assert "Marks: (few clusters) under 20" in text
    assert "Cutoffs reassigned to models, all of them; one-sided: p = .500 (2 arrangements)" in text
    assert "Dates exchanged between questions, 400 random ones" in text
    # The plain mean of 90 days on either side, by hand.
    day, score = (
        held.day - 366,
        -((parts[0]["forecast"] - held.outcome) ** 2) + (held.frame["crowd"] - held.outcome) ** 2,
    )
    near = next(one for one in found.findings if one.name == "naive window").number
    sides = [score[(day >= -90) & (day < 0)], score[(day >= 0) & (day < 90)]]
    assert near.estimate == pytest.approx(sides[0].mean() - sides[1].mean(), abs=1e-12)
    assert (near.n_before, near.n_after) == tuple(map(len, sides))


def test_gaps_among_clean_questions_are_no_leakage_and_stand_beside_constants() -> None:
    findings = {one.name: one for one in result("did-boundary").findings}
    clean, matched = findings["naive clean"], findings["naive matched"]
    assert "from 2025-01-31 to before" in clean.means and "always 15 %" in clean.means
    assert "from 2025-10-31 to before" in matched.means
    assert (clean.number.n_before or 0) > (matched.number.n_before or 0)
    held = made.questions(900, 4)
    part = made.forecasts(held, "m", 5, w=0.8)
    crowd, own = held.frame["crowd"] - held.outcome, part["forecast"] - held.outcome
    inside = held.day >= 366 + 30
    split = np.sort(held.day[inside])[inside.sum() // 2]
    score = (crowd**2 - own**2)[inside]
    early = held.day[inside] < split
    assert clean.number.estimate == pytest.approx(score[early].mean() - score[~early].mean(), abs=1e-12)


def test_without_a_control_whose_cutoff_lies_elsewhere_there_is_no_matrix() -> None:
    assert result("rd").matrix is None and result("none").matrix is None


def test_a_target_without_a_forecast_is_told_and_scores_that_do_not_vary_give_no_number(
    tmp_path: Path,
) -> None:
    held = made.questions(300, 4)
    old = made.forecasts(held, "old", 6)
    cutoffs = {"m": CUTOFF, "old": "2023-06-30"}
    silent = made.write(tmp_path, "silent", old.assign(model="m", forecast=None), old, cutoff=cutoffs)
    with pytest.raises(AnachronError, match=r"silent\.csv: model 'm' has no forecast that can be scored"):
        audit(reader.read(silent, target="m"), replace(QUICK, target="m"))
    flat = [old.assign(model=model, forecast=old["crowd"]) for model in ("m", "old")]
    found = audit(
        reader.read(made.write(tmp_path, "flat", *flat, cutoff=cutoffs), target="m"),
        replace(QUICK, target="m"),
    )
    assert found.route.route == "did"
    assert found.adjusted.status == "refused" and "do not vary" in found.adjusted.says
    main = found.findings[0]
    assert main.mde is None and "do not vary" in main.says


def test_scores_have_no_placebo_and_say_so(tmp_path: Path) -> None:
    held = made.questions(400, 5)
    chance = np.random.default_rng(1)
    solved = np.clip(0.4 + 0.25 * held.before + 0.2 * chance.standard_normal(400), 0, 1).round(3)
    frame = held.frame.drop(columns=["outcome", "crowd", "frozen_on"]).assign(
        score=solved, model="m", difficulty=np.where(held.chance > 0.4, "hard", "easy")
    )
    found = audit(reader.read(made.write(tmp_path, "scores", frame, cutoff={"m": CUTOFF})), QUICK)
    assert found.route.route == "rd" and found.read.kind == "scores"
    assert found.opening.placebos == [] and found.opening.verdict == "untested"
    assert "cannot be ruled out" in found.opening.says
    assert found.adjusted.risk_measured is None


@pytest.mark.parametrize(
    ("column", "value"), [("forecast", 43.0), ("resolved_on", "2031-01-01"), ("outcome", 2), ("model", "")]
)
def test_a_table_with_errors_is_refused_with_line_column_and_value(
    column: str, value: object, tmp_path: Path
) -> None:
    table = made.forecasts(made.questions(60, 6), "m", 5).astype({column: object})
    table.loc[3, column] = value
    with pytest.raises(AnachronError) as told:
        reader.read(made.write(tmp_path, "errors", table))
    for word in ("errors.csv", "line 5", column, str(value)):
        assert word in str(told.value)


def test_which_model_is_audited_is_asked_for_and_never_guessed(tmp_path: Path) -> None:
    path, _ = with_control(tmp_path)
    with pytest.raises(AnachronError, match="--target"):
        audit(reader.read(path), QUICK)


@pytest.mark.parametrize("route", sorted(BACKTESTS))
def test_the_result_fulfils_its_schema_and_the_report_opens_with_composition(
    route: str, tmp_path: Path
) -> None:
    found = result(route)
    written = {path.name: path for path in render.write(found, tmp_path / "report")}
    schema = json.loads((ROOT / "workflow/schemas/backtest.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(written["audit.json"].read_text(encoding="utf-8")), schema)
    for name in ("report.md", "report.html"):
        text = written[name].read_text(encoding="utf-8")
        heads = [
            "Could the gap be composition?",
            "The route",
            "Checks of the assumptions",
            "The number",
            "stronger route",
        ]
        places = [text.index(head) for head in heads]
        assert places == sorted(places)
        assert found.route.title in text
    page = written["report.html"].read_text(encoding="utf-8")
    assert "<script" not in page and "http" not in page
    assert page.count("<figure>") == len([name for name in written if name.endswith(".svg")])


def test_what_was_read_is_escaped(tmp_path: Path) -> None:
    held = made.questions(60, 6)
    hostile = "<b>x</b>|y"
    found = audit(reader.read(made.write(tmp_path, "m", made.forecasts(held, hostile, 5))), QUICK)
    render.write(found, tmp_path / "out")
    assert "<b>x</b>" not in (tmp_path / "out/report.html").read_text(encoding="utf-8").split("<main>")[
        1
    ].replace("&lt;b&gt;", "")
    assert "<b>x</b>" not in (tmp_path / "out/report.md").read_text(encoding="utf-8")


def test_the_same_backtest_gives_the_same_bytes(tmp_path: Path) -> None:
    path, options = a_handful(tmp_path)
    for name in ("one", "two"):
        render.write(audit(reader.read(path), options), tmp_path / name)
    files = sorted(one.name for one in (tmp_path / "one").iterdir())
    assert len(files) >= 5
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
