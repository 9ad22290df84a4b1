"""A user's own tables: what is taken, and what every fault is told, with file, line, column, found and allowed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import choice, fed_changes, own
from anachron.sources.contracts import CONTRACTS

TODAY = dt.date(2026, 3, 15)

FRENCH = """factor,month,value_pct,crsp_stamp,source_file
SMB,2025-02,-59.9,202503,mine.csv
SMB,2025-01,1.25,202503,mine.csv
RF,2025-01,,202503,mine.csv
"""
YAHOO = """ticker,month,session,close_quoted,close_adjusted,split_factor,fetched_at
CL=F,2020-04,2020-04-30,-37.63,-37.63,1,2026-01-01T00:00:00Z
NEW,2020-04,2020-04-30,,,,2026-01-01T00:00:00Z
"""
FED = """month,decision_date,effective_date,target_upper,outcome
2026-01,,,3.75,unchanged
2026-02,2026-02-28,2026-03-01,3.50,lowered
"""
ALFRED = """series_id,reference_period,published,value,unit,vintage_end,first_release
UNRATE,2020-04-01,2020-05-08,14.7,percent,2021-01-07,true
UNRATE,2020-04-01,2021-01-08,14.8,percent,9999-12-31,false
"""
GOOD = {"french": FRENCH, "yahoo": YAHOO, "fed": FED, "alfred": ALFRED}


def read(folder: Path, source: str, text: str) -> pd.DataFrame:
    path = folder / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return own.read(path, source, today=TODAY)


@pytest.mark.parametrize("source", sorted(GOOD))
def test_a_good_table_fulfils_the_contract_and_parquet_gives_the_same(tmp_path: Path, source: str) -> None:
    found = read(tmp_path, source, GOOD[source])
    assert len(found) == GOOD[source].count("\n") - 1
    frames.write(found, tmp_path / "mine.parquet", CONTRACTS[source])
    pd.testing.assert_frame_equal(own.read(tmp_path / "mine.parquet", source, today=TODAY), found)


def test_order_of_columns_and_rows_a_mark_and_windows_lines_do_not_matter(tmp_path: Path) -> None:
    found = read(tmp_path, "french", GOOD["french"])
    assert found["month"].tolist() == ["2025-01", "2025-01", "2025-02"]
    assert found["value_pct"].isna().tolist() == [True, False, False]
    lines = [",".join(reversed(line.split(","))) for line in GOOD["french"].splitlines()]
    turned = ["", lines[0], "", *reversed(lines[1:]), ""]
    other = read(tmp_path, "french", "\ufeff" + "\r\n".join(turned))
    pd.testing.assert_frame_equal(other, found)


def test_the_embedded_changes_pass_as_a_users_own(tmp_path: Path) -> None:
    table = fed_changes.monthly(fed_changes.announced(), "2025-12-31")
    table.to_csv(tmp_path / "mine.csv", index=False)
    pd.testing.assert_frame_equal(
        own.read(tmp_path / "mine.csv", "fed", today=TODAY), table, check_dtype=False
    )


@pytest.mark.parametrize(
    ("source", "old", "new", "told"),
    [
        (
            "french",
            "value_pct",
            "value",
            "line 1: no column 'value_pct' (found 'value': rename it); a column 'value' too",
        ),
        ("french", "crsp_stamp", "month", "line 1: no column 'crsp_stamp'; column 'month' stands twice"),
        (
            "french",
            "1.25",
            "1,25",
            "line 3: found 6 cells; allowed is 5, as many as columns (a decimal comma makes",
        ),
        (
            "french",
            "1.25",
            "1.25%",
            "line 3, column 'value_pct': found '1.25%'; allowed is a number with a decimal point",
        ),
        ("french", "1.25", "inf", "line 3, column 'value_pct': found 'inf'; allowed is a number"),
        (
            "french",
            "1.25",
            "125",
            "line 3, column 'value_pct': found '125.0'; allowed is percent a month within ±60",
        ),
        (
            "french",
            "2025-01,1",
            "2025-13,1",
            "line 3, column 'month': found '2025-13'; allowed is a month, YYYY-MM",
        ),
        (
            "french",
            "2025-01,1",
            "2025-02,1",
            "line 3, column 'source_file+factor+month': found 'mine.csv, SMB, 2025-02'; "
            "allowed is each once; it stands on line 2 too",
        ),
        (
            "french",
            "2025-02",
            "2025-04",
            "line 2, column 'month': found '2025-04'; allowed is up to the CRSP build, 202503",
        ),
        (
            "french",
            "2025-02,-59.9,202503",
            "2026-04,1,202604",
            "line 2, column 'month': found '2026-04'; allowed is up to today, 2026-03-15",
        ),
        ("french", "SMB,2025-02", ",2025-02", "line 2, column 'factor': found nothing; allowed is text"),
        (
            "yahoo",
            "2020-04-30,-",
            "2020-04-31,-",
            "line 2, column 'session': found '2020-04-31'; allowed is a day of the calendar",
        ),
        (
            "yahoo",
            "2020-04-30,-",
            "2020-05-01,-",
            "line 2, column 'session': found '2020-05-01'; allowed is 2020-04-30, the last",
        ),
        (
            "yahoo",
            "2020-04-30,-",
            "2020-04-29,-",
            "line 2, column 'session': found '2020-04-29'; allowed is 2020-04-30, the last session of 2020-04",
        ),
        (
            "yahoo",
            "37.63,1,",
            "37.63,0,",
            "line 2, column 'split_factor': found '0.0'; allowed is more than 0",
        ),
        (
            "yahoo",
            "37.63,1,",
            "37.63,,",
            "line 2, column 'split_factor': found nothing; allowed is the product of later",
        ),
        (
            "fed",
            "lowered",
            "cut",
            "line 3, column 'outcome': found 'cut'; allowed is one of raised, lowered, unchanged",
        ),
        (
            "fed",
            "lowered",
            "raised",
            "line 3, column 'outcome': found 'raised'; allowed is lowered: the target moved by -0.25",
        ),
        ("fed", "3.50", "375", "line 3, column 'target_upper': found '375.0'; allowed is percent, 0 to 25"),
        (
            "fed",
            "3.50",
            "3.7475",
            "line 3, column 'target_upper': found '3.7475'; allowed is percent: no step is under",
        ),
        (
            "fed",
            "2026-01,",
            "2025-12,",
            "line 3, column 'month': found '2026-02'; allowed is the month after the one before",
        ),
        (
            "fed",
            "02-28,",
            "01-28,",
            "line 3, column 'decision_date': found '2026-01-28'; allowed is a day of 2026-02",
        ),
        (
            "fed",
            "03-01",
            "02-27",
            "line 3, column 'effective_date': found '2026-02-27'; allowed is the day of decision",
        ),
        ("alfred", "true", "yes", "line 2, column 'first_release': found 'yes'; allowed is true or false"),
        (
            "alfred",
            "14.7,",
            ",",
            "line 2, column 'value': found nothing; allowed is a number in a first release",
        ),
        (
            "alfred",
            "2021-01-07",
            "2020-01-07",
            "line 2, column 'vintage_end': found '2020-01-07'; allowed is 2020-05-08",
        ),
        (
            "alfred",
            "2020-05-08",
            "2020-03-08",
            "line 2, column 'published': found '2020-03-08'; allowed is 2020-04-01",
        ),
        (
            "alfred",
            "2020-04-01,2020",
            "2020-04-02,2020",
            "line 2, column 'reference_period': found '2020-04-02'; allowed is "
            "the first day of a month, YYYY-MM-01",
        ),
        (
            "alfred",
            "2021-01-08",
            "2026-03-16",
            "line 3, column 'published': found '2026-03-16'; allowed is up to today",
        ),
        ("alfred", "14.8,percent", '14.8,"percent', "line 3: unexpected end of data"),
        ("yahoo", "NEW,", "N\x00W,", r"line 3, column 'ticker': found 'N\x00W'; allowed is text on one line"),
        (
            "yahoo",
            "-37.63,-",
            "$37.63,-",
            "line 2, column 'close_quoted': found '$37.63'; allowed is a number",
        ),
        *(
            (
                "yahoo",
                "2020-04-30,-",
                f"{day},-",
                f"line 2, column 'session': found '{day}'; allowed is a day, YYYY-MM-DD",
            )
            for day in ("30/04/2020", "04/30/2020", "2020/04/30", "20200430", "2020-04-30 00:00:00")
        ),
        (
            "alfred",
            "2021-01-07",
            "9999-12-31",
            "line 2, column 'vintage_end': found '9999-12-31'; allowed is a day before 2021-01-08, when the next",
        ),
        (
            "alfred",
            "9999-12-31",
            "2026-03-16",
            "line 3, column 'vintage_end': found '2026-03-16'; allowed is up to today, 2026-03-15, or 9999-12-31",
        ),
        (
            "alfred",
            "31,false",
            "31,true",
            "line 3, column 'first_release': found 'True'; allowed is false: another value was published on 2020-05-08",
        ),
        (
            "alfred",
            "14.8,percent",
            "0.148,fraction",
            "line 3, column 'unit': found 'fraction'; allowed is percent, one unit per series",
        ),
        (
            "french",
            "SMB,2025-02",
            "Smb,2025-02",
            "line 2, column 'factor': found 'Smb'; allowed is one of CMA",
        ),
        (
            "fed",
            "2026-02-28,2026-03-01",
            ",",
            "line 3, column 'decision_date': found nothing; allowed is the day on which the target was lowered",
        ),
    ],
)
def test_each_fault_names_file_line_column_found_and_allowed(
    tmp_path: Path, source: str, old: str, new: str, told: str
) -> None:
    assert old in GOOD[source]
    with pytest.raises(SourceError) as caught:
        read(tmp_path, source, GOOD[source].replace(old, new, 1))
    assert f"{tmp_path / 'mine.csv'}: {told}" in str(caught.value)
    faults = [line.split(": found")[0] for line in str(caught.value).splitlines() if ": found" in line]
    assert len(faults) == len(set(faults))  # a cell is told once


def test_factors_in_decimals_are_told(tmp_path: Path) -> None:
    rows = [
        f"HML,{2000 + n // 12}-{n % 12 + 1:02d},{0.01 * (n % 5 - 2):.4f},200512,mine.csv" for n in range(60)
    ]
    with pytest.raises(SourceError, match=r"line 2, .*allowed is percent: no month of HML leaves ±1"):
        read(tmp_path, "french", "\n".join([FRENCH.splitlines()[0], *rows, ""]))


def test_many_faults_are_counted_and_the_first_dozen_told(tmp_path: Path) -> None:
    rows = [f"SMB,2025-01,x{n},202503,f{n}" for n in range(40)]
    with pytest.raises(SourceError) as caught:
        read(tmp_path, "french", "\n".join([FRENCH.splitlines()[0], *rows, ""]))
    assert len(str(caught.value).splitlines()) == 13
    assert str(caught.value).endswith("… and 28 more")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("mine.csv", None, "no such file"),
        ("mine.xlsx", b"PK", r"ends in '\.xlsx'; allowed is \.csv or \.parquet"),
        ("mine.csv", b"", "is empty; allowed is a header with factor, month"),
        ("mine.csv", FRENCH.replace(",", ";").encode(), "cells are separated by ';'; allowed are commas"),
        ("mine.csv", FRENCH.splitlines()[0].encode(), "holds no row below its header"),
        ("mine.csv", FRENCH.encode("utf-16"), "byte 0 is not UTF-8"),
        ("mine.csv", b"PK\x03\x04\x00", "line 1"),
        ("mine.parquet", b"PAR1half", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_is_told(tmp_path: Path, name: str, content: bytes | None, told: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Exception, match=told) as caught:
        own.read(path, "french", today=TODAY)
    assert str(path) in str(caught.value)


def test_parquet_rows_are_counted_from_one_and_days_may_be_days(tmp_path: Path) -> None:
    table = read(tmp_path, "yahoo", YAHOO)
    days = table.assign(session=pd.to_datetime(table["session"]))
    days.to_parquet(tmp_path / "days.parquet")
    pd.testing.assert_frame_equal(own.read(tmp_path / "days.parquet", "yahoo", today=TODAY), table)
    days.assign(close_quoted=["1.0", "dear"]).to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(SourceError, match=r"bad\.parquet: row 2, column 'close_quoted': found 'dear'"):
        own.read(tmp_path / "bad.parquet", "yahoo", today=TODAY)


def test_what_was_noted_of_a_fetched_table_goes_with_it(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.csv", tmp_path / "alfred.parquet"
    mine.write_text(ALFRED)
    out.with_suffix(".json").write_text('{"series": {}, "table_sha256": "of another table"}')
    own.bring(mine, "alfred", out, today=TODAY)
    table, known = choice.read_vintages(out)
    assert len(table) == 2 and known == {"UNRATE": "2021-01-08"}


def test_the_command_replaces_only_what_is_good(tmp_path: Path) -> None:
    run, mine, out = CliRunner(), tmp_path / "mine.csv", tmp_path / "fed.parquet"
    mine.write_text(FED)
    done = run.invoke(app, ["fetch", "own", str(mine), "--source", "fed", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "2 rows of" in done.output
    before = out.read_bytes()
    mine.write_text(FED.replace("lowered", "cut"))
    bad = run.invoke(app, ["fetch", "own", str(mine), "--source", "fed", "-o", str(out)])
    assert bad.exit_code == 1
    assert out.read_bytes() == before
    assert "these are: alfred, fed, french, yahoo" in str(
        run.invoke(app, ["fetch", "own", str(mine), "--source", "bloomberg"]).exception
    )
