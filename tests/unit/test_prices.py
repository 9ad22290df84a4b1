"""The price file: what is read, what is refused and where, which price holds on a day, what an answer costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from anachron.config import ModelEntry, Registry, load
from anachron.errors import ConfigError
from anachron.llm import prices
from anachron.llm.budget import price_of
from anachron.llm.providers import Reply

ROOT = Path(__file__).resolve().parents[2]
HEADER = ",".join(prices.COLUMNS)
FINE = "m,2,0.5,10,20,0.5,USD,2026-01-01,2026-02-01,https://example.com"


def written(tmp_path: Path, *lines: str, header: str = HEADER) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    return path


def line(tmp_path: Path, text: str = FINE) -> prices.Line:
    (found,) = prices.read(written(tmp_path, text))
    return found


def entry(price: str | None = "m", **fields: object) -> ModelEntry:
    fields = {"provider": "openai_chat", "endpoint": "https://example.com/v1"} | fields
    return ModelEntry(name="a model", price=price, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FINE.replace(",10,", ",ten,"), r"line 3, column output: found 'ten'"),
        (FINE.replace(",2,", ",-2,"), r"line 3, column input: found '-2'"),
        (FINE.replace(",10,", ",inf,"), r"line 3, column output: found 'inf'"),
        (FINE.replace("USD", "EUR"), r"line 3, column currency: found 'EUR'.*USD"),
        (FINE.replace("0.5,USD", "50,USD"), r"line 3, column batch_discount: found '50'.*share"),
        (FINE.replace("2026-02-01", "2026-02-30"), r"line 3, column read_on: found '2026-02-30'"),
        (FINE.replace("2026-01-01", "20260101"), r"line 3, column valid_from: found '20260101'"),
        (FINE.replace("https://example.com", ""), r"line 3, column source: is empty"),
        (FINE.replace("m,", ",", 1), r"line 3, column price: is empty"),
        (FINE.replace(",10,", ",,"), r"line 3, column output: is empty while input is not"),
        (FINE.replace(",2,", ",,"), r"line 3, column input: is empty while output is not"),
        ("m,,0.5,,,,USD,2026-01-01,2026-02-01,s", r"line 3, column input: is empty while other prices"),
        (FINE + ",more", r"line 3: has 11 fields, the header has 10"),
        (FINE.replace("m,", '"m,', 1), r"line 3: not CSV"),
    ],
)
def test_a_fault_is_named_with_its_line_and_column(tmp_path, text, said):
    path = written(tmp_path, "other,1,,1,,,USD,2026-01-01,2026-01-01,s", text)
    with pytest.raises(ConfigError, match=said) as caught:
        prices.read(path)
    assert str(path) in str(caught.value)


def test_two_prices_of_one_key_and_day_are_refused(tmp_path):
    with pytest.raises(
        ConfigError, match=r"line 3, column valid_from: 'm' has a price from 2026-01-01 on in line 2"
    ):
        prices.read(written(tmp_path, FINE, FINE))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER.replace("output", "outputs"), "'output' is missing"),
        (HEADER + ",note", "'note' is not known"),
        (HEADER + ",price", "'price' stands twice"),
    ],
)
def test_the_columns_are_those_documented(tmp_path, header, said):
    with pytest.raises(ConfigError, match=f"line 1: column {said}"):
        prices.read(written(tmp_path, FINE, header=header))


def test_a_missing_file_and_one_that_is_no_text_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.csv: no such file"):
        prices.read(tmp_path / "nowhere.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        prices.read(tmp_path / "bytes.csv")


def test_the_price_of_a_day_is_the_last_that_had_begun(tmp_path):
    lines = prices.read(
        written(
            tmp_path,
            "m,3,,9,,,USD,2026-03-01,2026-03-01,s",
            "m,1,,5,,,USD,2026-01-01,2026-01-01,s",
            "m,,,,,,USD,2026-06-01,2026-06-01,the price depends on the hour now",
            "other,7,,7,,,USD,2020-01-01,2026-01-01,s",
        )
    )
    held = {
        day: prices.at(lines, "m", day) for day in ("2025-12-31", "2026-01-01", "2026-02-28", "2026-03-01")
    }
    assert {day: found and found.input for day, found in held.items()} == {
        "2025-12-31": None,
        "2026-01-01": 1.0,
        "2026-02-28": 1.0,
        "2026-03-01": 3.0,
    }
    assert prices.at(lines, "m", "2026-06-01") is None, "a line without prices ends what was known"
    assert prices.at(lines, "nothing", "2026-06-01") is None
    assert prices.at(lines, None, "2026-06-01") is None


def test_an_answer_costs_what_its_tokens_cost(tmp_path):
    rated = line(tmp_path)
    # 400 fresh at $2, 600 cached at $0.50, 250 said at $10, 50 reasoned at $20, per million.
    assert prices.dollars(rated, 1000, 600, 300, 50) == pytest.approx((800 + 300 + 2500 + 1000) / 1e6)
    assert prices.dollars(rated, 1000, None, 300, None) == pytest.approx((2000 + 3000) / 1e6)
    plain = line(tmp_path, "m,2,,10,,,USD,2026-01-01,2026-02-01,s")
    assert prices.dollars(plain, 1000, 600, 300, 50) == pytest.approx((2000 + 3000) / 1e6)


def test_what_is_not_counted_costs_an_unknown_amount_unless_it_is_free(tmp_path):
    assert prices.dollars(line(tmp_path), None, None, 300, None) is None
    assert prices.dollars(line(tmp_path), 1000, None, None, None) is None
    free = line(tmp_path, "m,0,0,0,0,,USD,2026-01-01,2026-02-01,s")
    assert prices.dollars(free, None, None, None, None) == 0.0
    half = line(tmp_path, "m,0,,0,5,,USD,2026-01-01,2026-02-01,s")
    assert prices.dollars(half, None, None, None, None) is None, "its reasoning is not free"


def test_no_answer_costs_more_than_the_most(tmp_path):
    price = price_of(entry(), written(tmp_path, FINE), "2026-05-01")
    assert price is not None
    request = {"system": "", "prompt": "é" * 100, "max_tokens": 40}
    longest = Reply(
        input_tokens=200, output_tokens=40, reasoning_tokens=40
    )  # a token a byte, all of it reasoning
    assert price.cost(longest) <= price.worst(request) == pytest.approx(((200 + 64) * 2 + 40 * 20) / 1e6)


def test_an_unknown_price_is_unknown_and_reads_no_file_for_models_without_one(tmp_path):
    path = written(tmp_path, FINE)
    assert price_of(entry("other"), path, "2026-05-01") is None
    assert price_of(entry(), path, "2025-05-01") is None, "it did not hold yet"
    assert price_of(entry(None), tmp_path / "nowhere.csv") is None
    with pytest.raises(ConfigError, match="no such file"):
        price_of(entry(), tmp_path / "nowhere.csv")


def test_the_shipped_prices_are_sound_and_local_servers_are_free():
    lines = prices.read(ROOT / "config/prices.csv")
    registry = load(Registry, ROOT / "config/models.yaml")
    used = {model.price for model in registry.models if model.price}
    assert {found.price for found in lines} <= used, "a line that no model uses is a misspelt key"
    local = prices.at(lines, "local", "2026-11-30")
    assert local is not None and local.free
    assert not any(found.free for found in lines if found.price != "local" and found.known)
    for model in registry.models:
        if model.price == "local":
            assert "127.0.0.1" in (model.base_url or ""), f"{model.name} is not served by the user"
    for found in lines:
        if found.known and found.price != "local":
            assert found.input < found.output and (found.cached_input or 0) < found.input, found.price


def test_the_documentation_names_the_models_without_a_price():
    lines = prices.read(ROOT / "config/prices.csv")
    registry = load(Registry, ROOT / "config/models.yaml")
    said = (ROOT / "docs/how-to/what-an-audit-costs.md").read_text(encoding="utf-8")
    gap = said.split("have no\nprice today:")[1].split("`local`, of zeros")[0]
    named = {word for word in gap.split("`")[1::2] if word != "extra_body"}
    keys = {model.price for model in registry.models if model.price}
    assert named == {key for key in keys if prices.at(lines, key, "2026-11-30") is None}
