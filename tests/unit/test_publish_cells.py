"""Printed cells: what stands for a value, for a failed gate, and for an end that was not seen."""

import pytest

from anachron.publish import cells
from anachron.publish.row_blocks import Block, vendor_stated

MONTH = {
    "value": None,
    "value_month": "2024-03",
    "low_month": "2023-12",
    "high_month": "2024-06",
    "marks": "o",
}


def test_a_number_carries_its_interval_and_its_marks():
    cell = {"value": -0.0625, "low": -0.125, "high": 0.5, "marks": "k"}
    assert cells.number(cell) == "−.06k"
    assert cells.number(cell, 3, interval=True) == "−.062 [−.12, .50]k"
    assert cells.number({**cell, "value": 0.25, "high": None}, plus=True, interval=True) == "+.25k"


def test_a_month_is_written_as_asked():
    assert cells.month(MONTH) == "2024-03 [2023-12, 2024-06]o"
    assert cells.month({**MONTH, "low_month": None}, lambda month: month[:4]) == "2024o"


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        (None, "—"),
        ({"value": None}, "—"),
        ({"value": None, "gate": "g", "gate_passed": True}, "—"),
        ({"value": None, "gate": "g", "gate_passed": False, "marks": "gk"}, "—g"),
    ],
)
def test_what_has_no_value_is_a_dash_with_the_gate_that_failed(cell, printed):
    assert not cells.defined(cell)
    assert cells.undefined(cell) == cells.number(cell) == cells.month(cell) == printed


def test_a_row_without_the_suite_or_scoring_has_no_estimates():
    row = {"estimates": {"one": {"anachron": {"E1": {"value": 1.0}}}}}
    assert cells.metrics(row, "one", "anachron") == {"E1": {"value": 1.0}}
    assert cells.metrics(row, "two", "anachron") == cells.metrics(row, "one", "paper") == {}


@pytest.mark.parametrize(("last", "open_ended"), [("2024-06", True), ("2024-07", False), (None, False)])
def test_an_end_whose_upper_bound_is_the_last_month_asked_has_not_been_seen(last, open_ended):
    end = cells.measured_end("end", "anachron", MONTH, last, "why")
    assert (end["month"], end["low"], end["high"]) == ("2024-03", "2023-12", "2024-06")
    assert end["open_ended"] is open_ended and end["note"] is None
    no_interval = {"value": None, "value_month": "2024-06"}
    assert cells.measured_end("end", "anachron", no_interval, last, None)["open_ended"] is (last == "2024-06")


def test_an_end_that_is_undefined_says_why():
    end = cells.measured_end("end", "anachron", {"value": None, "value_month": None}, "2024-06", "why")
    assert (end["month"], end["open_ended"], end["note"]) == (None, False, "why")


def test_the_first_scoring_that_has_a_metric_is_read():
    scorings = {"paper": {"end": MONTH, "r": MONTH}, "anachron": {"r": MONTH}}
    order = ("anachron", "paper")
    assert [cells.scored(scorings, order, metric) for metric in ("r", "end", "none")] == [
        "anachron",
        "paper",
        None,
    ]


def test_planted_rows_are_printed_last_and_the_vendor_is_quoted():
    rows = tuple(
        {"model": name, "identity": {"provider": provider}}
        for name, provider in (("a", "planted"), ("b", "gemini"), ("c", "planted"), ("d", "anthropic"))
    )
    block = Block("suite", "protocol", "title", rows)
    assert [row["model"] for row in block.printed()] == ["b", "d", "a", "c"]
    ends = [{"kind": "measured", "month": "2024-01"}, {"kind": "vendor-stated", "month": "2024-02"}]
    assert vendor_stated({"cutoffs": ends}) == "2024-02" and vendor_stated({"cutoffs": ends[:1]}) is None
