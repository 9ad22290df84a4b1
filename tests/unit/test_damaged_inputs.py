"""Damaged or mismatched files between stages: one readable error, and nothing written."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pandas as pd
import pytest
import row_fixtures as fixtures

from anachron import files, stages, stages_estimate
from anachron.errors import AnachronError, ConfigError, ContractError
from anachron.publish import freeze, tables
from anachron.publish import row as rows

DOCUMENT = {
    "schema_version": 1,
    "model": "m",
    "suite": "hindsightbench",
    "protocol": {},
    "versions": {},
    "fingerprints": {},
    "panel": {},
    "transcripts_sha256": "",
    "served_models": [],
    "fingerprint_values": [],
    "provenances": [],
    "reps": {},
    "usage": {"calls": 1},
    "truth": None,
    "counts": {},
    "side": {},
    "estimates": [
        {"suite": "hindsightbench", "scoring": "bm1", "metric": "E2", "value": None, "marks": ""},
    ],
}


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 10_000 + "]" * 10_000, "", "{", '{"a":' * 10_000])
def test_json_that_is_none_is_refused_by_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ContractError, match=r"x\.json"):
        files.read_json(path)


def test_a_folder_in_place_of_json_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=str(tmp_path)):
        files.read_json(tmp_path)


def test_an_estimates_document_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(DOCUMENT))
    assert stages_estimate.read_documents([path]) == {"hindsightbench": DOCUMENT}


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"', "{}"])
def test_another_json_is_no_estimates_document(tmp_path: Path, text: str) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(text)
    with pytest.raises(ContractError, match=r"damaged\.json"):
        stages_estimate.read_documents([path])


@pytest.mark.parametrize("key", sorted(DOCUMENT))
@pytest.mark.parametrize("value", ["absent", [1], 99])
def test_a_damaged_key_of_an_estimates_document_is_named(tmp_path: Path, key: str, value: object) -> None:
    broken = copy.deepcopy(DOCUMENT)
    if value == "absent":
        del broken[key]
    else:
        broken[key] = value
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(ContractError, match=rf"damaged\.json: `{key}"):
        stages_estimate.read_documents([path])


def test_nan_is_no_estimate(tmp_path: Path) -> None:
    broken = copy.deepcopy(DOCUMENT)
    broken["estimates"][0]["value"] = float("nan")
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(ContractError, match=r"damaged\.json: holds NaN"):
        stages_estimate.read_documents([path])


def test_two_documents_of_one_suite_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for path in (first, second):
        path.write_text(json.dumps(DOCUMENT))
    with pytest.raises(ContractError, match=r"a\.json and .*b\.json"):
        stages_estimate.read_documents([first, second])


def test_a_document_of_an_unknown_suite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**DOCUMENT, "suite": "nosuch"}))
    with pytest.raises(AnachronError, match="nosuch"):
        stages_estimate.read_documents([path])


@pytest.mark.parametrize(
    "change",
    [
        {"estimates": {}},
        {"estimates": {"hindsightbench": {}}},
        {"estimates": {"hindsightbench": {"bm1": {}}}},
        {"provenance": {}},
        {"side": {}},
        {"counts": {}},
        {"model": "another"},
    ],
)
def test_a_row_whose_parts_disagree_is_refused(change: dict[str, object]) -> None:
    row = fixtures.row()
    rows.validate(row, "whole")
    with pytest.raises(ContractError, match="damaged"):
        rows.validate({**row, **change}, "damaged")


def test_an_unknown_scoring_is_named() -> None:
    row = fixtures.row()
    tables.check_scoring([row], "bm1")
    with pytest.raises(ConfigError, match=r"'nope' is not known; known scorings: .*bm1"):
        tables.check_scoring([row], "nope")


def test_a_panel_that_lacks_a_month_is_refused() -> None:
    known = pd.DataFrame({"decision_date": ["2013-01-15", "2013-03-15"]})
    stages.refuse_gaps("hindsightbench", known, ["2013-01", "2013-03"], [])
    with pytest.raises(ContractError, match="lacks 1 of 3 months, first 2013-02"):
        stages.refuse_gaps("hindsightbench", known, ["2013-01", "2013-02", "2013-03"], [])


def test_answers_of_other_transcripts_are_refused() -> None:
    columns = ["model", "arm", "item", "rep", "duplicate", "key", "outcome"]
    sealed = pd.DataFrame(
        [["m", "D", "2013-01-15", 1, 0, key, "answer"] for key in ("a", "b")], columns=columns
    )
    stages.refuse_other_answers(sealed.iloc[::-1], sealed, Path("answers.parquet"))
    for other in (sealed.iloc[:0], sealed.iloc[:1], sealed.assign(key="c")):
        with pytest.raises(ContractError, match=r"answers\.parquet"):
            stages.refuse_other_answers(other, sealed, Path("answers.parquet"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"schema_version": 9}, "schema_version"),
        ({"model": "another"}, "'another' is listed as"),
        ({"version": 7}, "version 7"),
        ({"file": "../elsewhere.json"}, "elsewhere"),
    ],
)
def test_a_manifest_that_names_another_row_is_refused(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    made = fixtures.row()
    rows.write(made, tmp_path / "row.json")
    frozen = tmp_path / "frozen"
    place = freeze.freeze(tmp_path / "row.json", frozen, None, "2026-01-01").parent / "manifest.json"
    assert freeze.check(frozen, None) == []
    manifest = json.loads(place.read_text())
    (manifest if "schema_version" in change else manifest["rows"][0]).update(change)
    place.write_text(json.dumps(manifest))
    assert named in "".join(freeze.check(frozen, None))
