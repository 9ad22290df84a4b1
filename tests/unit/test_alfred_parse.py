"""Reading FRED's answers: XML and JSON say the same, spans join as if asked at once, faults name their place."""

from __future__ import annotations

import json
import math

import fred
import pandas as pd
import pytest

from anachron.errors import SourceError
from anachron.sources import alfred_parse, alfred_table

HERE = "ALFRED, A, file"
INFO = alfred_parse.Info("A", "Percent", "SA", "M", "2020-01-01")
ROWS = [
    {"realtime_start": "2020-02-07", "realtime_end": "2020-03-05", "date": "2020-01-01", "value": "3.6"},
    {"realtime_start": "2020-03-06", "realtime_end": "9999-12-31", "date": "2020-01-01", "value": "-36.98"},
    {"realtime_start": "2020-03-06", "realtime_end": "9999-12-31", "date": "2020-02-01", "value": "."},
]


def body(rows: list, tag: str = "observation", form: str = "xml", **head: int) -> bytes:
    return fred.render(tag, {"count": len(rows), "offset": 0, "limit": 100_000, **head}, rows, form)


def changed(place: int, **values: str) -> bytes:
    rows = [dict(row) for row in ROWS]
    rows[place].update(values)
    return body(rows)


def frame(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["date", "start", "end", "value"])


@pytest.mark.parametrize("form", ["xml", "json"])
def test_values_below_zero_are_legal_and_a_dot_is_missing(form: str) -> None:
    found = alfred_parse.observations([body(ROWS, form=form)], HERE)
    assert found["value"].tolist()[:2] == [3.6, -36.98]
    assert math.isnan(found["value"].iloc[2])
    assert found["end"].tolist() == ["2020-03-05", "9999-12-31", "9999-12-31"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (body(ROWS)[: len(body(ROWS)) // 2], r"not XML, or cut short: \d+ bytes"),
        (body(ROWS, form="json")[:150], "not JSON, or cut short"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "the answer is a web page"),
        (b"<html><head/><body>maintenance</body></html>", "the answer is a web page"),
        (b"", "not XML, or cut short: 0 bytes"),
        (b'{"error_code":400,"error_message":"Bad Request.  No."}', "FRED says 'Bad Request.  No.'"),
        (b'<error code="400" message="Bad Request.  No."/>', "FRED says 'Bad Request.  No.'"),
        (b"<vintage_dates count='0' offset='0' limit='1'/>", "lists no observation"),
        (b'{"observations": [1], "count": 1}', "lists what is no observation"),
        (body(ROWS, count=4), "says it holds 4 of 4 rows from row 0, but holds 3"),
        (body(ROWS, count=7, limit=3), "3 rows came, 7 were announced"),
        (body(ROWS, offset=3, count=6), "a page begins at row 3 of 6 where row 0"),
        (b"<observations count='many'/>", "is no number"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><observations/>', "not XML"),
        (changed(1, value="n/a"), "row 1, 2020-01-01: the value is 'n/a'"),
        (changed(1, value="inf"), "row 1, 2020-01-01: the value is 'inf'"),
        (changed(2, date="2020-13-01"), "row 2: date is '2020-13-01', which is no date"),
        (changed(1, realtime_start=""), "row 1: realtime_start is '', which is no date"),
        (changed(1, realtime_start="2020-02-07"), "2020-01-01 has two values at once"),
        (changed(0, realtime_end="2020-02-06"), "ends before it begins"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_its_place(content: bytes, told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        alfred_parse.observations([content], HERE)
    assert str(caught.value).startswith(HERE)


@pytest.mark.parametrize(
    ("dates", "told"),
    [
        (["2020-02-07", "2020-02-07"], "vintage 2020-02-07 follows 2020-02-07"),
        (["2020-02-07", "today"], "vintage 1 is 'today'"),
        ([], "no vintage at all"),
    ],
)
def test_vintage_dates_stand_once_and_in_order(dates: list[str], told: str) -> None:
    with pytest.raises(SourceError, match=told):
        alfred_parse.vintage_dates([body(dates, "vintage_date")], HERE)
    good = ["2020-02-07", "2020-03-06"]
    pages = [
        body(good[:1], "vintage_date", count=2, limit=1),
        body(good[1:], "vintage_date", count=2, offset=1, limit=1),
    ]
    assert alfred_parse.vintage_dates(pages, HERE) == good


def test_another_series_than_the_one_asked_for_is_refused() -> None:
    about = {
        "id": "NEW",
        "units": "Percent",
        "seasonal_adjustment_short": "SA",
        "frequency_short": "M",
        "observation_end": "2020-01-01",
    }
    content = json.dumps({"seriess": [about]}).encode()
    assert alfred_parse.info(content, "NEW", HERE).units == "Percent"
    with pytest.raises(
        SourceError, match="asked for OLD, the answer is about NEW; the series may have been renamed"
    ):
        alfred_parse.info(content, "OLD", HERE)
    with pytest.raises(SourceError, match="does not say the series' units"):
        alfred_parse.info(json.dumps({"seriess": [{**about, "units": ""}]}).encode(), "NEW", HERE)


def test_spans_hold_the_allowed_number_of_vintages_and_leave_no_day_out() -> None:
    dates = [f"2020-01-{day:02d}" for day in range(1, 8)]
    assert alfred_parse.windows(dates, 7) == [("1776-07-04", "9999-12-31")]
    assert alfred_parse.windows(dates, 3) == [
        ("1776-07-04", "2020-01-03"),
        ("2020-01-04", "2020-01-06"),
        ("2020-01-07", "9999-12-31"),
    ]


def test_an_edge_of_a_span_is_no_publication() -> None:
    parts = [
        frame(
            ("2020-01-01", "2020-02-07", "2020-03-05", 3.6), ("2020-02-01", "2020-03-01", "2020-03-05", 3.5)
        ),
        frame(
            ("2020-01-01", "2020-03-06", "9999-12-31", 3.6), ("2020-02-01", "2020-03-06", "9999-12-31", 3.7)
        ),
    ]
    joined = alfred_parse.stitch(parts, ["2020-02-07", "2020-03-01", "2020-03-06"], HERE)
    assert joined.values.tolist() == [
        ["2020-01-01", "2020-02-07", "9999-12-31", 3.6],
        ["2020-02-01", "2020-03-01", "2020-03-05", 3.5],
        ["2020-02-01", "2020-03-06", "9999-12-31", 3.7],
    ]
    with pytest.raises(
        SourceError, match="the value of 2020-02-01 begins on 2020-03-06, which is no vintage date"
    ):
        alfred_parse.stitch(parts, ["2020-02-07", "2020-03-01"], HERE)


def test_old_periods_are_no_first_releases() -> None:
    rows = frame(
        ("2019-12-01", "2020-02-07", "9999-12-31", 3.5),
        ("2020-01-01", "2020-02-07", "2020-03-05", 3.6),
        ("2020-01-01", "2020-03-06", "9999-12-31", 3.7),
        ("2020-02-01", "2020-03-06", "9999-12-31", 3.8),
        ("2020-03-01", "2020-08-01", "9999-12-31", 4.4),
        ("2020-04-01", "2020-05-08", "2020-06-04", math.nan),
        ("2020-04-01", "2020-06-05", "9999-12-31", 14.7),
    )
    found = alfred_table.first_releases(rows, "2020-02-07", (31, 80))
    # January stood on the day coverage began; March came too late to be the publication; April's dot is none.
    assert rows.loc[found, ["date", "start"]].values.tolist() == [
        ["2020-02-01", "2020-03-06"],
        ["2020-04-01", "2020-06-05"],
    ]


@pytest.mark.parametrize(
    ("units", "seasonal", "words"),
    [
        ("Index 1982-1984=100", "SA", "index"),
        ("Index 2017=100", "SA", "index"),
        ("Billions of Chained 2017 Dollars", "SAAR", "billions of chained dollars, annual rate"),
        ("Thousands of Units", "SAAR", "thousands of units, annual rate"),
        ("Thousands of Persons", "SA", "thousands of persons"),
        ("Millions of Dollars", "SA", "millions of dollars"),
        ("Percent", "NSA", "percent"),
        ("U.S. Dollars to One Euro", "NSA", "U.S. Dollars to One Euro"),
    ],
)
def test_units_name_no_base_year(units: str, seasonal: str, words: str) -> None:
    assert alfred_table.unit(alfred_parse.Info("A", units, seasonal, "M", "2020-01-01")) == words


@pytest.mark.parametrize(
    ("rows", "about", "told"),
    [
        (
            frame(("2020-01-02", "2020-01-03", "9999-12-31", 1.9)),
            alfred_parse.Info("DGS10", "Percent", "NSA", "D", "2020-01-02"),
            "frequency 'D' is not read; ask for GS10, its monthly average",
        ),
        (frame(("2020-01-15", "2020-02-07", "9999-12-31", 1.9)), INFO, "2020-01-15 is no first of a month"),
        (frame(("2020-03-01", "2020-02-07", "9999-12-31", 1.9)), INFO, "before the period begins"),
    ],
)
def test_series_that_cannot_be_periods_are_refused(
    rows: pd.DataFrame, about: alfred_parse.Info, told: str
) -> None:
    with pytest.raises(SourceError, match=told):
        alfred_table.tabulate(rows, ["2020-01-03", "2020-02-07"], about, HERE)


def test_weeks_are_averaged_over_the_month_they_end_in() -> None:
    def week(day: str, value: float, end: str = "9999-12-31", start: str | None = None) -> tuple:
        return (day, start or day, end, value)

    rows = frame(
        week("2019-12-26", 3.74),
        week("2020-01-02", 3.72),
        week("2020-01-09", 3.64),
        week("2020-01-16", 3.65, end="2020-02-12"),
        week("2020-01-16", 3.75, start="2020-02-13"),
        week("2020-01-23", 3.60),
        week("2020-01-30", 3.51),
        week("2020-02-06", 3.45),
    )
    found = alfred_table.monthly_means(rows)
    # December's only week here ends it; February is not over.
    assert found["date"].tolist() == ["2019-12-01", "2020-01-01", "2020-01-01"]
    assert found["start"].tolist() == ["2019-12-26", "2020-01-30", "2020-02-13"]
    assert found["end"].tolist() == ["9999-12-31", "2020-02-12", "9999-12-31"]
    assert found["value"].tolist() == pytest.approx([3.74, 3.624, 3.644], abs=1e-9)
