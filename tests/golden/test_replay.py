"""Replay of published records: both forms agree, rows carry the published numbers, the bytes repeat."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anachron import replay
from anachron.files import slug
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import artifact

PROTOCOL_FILE = Path(__file__).resolve().parents[2] / "config" / "protocols" / "bm1.yaml"
PROTOCOL = load_protocol("hindsightbench", PROTOCOL_FILE)

# Columns of the published table that the records' README prints: E2, E3, P1, REC, LAP, cutoff, delta, VALID.
PRINTED = {
    "kimi-k2.6": "+.332 [.25, .41]|+.385 [.26, .51]|−.062m|—r|.330/.008 (98%)|2025-02|+.254 (2.99)|100%",
    "gpt-5.4-mini": "+.144 [.07, .22]|+.187 [.08, .29]|+.014m|49%/18%|1.000/.414 (74%)|2025-09|—v|100%p",
    "claude-haiku-4-5": "+.383 [.30, .47]|+.495 [.34, .64]|−.007|20%/0%|.838/.000 (69%)|2024-10|+.162 (1.35)|100%",
    "gemini-2.5-flash": "+.256 [.14, .37]|+.311 [.20, .43]|−.025|80%/6%|.337/.000 (94%)|2024-06|−.266 (−2.03)|100%",
    "llama-3.1-70b-awq": "−.047 [−.12, .03]|+.008 [−.10, .11]|+.004|18%/0%|.854/.000 (68%)|2023-12|+.007 (.13)|100%",
    "llama3.2:3b": "—k|—k|—k|5%/0%|.921/.544 (48%)g|—g|—g|52%",
}


@pytest.fixture(scope="session")
def folder(records: Any) -> Path:
    return Path(records.folder)


@pytest.fixture(scope="session")
def replayed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("replay")
    replay.replay("hindsightbench", folder, out, PROTOCOL_FILE, scoring="bm1")
    return out


def published(folder: Path, model: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "rows" / f"{model.replace(':', '_')}.json").read_text())
    return found["full_precision"]


@pytest.mark.parametrize("model", sorted(PRINTED))
def test_estimates_and_rows_carry_the_published_numbers(replayed: Path, folder: Path, model: str) -> None:
    expected = published(folder, model)
    document = json.loads((replayed / "estimates" / f"{slug(model)}.json").read_text())
    row = json.loads((replayed / f"{slug(model)}.json").read_text())
    full = {one["metric"]: one for one in document["estimates"] if one["scoring"] == "bm1"}
    short = row["estimates"]["hindsightbench"]["bm1"]
    names = {"E2": "E2", "E3": "E3", "LAP.pre": "lap_pre", "LAP.post": "lap_post", "hit_rate": "hit"}
    names |= {"P1.calendar": "P1cal", "VALID": "VALID", "E1": "E1wb"}
    compared = 0
    for metric, name in names.items():
        if full[metric]["value"] is None:
            assert full[metric]["gate_passed"] is False
            continue
        assert full[metric]["value"] == pytest.approx(expected[name], rel=0, abs=1e-12), metric
        assert short[metric]["value"] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), metric
        compared += 1
    for metric, name in {"E1": "E1wbci", "E2": "E2ci", "E3": "E3ci"}.items():
        if full[metric]["low"] is not None:
            ends = [full[metric]["low"], full[metric]["high"]]
            assert ends == pytest.approx(expected[name], rel=0, abs=1e-12), metric
            compared += 1
    if full["cutoff"]["value_month"] is not None:
        assert full["cutoff"]["value_month"] == expected["cutoff"]
    if full["delta"]["value"] is not None:
        assert full["delta"]["value"] == pytest.approx(expected["delta"], abs=1e-9)
        assert full["delta.t"]["value"] == pytest.approx(expected["t"], abs=1e-9)
    assert compared >= (4 if model == "llama3.2:3b" else 11)
    assert document["protocol"]["sha256"] == PROTOCOL.sha256
    assert document["usage"]["output_tokens"] is None
    assert document["usage"]["calls_without_usage"] == document["usage"]["calls"]
    assert row["identity"]["tier"] == ("reduced" if model == "llama3.2:3b" else "full")


def test_the_leaderboard_prints_the_published_cells(replayed: Path) -> None:
    text = (replayed / "leaderboard.md").read_text(encoding="utf-8")
    block = text.split("Scoring `bm1`")[1].split("Scoring `anachron`")[0]
    for model, cells in PRINTED.items():
        (line,) = [line for line in block.splitlines() if line.startswith(f"| {model} |")]
        plain = line.replace("<sup>", "").replace("</sup>", "").replace("\\", "")
        assert [cell.strip() for cell in plain.split("|")][4:-1] == cells.split("|")
    with (replayed / "leaderboard.csv").open(encoding="utf-8", newline="") as handle:
        assert {row["model"] for row in csv.DictReader(handle)} == set(PRINTED)


def test_the_tree_and_the_tables_give_the_same_texts(folder: Path) -> None:
    compared = 0
    tables = artifact.read(folder, PROTOCOL).transcripts
    for model, tree in artifact.read(folder / "layout_sample", PROTOCOL).transcripts.items():
        whole = tables[model].set_index(["arm", "item", "rep", "duplicate"])
        cells = tree[tree["arm"] != "LAP"].set_index(["arm", "item", "rep", "duplicate"])
        same = ["text", "recorded", "outcome", "shown_date", "served_model", "sampling", "upstream", "key"]
        pd.testing.assert_frame_equal(cells[same], whole.loc[cells.index, same])
        compared += len(cells)
        recall = tree[tree["arm"] == "LAP"].set_index(["arm", "item", "rep", "duplicate"])
        recorded = whole.loc[recall.index, "recorded"]
        assert recall["recorded"].tolist() == recorded.tolist()
    assert compared > 60


def test_linked_cells_give_the_same_transcripts_as_copied_ones(folder: Path, tmp_path: Path) -> None:
    sample = folder / "layout_sample" / "hindsight" / "outputs" / "bench"
    copied = tmp_path / "copied" / "outputs" / "bench"
    shutil.copytree(sample, copied)
    linked = tmp_path / "linked" / "outputs" / "bench"
    linked.mkdir(parents=True)
    for model in copied.iterdir():
        for cell in sorted(model.glob("*/rep*/*")):
            place = linked / cell.relative_to(copied)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(cell)
        for probe in model.glob("*.jsonl"):
            (linked / model.name / probe.name).symlink_to(probe)
    ours = artifact.read(tmp_path / "linked", PROTOCOL).transcripts
    for model_name, transcripts in artifact.read(copied, PROTOCOL).transcripts.items():
        pd.testing.assert_frame_equal(ours[model_name], transcripts)


def test_replay_twice_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    sample = folder / "layout_sample"
    for name in ("one", "two"):
        replay.replay("hindsightbench", sample, tmp_path / name, PROTOCOL_FILE)
    one = {path.relative_to(tmp_path / "one"): path.read_bytes() for path in (tmp_path / "one").rglob("*.*")}
    two = {path.relative_to(tmp_path / "two"): path.read_bytes() for path in (tmp_path / "two").rglob("*.*")}
    assert one == two
    assert len(one) == 2 * 3 + 5
