"""Tables of forecasts: what is taken, and what every fault is told, with row, column, value and what is allowed."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pandas as pd
import pytest

from anachron.backtest import reader
from anachron.backtest.contract import Forecasts
from anachron.errors import AnachronError, BacktestError

TODAY = dt.date(2026, 3, 15)
HEAD = "question,resolved_on,outcome,forecast,model,crowd,frozen_on,source,cutoff,role"
GOOD = f"""{HEAD}
q2,2026-01-05,0,0.25,A,0.5,2025-12-01,polls,2025-06-30,target
q1,2025-02-01,1,0.75,A,,,market,2025-06-30,target
q1,2025-02-01,1,0.5,B,,,market,,control
"""


def read(folder: Path, text: str, **options: object) -> reader.Backtest:
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return reader.read(path, **({"today": TODAY, "file_date": TODAY} | options))  # type: ignore[arg-type]


def fault(folder: Path, text: str, **options: object) -> str:
    with pytest.raises(BacktestError) as caught:
        read(folder, text, **options)
    return str(caught.value)


def test_a_good_table_keeps_its_contract_and_parquet_gives_the_same(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    frame = found.frame
    assert (found.kind, found.warnings) == ("forecast", ())
    assert found.given == {"crowd", "frozen_on", "source", "cutoff", "role"}
    assert frame[["model", "question"]].to_numpy().tolist() == [["A", "q1"], ["A", "q2"], ["B", "q1"]]
    assert frame["cluster"].tolist() == ["market 2025-02", "polls 2026-01", "market 2025-02"]
    assert list(frame.columns) == list(Forecasts.to_schema().columns)
    typed = pd.read_csv(tmp_path / "mine.csv", parse_dates=["resolved_on"])
    typed.to_parquet(tmp_path / "mine.parquet")
    again = reader.read(tmp_path / "mine.parquet", today=TODAY, file_date=TODAY)
    pd.testing.assert_frame_equal(again.frame, frame)


def test_order_a_mark_and_windows_lines_do_not_matter(tmp_path: Path) -> None:
    lines = [",".join(reversed(line.split(","))) for line in GOOD.splitlines()]
    other = read(tmp_path, "\ufeff" + "\r\n".join([lines[0], "", *reversed(lines[1:]), ""]))
    pd.testing.assert_frame_equal(other.frame, read(tmp_path, GOOD).frame)


def test_without_a_source_the_month_is_the_cluster_and_a_given_cluster_stands(tmp_path: Path) -> None:
    bare = "question,resolved_on,outcome,forecast,model\nq,2025-02-01,1,0.5,A\n"
    assert read(tmp_path, bare).frame["cluster"].tolist() == ["2025-02"]
    given = bare.replace("model\n", "model,cluster\n").replace("A\n", "A,war\n")
    assert read(tmp_path, given).frame["cluster"].tolist() == ["war"]


def test_scores_stand_in_place_of_forecasts(tmp_path: Path) -> None:
    found = read(tmp_path, "question,resolved_on,score,model\n7,2025-02-01,0.4,A\n")
    assert found.kind == "score"
    assert found.frame["question"].tolist() == ["7"]
    assert found.frame["score"].tolist() == [0.4]
    assert found.frame[["forecast", "outcome"]].isna().all().all()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("0.25", "25", "line 2, column 'forecast': found '25'; allowed is a fraction from 0 to 1; 1 cells lie above 1"),
        ("0.25", "25%", "column 'forecast': found '25%'"),
        ("0.25", "25%", "0.63 for 63 %"),
        ("0.25", '"0,25"', "not a decimal comma"),
        ("0.25", "-0.25", "line 2, column 'forecast': found '-0.25'; allowed is a number from 0 to 1"),
        ("0.25", "refused", "leave the cell empty where the model gave no probability"),
        ("0.5,2025-12", "50,2025-12", "line 2, column 'crowd': found '50'"),
        ("0.5,2025-12", "inf,2025-12", "column 'crowd': found 'inf'"),
        ("2026-01-05", "2026-03-16", "line 2, column 'resolved_on': found '2026-03-16'; allowed is up to today"),
        ("2026-01-05", "2026-01-32", "column 'resolved_on': found '2026-01-32'; allowed is a day of the calendar"),
        ("2026-01-05", "05.01.2026", "a day of the calendar, YYYY-MM-DD"),
        ("2026-01-05", "", "line 2, column 'resolved_on': found nothing; allowed is a value in every row"),
        ("2025-12-01", "2026-02-01", "line 2, column 'frozen_on': found '2026-02-01'; allowed is up to 2026-01-05"),
        ("2026-01-05,0", "2026-01-05,0.4", "column 'outcome': found '0.4'; allowed is 0 or 1; a bounded score"),
        ("2026-01-05,0", "2026-01-05,", "leave out questions that are not resolved"),
        ("B,,,market,,control", "A,,,market,2025-06-30,target", "'A, q1, 0'; allowed is each once; it stands on"),
        ("1,0.5,B", "0,0.5,B", "allowed is one value for all rows of question 'q1'; line 3 has 1.0"),
        ("2025-02-01,1,0.5", "2025-03-01,1,0.5", "one value for all rows of question 'q1'; line 3 has 2025-02-01"),
        ("market,2025-06-30", "market,2025-06-29", "'2025-06-29'; allowed is one value for all rows of model 'A'"),
        ("control", "placebo", "line 4, column 'role': found 'placebo'; allowed is target or control"),
        (",polls,", ",,", "allowed is a value in every row; or leave the whole column out"),
        ("forecast", "forcast", "no column 'forecast' (found 'forcast': rename it)"),
        ("crowd", "crowed", "column 'crowed' is none that is read (for 'crowd'?"),
        ("crowd", "model", "column 'model' stands twice"),
        (",", ";", "cells are separated by ';'"),
        ("0.25,A", "0,25,A", "line 2: found 11 cells; allowed is 10"),
    ],
)  # fmt: skip
def test_a_fault_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    number = -1 if old == "," else 1
    assert told in fault(tmp_path, GOOD.replace(old, new, number))


def test_percent_among_fractions_are_told_apart_from_a_column_in_percent(tmp_path: Path) -> None:
    rows = [f"q{one},2025-02-01,1,{one if one > 40 else 0.5},A" for one in range(1, 61)]
    head = "question,resolved_on,outcome,forecast,model\n"
    mixed = fault(tmp_path, head + "\n".join(rows))
    assert "20 cells lie above 1 like percent, while 40 others lie between 0 and 1" in mixed
    assert "line 42, column 'forecast'" in mixed
    whole = fault(tmp_path, head + "\n".join(row.replace("0.5,", "50,") for row in rows))
    assert "60 cells lie above 1 like percent; divide percent by 100" in whole
    assert len(whole.splitlines()) == 1


def test_no_outcome_was_known_before_the_file_was_written(tmp_path: Path) -> None:
    told = fault(tmp_path, GOOD, file_date=dt.date(2026, 1, 4))
    assert "'2026-01-05'; allowed is up to the day the file was written, 2026-01-04" in told
    path = tmp_path / "mine.csv"
    os.utime(path, (0, dt.datetime(2026, 1, 4, tzinfo=dt.UTC).timestamp()))
    with pytest.raises(BacktestError, match="2026-01-04"):
        reader.read(path, today=TODAY)
    os.utime(path, (0, 0))
    assert len(reader.read(path, today=TODAY).frame) == 3


def test_what_is_allowed_and_should_be_known_is_a_warning_with_a_count(tmp_path: Path) -> None:
    text = (
        "question,resolved_on,outcome,forecast,model,paraphrase,note\n"
        "q1,2025-02-01,1,1,A,0,x\nq1,2025-02-01,1,,A,1,x\nq1,2025-02-02,1,0.5,B,0,x\n"
        "q2,2025-02-01,0,0,A,0,x\nq3,2025-02-01,0,0.5,A,2,x\n"
    )
    found = read(tmp_path, text)
    told = "\n".join(found.warnings)
    assert "2 of 4 forecasts are exactly 0 or 1" in told
    assert "forecasts that are missing, by model: A 1" in told
    assert "columns that are not read: note" in told
    assert "1 questions have resolution days a day apart" in told
    assert "1 questions have paraphrases and no original wording" in told
    assert set(found.frame.loc[found.frame["question"] == "q1", "resolved_on"]) == {"2025-02-01"}


def test_roles_and_cutoffs_beside_the_file_take_the_place_of_its_own(tmp_path: Path) -> None:
    frame = read(tmp_path, GOOD, target="B", controls=["A"], cutoffs={"B": "2025-01-31"}).frame
    by_model = frame.drop_duplicates("model").set_index("model")
    assert by_model["role"].to_dict() == {"A": "control", "B": "target"}
    assert by_model["cutoff"].to_dict() == {"A": "2025-06-30", "B": "2025-01-31"}
    assert "did you mean 'Alpha'" in fault(tmp_path, GOOD.replace(",A,", ",Alpha,"), target="Alpa")
    assert "allowed is a day" in fault(tmp_path, GOOD, cutoffs={"A": "June 2025"})
    assert "as target and as control" in fault(tmp_path, GOOD, target="A", controls=["A"])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("none.csv", None, "no such file"),
        ("mine.xlsx", b"x", "'.xlsx'; allowed is .csv or .parquet"),
        ("mine.csv", b"", "is empty"),
        ("mine.csv", HEAD.encode() + b"\n", "holds no row below its header"),
        ("mine.csv", HEAD.encode() + b"\n\xff", "is not UTF-8"),
        ("mine.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_a_file_that_is_none_is_told(tmp_path: Path, name: str, content: bytes | None, told: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AnachronError) as caught:
        reader.read(path, today=TODAY)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_dozen_faults_are_told_and_the_rest_counted(tmp_path: Path) -> None:
    rows = "".join(f"q{one},2025-13-01,1,0.5,A\n" for one in range(20))
    told = fault(tmp_path, "question,resolved_on,outcome,forecast,model\n" + rows)
    assert len(told.splitlines()) == 13
    assert told.endswith("… and 8 more")
