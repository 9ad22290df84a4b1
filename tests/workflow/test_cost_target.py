"""`snakemake cost`: what asking will cost is said by building what is free, and nothing is asked."""

from __future__ import annotations

import re

import pytest
from workflow_checkout import Checkout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

PAID = """
  - name: paid/one
    provider: anthropic
    model_id: claude-haiku-4-5-20251001
    price: claude-haiku-4-5
    default_run: false
    tier: reduced
"""


def test_the_cost_of_a_model_is_said_before_anything_is_asked(checkout: Checkout) -> None:
    registry = checkout.path / "config/test/models.yaml"
    registry.write_text(registry.read_text(encoding="utf-8") + PAID, encoding="utf-8")
    asked = checkout.asks()
    said = checkout.snakemake("cost", "--config", "model=paid/one", "budget_usd=3")
    row = re.search(
        r"^paid/one +hindsightbench +([\d,]+) +0 +([\d,]+) .*\$[\d.,]+ +\$[\d.,]+ +\$", said, re.MULTILINE
    )
    assert row and row[1] == row[2] != "0", said[-3000:]
    assert "`budget_usd` is 3.00" in said, "the run's own settings hold, not the file's"
    assert checkout.asks() == asked and not list((checkout.path / "store").glob("paid*"))
    assert set(checkout.planned("cost", "--config", "model=paid/one")) == {"cost"}, "its tables are there now"


def test_a_faulty_price_file_stops_a_run_that_needs_it_with_one_message(checkout: Checkout) -> None:
    registry = checkout.path / "config/test/models.yaml"
    registry.write_text(registry.read_text(encoding="utf-8") + PAID, encoding="utf-8")
    prices = checkout.path / "config/prices.csv"
    prices.write_text(prices.read_text(encoding="utf-8").replace(",USD,", ",EUR,", 1), encoding="utf-8")
    said = checkout.snakemake("cost", "--config", "model=paid/one", ok=False)
    assert "config/prices.csv, line 2, column currency: found 'EUR'" in said and "Traceback" not in said
    checkout.snakemake("--dry-run", "leaderboard")
