"""How likely the text of each option is: requests, reading, choice and estimates of the suite `findendro`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from findendro_facts import protocol, sample, transcripts
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from anachron import frames, suites
from anachron.errors import ContractError
from anachron.suites.continuations import last_logprobs
from anachron.suites.findendro import ask, cells, items, planted, planted_truth, prompts
from anachron.suites.findendro.estimate import estimate
from anachron.suites.findendro.layout import in_order
from anachron.suites.findendro.parse import parse
from anachron.suites.findendro.protocol_parts import TEXTS

CHOSEN = protocol()
FACTS = ("2008-10 FEDTARGET", "2022-05 CPIAUCNS")
WHO: dict[str, Any] = {
    "seed": 9,
    "knowledge": {"1999-01": 0.7, "2023-11": 0.0},
    "claims_known": {"1999-01": 0.6, "2023-11": 0.05},
    "claims_unknown": {"1999-01": 0.2, "2023-11": 0.02},
    "date_obedience": 0.5,
    "position_bias": 0.05,
    "form": {"refusal": 0.4},
}


def steps(*pairs: tuple[str, float | None]) -> str:
    return json.dumps([{"token": token, "logprob": odd, "top": []} for token, odd in pairs])


def known_fact(item: str) -> dict[str, Any]:
    return sample().set_index("item").loc[item].to_dict()


@pytest.mark.parametrize("arm", TEXTS)
@pytest.mark.parametrize("item", FACTS)
def test_each_option_is_a_request_that_ends_in_its_text(arm: str, item: str) -> None:
    table = ask.build(CHOSEN, sample(), arm, [item])
    candidates = json.loads(known_fact(item)["candidates"])
    options = in_order(arm, len(candidates))
    assert table["rep"].tolist() == list(range(len(options)))
    assert len(options) == len(candidates) * (1 if arm == "value-text" else 2)
    assert set(table["max_tokens"]) == {0} and set(table["temperature"]) == {0.0}
    assert CHOSEN.arms[arm].default is False
    texts = prompts.shown(CHOSEN, TEXTS[arm], item[8:], candidates)
    before = set()
    for text, (candidate, claim) in zip(table["prompt"], options, strict=True):
        worded = prompts.worded(CHOSEN, TEXTS[arm], texts[candidate], claim)
        assert text.endswith(CHOSEN.task.candidate + worded)
        before.add(text.removesuffix(worded))
    (question,) = before
    assert not any(text in question for text in texts)
    assert ("30 September 2008" in question) == (arm == "dated-text" and item.startswith("2008"))
    listed = ask.build(CHOSEN, sample(), TEXTS[arm], [item])["prompt"].iloc[0]
    assert listed.startswith(question.removesuffix(CHOSEN.task.candidate).rstrip())


def test_an_arm_that_scores_has_cap_zero_and_no_other_has() -> None:
    for arm, cap in (("value", 0), ("recall-text", 5)):
        dumped = CHOSEN.model_dump(mode="json")
        dumped["arms"][arm]["max_tokens"] = cap
        with pytest.raises(ValidationError, match=rf"arms\.{arm}\.max_tokens"):
            type(CHOSEN).model_validate(dumped)


def read(text: str | None, odds: str | None, outcome: str = "answer", rep: int = 0) -> pd.Series:
    row = dict.fromkeys(frames.Transcripts.to_schema().columns) | {
        **{"suite": "findendro", "arm": "value-text", "item": FACTS[1], "rep": rep, "duplicate": 0},
        **{"model": "m", "key": "k", "provenance": "api", "outcome": outcome, "text": text, "logprobs": odds},
    }
    return parse(frames.check(pd.DataFrame([row]), frames.Transcripts, "test"), CHOSEN).iloc[0]


def test_the_tokens_of_the_option_are_added_and_those_before_are_not() -> None:
    found = read("Which? Answer: 8.6", steps(("Which? Answer:", -9.0), (" 8", -0.5), (".6", -0.25)))
    assert found["reading"] == "scored"
    assert (found["text_logprob"], found["text_bytes"]) == (-0.75, 3)
    assert pd.isna(found["candidate"]) and pd.isna(found["letter"])
    straddling = read("Which? Answer: 8.6", steps(("Which? Answer", -9.0), (": 8", -0.5), (".6", -0.25)))
    assert straddling["text_logprob"] == -0.75
    claimed = read(
        "Answer: 8.6 (I know it)\n", steps(("Answer:", None), (" 8.6 (I know", -2.0), (" it)\n", -1.0))
    )
    assert (claimed["text_logprob"], claimed["text_bytes"]) == (-3.0, 15)


@pytest.mark.parametrize(
    ("text", "odds", "outcome", "reading"),
    [
        ("Answer: 8.6", steps(("Answer: 8", -1.0), (".6", None)), "answer", "not scored"),
        ("Answer: 8.6", steps((".6", -1.0)), "answer", "not scored"),
        ("Answer: 8.6", steps(("Answer: 8.6", 1.0)), "answer", "not scored"),
        ("Answer: 8.6", "[[[", "answer", "not scored"),
        ("Answer: 8.6", None, "answer", "not scored"),
        ("8.6", steps(("8.6", -1.0)), "answer", "not scored"),
        ("Answer:  ", steps(("Answer:  ", -1.0)), "answer", "not scored"),
        (None, None, "error", "no answer"),
        (None, None, "content_filter", "refusal"),
    ],
)
def test_what_cannot_be_scored_is_told(
    text: str | None, odds: str | None, outcome: str, reading: str
) -> None:
    found = read(text, odds, outcome)
    assert found["reading"] == reading and pd.isna(found["text_logprob"]) and pd.isna(found["text_bytes"])


@settings(deadline=None, max_examples=60)
@given(
    st.text(max_size=40), st.one_of(st.none(), st.text(max_size=40), st.just(steps(("a", -1.0), ("b", -2.0))))
)
def test_reading_a_scored_text_never_raises(text: str, odds: str | None) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert read(f"Answer: {text}", odds)["reading"] in ("scored", "not scored")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=4), st.floats(-20, 0)), min_size=1), st.integers(1, 30)
)
def test_the_fewest_last_tokens_that_hold_the_text_count(
    pairs: list[tuple[str, float]], characters: int
) -> None:
    found = last_logprobs(steps(*pairs), characters)
    lengths = np.cumsum([len(token) for token, _ in reversed(pairs)])
    if lengths[-1] < characters:
        assert found is None
    else:
        needed = int(np.argmax(lengths >= characters)) + 1
        assert found == [odd for _, odd in pairs[-needed:]]


def answers(odds: list[float | None], lengths: list[int], arm: str = "value-text") -> pd.DataFrame:
    frame = pd.DataFrame({"text_logprob": odds, "text_bytes": pd.array(lengths, dtype="Int64")})
    return frame.assign(arm=arm, item=FACTS[1], rep=range(len(frame)), duplicate=0)


def test_a_long_text_wins_by_byte_and_a_short_one_by_sum() -> None:
    table = answers([-3.0, -4.0, -9.0, -9.0], [2, 20, 2, 2])
    mean, whole = (cells.likeliest_texts(table, "FEDTARGET", raw=raw).iloc[0] for raw in (False, True))
    assert (mean["arm"], mean["letter"], mean["candidate"]) == ("value", "B", 1)
    assert (whole["letter"], whole["candidate"]) == ("A", 0) and pd.isna(whole["knows"])
    claims = answers([-9.0] * 5 + [-1.0] + [-9.0] * 2, [3] * 8, "dated-text")
    chosen = cells.likeliest_texts(claims, "FEDTARGET", raw=False).iloc[0]
    assert (chosen["arm"], chosen["candidate"], chosen["knows"]) == ("dated", 2, False)


@pytest.mark.parametrize("odds", [[-1.0, -1.0, -2.0, -3.0], [-1.0, None, -2.0, -3.0], [-1.0, -2.0, -3.0]])
def test_two_likeliest_texts_or_a_missing_one_are_no_choice(odds: list[float | None]) -> None:
    chosen = cells.likeliest_texts(answers(odds, [3] * len(odds)), "FEDTARGET", raw=False).iloc[0]
    assert chosen[["letter", "candidate", "knows"]].isna().all()


def test_another_copy_of_an_answer_changes_no_choice() -> None:
    table = answers([-3.0, -4.0, -9.0, -9.0], [2, 2, 2, 2])
    twice = pd.concat([table, table.assign(duplicate=1, text_logprob=-1.0)], ignore_index=True)
    assert cells.likeliest_texts(twice, "FEDTARGET", raw=True)["letter"].tolist() == ["A"]


def test_texts_that_no_server_scored_are_too_few_and_say_so() -> None:
    read_all, _ = reduced(WHO, ("value-text",))
    unread = read_all.assign(reading="not scored", text_logprob=np.nan, text_bytes=pd.NA)
    unread["text_bytes"] = unread["text_bytes"].astype("Int64")
    found = estimate(unread, sample(), CHOSEN, tier="reduced").records
    knows = {one["scoring"]: one for one in found if one["metric"] == "knows"}
    assert set(knows) == {"texts", "texts_raw"}
    assert all(one["gate"] == "f" and not one["gate_passed"] for one in knows.values())


@pytest.mark.parametrize("cue", [" ", "\n"])
def test_a_cue_of_blanks_is_refused(cue: str) -> None:
    dumped = CHOSEN.model_dump(mode="json")
    dumped["task"]["candidate"] = cue
    with pytest.raises(ValidationError, match="candidate"):
        type(CHOSEN).model_validate(dumped)


@pytest.mark.parametrize(
    ("cue", "words"), [("(", "says where an option begins"), ("unchanged: ", "outside its options")]
)
def test_a_cue_within_an_option_or_an_option_within_the_cue_is_refused(cue: str, words: str) -> None:
    dumped = CHOSEN.model_dump(mode="json")
    dumped["task"]["candidate"] = cue
    if cue == "unchanged: ":
        dumped["task"]["outcomes"]["past"]["unchanged"] = "unchanged"
    changed = type(CHOSEN).model_validate(dumped)
    with pytest.raises(ContractError, match=words):
        ask.build(changed, sample(), "recall-text", [FACTS[0]])


def reduced(who: dict[str, Any], arms: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    part = sample()[[protocol().reduced(item) for item in sample()["item"]]]
    return parse(transcripts(CHOSEN, part, who, arms), CHOSEN), part


def test_a_respondent_is_recovered_by_its_texts_alone_whatever_it_writes() -> None:
    read_all, part = reduced(WHO, tuple(TEXTS))
    assert set(read_all["reading"]) == {"scored"}
    result = estimate(read_all, sample(), CHOSEN, tier="reduced", arms=tuple(TEXTS))
    by_scoring: dict[str, dict[str, Any]] = {}
    for one in result.records:
        by_scoring.setdefault(one["scoring"], {})[one["metric"]] = one
    assert set(by_scoring) == {"texts", "texts_raw"}
    assert result.counts["answered"] == read_all["arm"].value_counts().to_dict() == result.counts["asked"]
    memory = items.memory(sample())
    truth = planted.truth(WHO, CHOSEN, memory, tier="reduced", scoring="texts")
    # What it would write counts by letters alone: of these, four in ten are refusals.
    assert truth["says"] > planted.truth(WHO, CHOSEN, memory, tier="reduced")["says"]
    assert planted.truth(WHO, CHOSEN, memory, scoring="likelihood") == {}
    for found in by_scoring.values():
        for metric in (
            "knows",
            "says",
            "says.predict",
            "says.dated",
            "accuracy.dated",
            "acc_says",
            "acc_denies",
        ):
            one = found[metric]
            assert one["gate_passed"], one["gate_text"]
            error = (one["high"] - one["low"]) / 3.92
            assert abs(one["value"] - truth[metric]) < 4 * error, metric
    # The respondent's choices themselves, fact by fact.
    who = planted.Parameters.model_validate(WHO)
    chosen = cells.likeliest_texts(read_all, "FEDTARGET", raw=False)
    for row in chosen.sample(60, random_state=1).to_dict("records"):
        options = in_order(row["arm"], memory[row["item"]][1])
        place = planted.meant(who, row["arm"], row["item"], memory[row["item"]], options)
        candidate, claim = options[place]
        assert row["candidate"] == candidate
        assert pd.isna(row["knows"]) if claim is None else row["knows"] == claim
    assert len(part) > 400


def test_one_that_favours_the_first_text_fails_the_position_gate() -> None:
    read_all, _ = reduced(WHO | {"position_bias": 1.0}, ("value-text", "recall-text"))
    found = estimate(read_all, sample(), CHOSEN, tier="reduced").records
    knows = next(one for one in found if one["metric"] == "knows" and one["scoring"] == "texts")
    assert knows["gate"] == "p" and not knows["gate_passed"] and knows["value"] is None


def test_the_truth_of_texts_rests_on_the_options_in_order() -> None:
    biased = planted.Parameters.model_validate(WHO | {"position_bias": 1.0})
    truth = planted_truth.truth(biased, CHOSEN, items.memory(sample()), scoring="texts")
    assert truth["says"] == 1.0  # the first option in order is always a claim
    assert suites.module("findendro", "table").SCORINGS[2:] == ("texts", "texts_raw")
