"""Import of published records: both forms, what is noted, and what stops it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import yaml

from anachron import frames, replay
from anachron.config import Registry, validate
from anachron.errors import ImportFailure
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import artifact

PROTOCOL_FILE = Path(__file__).resolve().parents[2] / "config" / "protocols" / "bm1.yaml"
PROTOCOL = load_protocol("hindsightbench", PROTOCOL_FILE)
CRISIS = "2008-10-15"
FALSE = PROTOCOL.fake_dates(66)[CRISIS]


def arm_row(**other: Any) -> dict[str, Any]:
    row = {"model_key": "m", "arm": "D", "decision_date": CRISIS, "rep": 1, "raw_response": "[]"}
    return {**row, **other}


def lap_row(**other: Any) -> dict[str, Any]:
    return {"model_key": "m", "decision_date": CRISIS, "rep": 0, "answer": "up", "raw": "up", **other}


def rec_row(**other: Any) -> dict[str, Any]:
    return {"model_key": "m", "decision_date": CRISIS, "estimated_date": "2008-10", "raw": "2008-10", **other}


def tables(
    folder: Path,
    arms: list[dict[str, Any]] | None = None,
    lap: list[dict[str, Any]] | None = None,
    rec: list[dict[str, Any]] | None = None,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    given = {"arms": arms or [arm_row()], "lap": lap or [lap_row()], "rec": rec or [rec_row()]}
    for name, rows in given.items():
        pd.DataFrame(rows).to_parquet(folder / f"{name}.parquet", row_group_size=2)
    return folder


def cell(model: Path, arm: str, rep: int, date: str, text: str | bytes = "[]", **meta: Any) -> Path:
    place = model / arm / f"rep{rep}" / date
    place.mkdir(parents=True)
    (place / "04_raw_response.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    (place / "03_run_meta.json").write_text(json.dumps({"decision_date": date, **meta}))
    return place


def lines(model: Path, name: str, rows: list[dict[str, Any]]) -> None:
    model.mkdir(parents=True, exist_ok=True)
    (model / f"{name}_probe_results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def tree(root: Path, model: str = "m") -> Path:
    """Write one cell and both probes of a model; return the model's folder."""
    place = root / "hindsight" / "outputs" / "bench" / model
    cell(place, "D", 1, CRISIS)
    lines(place, "lap", [{"decision_date": CRISIS, "rep": 0, "answer": "up", "raw": "up"}])
    lines(place, "date", [{"decision_date": CRISIS, "estimated_date": "2008-10", "raw": "2008-10"}])
    return place


def one(folder: Path) -> pd.DataFrame:
    """Return the transcripts of the only model of a folder."""
    (found,) = artifact.read(folder, PROTOCOL).transcripts.values()
    return found


def fails(folder: Path, *words: str) -> str:
    with pytest.raises(ImportFailure) as caught:
        artifact.read(folder, PROTOCOL)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


def test_both_forms_give_the_same_transcripts(tmp_path: Path) -> None:
    place = tree(tmp_path)
    said = {"fake_date": FALSE, "model_reported": "m-1", "sampling": "0.2", "user_sha256": "ab"}
    cell(place, "W", 2, CRISIS, "[1]", **said)
    rows = [arm_row(), arm_row(arm="W", rep=2, raw_response="[1]", **said)]
    from_tables = one(tables(tmp_path / "tables", rows))
    pd.testing.assert_frame_equal(one(tmp_path), from_tables)
    false = from_tables[from_tables["arm"] == "W"].iloc[0]
    assert (false["shown_date"], false["served_model"]) == (FALSE, "m-1")
    assert json.loads(false["sampling"]) == {"sampling": "0.2"}
    assert from_tables["input_tokens"].isna().all()
    by_arm = from_tables.set_index("arm")
    assert by_arm["recorded"].dropna().to_dict() == {"LAP": "up", "REC": "2008-10"}
    assert by_arm["shown_date"].dropna().to_dict() == {"D": CRISIS, "LAP": CRISIS, "W": FALSE}


@pytest.mark.parametrize("below", [".", "hindsight", "hindsight/outputs", "hindsight/outputs/bench"])
def test_any_folder_from_the_root_to_the_models_will_do(tmp_path: Path, below: str) -> None:
    tree(tmp_path)
    tree(tmp_path, "org/m: 2")
    (tmp_path / "hindsight" / "src" / "data").mkdir(parents=True)
    assert sorted(artifact.read(tmp_path / below, PROTOCOL).transcripts) == ["m", "org/m: 2"]


def test_a_single_model_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tree(tmp_path)
    assert list(artifact.read(place, PROTOCOL).transcripts) == ["m"]
    monkeypatch.chdir(place)
    assert list(artifact.read(Path(), PROTOCOL).transcripts) == ["m"]


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    fails(tmp_path, str(tmp_path), "arms.parquet", "outputs/bench")
    fails(tmp_path / "absent", "no such folder")


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    place = tree(tmp_path)
    legacy = cell(tmp_path / "legacy", "R", 1, CRISIS, "[2]", note="an earlier run")
    (place / "R" / "rep1").mkdir(parents=True)
    (place / "R" / "rep1" / CRISIS).symlink_to(legacy)
    (place / "M").symlink_to(tmp_path / "legacy" / "R")
    (place / "again").symlink_to(place)
    (tmp_path / "hindsight" / "up").symlink_to(tmp_path)
    found = artifact.read(tmp_path, PROTOCOL)
    texts = found.transcripts["m"].set_index("arm")["text"]
    assert (texts["R"], texts["M"], texts["D"]) == ("[2]", "[2]", "[]")
    assert any("again" in note for note in found.notes)


@pytest.mark.parametrize("link", ["D/rep1/2014-04-15", "W", "D/rep1/2008-10-15/99_parse_error.txt"])
@pytest.mark.parametrize("target", ["nowhere/at-all", None])
def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, link: str, target: str | None) -> None:
    place = tree(tmp_path) / link
    place.symlink_to(target or place)
    fails(tmp_path, str(place), target or str(place))


def test_what_is_no_part_of_the_layout_is_noted(tmp_path: Path) -> None:
    place = tree(tmp_path)
    (place / "D" / "rep1" / "2014-04-15").mkdir()
    cell(place, "X9", 1, CRISIS)
    cell(place, "W72", 1, CRISIS)
    found = artifact.read(tmp_path, PROTOCOL)
    notes = " ".join(found.notes)
    assert "X9" in notes
    assert "D/rep1/2014-04-15" in notes
    assert set(found.transcripts["m"]["arm"]) == {"D", "W72", "LAP", "REC"}


def test_a_cell_without_its_raw_answer_still_counts(tmp_path: Path) -> None:
    place = tree(tmp_path)
    cell(place, "D", 2, CRISIS).joinpath("04_raw_response.txt").rename(
        place / "D" / "rep2" / CRISIS / "01_sketches_valid.json"
    )
    (cell(place, "D", 3, CRISIS) / "04_raw_response.txt").unlink()
    found = artifact.read(tmp_path, PROTOCOL)
    arms = found.transcripts["m"].query("arm == 'D'").set_index("rep")
    assert arms["outcome"].to_dict() == {1: "answer", 2: "answer", 3: "empty"}
    assert arms["text"][2] == "[]"
    assert any("not kept" in note and "rep2" in note for note in found.notes)
    only = tmp_path / "only" / "m"
    (cell(only, "D", 1, CRISIS) / "04_raw_response.txt").unlink()
    assert one(only)["outcome"].tolist() == ["empty"]


def test_answers_that_are_blank_or_absent_have_a_named_outcome(tmp_path: Path) -> None:
    rows = [arm_row(raw_response=" \n"), arm_row(rep=2, raw_response=None)]
    lap = [lap_row(), lap_row(rep=1, raw=None), lap_row(rep=2, answer=None, raw=None), lap_row(rep=3, raw="")]
    found = one(tables(tmp_path, rows, lap))
    outcomes = found.set_index(["arm", "rep"])["outcome"]
    assert outcomes["D"].to_dict() == {1: "empty", 2: "empty"}
    assert outcomes["LAP"].to_dict() == {0: "answer", 1: "answer", 2: "error", 3: "empty"}


def test_repeated_probe_answers_are_kept_in_file_order(tmp_path: Path) -> None:
    lap = [
        lap_row(answer="down", raw="down", line_no=7),
        lap_row(line_no=3),
        lap_row(rep=1, line_no=5),
    ]
    found = one(tables(tmp_path, lap=lap)).query("arm == 'LAP'")
    assert found[["rep", "duplicate", "text"]].values.tolist() == [[0, 0, "up"], [0, 1, "down"], [1, 0, "up"]]
    assert found["key"].is_unique


def test_a_repeated_cell_counts_once_or_conflicts(tmp_path: Path) -> None:
    same = artifact.read(tables(tmp_path / "same", [arm_row(), arm_row()]), PROTOCOL)
    assert (same.transcripts["m"]["arm"] == "D").sum() == 1
    assert any(f"D {CRISIS} rep 1" in note for note in same.notes)
    rows = [arm_row(), arm_row(rep=2), arm_row(raw_response="other")]
    fails(tables(tmp_path / "other", rows), "arms.parquet, row 0", "arms.parquet, row 2", CRISIS)


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([arm_row(), arm_row(arm="Q")], ["row 1", "'Q'", "known arms"]),
        ([arm_row(decision_date="2008-10-16")], ["row 0", "2008-10-16", "decision date"]),
        ([arm_row(decision_date=None)], ["row 0", "decision date"]),
        ([arm_row(rep=-1)], ["row 0", "-1"]),
        ([arm_row(rep=1.5)], ["row 0", "1.5"]),
        ([arm_row(), arm_row(rep=None, arm="R")], ["row 1", "missing"]),
        ([arm_row(model_key=None)], ["row 0", "model_key"]),
        ([arm_row(arm="W", fake_date="2014-05-15")], ["row 0", "2014-05-15", FALSE]),
        ([arm_row(model_key="M"), arm_row()], ["'M'", "'m'"]),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, arms: list[dict[str, Any]], words: list[str]) -> None:
    fails(tables(tmp_path, arms), *words)


def test_missing_columns_and_damaged_tables_are_named(tmp_path: Path) -> None:
    folder = tables(tmp_path)
    pd.DataFrame([lap_row()]).drop(columns="answer").to_parquet(folder / "lap.parquet")
    fails(folder, "lap.parquet", "answer")
    (folder / "lap.parquet").unlink()
    fails(folder, "lap.parquet", "no such file")
    tables(tmp_path)
    whole = (folder / "arms.parquet").read_bytes()
    for kept in (0, 3, len(whole) // 2, len(whole) - 5):
        (folder / "arms.parquet").write_bytes(whole[:kept])
        fails(folder, "arms.parquet", "cut short")


def test_tables_in_any_order_give_the_same_transcripts(tmp_path: Path) -> None:
    rows = [
        arm_row(model_key=name, rep=rep, raw_response=f"{name}{rep}") for name in "ab" for rep in (1, 2, 3)
    ]
    lap = [lap_row(model_key=name) for name in "ab"]
    rec = [rec_row(model_key=name) for name in "ab"]
    sorted_ = artifact.read(tables(tmp_path / "1", rows, lap, rec), PROTOCOL)
    mixed = artifact.read(
        tables(tmp_path / "2", rows[::2] + rows[1::2][::-1], lap[::-1], rec[::-1]), PROTOCOL
    )
    for name in "ab":
        pd.testing.assert_frame_equal(sorted_.transcripts[name], mixed.transcripts[name])


def test_bytes_that_are_not_utf8_are_replaced_and_noted(tmp_path: Path) -> None:
    place = tree(tmp_path / "tree")
    cell(place, "R", 1, CRISIS, b"[\xff]")
    found = artifact.read(tmp_path / "tree", PROTOCOL)
    assert "[\ufffd]" in found.transcripts["m"]["text"].tolist()
    assert any("UTF-8" in note and "R/rep1" in note for note in found.notes)

    folder = tables(tmp_path / "tables")
    raw = pd.DataFrame([arm_row(raw_response=b"[\xff]")])
    table = arrow.Table.from_pandas(raw, preserve_index=False)
    for kind in (arrow.binary(), arrow.string()):
        column = arrow.array([b"[\xff]"], arrow.binary())
        column = column if kind == arrow.binary() else arrow.Array.from_buffers(kind, 1, column.buffers())
        place_of = table.column_names.index("raw_response")
        parquet.write_table(table.set_column(place_of, "raw_response", column), folder / "arms.parquet")
        found = artifact.read(folder, PROTOCOL)
        assert "[\ufffd]" in found.transcripts["m"]["text"].tolist()
        assert any("UTF-8" in note for note in found.notes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json", ["line 2", "not JSON"]),
        ("[" * 10_000 + "]" * 10_000, ["line 2"]),
        ("[1]", ["line 2", "object"]),
        ('{"decision_date": "2008-10-15", "answer": "up"}', ["line 2", "rep"]),
        ('{"decision_date": "2008-10-15", "rep": true}', ["line 2", "rep"]),
        ('{"decision_date": "2008-10-15", "rep": -3}', ["line 2", "-3"]),
        ('{"rep": 1}', ["line 2", "decision_date"]),
        ('{"decision_date": "2008-10-15", "rep": 1, "raw": {"a": 1}}', ["line 2", "raw", "dict"]),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, words: list[str]) -> None:
    place = tree(tmp_path)
    with (place / "lap_probe_results.jsonl").open("a") as handle:
        handle.write(line + "\n")
    fails(tmp_path, "lap_probe_results.jsonl", *words)


def test_a_line_may_hold_what_json_may(tmp_path: Path) -> None:
    place = tree(tmp_path)
    odd = [
        '{"decision_date": "2008-10-15", "rep": 1, "answer": NaN, "raw": "up\u2028down"}',
        "",
        '{"decision_date": "2008-10-15", "rep": 2, "answer": null, "raw": "\\ud800 up"}',
    ]
    with (place / "lap_probe_results.jsonl").open("a") as handle:
        handle.write("\n".join(odd))
    found = one(tmp_path).query("arm == 'LAP'").set_index("rep")
    assert found["text"].to_dict() == {0: "up", 1: "up\u2028down", 2: "\ufffd up"}
    assert found["recorded"].isna().to_dict() == {0: False, 1: True, 2: True}


def test_a_misplaced_or_damaged_cell_is_named(tmp_path: Path) -> None:
    place = tree(tmp_path)
    meta = place / "D" / "rep1" / CRISIS / "03_run_meta.json"
    meta.write_text('{"decision_date": "2008-09-15"}')
    fails(tmp_path, str(meta), "2008-09-15", CRISIS)
    meta.write_text('{"decision_date": ')
    fails(tmp_path, str(meta), "not JSON")


def test_large_and_deep_answers_are_only_text(tmp_path: Path) -> None:
    deep, large = "[" * 10_000, "x" * 5_000_000
    found = one(tables(tmp_path, [arm_row(raw_response=deep), arm_row(rep=2, raw_response=large)]))
    assert found.query("arm == 'D'")["text"].tolist() == [deep, large]


def test_the_tier_follows_from_the_dates_and_reps() -> None:
    def tier(dates: list[str], reps: list[int]) -> str:
        rows = [{"arm": "D", "item": date, "rep": rep} for date in dates for rep in reps]
        rows += [{"arm": "LAP", "item": date, "rep": 19} for date in PROTOCOL.decision_dates]
        return artifact.tier(pd.DataFrame(rows), PROTOCOL)

    assert tier(PROTOCOL.tier_dates("reduced"), [1]) == "reduced"
    assert tier(PROTOCOL.decision_dates, [1]) == "full-1rep"
    assert tier(PROTOCOL.decision_dates, [1, 2, 3]) == "full"


def test_the_panel_holds_every_decision_date(tmp_path: Path) -> None:
    folder = tables(tmp_path)
    assert artifact.panel(folder, PROTOCOL) is None
    dates = [CRISIS, "2014-04-15", "2014-05-15", "1999-01-15"]
    given = pd.DataFrame({"decision_date": dates, "forward_return_20d_sign": [-1.0, 0.0, None, 1.0]})
    given.to_parquet(folder / "panel.parquet")
    panel = artifact.panel(folder, PROTOCOL)
    assert panel is not None
    assert panel["decision_date"].tolist() == PROTOCOL.decision_dates
    assert panel.set_index("decision_date")["realised"].dropna().to_dict() == {CRISIS: -1, "2014-04-15": 1}
    given.assign(forward_return_20d_sign=0.5).to_parquet(folder / "panel.parquet")
    with pytest.raises(ImportFailure, match=r"row 0.*0\.5"):
        artifact.panel(folder, PROTOCOL)


NAMES = ["a/b", "..", "x:1 y", "ü%2F"]


def test_import_writes_transcripts_and_a_registry_that_reads_them(tmp_path: Path) -> None:
    rows = [arm_row(model_key=name) for name in NAMES]
    lap = [lap_row(model_key=name) for name in NAMES]
    rec = [rec_row(model_key=name) for name in NAMES]
    folder, out = tables(tmp_path / "in", rows, lap, rec), tmp_path / "out"
    text = replay.import_suite("hindsightbench", folder, out, PROTOCOL_FILE)
    registry = validate(Registry, yaml.safe_load("models:\n" + text), "snippet")
    assert [entry.name for entry in registry.models] == NAMES
    for entry in registry.models:
        assert Path(str(entry.source)).parent == out / "hindsightbench"
        assert set(frames.read(Path(str(entry.source)), frames.Transcripts)["model"]) == {entry.name}
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_import_overwrites_nothing_that_differs_unless_forced(tmp_path: Path) -> None:
    folder, out = tables(tmp_path / "in"), tmp_path / "out"
    replay.import_suite("hindsightbench", folder, out, PROTOCOL_FILE)
    there = out / "hindsightbench" / "m.parquet"
    before, stamp = there.read_bytes(), there.stat().st_mtime_ns
    replay.import_suite("hindsightbench", folder, out, PROTOCOL_FILE)
    assert there.stat().st_mtime_ns == stamp
    tables(folder, [arm_row(raw_response="changed"), arm_row(model_key="n")])
    with pytest.raises(ImportFailure, match=r"m\.parquet"):
        replay.import_suite("hindsightbench", folder, out, PROTOCOL_FILE)
    assert there.read_bytes() == before
    assert [path.name for path in (out / "hindsightbench").iterdir()] == ["m.parquet"]
    replay.import_suite("hindsightbench", folder, out, PROTOCOL_FILE, force=True)
    assert there.read_bytes() != before


def test_a_failed_import_or_replay_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tables(tmp_path / "in", [arm_row(model_key="a"), arm_row(model_key="b", rep=-1)])
    for act in (replay.import_suite, replay.replay):
        with pytest.raises(ImportFailure):
            act("hindsightbench", folder, tmp_path / "out", PROTOCOL_FILE)
        assert not (tmp_path / "out" / "hindsightbench").exists()
        assert not list(tmp_path.glob("out/*"))
