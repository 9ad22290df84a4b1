"""What a user may write wrongly, and what the error says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from snakemake.io import PeriodicityDetector

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
        ({"sources": {"snapshto": "x"}}, "unknown key `sources.snapshto`; did you mean `snapshot`?"),
        ({"budget_usd": -1}, "`budget_usd`: found -1; allowed: greater than or equal to 0"),
        ({"unknown_prices": "ask"}, "`unknown_prices`: found 'ask'; allowed: 'refuse' or 'allow'"),
    ],
)
def test_a_fault_names_file_key_found_and_allowed(value: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)) as caught:
        validate(Config, value, "config/config.yaml")
    assert str(caught.value).startswith("config/config.yaml: ")


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"name": "a", "provider": "openai"}, "allowed: openai_chat, anthropic, gemini, planted, replay"),
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


def test_a_scoring_that_no_suite_has_is_named_with_the_nearest_known_one(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(
        ConfigError, match=r"`scoring`: found 'anachro'; allowed: .*; did you mean `anachron`"
    ):
        Plan({"scoring": "anachro"})


def test_a_run_that_names_no_model_asks_none_that_costs(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    plan = Plan({})
    assert plan.models
    assert {entry.provider for entry in plan.models.values()} == {"planted"}
    assert Plan({"model": "Claude Haiku 4.5"}).models.keys() == {"Claude%20Haiku%204.5"}


@pytest.mark.parametrize("name", ["vendor/one: two", "qwen2.5:7b", "Claude Haiku 4.5", "4.5", "7"])
def test_a_name_on_the_command_line_is_the_name_that_was_typed(name: str) -> None:
    from snakemake.cli import parse_config

    assert validate(Config, parse_config([f"model={name}"]), "command line").model == name


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
        (("shift: {months: 66", "shift: {months: 480"), "`shift.months` 480 shows every date itself"),
        (("calm_anchor_months: [2, 6, 10]", "calm_anchor_months: []"), "allowed: at least 1 in number"),
        (("calm_anchor_months: [2, 6, 10]", "calm_anchor_months: [13]"), "allowed: less than or equal to 12"),
        (("full-1rep: 1, reduced: 1}}\n  D:", "ful: 1, reduced: 1}}\n  D:"), "unknown key `arms.R.reps.ful`"),
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
        ("", "is empty; it needs models"),
        ("[]", "found []; allowed: a mapping"),
        ("models: []", "`models`: found []; allowed: at least 1"),
        ("models:", "`models`: found None; allowed: a list"),
        ("models: [x]", "`models[0]`: found 'x'; allowed: a mapping"),
    ],
)
def test_a_registry_of_another_shape_is_refused_in_words_of_yaml(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(says)):
        load(Registry, path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: 1\na: 2\n", "key 'a' is written twice at line 2"),
        (b"a: [1\n", "not valid YAML"),
        (b"a: \xff\n", "not UTF-8"),
        (b"a:\n  b: .nan\n", "'.nan' is no finite number at line 2"),
        (b"a: -.inf\n", "no finite number"),
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


@pytest.mark.parametrize(
    "name", ["llama3.2:3b", "org/model", "..", ".hidden", "a b", "é", "a%3Ab", "con~1", "n" * 150, "ab" * 40]
)
def test_slugs_are_reversible_and_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    text = slug(name)
    assert unslug(text) == name
    assert (tmp_path / text).resolve().parent == tmp_path.resolve()
    assert re.fullmatch(r"[\w.%-]+", text)
    assert PeriodicityDetector().is_periodic(text) is None, "Snakemake takes it for an endless rule"


@pytest.mark.parametrize("name", ["", "/" * 30, "n-" * 101])
def test_a_name_that_can_be_no_path_is_refused(name: str) -> None:
    with pytest.raises(AnachronError, match="name"):
        slug(name)


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


@pytest.mark.parametrize("key", ["arms: {hindsightbnch: [R]}", "temperature: {hindsightbnch: 0.1}"])
def test_settings_of_a_misspelt_suite_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.chdir(ROOT)
    registry = tmp_path / "models.yaml"
    registry.write_text(f"models:\n  - {{name: m, provider: replay, source: x, {key}}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'hindsightbnch'.*did you mean `hindsightbench`"):
        Plan({"registry": str(registry)})


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (
            "planted: {hindsightbench: {beerish: {base: 0.4}}}",
            r"model 'm': planted.hindsightbench: unknown key `beerish`; did you mean `bearish`",
        ),
        (
            "planted: {hindsightbench: {bearish: {base: 1.4}}}",
            r"planted.hindsightbench: `bearish.base`: found 1.4; allowed: less than or equal to 1",
        ),
        (
            "planted: {hindsightbench: {}, findendro: {sed: 1}}",
            r"planted.findendro: unknown key `sed`; did you mean `seed`",
        ),
        (
            "planted: {hindsightbench: {}}, json_mode: {hindsightbench: [r]}",
            r"`json_mode.hindsightbench` holds 'r'; allowed: R, D",
        ),
        (
            "planted: {hindsightbench: {}}, max_output_tokens: {hindsightbench: {LPA: 9}}",
            r"`max_output_tokens.hindsightbench` holds 'LPA'; allowed: R, D",
        ),
    ],
)
def test_what_would_fail_or_hold_for_nothing_in_a_job_is_refused_when_the_run_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, says: str
) -> None:
    monkeypatch.chdir(ROOT)
    registry = tmp_path / "models.yaml"
    registry.write_text(f"models:\n  - {{name: m, provider: planted, {key}}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(says)):
        Plan({"registry": str(registry)})
