"""A registered plan is never overwritten, and collecting under another one is refused with what changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from anachron import frames, prereg, stages, suites
from anachron.config import Registry, load
from anachron.errors import CollectError, ConfigError, ContractError
from anachron.pipeline import Plan

ROOT = Path(__file__).resolve().parents[2]
MODEL, SUITE, TIME = "tiny-trigger", "hindsightbench", "2026-01-31T12:00:00+00:00"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A configuration of one planted model, and its plan registered once."""
    place = tmp_path_factory.mktemp("prereg")
    for name in ("models", "protocol"):
        (place / f"{name}.yaml").write_bytes((ROOT / "config" / "test" / f"{name}.yaml").read_bytes())
    path, held = prereg.register(plan_in(place), place / "registered", TIME)
    return place, path, held


@pytest.fixture
def place(base, tmp_path):
    """A copy of that folder, to change."""
    for path in sorted(base[0].rglob("*.*")):
        copy = tmp_path / path.relative_to(base[0])
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return tmp_path


def plan_in(place: Path) -> Plan:
    settings = {
        "registry": str(place / "models.yaml"),
        "model": MODEL,
        "protocols": {SUITE: str(place / "protocol.yaml")},
        "store": str(place / "store"),
        "sources": {"snapshot": str(ROOT / "resources" / "snapshot"), "alfred": None},
    }
    return Plan(settings, "settings")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def check(place: Path, **block) -> None:
    protocol = suites.load_protocol(SUITE, place / "protocol.yaml")
    entry = load(Registry, place / "models.yaml").get(MODEL)
    prereg.refuse_changes(entry, SUITE, protocol, folder=place / "registered", **block)


def test_the_plan_holds_protocol_entry_counts_hashes_and_time(base):
    _, path, held = base
    assert path.name == "tiny-trigger@1.json" and json.loads(path.read_text()) == held
    part = held["suites"][SUITE]
    reps = {arm: spec["reps"]["full"] for arm, spec in part["protocol"]["arms"].items()}
    calls = {arm: blocks["all"]["calls"] for arm, blocks in part["requests"].items()}
    assert calls == {arm: reps[arm] * (36 if arm == "W72" else 42) for arm in calls}
    assert set(calls) == {"R", "D", "M", "W", "W72", "LAP", "REC"} and part["calls"] == sum(calls.values())
    assert held["registered_at"] == TIME and held["answers_in_store"] == 0
    assert re.fullmatch("[0-9a-f]{64}", held["sha256"]) and len(part["protocol_sha256"]) == 64
    assert held["registry"]["planted"][SUITE]["seed"] == 1


def test_the_same_plan_makes_no_new_version(place):
    path, held = prereg.register(plan_in(place), place / "registered", "2030-01-01T00:00:00+00:00")
    assert path.name == "tiny-trigger@1.json" and held["registered_at"] == TIME
    assert len(list((place / "registered").iterdir())) == 1


def test_another_plan_needs_a_reason_and_leaves_the_old_one(place):
    old = (place / "registered" / "tiny-trigger@1.json").read_bytes()
    edit(place / "protocol.yaml", "2014-10, 2015-01]", "2014-10, 2014-12, 2015-01]")
    with pytest.raises(ConfigError, match=r"sets\.crisis.*reason"):
        prereg.register(plan_in(place), place / "registered", TIME, "  ")
    path, held = prereg.register(plan_in(place), place / "registered", TIME, "a sixth crisis month")
    assert (path.name, held["version"], held["reason"]) == ("tiny-trigger@2.json", 2, "a sixth crisis month")
    assert (place / "registered" / "tiny-trigger@1.json").read_bytes() == old
    check(place)


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("protocol.yaml", "threshold: 0.1,", "threshold: 0.15,",
         "`protocol tiny.lap.threshold`: registered 0.1, now 0.15"),
        ("protocol.yaml", "R: {temperature: 0.2", "R: {temperature: 0.9",
         "`protocol tiny.arms.R.temperature`: registered 0.2, now 0.9"),
        ("models.yaml", "tier: full", "tier: reduced", "`registry.tier`: registered 'full', now 'reduced'"),
        ("models.yaml", "claim: 0.8,", "claim: 0.7,",
         "`registry.planted.hindsightbench.recall.claim`: registered 0.8, now 0.7"),
        ("models.yaml", "tier: full", "tier: full\n    temperature: {hindsightbench: 0.5}",
         "`registry.temperature.hindsightbench`: registered nothing, now 0.5"),
    ],
)  # fmt: skip
def test_a_changed_parameter_is_named_with_both_values(place, file, old, new, says):
    check(place)
    edit(place / file, old, new)
    with pytest.raises(CollectError) as refused:
        check(place)
    assert says in str(refused.value) and "nothing was asked" in str(refused.value)
    assert str(refused.value).count("`: registered ") == 1, "one parameter and no other"


def test_what_decides_no_answer_may_change(place):
    edit(place / "models.yaml", "tier: full", "tier: full\n    limits: {concurrency: 2}\n    price: some-key")
    check(place)


def test_other_prompts_under_the_same_protocol_are_refused(place):
    plan, table = plan_in(place), place / "requests.parquet"
    spans = {span: place / f"{span}.parquet" for span in plan.spans(SUITE)}
    for span, out in spans.items():
        stages.panel(SUITE, place / "protocol.yaml", plan.sources_json(), span, out)
    stages.ask(SUITE, place / "protocol.yaml", list(spans.values()), "REC", "all", table)
    requests = frames.read(table, frames.Requests)
    check(place, arm="REC", block="all", requests=requests)
    shuffled = requests.sample(frac=1, random_state=1)
    check(place, arm="REC", block="all", requests=shuffled)
    other = requests.assign(prompt=requests["prompt"].mask(requests.index == 3, "another prompt"))
    with pytest.raises(CollectError, match=r"`requests\.REC\.all\.sha256`.*other prompts"):
        check(place, arm="REC", block="all", requests=other)
    with pytest.raises(CollectError, match=r"`requests\.REC\.all\.calls`: registered 42, now 41"):
        check(place, arm="REC", block="all", requests=requests.iloc[1:])
    with pytest.raises(CollectError, match=r"`requests\.REC\.2012`: not among"):
        check(place, arm="REC", block="2012", requests=requests)


def test_an_altered_registration_is_found(place):
    path = place / "registered" / "tiny-trigger@1.json"
    path.write_text(path.read_text().replace(TIME, TIME.replace("2026", "2025")))
    with pytest.raises(ContractError, match="not as it was written"):
        check(place)


def test_collecting_stops_before_anything_is_asked(place, monkeypatch):
    plan, table, out = plan_in(place), place / "requests.parquet", place / "sealed.parquet"
    panels = []
    for span in plan.spans(SUITE):
        panels.append(place / f"{span}.parquet")
        stages.panel(SUITE, place / "protocol.yaml", plan.sources_json(), span, panels[-1])
    stages.ask(SUITE, place / "protocol.yaml", panels, "REC", "all", table)
    monkeypatch.setenv(prereg.FOLDER_VARIABLE, str(place / "registered"))

    def collect():
        stages.collect(
            SUITE, place / "protocol.yaml", place / "models.yaml", MODEL, "REC", "all", table, panels,
            place / "store", out,
        )  # fmt: skip

    edit(place / "protocol.yaml", "threshold: 0.1,", "threshold: 0.15,")
    with pytest.raises(CollectError, match="preregistered"):
        collect()
    assert not out.exists() and not (place / "store").exists()
    edit(place / "protocol.yaml", "threshold: 0.15,", "threshold: 0.1,")
    collect()
    assert len(pd.read_parquet(out)) == 42
