"""`snakemake backtest`: a table goes in, the report comes out once, and again only when table or options change."""

from __future__ import annotations

import json
from pathlib import Path

import backtest_tables as made
from workflow_checkout import fresh


def test_a_backtest_is_audited_once_and_again_when_an_option_changes(tmp_path: Path) -> None:
    checkout = fresh(tmp_path / "clone")
    held = made.questions(200, 3, first=450)
    made.write(checkout.path, "mine", made.forecasts(held, "m", 5))
    wanted = "backtest={file: mine.csv, cutoffs: {m: 2025-01-01}}"
    checkout.snakemake("backtest", "--config", wanted)
    report = checkout.path / "results/backtest/mine"
    assert json.loads((report / "audit.json").read_text())["route"]["route"] == "forward"
    assert "Could the gap be composition?" in (report / "report.md").read_text()
    assert "Nothing to be done" in checkout.snakemake("backtest", "--config", wanted)
    assert checkout.planned("backtest", "--config", "backtest=mine.csv") == {"backtest": 1}


def test_a_bad_table_fails_the_job_and_names_the_cell(tmp_path: Path) -> None:
    checkout = fresh(tmp_path / "clone")
    table = made.forecasts(made.questions(60, 6), "m", 5).astype({"outcome": object})
    table.loc[3, "outcome"] = "yes"
    made.write(checkout.path, "bad", table)
    said = checkout.snakemake("backtest", "--config", "backtest=bad.csv", ok=False)
    assert "line 5" in said and "'outcome'" in said and "'yes'" in said
    assert not (checkout.path / "results/backtest/bad/audit.json").exists()
    assert "--config backtest=FILE" in checkout.snakemake("backtest", ok=False)
