"""The ledger of a row: dollars from token counts and the price file, and nothing where either is missing."""

from __future__ import annotations

import pytest
from row_fixtures import SUITE, document, registry_entry

from anachron.config import ModelEntry
from anachron.fingerprint import closure
from anachron.llm.prices import Line
from anachron.publish.row import build
from anachron.publish.row_ledger import ledger

USAGE = {
    "calls": 3,
    "input_tokens": 3000,
    "cached_tokens": 1000,
    "output_tokens": 600,
    "reasoning_tokens": None,
    "calls_without_usage": 0,
}


def price(day: str = "2026-01-01", rate: float | None = 1.0) -> Line:
    output = None if rate is None else 10 * rate
    return Line("m", rate, None if rate is None else rate / 10, output, None, None, day, day, "s")


def asked(**fields) -> ModelEntry:
    return ModelEntry(
        **{
            "name": "x",
            "provider": "openai_chat",
            "endpoint": "https://example.com/v1",
            "price": "m",
            **fields,
        }
    )


def test_dollars_are_tokens_times_prices_over_all_suites():
    made = ledger(asked(), {"a": USAGE, "b": USAGE | {"output_tokens": 400}}, [price()])
    assert made["dollars"] == pytest.approx((2 * (2000 + 100) + 6000 + 4000) / 1e6)
    assert made["gaps"] == []
    assert (
        made["price"]["key"] == "m" and made["price"]["output"] == 10.0 and len(made["price"]["sha256"]) == 64
    )


def test_a_call_without_counts_makes_the_total_unknown_and_says_what_is_known():
    made = ledger(asked(), {"a": USAGE | {"calls_without_usage": 1}}, [price()])
    assert made["dollars"] is None
    assert any("1 of 3 calls" in gap for gap in made["gaps"]) and any("$0.01" in gap for gap in made["gaps"])
    free = Line("m", 0.0, 0.0, 0.0, 0.0, None, "2026-01-01", "2026-01-01", "s")
    assert ledger(asked(), {"a": USAGE | {"calls_without_usage": 1}}, [free])["dollars"] == 0.0


def test_a_price_that_changed_is_said():
    made = ledger(asked(), {"a": USAGE}, [price(), price("2026-05-01", 2.0)])
    assert made["dollars"] == pytest.approx((2000 * 2 + 1000 * 0.2 + 600 * 20) / 1e6)
    assert any("has changed" in gap and "2026-05-01" in gap for gap in made["gaps"])
    ended = ledger(asked(), {"a": USAGE}, [price(), price("2026-05-01", None)])
    assert ended["dollars"] is None and "price" not in ended


@pytest.mark.parametrize("lines", [[], [price()]])
def test_a_model_without_a_line_has_no_dollars(lines):
    made = ledger(asked(price="other"), {"a": USAGE}, lines)
    assert made["dollars"] is None and "price" not in made
    assert made["gaps"] == ["the price of these calls is not known here"]


def test_another_price_in_the_file_changes_no_row_and_its_own_does():
    def row(*lines: Line) -> dict:
        entry = registry_entry(
            "x", provider="openai_chat", source=None, endpoint="https://e.com/v1", price="m"
        )
        return build(entry, {SUITE: document("x")}, price_lines=lines)["ledger"]

    other = Line("other", 9.0, None, 9.0, None, None, "2026-01-01", "2026-01-01", "s")
    assert row(price(), other) == row(price())
    reread = Line("m", 1.0, 0.1, 10.0, None, None, "2026-01-01", "2026-09-01", "s")
    assert row(price())["price"]["sha256"] != row(reread)["price"]["sha256"]


def test_a_planted_row_knows_of_no_price():
    planted = registry_entry("p", planted={SUITE: {"seed": 1}})
    assert ledger(planted, {"a": USAGE}, [price()]) == ledger(planted, {"a": USAGE})
    assert "price" not in ledger(planted, {"a": USAGE}, [price()])


def test_a_change_of_asking_makes_no_row_anew():
    modules = [name for name in closure(("anachron.publish.row",)) if name.startswith("anachron.llm.")]
    assert modules == ["anachron.llm.prices", "anachron.llm.served"], (
        "else an edit of the client would make every row stale"
    )
