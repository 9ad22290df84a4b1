"""A row that was made of published records can be made again from them, and an altered one is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from anachron import replay
from anachron.cli import app

PROTOCOL = Path(__file__).resolve().parents[2] / "config" / "protocols" / "bm1.yaml"


def test_replayed_rows_follow_from_the_records(records: Any, tmp_path: Path) -> None:
    folder = records.folder / "layout_sample"
    made = [
        path for path in replay.replay("hindsightbench", folder, tmp_path, PROTOCOL) if path.suffix == ".json"
    ]
    row = next(path for path in made if path.parent == tmp_path)

    def verify(*args: str) -> Any:
        return CliRunner().invoke(app, ["verify", str(row), *args], catch_exceptions=True)

    told = verify("--records", str(folder), "--protocol", str(PROTOCOL))
    assert told.exit_code == 0 and "follows from" in told.output
    text = row.read_text(encoding="utf-8")
    row.write_text(text.replace('"calls": ', '"calls": 1', 1), encoding="utf-8")
    told = verify("--records", str(folder), "--protocol", str(PROTOCOL))
    assert "`ledger.calls`" in str(told.exception)
    told = verify("--config", str(PROTOCOL.parents[1] / "config.yaml"))
    assert "give their folder with --records" in str(told.exception)
