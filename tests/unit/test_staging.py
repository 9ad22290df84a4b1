"""Files that belong together appear together or not at all, and what the disk refuses is one readable line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import row_fixtures as fixtures
from test_artifact import PROTOCOL_FILE, arm_row, tables
from typer.testing import CliRunner

from anachron import frames, replay, stages
from anachron.cli import app
from anachron.errors import AnachronError, ImportFailure
from anachron.publish import figures as drawing
from anachron.publish import row as rows
from anachron.publish import tables as printing
from anachron.staging import together

ROOT = Path(__file__).resolve().parents[2]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_take_their_places_together_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "place"
    with pytest.raises(ValueError, match="midway"), together(place) as staged:
        (staged / "a").write_text("1")
        raise ValueError("midway")
    assert not (tmp_path / "deep").exists()
    with together(place) as staged:
        (staged / "below").mkdir()
        (staged / "below" / "a").write_text("1")
        assert not (place / "below").exists()
    assert content(place) == {"below/a": b"1"}
    (place / "b").mkdir()
    with pytest.raises(AnachronError, match="is a folder where a file should be"), together(place) as staged:
        (staged / "a").write_text("2")
        (staged / "b").write_text("2")
    assert content(place) == {"below/a": b"1"}


def test_a_leaderboard_that_cannot_be_drawn_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "leaderboard"
    for name, lean in (("old", 0.1), ("new", 0.4)):
        rows.write(fixtures.row(E2=lean), tmp_path / f"{name}.json")
    publish = ["publish", "--scoring", "bm1", "--output", str(out), "--row"]
    assert CliRunner().invoke(app, [*publish, str(tmp_path / "old.json")]).exit_code == 0
    before = content(out)
    saved: list[str] = []
    save = drawing.save

    def save_one(figure, folder, name, *rest):  # type: ignore[no-untyped-def]
        if saved:
            raise AnachronError("no room")
        saved.append(name)
        return save(figure, folder, name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(drawing, "save", save_one)
        run = CliRunner().invoke(app, [*publish, str(tmp_path / "new.json")])
    assert saved and run.exit_code != 0 and content(out) == before
    assert CliRunner().invoke(app, [*publish, str(tmp_path / "new.json")]).exit_code == 0
    assert content(out).keys() == before.keys() and content(out) != before


def test_a_replay_that_fails_at_the_tables_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tables(tmp_path / "in", [arm_row(model_key="a"), arm_row(model_key="b")])

    def fails(*_: object) -> None:
        raise AnachronError("no room")

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(printing, "write", fails)
    with pytest.raises(AnachronError, match="no room"):
        replay.replay("hindsightbench", folder, tmp_path / "out", PROTOCOL_FILE)
    assert not (tmp_path / "out").exists()


def test_a_panel_that_is_a_link_to_nowhere_is_no_missing_panel(tmp_path: Path) -> None:
    folder = tables(tmp_path / "in", [arm_row()])
    (folder / "panel.parquet").symlink_to(tmp_path / "nowhere.parquet")
    with pytest.raises(ImportFailure, match=r"panel\.parquet"):
        replay.import_suite("hindsightbench", folder, tmp_path / "out", PROTOCOL_FILE)
    assert not (tmp_path / "out").exists()


def test_a_block_that_asks_nothing_is_sealed_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, out = tmp_path / "2015.parquet", tmp_path / "sealed.parquet"
    frames.write(frames.empty(frames.Requests), requests, frames.Requests)
    registry = tmp_path / "models.yaml"
    registry.write_text("models:\n  - {name: m, provider: openai_chat, endpoint: 'https://a.example/v1'}\n")
    protocol = ROOT / "config/test/protocol.yaml"
    stages.collect(
        "hindsightbench", protocol, registry, "m", "W72", "2015-2019", requests, [], tmp_path / "store", out
    )
    assert frames.read(out, frames.Transcripts).empty
    assert "arm W72 asks nothing in block 2015-2019" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


FULL = """
import resource, sys
from anachron.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100,) * 2)
sys.argv = ["anachron", "schema", "--output", sys.argv[1]]
main()
"""


def test_what_the_disk_refuses_is_one_line(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1 and run.stderr.startswith("anachron: ")
    assert "make room" in run.stderr and len(run.stderr.splitlines()) == 1
    assert content(tmp_path) == {}


@pytest.mark.parametrize("place", ["folder", "file/fed.parquet"])
def test_a_place_that_cannot_be_a_file_is_told_in_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    command = ["fetch", "fed", "--embedded", "--output", str(tmp_path / place)]
    run = subprocess.run(
        [sys.executable, "-m", "anachron", *command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1 and len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith(f"anachron: {tmp_path / place.split('/')[0]}: ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_that_is_read_only_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(AnachronError, match="cannot be written to"), together(tmp_path / "x"):
        pass


@pytest.mark.parametrize("path", sorted((ROOT / "config").rglob("*.yaml")), ids=lambda path: path.name)
def test_no_comment_stands_twice_in_a_row(path: Path) -> None:
    blocks: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if len(line.strip()) > 1 and line.lstrip().startswith("#"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    for block in blocks:
        assert len(block) == len(set(block)), block
