"""Adding a suite touches its own folder, its protocol and one line of the registry of suites; nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from workflow_checkout import Checkout, fresh

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

SUITE = Path(__file__).with_name("tossing")
PROTOCOL = """\
suite: tossing
name: tossing
title: Heads or tails
start: 2010-01
end: 2010-08
arms: {toss: {}}
"""
RUN = "registry: mine.yaml\nprotocols: {tossing: config/protocols/tossing.yaml}\nbudget_usd: 0\n"
MODELS = """\
models:
  - name: knows-a-half
    provider: planted
    planted: {tossing: {knows_until: 2010-04}}
"""


def with_the_suite(to: Path) -> Checkout:
    """A clone with the toy suite added, and a run of it alone."""
    clone = fresh(to)
    shutil.copytree(
        SUITE, clone.path / "src/anachron/suites/tossing", ignore=shutil.ignore_patterns("__pycache__")
    )
    (clone.path / "config/protocols/tossing.yaml").write_text(PROTOCOL, encoding="utf-8")
    last = '    "leakage": "anachron.suites.leakage",\n'
    clone.edit("src/anachron/suites/__init__.py", last, last + '    "tossing": "anachron.suites.tossing",\n')
    (clone.path / "config/test/config.yaml").write_text(RUN, encoding="utf-8")
    (clone.path / "mine.yaml").write_text(MODELS, encoding="utf-8")
    return clone


def test_a_new_suite_goes_from_items_to_the_page(tmp_path: Path) -> None:
    clone = with_the_suite(tmp_path / "clone")
    clone.snakemake("leaderboard")
    results = clone.path / "results"
    row = json.loads((results / "rows/knows-a-half.json").read_text(encoding="utf-8"))
    right = row["estimates"]["tossing"]["anachron"]["right"]
    # Four of eight are known; of the others it says heads, which two are.
    assert (right["value"], right["n"]) == (0.75, 8)
    assert row["planted_truth"]["tossing"]["anachron"]["right"] == 0.75
    for name in ("leaderboard.md", "index.html"):
        text = (results / "leaderboard" / name).read_text(encoding="utf-8")
        assert "Heads or tails" in text and "knows-a-half" in text and ".75" in text, name
    assert (results / "leaderboard/transcripts/knows-a-half/tossing/toss.js").is_file()
    assert clone.asks() == 8
