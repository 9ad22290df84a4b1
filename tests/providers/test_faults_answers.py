"""Every answer a server can get wrong: what the model did is paid once, what the network did is tried again."""

from __future__ import annotations

import pytest
from serving import gather, rows, says, served, statuses

from anachron.errors import CollectError
from anachron.llm import serve_faults
from anachron.llm.serve_faults import Fault

ITEMS, MET = 20, 5

OUTCOMES = {
    ("finish", None): "answer",
    ("finish", "length"): "truncated",
    ("finish", "content_filter"): "content_filter",
    ("served-model", None): "answer",
    ("fingerprint", None): "answer",
    ("huge", None): "answer",
    ("null-content", None): "empty",
    ("content-type", None): "answer",
    ("truncated-json", None): "malformed_body",
    ("empty", None): "malformed_body",
    ("not-an-object", None): "malformed_body",
    ("no-choices", None): "empty",
    ("wrong-types", None): "malformed_body",
    ("bad-utf8", None): "answer",
    ("deep-json", None): "malformed_body",
}
"""Answers of status 200: each is data, so each is asked for once, whatever it holds."""

TRIED_AGAIN = {
    ("408", None): "failed",
    ("409", None): "failed",
    ("429", None): "failed",
    ("429", "0.05"): "failed",
    ("500", None): "failed",
    ("502", None): "failed",
    ("503", None): "failed",
    ("503", "0.05"): "failed",
    ("504", None): "failed",
    ("529", None): "failed",
    ("retry-after-date", "0"): "failed",
    ("error-200", None): "failed",
    ("gzip-garbage", None): "unreadable",
    ("html", None): "unreadable",
    ("drop", None): "dropped",
    ("reset", None): "dropped",
    ("cut-off", None): "dropped",
    ("hang", None): "timeout",
}
"""Faults of the network: tried again until an answer comes."""

STOPS = {
    ("400", None): "not one this model takes",
    ("401", None): "API key was revoked",
    ("402", None): "no credit",
    ("403", None): "may not use this model",
    ("404", None): "does not exist",
    ("413", None): "too large",
    ("422", None): "cannot be processed",
    ("quota", None): "used up your quota",
    ("redirect", "https://elsewhere.example/v1"): "elsewhere.example",
}
"""What no waiting mends: the job stops with the provider's words."""


def test_every_fault_is_tried_here():
    tried = {name for name, _ in (*OUTCOMES, *TRIED_AGAIN, *STOPS)} | {"slow"}
    assert tried == {*map(str, serve_faults.ERRORS), *serve_faults.NAMED}


def met(fault: tuple[str, str | None], after: int = 3) -> Fault:
    return Fault(name=fault[0], argument=fault[1], after=after, count=MET)


@pytest.mark.parametrize("fault", OUTCOMES, ids=str)
def test_what_the_model_did_is_an_outcome_and_is_paid_once(tmp_path, fault):
    with served(says("yes"), faults=[met(fault)]) as server:
        frame = gather(server.url, tmp_path, ITEMS)
        assert server.hits.faults == {fault[0]: MET}
        assert set(server.hits.by_prompt.values()) == {1} and server.hits.total == ITEMS
        again = gather(server.url, tmp_path, ITEMS)
        assert server.hits.total == ITEMS
    assert frame.equals(again)
    changed = frame[frame["outcome"] == OUTCOMES[fault]] if OUTCOMES[fault] != "answer" else frame
    assert len(changed) == (MET if OUTCOMES[fault] != "answer" else ITEMS)
    assert set(frame["outcome"]) <= {"answer", OUTCOMES[fault]}
    marks = {
        ("finish", None): ("finish_reason", "stopped_for_reasons_unknown"),
        ("served-model", None): ("served_model", "planted one-other"),
        ("fingerprint", None): ("fingerprint", "fp_other"),
    }
    if fault in marks:
        column, value = marks[fault]
        assert (frame[column] == value).sum() == MET, "what changed inside a block stands in its transcripts"
    if fault[0] == "huge":
        assert (frame["text"].str.len() == 10 * 2**20).sum() == MET
    if fault[0] == "bad-utf8":
        assert frame["text"].str.contains("\ufffd").sum() == MET
    assert statuses(tmp_path) == {"answered": ITEMS}


@pytest.mark.parametrize("fault", TRIED_AGAIN, ids=str)
def test_what_the_network_did_is_tried_again_until_an_answer_comes(tmp_path, fault):
    with served(says("yes"), faults=[met(fault)]) as server:
        limits = {"concurrency": 4, "timeout_s": 0.25 if fault[0] == "hang" else 20}
        frame = gather(server.url, tmp_path, ITEMS, limits=limits)
        assert server.hits.total == ITEMS + MET
        assert server.hits.answered == ITEMS + (
            MET if fault[0] in ("gzip-garbage", "error-200", "html") else 0
        )
    assert set(frame["outcome"]) == {"answer"} and set(frame["text"]) <= {"yes 0", "yes 1", "yes 2"}
    status = TRIED_AGAIN[fault]
    assert statuses(tmp_path) == {"answered": ITEMS, status: MET}
    unknown = rows(tmp_path, "SELECT count(*) FROM attempts WHERE cost_usd IS NULL")[0][0]
    assert unknown == (0 if status == "failed" else MET), "only an explicit no is known to cost nothing"


@pytest.mark.parametrize("fault", STOPS, ids=str)
def test_what_no_waiting_mends_stops_the_job_and_a_rerun_goes_on(tmp_path, fault):
    concurrency, after = 3, 8
    limits = {"concurrency": concurrency}
    with served(says("yes"), faults=[Fault(name=fault[0], argument=fault[1], after=after)]) as server:
        with pytest.raises(CollectError, match=STOPS[fault]) as caught:
            gather(server.url, tmp_path, ITEMS, limits=limits)
        asked = server.hits.total
        assert after < asked <= after + concurrency
        assert f"{after} of {ITEMS} answers" in str(caught.value)
        assert f"{ITEMS - after} are missing" in str(caught.value)
        server.faults()
        assert len(gather(server.url, tmp_path, ITEMS, limits=limits)) == ITEMS
        assert server.hits.total == asked + ITEMS - after


def test_a_page_that_stays_in_place_of_the_api_stops_the_job_after_few_tries(tmp_path):
    with served(says("yes"), faults=[Fault(name="html")]) as server:
        with pytest.raises(
            CollectError, match=r"after 3 tries: HTTP 200: a web page titled 'Busy'.*`endpoint`"
        ):
            gather(server.url, tmp_path, ITEMS, limits={"concurrency": 1})
        assert server.hits.total == 3
        server.faults()
        assert len(gather(server.url, tmp_path, ITEMS)) == ITEMS
        assert server.hits.total == 3 + ITEMS


def test_slow_answers_are_waited_for(tmp_path):
    with served(says("yes"), faults=[Fault(name="slow", argument="0.4", count=MET)]) as server:
        assert len(gather(server.url, tmp_path, ITEMS, limits={"timeout_s": 5})) == ITEMS
        assert server.hits.total == ITEMS
