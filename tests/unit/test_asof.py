"""What a table of vintages refuses to tell, and whose values count as latest."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from anachron import frames
from anachron.errors import ContractError, SourceError
from anachron.files import sha256_file
from anachron.sources import asof
from anachron.sources.contracts import Alfred

COLUMNS = list(Alfred.to_schema().columns)
TABLE = pd.DataFrame(
    [
        ("A", "2020-01-01", "2020-02-07", 1.0, "percent", "2020-03-05", True),
        ("A", "2020-01-01", "2020-03-06", 1.5, "percent", "2020-05-31", False),
        ("A", "2020-01-01", "2020-06-01", 2.0, "percent", "9999-12-31", False),
        ("A", "2020-02-01", "2020-03-06", 3.0, "percent", "2020-04-09", True),
        ("A", "2020-02-01", "2020-04-10", math.nan, "percent", "9999-12-31", False),
    ],
    columns=COLUMNS,
)
KNOWN = {"A": "2020-06-30"}


def panel(date: str, **more: str) -> list:
    found = asof.alfred_panel(TABLE, KNOWN, ["A"], [date], **more).iloc[0]
    return found[["reference_period", "published", "value", "latest_value"]].tolist()


def test_a_value_that_was_taken_back_is_no_longer_the_newest() -> None:
    assert panel("2020-04-09") == ["2020-02-01", "2020-03-06", 3.0, 3.0]
    assert panel("2020-04-10") == ["2020-01-01", "2020-03-06", 1.5, 2.0]
    assert asof.revisions(TABLE, "A")["latest_value"].isna().tolist() == [False, True]


def test_latest_values_can_be_those_of_a_day() -> None:
    assert panel("2020-02-10") == ["2020-01-01", "2020-02-07", 1.0, 2.0]
    assert panel("2020-02-10", latest_on="2020-05-31") == ["2020-01-01", "2020-02-07", 1.0, 1.5]
    with pytest.raises(
        SourceError, match="decision date 2020-06-02 is later than 2020-06-01, the day whose values"
    ):
        panel("2020-06-02", latest_on="2020-06-01")


def test_what_is_not_known_is_an_error() -> None:
    with pytest.raises(
        SourceError, match=r"'A', decision date 2020-02-06: nothing was known by then; .*2020-02-07"
    ):
        panel("2020-02-06")
    with pytest.raises(
        SourceError, match="'A', decision date 2020-07-01: its vintages are known up to 2020-06-30"
    ):
        panel("2020-07-01")
    with pytest.raises(SourceError, match="has no series 'B'; it has A"):
        asof.as_of(TABLE, "B", "2020-06-30")


def test_a_table_of_ones_own_vouches_for_itself_up_to_its_newest_publication(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    frames.write(TABLE, path, Alfred)
    table, known = asof.read(path)
    pd.testing.assert_frame_equal(table, frames.check(TABLE, Alfred, "own"))
    assert known == {"A": "2020-06-01"}
    note = {"series": {"A": {"known_until": "2020-06-20"}}, "table_sha256": sha256_file(path)}
    path.with_suffix(".json").write_text(json.dumps(note))
    assert asof.read(path)[1] == {"A": "2020-06-20"}
    frames.write(TABLE.iloc[:3], path, Alfred)
    with pytest.raises(SourceError, match=r"is not the table that mine\.json was written for"):
        asof.read(path)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("vintage_end", "2020-02-06", "vintage_end is before published, first at row 0"),
        ("published", "2019-12-31", "published before the period it is about begins, first at row 0"),
        ("value", math.nan, "a first release without a value, first at row 0"),
        (
            "reference_period",
            "2020-01-15",
            r"'reference_period': str_matches.*at row 0: found '2020-01-15'",
        ),
        ("value", "much", "column 'value'.*found 'much'"),
    ],
)
def test_a_table_that_breaks_the_contract_names_row_and_column(column: str, value: object, told: str) -> None:
    broken = TABLE.astype({"value": object})
    broken.loc[0, column] = value
    with pytest.raises(ContractError, match=told):
        frames.check(broken, Alfred, "mine.csv")
