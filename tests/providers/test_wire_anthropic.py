"""The Messages API: bodies as documented, answers, usage beside the cache, failures."""

from __future__ import annotations

import pytest
from wires import body_of, entry, failed, read, request, verdict

from anachron.errors import CollectError
from anachron.llm import providers

KIND = "anthropic"


def answer(**fields):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-1-20250929",
        "content": [{"type": "text", "text": "up"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 9},
        **fields,
    }


def error(kind, message, **fields):
    return {"type": "error", "error": {"type": kind, "message": message, **fields}, "request_id": "req_1"}


def test_body_puts_the_system_prompt_beside_the_messages():
    assert body_of(KIND) == {
        "model": "model-1",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Up or down?"}],
        "max_tokens": 2048,
        "temperature": 0.2,
        "thinking": {"type": "disabled"},
    }
    assert "system" not in body_of(KIND, request(system=""))


@pytest.mark.parametrize(
    ("fields", "thinking", "temperature"),
    [
        ({"thinking": "off"}, {"type": "disabled"}, 0.2),
        ({"thinking": "on"}, {"type": "adaptive", "display": "summarized"}, None),
        ({"thinking": 1024}, {"type": "enabled", "budget_tokens": 1024}, None),
        ({"thinking": "locked"}, None, 0.2),
        ({"thinking": "locked", "temperature_locked": True}, None, None),
        ({"extra_body": {"thinking": {"type": "between_tools"}}}, {"type": "between_tools"}, 0.2),
        ({"extra_body": {"thinking": {"type": "adaptive"}}}, {"type": "adaptive"}, None),
    ],
)
def test_no_temperature_is_sent_while_a_model_thinks(fields, thinking, temperature):
    body = body_of(KIND, **fields)
    assert (body.get("thinking"), body.get("temperature")) == (thinking, temperature)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"thinking": 1023}, "least budget of 1,024 tokens"),
        ({"thinking": 2048}, "2,048 tokens leaves no room"),
        ({"logprobs": True}, "no log-probabilities"),
        ({"json_mode": {"suite": ["R"]}}, "no JSON mode"),
        ({"extra_body": {"max_tokens": 9}}, "'max_tokens', which the request itself decides"),
        ({"extra_body": {"tools": [{"type": "web_search_20250305"}]}}, "turns on tools or a search"),
    ],
)
def test_what_the_api_does_not_have_is_refused(fields, said):
    with pytest.raises(CollectError, match=said):
        body_of(KIND, **fields)


def test_address_and_headers():
    wire = providers.get(KIND).wire
    assert (entry(KIND).base_url or "") + wire.path(body_of(KIND)) == "https://api.anthropic.com/v1/messages"
    assert wire.headers("sk-ant-1") == {"anthropic-version": "2023-06-01", "x-api-key": "sk-ant-1"}
    assert wire.request_id({"Request-Id": "req_9"}) == "req_9"


def test_an_answer_is_read_and_the_cache_counts_as_prompt():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "u"},
        {"type": "text", "text": "p"},
    ]
    usage = {
        "input_tokens": 20,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 4000,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 7},
    }
    assert read(KIND, answer(content=content, usage=usage)) == providers.Reply(
        text="up",
        reasoning="hm",
        finish_reason="end_turn",
        input_tokens=4320,
        cached_tokens=4000,
        output_tokens=9,
        reasoning_tokens=7,
        served_model="model-1-20250929",
        request_id="msg_1",
    )


def test_counts_too_large_to_store_stay_storable():
    usage = {"input_tokens": 2**62, "cache_read_input_tokens": 2**62, "cache_creation_input_tokens": 2**62}
    assert read(KIND, answer(usage=usage)).input_tokens == 2**63 - 1


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (answer(), "answer"),
        (answer(stop_reason="stop_sequence"), "answer"),
        (answer(stop_reason="a reason of tomorrow"), "answer"),
        (answer(stop_reason="max_tokens"), "truncated"),
        (answer(stop_reason="model_context_window_exceeded"), "truncated"),
        (answer(stop_reason="refusal", content=[]), "refusal"),
        (answer(stop_reason="refusal"), "refusal"),
        (answer(content=[]), "empty"),
        (answer(content=[{"type": "thinking", "thinking": "hm"}]), "empty"),
        (answer(content=[None, {"type": "text", "text": 7}]), "empty"),
        (answer(content=None), "malformed_body"),
        ([answer()], "malformed_body"),
    ],
)
def test_what_became_of_a_request(given, outcome):
    assert verdict(KIND, 200, given) is None
    assert providers.outcome(read(KIND, given)) == outcome


@pytest.mark.parametrize(
    ("status", "given", "expected"),
    [
        (400, error("invalid_request_error", "max_tokens: must be positive"), (False, False)),
        (
            400,
            error("invalid_request_error", "You have reached your specified API usage limits."),
            (False, False),
        ),
        (401, error("authentication_error", "invalid x-api-key"), (False, False)),
        (402, error("billing_error", "Check your payment details"), (False, False)),
        (403, error("permission_error", "no"), (False, False)),
        (404, error("not_found_error", "model: nosuch"), (False, False)),
        (409, error("conflict_error", "again"), (True, False)),
        (413, error("request_too_large", "too many bytes"), (False, False)),
        (429, error("rate_limit_error", "This request would exceed your rate limit"), (True, True)),
        (
            429,
            error(
                "rate_limit_error",
                "You have reached your API usage limits.",
                details={"error_code": "enforced_spend_limit_reached"},
            ),
            (False, False),
        ),
        (500, error("api_error", "Internal server error"), (True, False)),
        (504, error("timeout_error", "Timed out"), (True, False)),
        (529, error("overloaded_error", "Overloaded"), (True, True)),
        (200, error("overloaded_error", "Overloaded"), (True, True)),
        (200, error("invalid_request_error", "no"), (False, False)),
    ],
)
def test_failures_are_told_apart(status, given, expected):
    assert verdict(KIND, status, given) == expected
    words = failed(KIND, status, given).words
    assert words == f"HTTP {status}: {given['error']['type']}: {given['error']['message']}"


def test_an_answer_blocked_by_the_filter_is_an_outcome():
    given = error("invalid_request_error", "Output blocked by content filtering policy")
    assert verdict(KIND, 400, given) is None
    reply = read(KIND, given)
    assert (providers.outcome(reply), reply.request_id) == ("content_filter", "req_1")
