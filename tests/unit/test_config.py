"""What a user may write wrongly, and what the error says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anachron import blocks
from anachron.config import Config, Registry, load, read_yaml, validate
from anachron.errors import AnachronError, ConfigError
from anachron.files import canonical_json, rounded, slug, unslug
from anachron.pipeline import Plan
from anachron.suites import load_protocol
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
BM1 = ROOT / "config/protocols/bm1.yaml"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"budget_us": 3}, "unknown key `budget_us`; did you mean `budget_usd`?"),
        ({"macro": {"pth": "x"}}, "unknown key `macro.pth`; did you mean `path`?"),
        ({"budget_usd": -1}, "`budget_usd`: found -1; allowed: greater than or equal to 0"),
        ({"scoring": "paper"}, "`scoring`: found 'paper'; allowed: 'anachron' or 'bm1'"),
    ],
)
def test_a_fault_names_file_key_found_and_allowed(value: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)) as caught:
        validate(Config, value, "config/config.yaml")
    assert str(caught.value).startswith("config/config.yaml: ")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"name": "a", "provider": "openai"}, "allowed: planted, replay"),
        ({"name": "a", "provider": "replay"}, "needs `source`"),
        ({"name": "a", "provider": "planted"}, "needs `planted`"),
        ({"name": "a", "provider": "replay", "source": "x", "tier": "ful"}, "`models[a].tier`"),
        ({"name": "", "provider": "replay", "source": "x"}, "name"),
    ],
)
def test_a_registry_fault_names_the_model_and_what_is_allowed(entry: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        validate(Registry, {"models": [entry]}, "config/models.yaml")


def test_an_unknown_model_is_named_with_the_nearest_known_one() -> None:
    registry = load(Registry, ROOT / "config/models.yaml")
    with pytest.raises(ConfigError, match="did you mean `planted-trigger`"):
        registry.get("planted-triger")


def test_two_models_may_not_share_a_path() -> None:
    twice = [{"name": name, "provider": "replay", "source": "x"} for name in ("Model", "model")]
    with pytest.raises(ConfigError, match="two models share the name"):
        validate(Registry, {"models": twice}, "models.yaml")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("sets:\n  crisis: [2008-09,", "sets:\n  crisis: [1999-09,"),
            "1999-09, which is not a decision month",
        ),
        (
            ("sets:\n  crisis: [2008-09,", "sets:\n  crisis: [2025-09,"),
            "2025-09, which lies after `dates.pre_end`",
        ),
        (("calm_years: [2013,", "calm_years: [2003,"), "calm year 2003"),
        (("threshold: 0.1,", "treshold: 0.1,"), "did you mean `threshold`"),
        (("  REC: {temp", "  RECC: {temp"), "RECC"),
    ],
)
def test_a_protocol_that_cannot_be_run_is_refused(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    text = BM1.read_text(encoding="utf-8")
    assert text.count(change[0]) == 1
    path = tmp_path / "protocol.yaml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(says)):
        load(Protocol, path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: 1\na: 2\n", "key 'a' is written twice at line 2"),
        (b"a: [1\n", "not valid YAML"),
        (b"a: \xff\n", "not UTF-8"),
    ],
)
def test_unreadable_yaml_names_file_and_line(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=says):
        read_yaml(path)
    with pytest.raises(ConfigError, match="no such file"):
        read_yaml(tmp_path / "y.yaml")


def test_a_protocol_of_another_suite_is_refused() -> None:
    with pytest.raises(AnachronError, match="suite 'findendr' is not known; known suites: hindsightbench"):
        load_protocol("findendr", BM1)


def test_false_dates_follow_the_specification() -> None:
    protocol = load_protocol("hindsightbench", BM1)
    fakes = protocol.fake_dates(66)
    assert len(fakes) == 258
    assert fakes["2005-01-15"] == "2010-07-15"
    assert fakes["2024-12-15"] == "2010-06-15"
    assert fakes["2025-01-15"] == "2008-09-15"
    assert fakes["2025-02-15"] == "2013-02-15"
    assert fakes["2026-06-15"] == "2017-10-15"
    assert sorted(fakes[date] for date in protocol.pre_dates) == protocol.pre_dates


def test_the_ask_digest_ignores_analysis_and_later_months_only() -> None:
    document = read_yaml(BM1)
    base = validate(Protocol, document, "bm1")
    later = validate(Protocol, {**document, "dates": {**document["dates"], "end": "2026-07"}}, "bm1")
    other = validate(Protocol, {**document, "sketches": 7}, "bm1")
    assert base.ask_digest() == later.ask_digest() != other.ask_digest()
    assert base.sha256 != later.sha256


def test_blocks_are_content_stable() -> None:
    months = blocks.months("2005-01", "2026-06")
    spans = blocks.blocks(months, "span")
    assert spans == ["2005-2009", "2010-2014", "2015-2019", "2020-2024", "2025", "2026"]
    longer = blocks.blocks(blocks.months("2005-01", "2027-01"), "span")
    assert longer[: len(spans)] == spans
    assert len(blocks.blocks(months, "month")) == 258
    assert sum(len(blocks.months_in(span, months)) for span in spans) == 258
    with pytest.raises(ConfigError, match="holds none of the months"):
        blocks.months_in("1999", months)


@pytest.mark.parametrize("name", ["llama3.2:3b", "org/model", "..", ".hidden", "a b", "é", "a%3Ab", "con~1"])
def test_slugs_are_reversible_and_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    text = slug(name)
    assert unslug(text) == name
    assert (tmp_path / text).resolve().parent == tmp_path.resolve()
    assert re.fullmatch(r"[\w.%-]+", text)


def test_rounding_keeps_ten_digits_and_no_negative_zero() -> None:
    assert rounded({"a": [1 / 3, -0.0, float("nan"), True, 7]}) == {"a": [0.3333333333, 0.0, None, True, 7]}
    assert canonical_json(rounded(-1e-300 * 1e-300)) == "0.0"


def test_a_plan_refuses_arms_the_protocol_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    registry = tmp_path / "models.yaml"
    registry.write_text(
        "models:\n  - {name: m, provider: replay, source: x, arms: {hindsightbench: [R, Z]}}\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match="'Z'; allowed: R, D, M, W, W72, LAP, REC"):
        Plan({"registry": str(registry)})
