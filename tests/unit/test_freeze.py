"""Frozen rows are never overwritten, and the check names what no longer follows from them."""

from __future__ import annotations

import json

import pytest
from row_fixtures import SUITE, document, registry_entry, row

from anachron.errors import ContractError, DriftError
from anachron.estimates import Estimate, records
from anachron.publish.freeze import check, compare, freeze
from anachron.publish.row import build, write

DAY = "2026-01-31"
OTHER = "findendro"


@pytest.fixture
def frozen(tmp_path):
    """Return (frozen folder, rows folder) with two frozen rows that equal this run's."""
    for name in ("alpha", "beta:2b"):
        path = tmp_path / "rows" / f"{name.replace(':', '%3A')}.json"
        write(row(name), path)
        freeze(path, tmp_path / "frozen", None, DAY)
    return tmp_path / "frozen", tmp_path / "rows"


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_freezing_writes_rows_manifest_tables_and_a_dated_line(frozen):
    folder, rows = frozen
    assert set(tree(folder)) == {
        "CHANGELOG.md", "leaderboard.csv", "leaderboard.md", "leaderboard.tex",
        "bm1/alpha@1.json", "bm1/beta%3A2b@1.json", "bm1/manifest.json",
    }  # fmt: skip
    assert (folder / "bm1/alpha@1.json").read_bytes() == (rows / "alpha.json").read_bytes()
    assert f"- {DAY} `bm1/alpha@1.json`: first version" in (folder / "CHANGELOG.md").read_text()
    assert check(folder, rows) == []


def test_the_same_row_makes_no_new_version(frozen):
    folder, rows = frozen
    before = tree(folder)
    assert freeze(rows / "alpha.json", folder, "whatever", "2027-01-01").name == "alpha@1.json"
    assert tree(folder) == before


def test_a_changed_row_needs_a_reason_and_leaves_the_old_one(frozen):
    folder, rows = frozen
    old = (folder / "bm1/alpha@1.json").read_bytes()
    write(row("alpha", E2=0.31), rows / "alpha.json")
    before = tree(folder)
    with pytest.raises(DriftError, match=r"E2.*reason"):
        freeze(rows / "alpha.json", folder, "  ", DAY)
    assert tree(folder) == before
    assert freeze(rows / "alpha.json", folder, "served anew", "2026-02-01").name == "alpha@2.json"
    assert (folder / "bm1/alpha@1.json").read_bytes() == old
    manifest = json.loads((folder / "bm1/manifest.json").read_text())
    listed = {entry["file"]: (entry["reason"], entry["superseded_by"]) for entry in manifest["rows"]}
    assert listed["alpha@1.json"] == ("first version", "alpha@2.json")
    assert listed["alpha@2.json"] == ("served anew", None)
    assert "served anew (supersedes `alpha@1.json`)" in (folder / "CHANGELOG.md").read_text()
    table = (folder / "leaderboard.csv").read_text()
    assert "+.310" in table and table.count("alpha,") == 2
    assert check(folder, rows) == []


def test_an_altered_digit_in_a_frozen_row_is_found(frozen):
    folder, rows = frozen
    path = folder / "bm1/alpha@1.json"
    path.write_text(path.read_text().replace("0.3829", "0.3828", 1))
    (fault,) = check(folder, rows)
    assert "alpha@1.json" in fault and "SHA-256" in fault
    with pytest.raises(DriftError, match="alpha@1"):
        freeze(rows / "alpha.json", folder, "reason", DAY)


def test_a_changed_cell_of_the_csv_is_named(frozen):
    folder, rows = frozen
    path = folder / "leaderboard.csv"
    path.write_text(path.read_text().replace("+.383 [.30, .47]", "+.384 [.30, .47]", 1))
    (fault,) = check(folder, rows)
    assert "alpha / hindsightbench / bm1 / anachron" in fault
    assert "`printed E2` reads '+.384 [.30, .47]', the frozen row gives '+.383 [.30, .47]'" in fault


def test_a_changed_cell_of_the_markdown_is_named(frozen):
    folder, rows = frozen
    path = folder / "leaderboard.md"
    path.write_text(path.read_text().replace("20%/0%", "21%/0%", 1))
    (fault,) = check(folder, rows)
    assert "leaderboard.md" in fault and "'21%/0%'" in fault and "'20%/0%'" in fault


@pytest.mark.parametrize(
    "name", ["bm1/alpha@1.json", "leaderboard.csv", "leaderboard.md", "leaderboard.tex", "bm1/manifest.json"]
)
def test_a_missing_file_is_named(frozen, name):
    folder, rows = frozen
    (folder / name).unlink()
    assert any(name.rsplit("/", 1)[-1] in fault for fault in check(folder, rows))


def test_a_row_that_was_put_beside_the_manifest_is_named(frozen):
    folder, rows = frozen
    write(row("gamma"), folder / "bm1/gamma@1.json")
    assert any("gamma@1.json" in fault and "not listed" in fault for fault in check(folder, rows))


def test_this_runs_row_with_another_number_is_named(frozen):
    folder, rows = frozen
    write(row("alpha", E2=0.3839), rows / "alpha.json")
    faults = "\n".join(check(folder, rows))
    assert "cell 'E2' was '+.383 [.30, .47]', is '+.384 [.30, .47]'" in faults
    assert "`estimates.hindsightbench.bm1.E2.value` was 0.3829, is 0.3839" in faults
    assert "beta" not in faults


def test_the_last_digit_of_another_processor_is_no_drift(frozen):
    folder, rows = frozen
    made = row("alpha")
    made["estimates"][SUITE]["bm1"]["E2"]["low"] += 1e-10
    write(made, rows / "alpha.json")
    assert check(folder, rows) == []
    made["estimates"][SUITE]["bm1"]["E2"]["low"] += 1e-8
    write(made, rows / "alpha.json")
    assert len(check(folder, rows)) == 1


def test_other_source_code_with_the_same_results_is_a_note(frozen):
    folder, rows = frozen
    made = row("alpha")
    made["provenance"][SUITE]["fingerprints"]["parse"] = "f" * 64
    write(made, rows / "alpha.json")
    found = compare(folder, rows)
    assert found.problems == []
    assert len(found.notes) == 1 and "fingerprints.parse" in found.notes[0]


def test_models_that_were_never_frozen_and_empty_folders_are_fine(frozen, tmp_path):
    folder, rows = frozen
    write(row("new one"), rows / "new%20one.json")
    assert check(folder, rows) == []
    assert check(folder, tmp_path / "absent") == []
    assert check(tmp_path / "absent", rows) == []


def test_a_broken_row_is_not_frozen(tmp_path):
    (tmp_path / "row.json").write_text('{"schema_version": 1}')
    with pytest.raises(ContractError, match=r"row\.json"):
        freeze(tmp_path / "row.json", tmp_path / "frozen", "reason", DAY)
    assert not (tmp_path / "frozen").exists()


def wider(name: str, **changes) -> dict:
    """Return a row that has a second suite's estimates beside the first one's."""
    entry, first = registry_entry(name), document(name, **changes)
    second = {**document(name), "suite": OTHER, "protocol": {**first["protocol"], "name": "fd1"}}
    second["estimates"] = records([Estimate("knows", "share", 0.6, n=100)], OTHER, "anachron")
    return build(entry, {SUITE: first, OTHER: second})


def test_a_row_of_more_suites_takes_the_place_of_the_narrower_one(frozen):
    folder, rows = frozen
    write(wider("alpha"), rows / "alpha.json")
    before = tree(folder)
    with pytest.raises(DriftError, match=r"protocols bm1\+fd1 in place of bm1.*give a reason"):
        freeze(rows / "alpha.json", folder, None, DAY)
    assert tree(folder) == before
    made = freeze(rows / "alpha.json", folder, "a second suite", DAY)
    assert made == folder / "bm1+fd1/alpha@1.json"
    manifest = json.loads((folder / "bm1/manifest.json").read_text())
    listed = {entry["file"]: entry["superseded_by"] for entry in manifest["rows"]}
    assert listed == {"alpha@1.json": "bm1+fd1/alpha@1.json", "beta%3A2b@1.json": None}
    assert "(supersedes `bm1/alpha@1.json`)" in (folder / "CHANGELOG.md").read_text()
    assert check(folder, rows) == []
    assert freeze(rows / "alpha.json", folder, None, DAY) == made


def test_what_both_rows_have_is_compared_where_a_run_has_more_or_fewer_suites(frozen):
    folder, rows = frozen
    write(wider("alpha"), rows / "alpha.json")
    found = compare(folder, rows)
    assert found.problems == []
    assert any("protocols bm1+fd1 against bm1" in note for note in found.notes)
    write(wider("alpha", E2=0.31), rows / "alpha.json")
    assert any("E2" in fault for fault in check(folder, rows))
    freeze(rows / "alpha.json", folder, "a second suite", DAY)
    write(row("alpha"), rows / "alpha.json")
    assert any("E2" in fault for fault in check(folder, rows))
