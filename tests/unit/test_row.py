"""The audit row: its contract, its cutoffs side by side, and the advice it gives."""

from __future__ import annotations

import json

import pytest
from row_fixtures import SUITE, document, failed, planted_row, registry_entry, row

from anachron.errors import ContractError
from anachron.files import read_json
from anachron.publish.row import Row, build, read, safe_from, write


def end(
    month: str | None, low: str | None = None, high: str | None = None, **more: object
) -> dict[str, object]:
    return {"kind": "measured", "label": "recall end", "month": month, "low": low, "high": high, **more}


def test_row_survives_writing_and_reading_with_the_same_bytes(tmp_path):
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    write(row(), path)
    write(read(path), again)
    assert path.read_bytes() == again.read_bytes()


def test_numbers_have_ten_significant_digits():
    found = row(E2=1 / 3)["estimates"][SUITE]["bm1"]["E2"]["value"]
    assert repr(found) == "0.3333333333"


def test_gated_estimate_is_null_with_the_gate_and_what_the_formula_gave():
    cell = row(E2=failed("k"))["estimates"][SUITE]["anachron"]["E2"]
    assert cell["value"] is None
    assert (cell["gate"], cell["gate_passed"], cell["gate_figure"], cell["before_value"]) == (
        "k",
        False,
        3.0,
        0.25,
    )
    assert "low" not in cell


def test_marks_are_the_union_over_estimates():
    assert row(E3=failed("k"))["marks"] == ["k", "m", "p"]
    assert row(marks={})["marks"] == []


def test_cutoffs_stand_beside_the_vendors_with_signed_months():
    made = row(entry={"vendor_cutoff": {"value": "2025-02", "kind": "official", "read_on": "2026-01-05"}})
    measured, vendor = made["cutoffs"]
    assert (measured["month"], measured["low"], measured["high"]) == ("2024-10", "2024-09", "2024-11")
    assert measured["months_from_vendor"] == -4
    assert vendor["month"] == "2025-02" and "2026-01-05" in vendor["note"]


def test_safe_from_is_counted_from_the_latest_upper_bound():
    advice = safe_from([end("2024-10", "2024-09", "2024-12"), end("2024-11", None, None)])
    assert advice["month"] == "2025-04"  # 2024-12, the month after is 2025-01, and three more
    assert "2024-12" in advice["text"]


def test_safe_from_ignores_the_vendor():
    vendor = {"kind": "vendor-stated", "label": "vendor-stated", "month": "2030-01"}
    assert safe_from([end("2024-10", "2024-10", "2024-10"), vendor], 0)["month"] == "2024-11"
    assert safe_from([vendor])["month"] is None


def test_safe_from_is_undefined_where_nothing_is_identified():
    advice = row(cutoff=failed("g"))["safe_from"]
    assert advice["month"] is None
    assert "gate g" in advice["text"]


def test_an_end_at_the_last_month_asked_is_no_end():
    made = row(cutoff="2026-06")
    assert made["cutoffs"][0]["open_ended"] is True
    assert made["safe_from"]["month"] is None
    assert "last month asked" in made["safe_from"]["text"]


def test_an_upper_bound_at_the_last_month_asked_is_no_bound():
    assert row(cutoff="2026-05")["safe_from"]["month"] is None
    assert row(cutoff="2026-04")["safe_from"]["month"] == "2026-09"


def test_ledger_names_its_gaps_and_invents_no_price():
    ledger = row()["ledger"]
    assert (ledger["calls"], ledger["input_tokens"], ledger["reasoning_tokens"]) == (100, 1000, None)
    assert ledger["dollars"] is None
    assert any("4 of 100" in gap for gap in ledger["gaps"])
    assert planted_row()["ledger"]["dollars"] == 0.0


def test_planted_truth_is_kept():
    assert planted_row()["planted_truth"][SUITE]["anachron"]["cutoff"] == "2024-09"
    assert row()["planted_truth"] is None


def test_estimates_of_another_model_are_refused():
    with pytest.raises(ContractError, match="other"):
        build(registry_entry("one"), {SUITE: document("other")})
    with pytest.raises(ContractError, match="no estimates"):
        build(registry_entry("one"), {})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda made: made.update(surprise=1), "surprise"),
        (lambda made: made["estimates"][SUITE]["bm1"]["E2"].update(value="0.38"), "E2.value"),
        (lambda made: made["estimates"][SUITE]["bm1"]["E2"].update(value=float("nan")), "E2.value"),
        (lambda made: made["cutoffs"][0].update(month="2024-13"), "cutoffs.0.month"),
        (lambda made: made.pop("ledger"), "ledger"),
        (lambda made: made.update(schema_version=2), "schema_version"),
    ],
)
def test_a_row_that_breaks_its_contract_is_refused_by_name(tmp_path, change, named):
    made = row()
    change(made)
    path = tmp_path / "row.json"
    path.write_text(json.dumps(made))
    with pytest.raises(ContractError) as caught:
        read(path)
    assert named in str(caught.value) and str(path) in str(caught.value)


def test_the_schema_accepts_what_the_model_accepts(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "row.json"
    write(row(E2=failed("k")), path)
    schema = Row.model_json_schema()
    jsonschema.validate(read_json(path), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**read_json(path), "surprise": 1}, schema)
