"""Publishing on a real run: frozen, audited anew under another serving, superseded, checked; and Snakemake's report."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from workflow_checkout import Checkout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

TABLES = ("leaderboard.csv", "leaderboard.md", "leaderboard.tex")


@pytest.fixture
def frozen(checkout: Checkout) -> Checkout:
    """A checkout whose rows are frozen in a folder of their own."""
    config = checkout.path / "config/test/config.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "frozen: frozen\n", encoding="utf-8")
    checkout.snakemake("freeze")
    return checkout


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_serving_supersedes_with_a_reason_and_every_table_follows(frozen: Checkout) -> None:
    folder = frozen.path / "frozen"
    before = bytes_of(folder)
    assert {"tiny/tiny-trigger@1.json", "tiny/manifest.json", "CHANGELOG.md", *TABLES} <= set(before)
    assert "follow from the frozen rows" in frozen.snakemake("check")
    arms = "    arms: {hindsightbench: [R, D, M, W, W72, LAP, REC]}\n"
    frozen.edit("config/test/models.yaml", arms, arms + "    serving: {quantization: awq}\n")
    frozen.edit("config/test/models.yaml", "claim: 0.8,", "claim: 0.6,")
    frozen.snakemake("leaderboard")
    said = frozen.snakemake("check", ok=False)
    assert "`identity.serving.quantization` is new: 'awq'" in said and "LAP.pre" in said
    assert "against the frozen row of 'tiny-trigger'" in said
    assert "against the frozen row of 'tiny/amnesiac" not in said, "what stayed the same is not named"
    rows = ["--row=results/rows/tiny-trigger.json", "--config=config/test/config.yaml"]
    said = frozen.anachron("freeze", *rows, ok=False)
    assert "give a reason to freeze a new version" in said
    assert bytes_of(folder) == before, "nothing is overwritten, and nothing half done"
    frozen.snakemake("freeze", "--config", "reason=served with other weights")
    after = bytes_of(folder)
    assert after["tiny/tiny-trigger@1.json"] == before["tiny/tiny-trigger@1.json"]
    assert set(after) - set(before) == {"tiny/tiny-trigger@2.json"}
    listed = {entry["file"]: entry for entry in json.loads(after["tiny/manifest.json"])["rows"]}
    assert listed["tiny-trigger@1.json"]["superseded_by"] == "tiny-trigger@2.json"
    assert listed["tiny-trigger@2.json"]["reason"] == "served with other weights"
    said = r"served with other weights \(supersedes `tiny-trigger@1\.json`\)"
    assert re.search(
        rf"- \d{{4}}-\d\d-\d\d `tiny/tiny-trigger@2\.json`: {said}", after["CHANGELOG.md"].decode()
    )
    assert after["CHANGELOG.md"].startswith(before["CHANGELOG.md"])
    assert all(after[name] != before[name] for name in TABLES), "every table follows the new row"
    assert "follow from the frozen rows" in check(frozen)
    for name in TABLES:
        (folder / name).unlink()
    frozen.anachron("freeze", "--tables", "--config", "config/test/config.yaml")
    assert bytes_of(folder) == after, "every table can be made again from the frozen rows alone"


def check(checkout: Checkout, ok: bool = True) -> str:
    return checkout.anachron("check", "--config", "config/test/config.yaml", ok=ok)


TURNS = (
    lambda checkout: checkout.snakemake("check", ok=False),
    lambda checkout: check(checkout, ok=False),
    lambda checkout: check(checkout, ok=False),
)
"""How each table is checked: the target once, and the command that it runs."""


def perturbed(value: Any, key: str = "") -> Any:
    """Move every number that is no count by a relative 1e-12."""
    if isinstance(value, dict):
        return {name: perturbed(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [perturbed(item, key) for item in value]
    return value * (1 + 1e-12) if isinstance(value, float) and key != "level" else value


def test_the_floats_of_another_processor_are_no_drift_and_a_changed_cell_is(frozen: Checkout) -> None:
    moved = 0
    for path in sorted((frozen.path / "results/estimates").rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        made = perturbed(document)
        moved += made != document
        path.write_text(json.dumps(made), encoding="utf-8")
    assert moved == 2
    assert frozen.planned("leaderboard")["row"] == 2
    frozen.snakemake("leaderboard")
    assert "follow from the frozen rows" in frozen.snakemake("check")
    for name, made in zip(TABLES, TURNS, strict=True):
        path = frozen.path / "frozen" / name
        text = path.read_text(encoding="utf-8")
        cell = re.findall(r"tiny-trigger\b.*?(\+?\.\d{3})(?=[ ,&\[])", text)[0]
        altered = cell[:-1] + ("1" if cell[-1] != "1" else "2")
        path.write_text(text.replace(cell, altered, 1), encoding="utf-8")
        said = made(frozen)
        assert f"frozen/{name}: " in said and altered in said and cell in said, said[-2000:]
        path.write_text(text, encoding="utf-8")
    assert "follow from the frozen rows" in check(frozen)


def test_the_report_holds_rows_tables_and_figures_with_captions_and_categories(checkout: Checkout) -> None:
    checkout.snakemake("--report", "report.zip", "leaderboard")
    with zipfile.ZipFile(checkout.path / "report.zip") as archive:
        names = archive.namelist()
        text = archive.read(next(name for name in names if name.endswith("report.html"))).decode("utf-8")
        held = {Path(name).name for name in names}
    for name in ("tiny-trigger.json", "leaderboard.csv", "leaderboard.md", "leaderboard.tex", "index.html"):
        assert name in held, sorted(held)
    for figure in ("tiny_e2_e3_forest", "tiny_lap_heatmap", "cost_per_row"):
        assert {f"{figure}.svg", f"{figure}.png"} <= held
    for said in ("Audit rows", "Leaderboard", "Figures", "hindsightbench, tiny", "Cost"):
        assert said in text, f"category {said!r}"
    for caption in ("Audit row of tiny-trigger", "Outcome recall by month", "What each row cost"):
        assert caption in text, f"caption {caption!r}"
