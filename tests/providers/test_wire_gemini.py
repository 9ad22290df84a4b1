"""generateContent: bodies as documented, the model in the path, answers, blocks, failures."""

from __future__ import annotations

import json

import pytest
from wires import body_of, entry, failed, read, request, verdict

from anachron.errors import CollectError
from anachron.llm import providers

KIND = "gemini"
WIRE = providers.get(KIND).wire


def answer(*parts, usage=None, **fields):
    candidate = {
        "content": {"parts": list(parts or [{"text": "up"}]), "role": "model"},
        "finishReason": "STOP",
        "index": 0,
        **fields,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage or {"promptTokenCount": 20, "candidatesTokenCount": 9, "totalTokenCount": 29},
        "modelVersion": "model-1-001",
        "responseId": "r1",
    }


def error(code, status, message="words", details=()):
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def quota(name):
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": name}]}


DELAY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}


def test_body_carries_the_model_for_the_key_and_the_payload_does_not():
    body = body_of(KIND)
    posted = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Up or down?"}]}],
        "generationConfig": {
            "temperature": 0.2,
            "maxOutputTokens": 2048,
            "thinkingConfig": {"thinkingBudget": 0},
        },
    }
    assert body == {"model": "model-1", **posted}
    assert WIRE.payload(body) == posted
    assert "systemInstruction" not in body_of(KIND, request(system=""))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini-2.5-pro", "/models/gemini-2.5-pro:generateContent"),
        ("models/gemini-2.5-pro", "/models/gemini-2.5-pro:generateContent"),
        ("tunedModels/mine-1", "/tunedModels/mine-1:generateContent"),
        ("../a b?key=1#", "/models/..%2Fa%20b%3Fkey%3D1%23:generateContent"),
    ],
)
def test_the_path_names_the_model_and_nothing_else(name, path):
    assert WIRE.path(body_of(KIND, model_id=name)) == path


def test_everything_the_registry_can_ask_for():
    fields = {
        "temperature_locked": True,
        "logprobs": True,
        "json_mode": {"suite": ["R"]},
        "thinking": "locked",
        "extra_body": {
            "generationConfig": {"seed": 7, "logprobs": 5, "thinkingConfig": {"thinkingLevel": "low"}}
        },
    }
    assert body_of(KIND, **fields)["generationConfig"] == {
        "maxOutputTokens": 2048,
        "responseMimeType": "application/json",
        "responseLogprobs": True,
        "logprobs": 5,
        "seed": 7,
        "thinkingConfig": {"thinkingLevel": "low"},
    }


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("off", {"thinkingBudget": 0}),
        ("on", {"thinkingBudget": -1, "includeThoughts": True}),
        (512, {"thinkingBudget": 512, "includeThoughts": True}),
        ("locked", None),
    ],
)
def test_thinking(thinking, sent):
    assert body_of(KIND, thinking=thinking)["generationConfig"].get("thinkingConfig") == sent


def test_a_level_in_extra_body_takes_the_place_of_a_budget():
    extra = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}
    body = body_of(KIND, thinking="off", extra_body=extra)
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "low"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"thinking": 4096}, "leaves no room"),
        ({"extra_body": {"generationConfig": {"temperature": 1}}}, "'temperature', which the request itself"),
        ({"extra_body": {"contents": []}}, "'contents', which the request itself"),
        ({"extra_body": {"tools": [{"google_search": {}}]}}, "turns on tools or a search"),
    ],
)
def test_what_the_registry_may_not_ask_is_refused(fields, said):
    with pytest.raises(CollectError, match=said):
        body_of(KIND, **fields)


def test_key_goes_into_its_own_header():
    assert WIRE.headers("AIza1234") == {"x-goog-api-key": "AIza1234"}
    assert entry(KIND).base_url == "https://generativelanguage.googleapis.com/v1beta"


def test_an_answer_is_read_and_thoughts_count_as_output():
    parts = ({"text": "hm", "thought": True}, {"text": "u"}, {"text": "p", "thoughtSignature": "s"})
    usage = {
        "promptTokenCount": 20,
        "cachedContentTokenCount": 16,
        "candidatesTokenCount": 9,
        "thoughtsTokenCount": 100,
        "totalTokenCount": 129,
    }
    assert read(KIND, answer(*parts, usage=usage)) == providers.Reply(
        text="up",
        reasoning="hm",
        finish_reason="STOP",
        input_tokens=20,
        cached_tokens=16,
        output_tokens=109,
        reasoning_tokens=100,
        served_model="model-1-001",
        request_id="r1",
    )


def test_a_blocked_prompt_says_why_and_what_it_cost():
    given = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 20, "totalTokenCount": 20},
        "modelVersion": "model-1-001",
    }
    assert verdict(KIND, 200, given) is None
    reply = read(KIND, given)
    assert reply == providers.Reply(
        finish_reason="blocked:PROHIBITED_CONTENT",
        input_tokens=20,
        output_tokens=0,
        served_model="model-1-001",
    )
    assert providers.outcome(reply) == "content_filter"


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (answer(), "answer"),
        (answer(finishReason="OTHER"), "answer"),
        (answer(finishReason="MAX_TOKENS"), "truncated"),
        (answer(finishReason="MAX_TOKENS", content={"role": "model"}), "truncated"),
        (answer(finishReason="SAFETY", content=None), "content_filter"),
        (answer(finishReason="RECITATION"), "content_filter"),
        (answer(finishReason="PROHIBITED_CONTENT"), "content_filter"),
        (answer(finishReason="BLOCKLIST"), "content_filter"),
        (answer(finishReason="SPII"), "content_filter"),
        (answer(finishReason="STOP", content={}), "empty"),
        (answer({"text": "hm", "thought": True}), "empty"),
        ({"promptFeedback": {"blockReason": "A_REASON_OF_TOMORROW"}}, "content_filter"),
        ({"candidates": []}, "empty"),
        ({"usageMetadata": {"promptTokenCount": 20}}, "empty"),
        ({"candidates": {}}, "malformed_body"),
        ({"candidates": ["up"]}, "malformed_body"),
        ({}, "malformed_body"),
    ],
)
def test_what_became_of_a_request(given, outcome):
    assert verdict(KIND, 200, given) is None
    assert providers.outcome(read(KIND, given)) == outcome


def test_logprobs_keep_tokens_and_alternatives():
    result = {
        "chosenCandidates": [
            {"token": "up", "tokenId": 1, "logProbability": -0.25},
            {"token": ".", "tokenId": 2, "logProbability": 0},
        ],
        "topCandidates": [{"candidates": [{"token": "up", "logProbability": -0.25}]}],
    }
    assert json.loads(read(KIND, answer(logprobsResult=result)).logprobs) == [
        {"token": "up", "logprob": -0.25, "top": [["up", -0.25]]},
        {"token": ".", "logprob": 0.0, "top": []},
    ]


EXCEEDED = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("status", "given", "expected"),
    [
        (400, error(400, "INVALID_ARGUMENT"), (False, False)),
        (400, error(400, "FAILED_PRECONDITION", "Enable billing"), (False, False)),
        (403, error(403, "PERMISSION_DENIED"), (False, False)),
        (404, error(404, "NOT_FOUND"), (False, False)),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
            (True, True),
        ),
        (429, error(429, "RESOURCE_EXHAUSTED", EXCEEDED), (False, False)),
        (429, error(429, "RESOURCE_EXHAUSTED", EXCEEDED, [DELAY]), (True, True)),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", EXCEEDED, [quota("RequestsPerMinutePerModel"), DELAY]),
            (True, True),
        ),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", EXCEEDED, [quota("RequestsPerDayPerModel"), DELAY]),
            (False, False),
        ),
        (429, [error(429, "RESOURCE_EXHAUSTED", EXCEEDED, [DELAY])], (True, True)),
        (500, error(500, "INTERNAL"), (True, False)),
        (503, error(503, "UNAVAILABLE", "The model is overloaded."), (True, True)),
        (504, error(504, "DEADLINE_EXCEEDED"), (True, False)),
        (200, error(503, "UNAVAILABLE"), (True, True)),
    ],
)
def test_failures_are_told_apart(status, given, expected):
    assert verdict(KIND, status, given) == expected


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("36s", 36.0), ("34.074824224s", 34.074824224), ("0s", 0.0), ("36", None), ("1e9s", None), (36, None)],
)
def test_the_delay_that_a_refusal_names_is_read_in_seconds(delay, seconds):
    given = error(429, "RESOURCE_EXHAUSTED", EXCEEDED, [{**DELAY, "retryDelay": delay}])
    assert failed(KIND, 429, given).after_s == seconds
