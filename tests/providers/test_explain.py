"""Why a key missed: the field that differs, by its path, and nothing else."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from collecting import SUITE, Respondent, model, requests
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import AnachronError
from anachron.llm import providers
from anachron.llm.collect import collect
from anachron.llm.explain import ABSENT, described, differences, explain
from anachron.llm.records import Came, Try, write_failed, write_sent
from anachron.llm.store import open_store
from anachron.llm.store_read import snapshot

LONG = "\n".join(
    f"Line {number} of a long prompt that says one thing and then another." for number in range(40)
)


def asked(tmp_path, wanted, entry=None, stored=None):
    """Store one item's requests, and explain those of `wanted`."""
    collect(
        model(), SUITE, requests(1) if stored is None else stored, tmp_path, Respondent(tmp_path / "log"),
        progress=False,
    )  # fmt: skip
    entry = entry or model()
    with snapshot(tmp_path / f"{model().slug}.sqlite") as connection:
        known = [("planted", None), ("openai_chat", "https://a.example/v1")]
        return explain(connection, entry, providers.get(entry.provider), wanted, known)


def test_a_stored_answer_is_named_with_its_outcome(tmp_path):
    first, second = asked(tmp_path, requests(1))
    assert (first.state, second.state, first.rep, second.rep) == ("answered", "answered", 1, 2)
    assert "outcome answer" in first.lines[0] and "answered" in first.lines[1]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ({"temperature": 0.7}, "temperature: stored 0.2, wanted 0.7"),
        ({"max_tokens": 65}, "max_tokens: stored 64, wanted 65"),
        ({"system": "Answer!"}, "messages[0].content: stored 'Answer.', wanted 'Answer!'"),
        ({"shown_date": "2000-01-15"}, "about.shown_date: stored None, wanted '2000-01-15'"),
    ],
)
def test_the_one_field_that_differs_is_named(tmp_path, columns, line):
    for found in asked(tmp_path, requests(1, **columns)):
        assert found.state == "missing"
        assert found.lines[0].startswith(f"nearest stored request: rep {found.rep}, key ")
        assert found.lines[1:] == [line]


def test_the_registry_entry_is_part_of_what_differs(tmp_path):
    [found, _] = asked(tmp_path, requests(1), model(planted={SUITE: {"lean": 0.4, "new": 1}}))
    assert found.lines[1:] == [
        "planted.lean: stored 0.3, wanted 0.4",
        "planted.new: stored nothing, wanted 1",
    ]


def test_a_rep_that_was_not_asked_is_told_from_a_body_that_was_not(tmp_path):
    *_, found = asked(tmp_path, requests(1, reps=3))
    assert found.state == "missing"
    assert found.lines[1:] == ["rep: stored 2, wanted 3 (this very body was asked as rep 1, 2)"]


def test_a_long_text_shows_only_where_it_changed(tmp_path):
    changed = LONG.replace("Line 7 of a long", "Line 7 of a short").replace("Line 30", "Row 30")
    [found, _] = asked(tmp_path, requests(1, prompt=changed), stored=requests(1, prompt=LONG))
    text = "\n".join(found.lines)
    assert "messages[1].content" in text and "line 8: wanted" in text and "short" in text and "Row 30" in text
    assert "Line 8 " not in text and len(text) < 900


def test_the_nearest_of_several_stored_requests_is_taken(tmp_path):
    for columns in ({"prompt": "Something else entirely?", "temperature": 0.9}, {"prompt": "Question 0!"}):
        collect(
            model(), SUITE, requests(1, **columns), tmp_path, Respondent(tmp_path / "log"), progress=False
        )
    [found, _] = asked(tmp_path, requests(1, temperature=0.3))
    assert found.lines[1:] == ["temperature: stored 0.2, wanted 0.3"]


def test_what_was_never_asked_has_nothing_near_it(tmp_path):
    [found, _] = asked(tmp_path, requests(1, arm="Z"))
    assert found.lines == [
        "nothing like it was ever asked: the store holds 0 requests of arm Z about other items and 2 of item "
        "2000-01-15 in other arms"
    ]
    assert explain(None, model(), providers.get("planted"), requests(1), [])[0].state == "missing"


def test_an_endpoint_that_changed_is_named(tmp_path):
    wire = {"name": "planted one", "provider": "openai_chat", "planted": {}}
    old = model(**wire, endpoint="https://a.example/v1")
    new = model(**wire, endpoint="https://b.example/v1")
    from anachron.llm.plan import each, plan

    made = plan(old, providers.get("openai_chat"), SUITE, requests(1))
    with open_store(tmp_path, old.slug, durable=False) as opened:
        for number, one in enumerate(each(made, range(2)), 1):
            attempt = Try(number, one.call.key, 0.0, None)
            write_sent(opened, one.call, attempt)
            write_failed(opened, attempt, Came("timeout", 1.0, None), "too slow", cost_usd=None)
    with snapshot(tmp_path / f"{old.slug}.sqlite") as connection:
        known = [("openai_chat", "https://a.example/v1")]
        wire_provider = providers.get("openai_chat")
        [same, _] = explain(connection, old, wire_provider, requests(1), known)
        [moved, _] = explain(connection, new, wire_provider, requests(1), known)
        [unknown, _] = explain(connection, new, wire_provider, requests(1), [])
    assert same.state == "unanswered" and same.lines[1].endswith("timeout, 'too slow'")
    assert moved.lines[1:] == ["endpoint: stored 'https://a.example/v1', wanted 'https://b.example/v1'"]
    assert "no longer names" in unknown.lines[1]


def test_fields_are_told_apart_as_keys_are():
    left = {"a": [1, {"b": None}], "c": True, "d": 1}
    right = {"a": [1, {"b": 0}, "x"], "c": 1, "d": 1.0}
    found = [(one.path, one.stored, one.wanted) for one in differences(left, right)]
    assert found == [("a[1].b", None, 0), ("a[2]", ABSENT, "x"), ("c", True, 1), ("d", 1, 1.0)]
    assert differences(left, json.loads(json.dumps(left))) == []
    assert described(differences({}, {"x": "y" * 400})[0])[0].count("y") < 300


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """A run of one planted model whose request tables are there and whose store is empty."""
    from pathlib import Path

    monkeypatch.chdir(tmp_path)
    root = Path(__file__).resolve().parents[2]
    (tmp_path / "config.yaml").write_text(
        f"registry: {root}/config/test/models.yaml\nprotocols: {{hindsightbench: {root}/config/test/protocol.yaml}}\n"
        f"sources: {{snapshot: {root}/resources/snapshot}}\n"
    )
    table = requests(arm="LAP", items=3, reps=1)
    table["suite"] = "hindsightbench"
    table["item"] = ["2013-01-15", "2013-02-15", "2013-03-15"]
    frames.write(table, tmp_path / "results/requests/hindsightbench/LAP/all.parquet", frames.Requests)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tiny-triger", "hindsightbench", "2013-01-15"], "did you mean `tiny-trigger`"),
        (["tiny-trigger", "hindsight", "2013-01-15"], "did you mean `hindsightbench`"),
        (["tiny-trigger", "hindsightbench", "2013-01-16", "--arm", "LAP"], "did you mean `2013-01-15`"),
        (["tiny-trigger", "hindsightbench", "2013-01-15", "--arm", "LAPP"], "did you mean `LAP`"),
        (["tiny-trigger", "hindsightbench", "2013-01-15", "--arm", "LAP", "--rep", "9"], "its reps: 1"),
        (
            ["tiny-trigger", "hindsightbench", "2013-01-15", "--arm", "D"],
            "make the run's request tables first",
        ),
    ],
)
def test_what_the_run_does_not_ask_is_named(run_folder, arguments, says):
    run = CliRunner().invoke(app, ["explain", *arguments, "--config", "config.yaml"])
    assert isinstance(run.exception, AnachronError)
    assert says in str(run.exception)


def test_the_command_line_verifies_sums_up_exports_and_merges(tmp_path):
    store, second = tmp_path / "store", tmp_path / "second"
    for folder, items in ((store, 2), (second, 3)):
        collect(model(), SUITE, requests(items), folder, Respondent(tmp_path / "log"), progress=False)

    def said(*arguments):
        run = CliRunner().invoke(app, ["store", *map(str, arguments)])
        assert run.exit_code == 0, run.exception
        return run.output

    assert "4 requests, 4 attempts, 4 responses: whole" in said("verify", "--store", store)
    assert "answer 4" in said("stats", "planted one", "--store", store)
    assert json.loads(said("stats", "--json", "--store", store))["arms"][0]["answers"] == 4
    merged = said("merge", "planted one", second / "planted%20one.sqlite", "--store", store)
    assert "2 requests, 2 answers and 6 attempts added" in merged
    assert "6 requests" in said("export", "planted one", "-o", tmp_path / "x.parquet", "--store", store)
    printed = said("export", "planted one", "-o", "-", "--store", store, "--arm", "R")
    assert len([json.loads(line) for line in printed.splitlines()]) == 6
    import sqlite3

    with closing(sqlite3.connect(store / "planted%20one.sqlite")) as connection:
        connection.execute("UPDATE requests SET rep = 9 WHERE id = 1")
        connection.execute("UPDATE requests SET item = char(27) || '[2J' WHERE id = 2")
        connection.execute("UPDATE requests SET rep = 9 WHERE id = 2")
        connection.commit()
    run = CliRunner().invoke(app, ["store", "verify", "--store", str(store)])
    assert isinstance(run.exception, AnachronError) and "2 requests whose key" in str(run.exception)
    assert "\x1b" not in str(run.exception)
    run = CliRunner().invoke(app, ["store", "verify", "--store", str(tmp_path / "nothing")])
    assert "holds no store" in str(run.exception)
