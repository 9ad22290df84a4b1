"""`snakemake audits`: a user's questions are asked of target and control in one run, and audited against each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from workflow_checkout import Checkout, fresh

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

MODELS = ("planted-trigger", "planted-memory")


def questions(path: Path, number: int = 360) -> None:
    """Write questions resolved from 2023-07 to 2026-02, whose crowd is calibrated."""
    rng = np.random.default_rng(4)
    days = pd.Timestamp("2023-07-01") + pd.to_timedelta(np.sort(rng.integers(0, 960, number)), unit="D")
    crowd = rng.uniform(0.1, 0.9, number).round(3)
    pd.DataFrame(
        {
            "question": [f"q{place}" for place in range(number)],
            "text": [f"Will event {place} happen?" for place in range(number)],
            "source": "markets",
            "frozen_on": (days - pd.Timedelta(days=20)).strftime("%Y-%m-%d"),
            "resolved_on": days.strftime("%Y-%m-%d"),
            "crowd": crowd,
            "outcome": (rng.uniform(size=number) < crowd).astype(int),
        }
    ).to_csv(path, index=False)


def ask_them(checkout: Checkout) -> None:
    """Make the run one of the questions alone, with target and control."""
    shipped = (checkout.path / "config/protocols/leakage.yaml").read_text(encoding="utf-8")
    assert "\nfacts: real\n" in shipped and "name: leakage" in shipped
    mine = shipped.replace("\nfacts: real\n", "\nfacts: real\nquestions: mine.csv\n")
    (checkout.path / "mine.yaml").write_text(mine.replace("name: leakage", "name: mine"), encoding="utf-8")
    run = f"registry: config/models.yaml\nprotocols: {{leakage: mine.yaml}}\nmodels: [{', '.join(MODELS)}]\n"
    for name in ("config/config.yaml", "config/test/config.yaml"):
        (checkout.path / name).write_text(run, encoding="utf-8")


def test_target_and_control_are_collected_and_audited_in_one_run(tmp_path: Path) -> None:
    checkout = fresh(tmp_path / "clone")
    questions(checkout.path / "mine.csv")
    ask_them(checkout)
    checkout.snakemake("audits", "leaderboard")
    results = checkout.path / "results"
    for model in MODELS:
        found = json.loads((results / f"audits/leakage/{model}/audit.json").read_text(encoding="utf-8"))
        assert found["target"] == model
        assert {one["model"] for one in found["models"]} == set(MODELS)
        row = json.loads((results / f"rows/{model}.json").read_text(encoding="utf-8"))
        assert "leakage" in json.dumps(row)
    target = json.loads((results / "audits/leakage/planted-trigger/audit.json").read_text(encoding="utf-8"))
    assert (target["route"]["route"], target["route"]["controls"]) == ("did", ["planted-memory"])
    difference = next(one for one in target["findings"] if one["name"].startswith("did"))
    assert difference["number"]["low"] > 0
    assert (
        "Could the gap be composition?" in (results / "audits/leakage/planted-trigger/report.md").read_text()
    )
    assert "Jump" in (results / "leaderboard/leaderboard.md").read_text(encoding="utf-8")
    assert "Nothing to be done" in checkout.snakemake("audits", "leaderboard")
    # The forecasts are a table that the other front door takes.
    checkout.anachron(
        "backtest", "results/forecasts/leakage.parquet", "--target", "planted-memory", "--draws", "200"
    )
    checkout.edit("mine.csv", "Will event 7 happen?", "")
    said = checkout.snakemake("audits", ok=False)
    assert "line 9, column 'text': found nothing" in said


def test_a_run_without_forecasts_says_so(tmp_path: Path) -> None:
    checkout = fresh(tmp_path / "clone")
    assert "add leakage to `protocols`" in checkout.snakemake("audits", ok=False)
