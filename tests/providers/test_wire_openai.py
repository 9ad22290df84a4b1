"""The chat dialect: bodies as documented, answers as vendors write them, failures and what to do about each."""

from __future__ import annotations

import json

import pytest
from wires import body_of, entry, failed, read, request, verdict

from anachron.errors import CollectError
from anachron.llm import providers

KIND = "openai_chat"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Up or down?"}]


def answer(message=None, **fields):
    choice = {"index": 0, "message": {"role": "assistant", "content": "up", **(message or {})}}
    choice |= {"finish_reason": "stop", "logprobs": None, **fields.pop("choice", {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "model-1-2025-01-31",
        "system_fingerprint": "fp_1",
        "choices": [choice],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
        **fields,
    }


def test_body_says_model_messages_cap_and_temperature_and_no_tools():
    assert body_of(KIND) == {
        "model": "model-1",
        "messages": MESSAGES,
        "max_tokens": 2048,
        "temperature": 0.2,
    }
    assert body_of(KIND, request(system=""))["messages"] == MESSAGES[1:]


def test_body_of_a_reasoning_model_whose_temperature_is_locked():
    fields = {
        "max_tokens_field": "max_completion_tokens",
        "temperature_locked": True,
        "thinking": "on",
        "logprobs": True,
        "json_mode": {"suite": ["R"]},
        "extra_body": {"top_logprobs": 5, "seed": 7},
    }
    assert body_of(KIND, **fields) == {
        "model": "model-1",
        "messages": MESSAGES,
        "max_completion_tokens": 2048,
        "response_format": {"type": "json_object"},
        "logprobs": True,
        "top_logprobs": 5,
        "reasoning_effort": "medium",
        "seed": 7,
    }


@pytest.mark.parametrize(
    ("host", "thinking", "extra", "sent"),
    [
        ("api.openai.com/v1", "off", {}, {}),
        ("api.openai.com/v1", "locked", {}, {}),
        ("api.openai.com/v1", "off", {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        ("openrouter.ai/api/v1", "off", {}, {"reasoning": {"enabled": False}}),
        ("openrouter.ai/api/v1", "on", {}, {"reasoning": {"enabled": True}}),
        ("openrouter.ai/api/v1", 1024, {}, {"reasoning": {"max_tokens": 1024}}),
        (
            "openrouter.ai/api/v1",
            "off",
            {"reasoning": {"effort": "low"}},
            {"reasoning": {"effort": "low"}},
        ),
        ("api.deepseek.com", "off", {}, {"thinking": {"type": "disabled"}}),
        ("api.deepseek.com", "locked", {}, {}),
    ],
)
def test_thinking_is_sent_as_the_host_documents_it(host, thinking, extra, sent):
    body = body_of(KIND, endpoint=f"https://{host}", thinking=thinking, extra_body=extra)
    known = {"model", "messages", "max_tokens", "temperature"}
    assert {name: value for name, value in body.items() if name not in known} == sent


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"thinking": 512}, "no budget of thinking tokens is documented for api.example.com"),
        ({"endpoint": "https://openrouter.ai/api/v1", "thinking": 2048}, "leaves no room"),
        ({"extra_body": {"messages": []}}, "'messages', which the request itself decides"),
        ({"extra_body": {"temperature": 1}}, "'temperature', which the request itself decides"),
        ({"extra_body": {"tools": [{"type": "web_search"}]}}, "turns on tools or a search through 'tools'"),
        ({"extra_body": {"plugins": [{"id": "web"}]}}, "through 'plugins'"),
        ({"extra_body": {"enable_search": True}}, "through 'enable_search'"),
        ({"model_id": "openai/gpt-4o:online"}, "served with a web search"),
        ({"model_id": "gpt-4o-search-preview"}, "served with a web search"),
    ],
)
def test_what_the_registry_may_not_ask_is_refused_before_anything_is_sent(fields, said):
    with pytest.raises(CollectError, match=said):
        body_of(KIND, **fields)


def test_what_says_that_search_is_off_may_be_sent():
    extra = {"enable_search": False, "search_parameters": {"mode": "off"}}
    assert extra.items() <= body_of(KIND, extra_body=extra).items()


def test_key_goes_into_one_header_and_a_broken_one_is_refused_without_being_shown():
    headers = providers.get(KIND).wire.headers
    assert headers("sk-1234") == {"Authorization": "Bearer sk-1234"}
    assert headers(None) == headers(" ") == {}
    with pytest.raises(CollectError) as refused:
        headers("sk-12\n34")
    assert "sk-12" not in str(refused.value)


def test_an_answer_is_read():
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    assert read(KIND, answer(usage=usage, provider="Azure")) == providers.Reply(
        text="up",
        finish_reason="stop",
        input_tokens=20,
        cached_tokens=16,
        output_tokens=9,
        reasoning_tokens=5,
        served_model="model-1-2025-01-31",
        fingerprint="fp_1",
        upstream="Azure",
        request_id="chatcmpl-1",
    )


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        # xAI counts reasoning beside the completion, OpenAI inside.
        (
            {
                "prompt_tokens": 20,
                "completion_tokens": 9,
                "total_tokens": 129,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            (20, None, 109, 100),
        ),
        ({"prompt_tokens": 20, "completion_tokens": 9, "prompt_cache_hit_tokens": 4}, (20, 4, 9, None)),
        ({"prompt_tokens": 20, "completion_tokens": 9, "cached_tokens": 0}, (20, 0, 9, None)),
        ({"prompt_tokens": 2**63, "completion_tokens": 9.0}, (None, None, 9, None)),
        ({"prompt_tokens": -1, "completion_tokens": True, "total_tokens": 1e400}, (None, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
def test_token_counts_are_the_prompts_and_all_that_is_billed_as_output(usage, counts):
    reply = read(KIND, answer(usage=usage))
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens, reply.reasoning_tokens) == counts


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"reasoning": "hm"}, "up", "hm"),
        ({"reasoning_content": "hm"}, "up", "hm"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "up", "hm"),
        ({"content": "<think>hm</think>up"}, "<think>hm</think>up", None),
        ({"content": [{"type": "text", "text": "u"}, {"type": "text", "text": "p"}]}, "up", None),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "up"},
                ]
            },
            "up",
            "hm",
        ),
        ({"content": None}, None, None),
        ({"content": []}, None, None),
    ],
)
def test_text_and_reasoning_stand_where_vendors_put_them(message, text, reasoning):
    reply = read(KIND, answer(message))
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (answer(), "answer"),
        (answer(choice={"finish_reason": "length"}), "truncated"),
        (answer(choice={"finish_reason": "content_filter"}), "content_filter"),
        (answer(choice={"finish_reason": "a reason of tomorrow"}), "answer"),
        (answer({"content": None}, choice={"finish_reason": "tool_calls"}), "empty"),
        (answer({"content": None, "refusal": "I cannot."}), "refusal"),
        (answer({"content": [{"type": "refusal", "refusal": "I cannot."}]}), "refusal"),
        (answer({"refusal": ""}), "answer"),
        (answer({"content": None}), "empty"),
        (answer({"content": " \n"}), "empty"),
        (answer(choices=[]), "empty"),
        (answer(choices=None), "malformed_body"),
        (answer(choices=[{"text": "up"}]), "malformed_body"),
        (answer({"content": 7}), "malformed_body"),
        (b"", "malformed_body"),
        (json.dumps(answer()).encode()[:-9], "malformed_body"),
        (b"[" * 10_000, "malformed_body"),
    ],
)
def test_what_became_of_a_request(given, outcome):
    assert verdict(KIND, 200, given) is None
    assert providers.outcome(read(KIND, given)) == outcome


def test_a_refusal_keeps_its_words_and_what_was_said_before():
    assert read(KIND, answer({"content": None, "refusal": "I cannot."})).text == "I cannot."
    reply = read(KIND, answer({"content": "Partly:", "refusal": "I cannot."}))
    assert (reply.text, reply.finish_reason) == ("Partly:", "refusal")


def test_logprobs_keep_tokens_and_alternatives():
    step = {
        "token": "up",
        "logprob": -0.25,
        "bytes": None,
        "top_logprobs": [
            {"token": "up", "logprob": -0.25},
            {"token": "down", "logprob": float("-inf")},
            {"token": "?", "logprob": 10**400},
        ],
    }
    reply = read(KIND, answer(choice={"logprobs": {"content": [step]}}))
    assert json.loads(reply.logprobs) == [
        {"token": "up", "logprob": -0.25, "top": [["up", -0.25], ["down", -9999.0], ["?", None]]}
    ]


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, {"message": "Unsupported parameter", "type": "invalid_request_error"}, (False, False)),
        (401, {"message": "Incorrect API key", "code": "invalid_api_key"}, (False, False)),
        (402, {"message": "Insufficient credits", "code": 402}, (False, False)),
        (403, {"message": "No access", "code": 403}, (False, False)),
        (404, {"message": "No such model", "code": "model_not_found"}, (False, False)),
        (408, {"message": "Timed out"}, (True, False)),
        (409, {"message": "Conflict"}, (True, False)),
        (413, {"message": "Too large"}, (False, False)),
        (422, {"message": "Unprocessable"}, (False, False)),
        (429, {"message": "Rate limit reached", "code": "rate_limit_exceeded"}, (True, True)),
        (
            429,
            {
                "message": "Rate limit reached for model-1 on requests per min. Add a payment method: "
                "https://platform.openai.com/usage_limits",
                "code": "rate_limit_exceeded",
            },
            (True, True),
        ),
        (429, {"message": "You exceeded your current quota", "type": "insufficient_quota"}, (False, False)),
        (429, {"message": "Cap", "code": "project_spend_limit_exceeded"}, (False, False)),
        (429, {"message": "Stop", "type": "exceeded_current_quota_error"}, (False, False)),
        (429, {"message": "Rate limit exceeded: free-models-per-day", "code": 429}, (False, False)),
        (429, {"message": "Overloaded", "type": "engine_overloaded_error"}, (True, True)),
        (500, {"message": "The server had an error", "type": "server_error"}, (True, False)),
        (501, {"message": "Not supported"}, (False, False)),
        (502, {"message": "Provider returned error", "code": 502}, (True, False)),
        (503, {"message": "Loading model", "type": "unavailable_error"}, (True, True)),
        (524, {}, (True, False)),
        (200, {"message": "Provider down", "code": 502}, (True, False)),
        (200, {"message": "Slow", "code": "429"}, (True, True)),
        (200, {"message": "Bad", "code": 400}, (False, False)),
        (200, {"message": "The model is overloaded", "type": "overloaded_error"}, (True, True)),
        (200, {"message": "Unknown field", "type": "invalid_request_error"}, (False, False)),
    ],
)
def test_failures_are_told_apart(status, error, expected):
    assert verdict(KIND, status, {"error": error}) == expected
    if "message" in error:
        assert error["message"].split(" https")[0][:40] in failed(KIND, status, {"error": error}).words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"error": "model 'x' not found"}, "HTTP 404: model 'x' not found"),
        ({"object": "error", "message": "gone", "code": 404}, "HTTP 404: gone"),
        ({"detail": "Not Found"}, "HTTP 404: Not Found"),
        ({"detail": [{"msg": "field required"}]}, "HTTP 404: field required"),
        (b"", "HTTP 404: Not Found; check `endpoint`, the base URL"),
        (b"no\nsuch\x00route", "HTTP 404: no such route; check `endpoint`, the base URL"),
        (
            b"<html><head><title>404 page</title></head></html>",
            "HTTP 404: 404 page; check `endpoint`, the base URL",
        ),
    ],
)
def test_words_are_the_servers_own_on_one_line(raw, words):
    assert failed(KIND, 404, raw).words == words


def test_words_of_a_router_hold_those_of_its_upstream():
    error = {"code": 502, "message": "Provider returned error", "metadata": {"raw": "no capacity"}}
    assert failed(KIND, 502, {"error": error}).words == "HTTP 502: Provider returned error: no capacity"


def test_a_page_in_place_of_json_names_the_endpoint_and_is_known_for_a_page():
    found = failed(KIND, 200, b"\n<!DOCTYPE html><title>Welcome</title>")
    assert (found.retry, found.slow_down, found.page) == (True, False, True)
    assert failed(KIND, 200, b"Sign in.", headers={"Content-Type": "text/html"}).page
    assert not failed(KIND, 502, b"<title>Bad gateway</title>").page
    assert "'Welcome'" in found.words and "`endpoint`" in found.words


def test_a_redirect_is_refused_and_its_host_named():
    found = failed(KIND, 307, headers={"Location": "https://other.example/v1?key=abcdef"})
    assert not found.retry and "other.example" in found.words and "abcdef" not in found.words
    assert failed(KIND, 301, headers={"location": "http://[broken"}) is not None


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_an_answer_cut_off_by_its_host_is_no_answer(reason):
    assert verdict(KIND, 200, answer(choice={"finish_reason": reason}))[0] is True


def test_an_error_inside_a_choice_is_a_failure():
    choice = {"finish_reason": "error", "error": {"code": 400, "message": "no"}}
    assert verdict(KIND, 200, answer(choice=choice)) == (False, False)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "content_filter", "message": "The response was filtered"}),
        (400, {"message": "Content Exists Risk", "type": "invalid_request_error"}),
        (400, {"code": "invalid_prompt", "message": "flagged"}),
        (403, {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}),
    ],
)
def test_a_filter_that_answers_with_an_error_is_an_outcome_not_a_failure(status, error):
    assert verdict(KIND, status, {"error": error}) is None
    reply = read(KIND, {"error": error})
    assert providers.outcome(reply) == "content_filter" and error["message"] in reply.text


def test_the_request_id_is_found_whatever_the_case_of_the_header():
    wire = providers.get(KIND).wire
    assert wire.request_id({"X-Request-ID": "req_1"}) == "req_1"
    assert wire.request_id({}) is None
    assert wire.path(body_of(KIND)) == "/chat/completions"
    assert wire.payload(body_of(KIND)) == body_of(KIND)
    assert providers.get(KIND).free is False and entry(KIND).key_variable is None


SCORED = {
    "object": "text_completion",
    "model": "model-1",
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}
TOKENS = {"tokens": ["Answer:", " -", "1.23", "\n"], "token_logprobs": [None, -0.5, -1.5, -0.1]}


def scored(logprobs, **fields):
    return {**SCORED, **fields, "choices": [{"text": "Answer: -1.23\n", "logprobs": logprobs}]}


def test_a_cap_of_zero_asks_how_likely_the_prompt_is():
    asked = request(prompt="Answer: -1.23", max_tokens=0)
    body = body_of(KIND, asked, logprobs=True, thinking="on")
    assert (body["prompt"], body["echo"], body["max_tokens"]) == ("Be brief.\n\nAnswer: -1.23", True, 1)
    assert "messages" not in body and "reasoning_effort" not in body
    wire = providers.get(KIND).wire
    assert (wire.path(body), wire.path(body_of(KIND))) == ("/completions", "/chat/completions")
    for kind in ("anthropic", "gemini"):
        with pytest.raises(CollectError, match="how likely given texts are"):
            body_of(kind, asked)


@pytest.mark.parametrize("usage", [SCORED["usage"], {"prompt_tokens": 3}, {}])
def test_a_scored_prompt_comes_without_the_token_that_was_made(usage):
    reply = read(KIND, scored(TOKENS, usage=usage))
    assert reply.text == "Answer: -1.23"
    assert [step["logprob"] for step in json.loads(reply.logprobs)] == [None, -0.5, -1.5]
    assert failed(KIND, 200, scored(TOKENS, usage=usage)) is None


@pytest.mark.parametrize(
    ("tokens", "usage", "finish"),
    [
        # The begin-of-text token is listed and not counted, or counted and not listed.
        (["<s>", "Answer:", " -", "1.23", "\n"], {"prompt_tokens": 3, "completion_tokens": 1}, "length"),
        (["Answer:", " -", "1.23", "\n"], {"prompt_tokens": 4, "completion_tokens": 1}, "length"),
        # The end-of-text token that was made is counted and not listed.
        (["Answer:", " -", "1.23"], {"prompt_tokens": 3, "completion_tokens": 1}, "stop"),
    ],
)
def test_the_last_token_of_the_prompt_is_kept_however_servers_count(tokens, usage, finish):
    values = [None, *[-1.0] * (len(tokens) - 1)]
    answer = scored({"tokens": tokens, "token_logprobs": values}, usage=usage)
    answer["choices"][0]["finish_reason"] = finish
    assert read(KIND, answer).text.removeprefix("<s>") == "Answer: -1.23"


def test_an_aborted_scoring_is_tried_again():
    answer = scored({"tokens": [], "token_logprobs": []})
    answer["choices"][0]["finish_reason"] = "error"
    found = failed(KIND, 200, answer)
    assert found is not None and found.retry


def test_a_scoring_body_may_not_name_another_model():
    for name in ("models", "route", "messages", "suffix"):
        with pytest.raises(CollectError, match=name):
            body_of(KIND, request(prompt="Answer: 1", max_tokens=0), extra_body={name: ["other"]})


@pytest.mark.parametrize("changes", [{"object": "text.completion"}, {"choices": []}, {"object": None}])
def test_an_answer_of_completions_is_known_by_its_form(changes):
    answer = {**scored(None), **changes}
    found = failed(KIND, 200, answer)
    assert found is not None and not found.retry and "vLLM" in found.words


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {"tokens": ["a", "b", "c"], "token_logprobs": [None, None, -0.1]},
        {"tokens": ["\n"], "token_logprobs": [-0.1]},
        {"content": [{"token": "\n", "logprob": -0.1, "top_logprobs": []}]},
        {"tokens": ["a", "b"], "token_logprobs": [-0.1]},
    ],
)
def test_a_server_that_scores_no_prompt_is_told_and_not_asked_again(logprobs):
    found = failed(KIND, 200, scored(logprobs))
    assert found is not None and not found.retry and "vLLM" in found.words
    assert read(KIND, scored(logprobs)) is None
