"""Parsing: each rule of the published reading, what recovery adds, and answers made to break a parser."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from anachron.suites import load_protocol
from anachron.suites.hindsightbench.parse import YearsAndEvents, read_lap, valid_sketches
from anachron.suites.hindsightbench.parse import tally as tally_of
from anachron.suites.hindsightbench.probes import read_month, read_recall
from anachron.suites.hindsightbench.protocol import Protocol
from anachron.suites.hindsightbench.sketches import Schema, is_compliant, read_sketches, recover_sketches

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    found: Protocol = load_protocol("hindsightbench", ROOT / "config" / "protocols" / "bm1.yaml")
    return found


def tally(items: list | None) -> tuple[int, int, str]:
    return tally_of(items, valid_sketches(items))


def sketch(direction: str = "+", **other: object) -> dict[str, object]:
    return {
        "hypothesis_id": "H1",
        "dominant_domain": "demand",
        "mechanism_narrative": "a narrative",
        "direction": direction,
        "candidate_proxies": ["UNRATE"],
        "candidate_horizon_hint": 20,
        "candidate_trigger": "a trigger",
        "candidate_interactions": [],
        "evidence_refs": [],
        "regime_hint": "any",
        "failure_condition": "a refutation",
        **other,
    }


TWO = json.dumps([sketch("+"), sketch("-")])


@pytest.mark.parametrize(
    ("text", "repair", "directions"),
    [
        (TWO, "plain", "+-"),
        (f"  {TWO}\n", "plain", "+-"),
        (f"```json\n{TWO}\n```", "fence", "+-"),
        (f"<think>I [weigh] it</think>{TWO}", "think", "+-"),
        (f"<think>a</think>\n```\n{TWO}\n```", "fence+think", "+-"),
        (f"Here they are: {TWO} Enough.", "scan", "+-"),
        (f"First [{{}}] then {TWO} and {json.dumps([sketch('-')])}", "scan", "+-"),
        (TWO[:-1] + ",]", "comma", "+-"),
        (f"```json\n{TWO[:-1]},]\n```", "fence+comma", "+-"),
    ],
)
def test_published_reading(text, repair, directions):
    reading = read_sketches(text)
    assert (set(reading.repair.split("+")), tally(reading.items)[2]) == (set(repair.split("+")), directions)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "empty"),
        ("", "empty"),
        ("```\n```", "empty"),
        ("I cannot help with that.", "not JSON"),
        (json.dumps(sketch()), "not a list"),
        (TWO[:-1], "not JSON"),
        (TWO + " That is all.", "not JSON"),
        ("[" * 10_000 + "]" * 10_000, "nested too deeply"),
        (f"[{'9' * 10_000}]", "not JSON"),
    ],
)
def test_parse_errors_have_names(text, error):
    reading = read_sketches(text)
    assert (reading.items, reading.error, reading.repair) == (None, error, "error")


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        (TWO[:-1], "+-"),
        (TWO[:-1] + ',{"direction": "+", "mechanism', "+-"),
        (TWO + " That is all.", "+-"),
        (f"Sure: {TWO[:-1]}", "+-"),
        (json.dumps({"sketches": [sketch("-")]}), "-"),
    ],
)
def test_recovery_counts_complete_objects(text, directions):
    whole = recover_sketches(text, read_sketches(text))
    assert (tally(whole.items)[2], whole.repair) == (directions, "recovered")


def test_recovery_stops_at_the_first_fault_and_leaves_good_lists_alone():
    broken = f'[{json.dumps(sketch("+"))}, {{"direction" }}, {json.dumps(sketch("-"))}]'
    assert tally(recover_sketches(broken, read_sketches(broken)).items)[2] == "+"
    good = read_sketches(TWO)
    assert recover_sketches(TWO, good) is good
    none = read_sketches("no list here")
    assert recover_sketches("no list here", none).error == "not JSON"


@pytest.mark.parametrize(
    "fault",
    [
        {"direction": "up"},
        {"direction": ["+"]},
        {"mechanism_narrative": None},
        {"candidate_proxies": "UNRATE"},
        {"regime_hint": 3},
    ],
)
def test_what_makes_a_sketch_invalid(fault):
    assert tally([sketch("+"), {**sketch("-"), **fault}, "not an object"]) == (1, 2, "+")


def test_the_rest_of_the_schema_is_reported_and_gates_nothing():
    task = Schema(frozenset({"demand"}), frozenset({5, 20}), frozenset({"UNRATE"}))
    assert is_compliant(sketch(), task)
    for fault in (
        {"dominant_domain": ["demand"]},
        {"evidence_refs": None},
        {"candidate_proxies": [{}]},
        {"dominant_domain": "luck"},
        {"candidate_horizon_hint": "20"},
        {"candidate_proxies": []},
    ):
        assert not is_compliant(sketch(**fault), task)
        assert tally([sketch(**fault)])[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        '[{"a":' * 200_000,
        '[{"a":1},' * 200_000,
        "x" + '[{"a":1},' * 200_000,
        "x" + '[{"a":"' * 200_000,
        "x" + '[{"a": [{"b": "' + "c" * 2_000_000,
        json.dumps([sketch(mechanism_narrative="long " * 1_000_000)]),
        "\ud800\x00[" + "," * 1_000_000,
    ],
    ids=range(8),
)
def test_hostile_answers_take_linear_time(text):
    started = time.process_time()
    recover_sketches(text, read_sketches(text))
    read_recall(text)
    read_month(text)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Up.", "up"),
        ("DOWN", "down"),
        ('{"answer": "unknown"}', "unknown"),
        ("up or down? down", "down"),
        ("the update went downhill", "invalid"),
        (None, "invalid"),
    ],
)
def test_recall_is_the_last_standalone_word(text, word):
    assert read_recall(text) == word


def test_a_recorded_word_stands_for_a_cut_text_only():
    cut = "down. (Note: It actually went up briefly to near record highs"[:60]
    assert read_lap(read_recall(cut), cut, "down")["recall_uniform"] == "down"
    assert read_lap("up", "up", "invalid") == {
        "recall": "invalid",
        "recall_uniform": "up",
        "recall_source": "text",
    }
    assert read_lap("up", "up", None)["recall"] == "up"


@pytest.mark.parametrize(
    ("text", "month", "year"),
    [
        ('{"estimated_date": "2013-05"}', "2013-05", "2013"),
        ('```json\n{"estimated_date": "2013-05-15"}\n```', "2013-05", "2013"),
        ("between 2011-01 and 2012-03", "2012-03", "2012"),
        ('{"estimated_date": "2013-Q2"}', None, "2013"),
        ("the middle of 2013", None, "2013"),
        ('{"estimated_date": 2013}', None, "2013"),
        ("2013-13", None, "2013"),
        ("[" * 20_000, None, None),
        (None, None, None),
    ],
)
def test_date_recovery(text, month, year):
    assert read_month(text) == (month, year)


def test_years_and_events_are_whole_words(protocol: Protocol):
    audit = YearsAndEvents(protocol)
    text = "Since 2008, as after lehman; the index stood at 120131."
    assert audit.flags(text, "2013-05-15", "2008-11-15") == {
        "names_shown_year": True,
        "names_true_year": False,
        "names_event": True,
    }
    shown = audit.flags("a tarpaulin", "2013-05-15", "2008-11-15")
    assert shown == {"names_shown_year": False, "names_true_year": False, "names_event": False}
    assert audit.flags("by 2013, lehman", "2013-05-15", None) == {"names_true_year": True}
