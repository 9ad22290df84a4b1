"""Scores, naive gaps, placebos, controls and the boundary matrix on small tables whose numbers are known by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anachron.backtest import control, gap, matrix, panel, placebos, score
from anachron.backtest.contract import Forecasts
from anachron.errors import BacktestError
from anachron.frames import check
from anachron.stats.result import GapEstimate

DAY = score.day("2025-01-01")


def forecasts(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    empty: dict[str, Any] = {
        "paraphrase": 0,
        "outcome": np.nan,
        "forecast": np.nan,
        "score": np.nan,
        "crowd": np.nan,
        **dict.fromkeys(("frozen_on", "source", "difficulty", "cutoff", "role")),
    }
    for name, value in empty.items():
        if name not in frame:
            frame[name] = value
    frame["paraphrase"] = frame["paraphrase"].fillna(0)
    if "cluster" not in frame:
        frame["cluster"] = frame["resolved_on"].str.slice(0, 7)
    return check(frame[list(Forecasts.to_schema().columns)], Forecasts, "test")


def three(**more: Any) -> pd.DataFrame:
    """Return two models on three questions; B has no forecast for q3, and q2 a second wording."""
    told = [("q1", 1.0, 0.4), ("q2", 0.0, 0.2), ("q3", 0.0, None)]
    rows = [
        {
            "question": q,
            "model": m,
            "resolved_on": f"2025-0{q[1]}-01",
            "outcome": y,
            "crowd": c,
            "forecast": p,
        }
        for m, p in (("A", 0.5), ("B", 0.7))
        for q, y, c in told
    ]
    rows[-1]["forecast"] = None
    rows.append({**rows[1], "paraphrase": 1, "forecast": 0.99})
    return forecasts([{**row, **more} for row in rows])


def test_a_score_is_what_a_forecast_takes_off_the_crowds_loss() -> None:
    found = score.table(three())
    assert (found.anchor, found.models, found.dropped) == ("crowd", ("A", "B"), {"no crowd probability": 1})
    np.testing.assert_allclose(found.column("A"), [0.36 - 0.25, 0.04 - 0.25])
    np.testing.assert_allclose(found.column("B"), [0.36 - 0.09, 0.04 - 0.49])
    bare = score.table(three(), anchor="none")
    np.testing.assert_allclose(bare.column("A"), [-0.25, -0.25, -0.25])
    np.testing.assert_allclose(bare.column("B"), [-0.09, -0.49, np.nan])
    assert [score.date(one) for one in bare.days] == ["2025-01-01", "2025-02-01", "2025-03-01"]
    assert score.table(three(crowd=np.nan)).anchor == "none"
    with pytest.raises(BacktestError, match="no question has a crowd probability"):
        score.table(three(crowd=np.nan), anchor="crowd")
    with pytest.raises(BacktestError, match="no forecasts of a model 'C'; there are: A, B"):
        found.column("C")


def test_a_table_of_scores_is_taken_as_it_is() -> None:
    rows = [
        {"question": f"q{k}", "model": "A", "resolved_on": "2025-01-01", "score": k / 4, "difficulty": "easy"}
        for k in range(3)
    ]
    found = score.table(forecasts(rows))
    assert found.anchor == "score"
    np.testing.assert_allclose(found.column("A"), [0, 0.25, 0.5])
    assert placebos.placebos(found, boundary=DAY) == []


def timed(scores: dict[str, list[float]], days: list[int], **more: Any) -> score.ScoreTable:
    """Return a table of scores by model, on questions of the given days after 2025-01-01."""
    rows = [
        {
            "question": f"q{place:03d}",
            "model": model,
            "resolved_on": score.date(DAY + day),
            "score": value,
            **{name: values[place] for name, values in more.items()},
        }
        for model, values_of in scores.items()
        for place, (value, day) in enumerate(zip(values_of, days, strict=True))
    ]
    return score.table(forecasts(rows))


def test_the_window_opens_thirty_days_after_the_cutoff_and_splits_at_its_median_day() -> None:
    days = [0, 29, 30, 40, 50, 60, 70]
    found = gap.naive_gap(timed({"A": [1, 1, 0.9, 0.8, 0.3, 0.2, 0.1]}, days), "A", cutoff=DAY)
    assert (found.first, found.boundary, found.clean_from) == ("2025-01-31", "2025-02-20", "2025-01-31")
    assert (found.raw.n_pre, found.raw.n_post) == (2, 3)
    assert found.raw.estimate == pytest.approx(0.85 - 0.2)
    assert "uninformative alone" in found.label
    around = gap.naive_gap(timed({"A": [0.1] * 7}, days), "A", boundary=DAY + 40, half_width=10)
    assert (around.raw.n_pre, around.raw.n_post) == (1, 1)
    with pytest.raises(BacktestError, match="no scored question"):
        gap.naive_gap(timed({"A": [0.1] * 7}, days), "A", cutoff=DAY + 60)


def test_a_matched_window_is_the_latest_models_for_all() -> None:
    days = list(range(0, 100, 10))
    table = timed({"A": [1.0] * 5 + [0.0] * 5, "B": [0.5] * 10}, days)
    found = gap.matched_window(table, {"A": DAY - 30, "B": DAY + 20})
    assert {(one.clean_from, one.boundary) for one in found} == {("2025-02-20", "2025-03-12")}
    assert [one.raw.estimate for one in found] == pytest.approx([0.0, 0.0])


def composed() -> score.ScoreTable:
    """Return questions that get harder for a constant: outcomes 0 before, and half of them 1 after."""
    rows = []
    for place in range(200):
        late = place >= 100
        outcome = float(late and place % 2)
        crowd = 0.5 if late else 0.25
        rows.append(
            {
                "question": f"q{place:03d}",
                "model": "A",
                "resolved_on": score.date(DAY + place * 3),
                "outcome": outcome,
                "crowd": crowd,
                "forecast": 0.15,
                "source": "market",
            }
        )
    return score.table(forecasts(rows))


def test_placebos_show_the_gap_that_the_mix_makes() -> None:
    table = composed()
    split = DAY + 300
    own = gap.naive_gap(table, "A", boundary=split)
    found = placebos.placebos(table, like="A", boundary=split)
    by_name = {one.name: one for one in found}
    assert list(by_name) == ["P = 0.1", "P = 0.15", "P = 0.2", "P = 0.5", "0.5·c0"]
    assert by_name["P = 0.15"].raw == own.raw
    late = 0.25 - (0.15**2 + 0.85**2) / 2
    assert own.raw.estimate == pytest.approx(0.25**2 - 0.15**2 - late)
    assert by_name["P = 0.5"].raw.estimate == pytest.approx(0.25**2 - 0.25)
    assert by_name["0.5·c0"].raw.estimate == pytest.approx(
        0.25**2 - 0.125**2 - (0.25 - (0.25**2 + 0.75**2) / 2)
    )
    assert by_name["P = 0.15"].standardised is not None
    assert by_name["P = 0.15"].standardised.gap.estimate is None
    held = placebos.could_be_composition(own.raw, found)
    assert held.passed is False
    assert "could be the mix of questions alone" in held.text
    assert placebos.could_be_composition(own.raw, []).passed is None


def test_the_control_like_the_target_is_chosen_without_looking_at_a_gap() -> None:
    draw = np.random.default_rng(0)
    outcome = (draw.random(300) < 0.4).astype(float)
    like = np.clip(0.4 + 0.3 * (outcome - 0.4) + draw.normal(scale=0.05, size=300), 0.01, 0.99)
    rows = [
        {
            "question": f"q{place:03d}",
            "model": model,
            "resolved_on": score.date(DAY + place),
            "outcome": outcome[place],
            "forecast": value[place],
            "source": "xy"[place % 2],
        }
        for model, value in {"T": like, "near": np.clip(like + 0.02, 0, 1), "far": np.full(300, 0.9)}.items()
        for place in range(300)
    ]
    table = score.table(forecasts(rows))
    ranked = control.profile_distance(table, "T", ["far", "near"], DAY)
    assert [one.control for one in ranked] == ["near", "far"]
    assert ranked[0].distance is not None
    assert ranked[1].sources == pytest.approx(
        np.mean([(table.column("T")[k::2].mean() - table.column("far")[k::2].mean()) ** 2 for k in (0, 1)])
    )
    assert control.choose_control(table, "T", ["far", "near"], DAY).control == "near"
    weak = control.control_checks(table, "T", "far", DAY, draws=200)
    assert weak.weak
    assert "may be a weak control" in weak.text
    fit = control.control_checks(table, "T", ["near"], DAY, draws=200)
    assert not fit.weak
    assert {gate.name for gate in fit.gates} == {"level", "parallel", "profile"}
    with pytest.raises(BacktestError, match="no question in common"):
        control.profile_distance(table, "T", ["near"], DAY + 400)
    with pytest.raises(BacktestError, match="its own control"):
        control.paired_did(table, "T", ["T"], DAY)
    with pytest.raises(BacktestError, match="no control is given"):
        control.paired_did(table, "T", [], DAY)


def test_a_difference_in_time_is_taken_on_common_questions_and_swept() -> None:
    days = list(range(-50, 50))
    target = [0.6 if day < 0 else 0.5 for day in days]
    table = timed({"T": target, "C": [0.4] * 100}, days)
    found = control.paired_did(table, "T", ["C"], DAY, half_width=20)
    assert found.raw.estimate == pytest.approx(0.1)
    assert (found.raw.n_pre, found.raw.n_post) == (20, 20)
    assert found.standardised is None
    first = control.paired_did(table, "T", ["C"], DAY, first=DAY - 10, last=DAY + 4, cells=np.arange(100) % 2)
    assert (first.raw.n_pre, first.raw.n_post) == (10, 5)
    swept = dict(control.sweep(table, "T", ["C"], DAY, reach=60, step=30, draws=50))
    assert [one - DAY for one in swept] == [-60, -30, 0, 30, 60]
    assert swept[DAY - 60].estimate is None
    assert swept[DAY].estimate == pytest.approx(0.1)
    assert swept[DAY + 30].estimate == pytest.approx(0.1 * 50 / 80)


def assert_near(one: GapEstimate, other: GapEstimate) -> None:
    """The same but for the last digit, which depends on how many rows the processor adds at a time."""
    for name, value in vars(one).items():
        expected = getattr(other, name)
        if name != "gates":
            assert value == (
                pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected
            ), name


def test_a_matrix_shows_the_jump_at_the_own_cutoff_alone() -> None:
    days = list(range(0, 300, 2))
    noise = np.random.default_rng(1).normal(scale=0.02, size=(4, 150))
    cuts = {"T1": 75, "T2": 150, "T3": 225}
    scores = {
        name: (0.5 + 0.1 * (np.array(days) < cut) + noise[k]).tolist()
        for k, (name, cut) in enumerate(cuts.items())
    }
    table = timed(scores | {"C": (0.5 + noise[3]).tolist()}, days)
    own = {name: DAY + cut for name, cut in cuts.items()}
    found = matrix.boundary_matrix(
        table, list(cuts), ["C"], cutoffs=own, half_width=40, grouping="question", draws=200, shuffles=200
    )
    assert found.boundaries == ("2025-03-17", "2025-05-31", "2025-08-14")
    cells = {(one.model, one.boundary): one for one in found.cells}
    assert len(cells) == 9
    for (model, boundary), one in cells.items():
        alone = control.paired_did(
            table, model, ["C"], score.day(boundary), half_width=40, grouping="question", draws=200
        )
        assert_near(one.gap, alone.raw)
        assert one.own == (score.date(DAY + cuts[model]) == boundary)
        assert one.gap.starred == one.own
        assert (one.dates is not None) == one.own
        if one.dates is not None:
            assert one.dates.p == pytest.approx(1 / 201)
    assert found.reassigned.p == pytest.approx(1 / 6)
    assert found.shuffled.p == pytest.approx(1 / 201)
    assert json.dumps(found.as_dict())
    with pytest.raises(BacktestError, match="needs a target, a control, and a boundary"):
        matrix.boundary_matrix(table, ["T1"], ["C"])


def write_sets(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write two question and two resolution sets in ForecastBench's form."""

    def entry(name: Any, frozen: str, value: str, source: str = "metaculus") -> dict[str, Any]:
        return {
            "id": name,
            "source": source,
            "question": f"Will {name}?",
            "resolution_criteria": "As the market does.",
            "url": "https://example.org",
            "freeze_datetime": f"{frozen}T00:00:00+00:00",
            "freeze_datetime_value": value,
        }

    def told(
        name: Any, on: str, value: float, resolved: bool = True, source: str = "metaculus"
    ) -> dict[str, Any]:
        return {
            "id": name,
            "source": source,
            "resolution_date": on,
            "resolved_to": value,
            "resolved": resolved,
        }

    asked = {
        "2025-03-16": [
            entry("a", "2025-03-06", "0.4"),
            entry("b", "2025-03-06", "0.2"),
            entry("c", "2025-03-06", "N/A"),
        ],
        "2025-03-02": [
            entry("a", "2025-02-20", "0.3"),
            entry("b", "2025-02-20", "1.0"),
            entry("d", "2025-02-20", "0.5"),
            entry("s", "2025-02-20", "3.1", "fred"),
            entry(["a", "b"], "2025-02-20", "N/A"),
        ],
    }
    known = {
        "2025-03-16": [
            told("a", "2025-05-02", 1.0),
            told("d", "2025-02-10", 1.0),
            told("e", "2025-06-01", 0.5),
        ],
        "2025-03-02": [
            told("a", "2025-05-01", 0.0),
            told("b", "2025-04-01", 0.0),
            told("c", "2025-08-01", 1.0),
            told("d", "2025-04-01", 0.7, resolved=False),
            told("f", "2025-04-01", 0.7, resolved=False),
            told("s", "2025-04-01", 1.0, source="fred"),
            told(["a", "b"], "2025-04-01", 1.0),
        ],
    }
    files: tuple[list[Path], list[Path]] = ([], [])
    for place, (key, sets) in enumerate((("questions", asked), ("resolutions", known))):
        for due, entries in sets.items():
            path = folder / f"{due}-{key}.json"
            path.write_text(json.dumps({"forecast_due_date": due, key: entries}), encoding="utf-8")
            files[place].append(path)
    return files


def test_questions_have_their_earliest_crowd_and_their_newest_resolution(tmp_path: Path) -> None:
    found = panel.build(*write_sets(tmp_path))
    rows = found.frame.set_index("question").to_dict("index")
    assert list(rows) == ["d", "b", "a", "c"]
    assert (rows["a"]["crowd"], rows["a"]["frozen_on"], rows["a"]["freezes"]) == (0.3, "2025-02-20", 2)
    assert (rows["a"]["outcome"], rows["a"]["resolved_on"]) == (1.0, "2025-05-02")
    assert (rows["a"]["revisions"], rows["a"]["revised_from"]) == (1, "0 on 2025-05-01")
    assert (rows["b"]["crowd"], rows["b"]["frozen_on"]) == (0.2, "2025-03-06")
    assert np.isnan(rows["c"]["crowd"])
    assert rows["c"]["text"] == "Will c?"
    assert np.isnan(rows["d"]["crowd"]), "frozen after the resolution"
    assert found.dropped == {
        "a combination of questions": 1,
        "not resolved": 1,
        "resolved to neither 0 nor 1": 1,
    }
    assert panel.counts_by_quarter(found.frame["resolved_on"]) == {"25Q1": 1, "25Q2": 2, "25Q3": 1}
    window = panel.build(*write_sets(tmp_path), first="2025-04-01", last="2025-06-30")
    assert set(window.frame["question"]) == {"a", "b"}


DUE = '{"forecast_due_date": "2025-01-01", "questions": '


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is no JSON"),
        ("[]", "found no list 'questions'"),
        (DUE + '[{"id": "a"}]}', "entry 1, 'source': found None; allowed is text"),
        (
            DUE + '[{"id": "a", "source": "infer", "freeze_datetime": "soon"}]}',
            "entry 1, 'freeze_datetime': found 'soon'",
        ),
    ],
)
def test_a_file_that_is_no_question_set_is_told(tmp_path: Path, content: str, told: str) -> None:
    _, known = write_sets(tmp_path)
    path = tmp_path / "set.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BacktestError) as caught:
        panel.build([path], known)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
