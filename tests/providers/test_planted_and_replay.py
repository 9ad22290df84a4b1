"""The two providers in this process: what is asked, what becomes of an answer, what an import yields."""

from __future__ import annotations

import pandas as pd
import pytest
from collecting import SUITE, model, requests, sealed

from anachron import config, frames, registry
from anachron.errors import CollectError, ContractError
from anachron.llm import answers, providers, store
from anachron.llm.collect import collect
from anachron.llm.providers import Reply, replay


def one(tmp_path, said, **fields):
    frame = collect(model(**fields), SUITE, requests(1, 1), tmp_path, lambda *_: said, progress=False)
    again = collect(model(**fields), SUITE, requests(1, 1), tmp_path, None, progress=False)
    assert sealed(frame, tmp_path / "a") == sealed(again, tmp_path / "b")
    return frames.read(tmp_path / "a", frames.Transcripts).iloc[0]


def raw_of(tmp_path):
    with store.open_store(tmp_path, model().slug, durable=False) as opened:
        (key,) = [row[0] for row in opened.connection.execute("SELECT key FROM responses")]
        return answers.lookup(opened, [key])[key]


def test_the_registry_of_providers_agrees_with_the_configuration():
    assert {*providers.MODULES, *providers.RECORDED} == set(registry.PROVIDER_KINDS)
    for kind in providers.MODULES:
        assert providers.get(kind).kind == kind
        assert providers.get(kind).free == (kind in registry.FREE_PROVIDERS)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("yes", "answer"),
        ("", "empty"),
        (" \n\t", "empty"),
        (Reply(), "empty"),
        (Reply(text="cut of", finish_reason="length"), "truncated"),
        (Reply(text="", finish_reason="MAX_TOKENS"), "truncated"),
        (Reply(text="no", finish_reason="refusal"), "refusal"),
        (Reply(text="part", finish_reason="content_filter"), "content_filter"),
        (Reply(text="yes", finish_reason="stop"), "answer"),
        (b"<html>502</html>", "malformed_body"),
        (b"", "malformed_body"),
        (b"[" * 10_000, "malformed_body"),
        (b'{"text": 5}', "malformed_body"),
        (b'{"text": "a", "input_tokens": -1}', "malformed_body"),
        (b'{"text": "a", "input_tokens": 1' + b"0" * 30 + b"}", "malformed_body"),
        (b'["text"]', "malformed_body"),
    ],
)
def test_what_the_model_did_is_an_outcome_with_a_name(tmp_path, said, outcome):
    row = one(tmp_path, said)
    assert row["outcome"] == outcome
    if isinstance(said, bytes):
        assert raw_of(tmp_path) == said


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udfff", "\ufffd"),
        ("pair \ud83d\ude00", "pair \U0001f600"),
        (b'{"text": "a\xff\xfeb"}', "a\ufffd\ufffdb"),
        ("nul \x00 inside", "nul \x00 inside"),
        ("five megabytes " * 350_000, "five megabytes " * 350_000),
        ("[" * 10_000, "[" * 10_000),
    ],
)
def test_any_text_is_stored_and_sealed(tmp_path, said, text):
    row = one(tmp_path, said)
    assert row["text"] == text
    assert row["outcome"] == "answer"


def test_every_text_of_a_reply_is_made_writable(tmp_path):
    fields = ("text", "reasoning", "finish_reason", "served_model", "fingerprint", "upstream", "request_id")
    row = one(tmp_path, Reply(**dict.fromkeys(fields, "\ud800")))
    assert {row[name] for name in fields} == {"\ufffd"}


def test_the_store_keeps_what_a_sealed_text_cannot(tmp_path):
    one(tmp_path, "a\ud800b")
    assert rb"\ud800" in raw_of(tmp_path)


def test_settings_of_the_registry_replace_those_of_the_protocol(tmp_path):
    seen = []

    def respond(request, parameters):
        seen.append((request["temperature"], request["max_tokens"], request["model"], parameters))
        return "x"

    entry = model(temperature={SUITE: 1}, max_output_tokens={SUITE: 9}, model_id="pinned-2025-01-01")
    frame = collect(entry, SUITE, requests(1, 1), tmp_path, respond, progress=False)
    assert seen == [(1.0, 9, "pinned-2025-01-01", {"lean": 0.3})]
    assert frame["sampling"].tolist() == ['{"max_tokens":9,"temperature":1.0}']


def test_the_key_moves_with_everything_a_respondent_may_look_at(tmp_path):
    table = requests(1, 1)
    base = {"entry": model(), "requests": table, "respondent": ""}
    changes = [
        {},
        {"entry": model(planted={SUITE: {"lean": 0.4}})},
        {"entry": model(model_id="other")},
        {"entry": model(temperature={SUITE: 0.5})},
        {"entry": model(max_output_tokens={SUITE: 65})},
        {"requests": table.assign(shown_date="2000-01-15")},
        {"requests": table.assign(system="Reply.")},
        {"requests": table.assign(arm="D")},
        {"requests": table.assign(rep=3)},
        {"respondent": "2"},
    ]
    keys = []
    for change in changes:
        given = {**base, **change}
        keys.append(
            collect(
                given["entry"],
                SUITE,
                given["requests"],
                tmp_path,
                lambda *_: "x",
                respondent=lambda _, name=given["respondent"]: name,
                progress=False,
            )["key"][0]
        )
    assert len(set(keys)) == len(changes)


def test_a_tier_asks_its_own_rows(tmp_path):
    table = requests(4, 1)
    table["tiers"] = ["full", "full-1rep", "full,full-1rep", "reduced"]
    for tier, rows in (("full", [0, 2]), ("full-1rep", [1, 2]), ("reduced", [3])):
        frame = collect(model(tier=tier), SUITE, table, tmp_path, lambda *_: "x", progress=False)
        assert frame["item"].tolist() == table["item"][rows].tolist()
    none = collect(model(), SUITE, table[table["tiers"] == "reduced"], tmp_path, None, progress=False)
    assert none.empty and list(none.columns) == list(frame.columns)


def test_sealed_rows_are_sorted_whatever_the_order_asked(tmp_path):
    table = pd.concat([requests(6, arm="W"), requests(6, arm="D")])
    frame = collect(
        model(), SUITE, table.sample(frac=1, random_state=1), tmp_path, lambda *_: "x", progress=False
    )
    places = list(zip(frame["arm"], frame["item"], frame["rep"], strict=True))
    assert places == sorted(places) and len(places) == 24


@pytest.mark.parametrize(("prompt", "word"), [("Question 0?", "the same"), ("Other?", "conflicting")])
def test_a_request_made_twice_is_an_error_that_names_it(tmp_path, prompt, word):
    table = pd.concat([requests(2, 1), requests(1, 1).assign(prompt=prompt)])
    asked = []
    with pytest.raises(CollectError, match=f"arm R, item 2000-01-15, rep 1: requested twice, with {word}"):
        collect(model(), SUITE, table, tmp_path, lambda *_: asked.append(1) or "x", progress=False)
    assert asked == []


def test_faulty_calls_are_named(tmp_path):
    with pytest.raises(CollectError, match="request of suite 'suite' stands among"):
        collect(model(), "other", requests(1), tmp_path, None, progress=False)
    with pytest.raises(CollectError, match="no parameters for suite 'suite'"):
        collect(model(planted={"numleak": {}}), SUITE, requests(1), tmp_path, None, progress=False)
    with pytest.raises(CollectError, match="needs a respondent"):
        collect(model(), SUITE, requests(1), tmp_path, None, progress=False)
    with pytest.raises(CollectError, match="returned int"):
        collect(model(), SUITE, requests(1), tmp_path, lambda *_: 3, progress=False)
    with pytest.raises(CollectError, match="not finite"):
        nan = model(planted={SUITE: {"lean": float("nan")}})
        collect(nan, SUITE, requests(1), tmp_path, None, progress=False)
    with pytest.raises(CollectError, match="no column 'prompt'"):
        collect(model(), SUITE, requests(1).drop(columns="prompt"), tmp_path, None, progress=False)


def test_plain_progress_says_how_far_it_is(tmp_path, capsys):
    collect(model(), SUITE, requests(2), tmp_path, lambda *_: "x")
    collect(model(), SUITE, requests(3), tmp_path, lambda *_: "x")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("planted one: suite, R: 4 of 4 done, 0 cached")
    assert lines[1].startswith("planted one: suite, R: 6 of 6 done, 4 cached")


# --- replay -------------------------------------------------------------------------------------------


def imported(tmp_path, **fields):
    frame = collect(model(), SUITE, pd.concat([requests(24), requests(3, arm="D")]), tmp_path, lambda *_: "x")
    source = tmp_path / "import.parquet"
    frames.write(frame.assign(model="artifact/name", provenance="imported"), source, frames.Transcripts)
    entry = config.ModelEntry(name="their model", provider="replay", source=str(source), **fields)
    return entry, source, frame


def test_replay_gives_one_arm_and_the_months_of_a_block(tmp_path):
    entry, _, frame = imported(tmp_path)
    found = replay.transcripts(entry, SUITE, "R", ["2001-03", "2001-04", "2005-01"])
    assert found["item"].tolist() == ["2001-03-15"] * 2 + ["2001-04-15"] * 2
    assert set(found["model"]) == {"their model"} and set(found["provenance"]) == {"imported"}
    assert len(replay.transcripts(entry, SUITE, "R")) == 48
    assert replay.transcripts(entry, SUITE, "D")["key"].tolist() == frame[frame["arm"] == "D"]["key"].tolist()


def test_an_arm_that_was_not_recorded_gives_no_rows(tmp_path):
    entry, _, frame = imported(tmp_path)
    for absent in (
        replay.transcripts(entry, SUITE, "W72"),
        replay.transcripts(entry, "other", "R"),
        replay.transcripts(entry, SUITE, "R", []),
    ):
        assert absent.empty and list(absent.columns) == list(frame.columns)


def test_a_source_that_cannot_be_read_is_named(tmp_path):
    entry, source, frame = imported(tmp_path)
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ContractError, match=f"{source}: cannot be read"):
        replay.transcripts(entry, SUITE, "R")
    pd.DataFrame({"a": [1]}).to_parquet(source)
    with pytest.raises(ContractError, match=f"{source}"):
        replay.transcripts(entry, SUITE, "R")
    pd.concat([frame, frame]).to_parquet(source)
    with pytest.raises(ContractError, match=f"{source}: breaks the contract"):
        replay.transcripts(entry, SUITE, "R")
    source.unlink()
    with pytest.raises(ContractError, match=r"no such file.*'their model'"):
        replay.transcripts(entry, SUITE, "R")


def test_recorded_answers_cannot_be_asked_for(tmp_path):
    entry, _, _ = imported(tmp_path)
    with pytest.raises(CollectError, match="cannot be asked"):
        collect(entry, SUITE, requests(1), tmp_path, None, progress=False)
