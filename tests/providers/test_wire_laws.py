"""What holds for every provider over HTTP: what is in the key, what survives any answer, what never leaks."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_wire_anthropic import answer as anthropic_answer
from test_wire_gemini import answer as gemini_answer
from test_wire_openai import answer as openai_answer
from wires import KINDS, SUITE, anything, body_of, entry, failed, key_of, request, shapes

from anachron.files import canonical_json
from anachron.llm import providers
from anachron.llm.keys import key
from anachron.llm.plan import plan
from anachron.llm.providers.wire_common import settings_text
from anachron.llm.providers.wire_errors import MOST_WORDS, one_line, scrub
from anachron.llm.served import served_is_asked

FULL = {"openai_chat": openai_answer(), "anthropic": anthropic_answer(), "gemini": gemini_answer()}
ERRORS = [
    {
        "error": {
            "code": 429,
            "type": "t",
            "status": "s",
            "message": "m",
            "details": [{"violations": [{"quotaId": "q"}]}],
        }
    },
    {"error": {"code": "c", "message": "m", "metadata": {"raw": "r", "reasons": ["x"]}}},
    {"type": "error", "error": {"type": "t", "message": "m", "details": {"error_code": "e"}}},
    {"detail": [{"msg": "m"}], "message": "m"},
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_decides_an_answer_changes_the_key(kind):
    cap = {"max_tokens_field": "max_completion_tokens"} if kind == "openai_chat" else {}
    formats = {} if kind == "anthropic" else {"logprobs": True, "json_mode": {"suite": ["R"]}}
    base = entry(kind).base_url
    changed = [
        key_of(kind),
        key_of(kind, rep=2),
        *(
            key_of(kind, request(**{name: value}))
            for name, value in {
                "system": "Be long.",
                "prompt": "Down or up?",
                "temperature": 0.7,
                "max_tokens": 4096,
            }.items()
        ),
        key_of(kind, temperature_locked=True),
        key_of(kind, thinking="on"),
        key_of(kind, model_id="model-2"),
        key_of(kind, endpoint=f"{base}/other"),
        key_of(kind, extra_body={"seed": 1}),
        key_of(kind, extra_body={"seed": 2}),
        *(key_of(kind, **{name: value}) for name, value in {**cap, **formats}.items()),
    ]
    assert len(set(changed)) == len(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_how_an_answer_is_fetched_and_what_it_costs_are_not_in_the_key(kind):
    base = entry(kind).base_url
    same = [
        key_of(kind, limits={"concurrency": 1, "timeout_s": 5, "requests_per_minute": 3}),
        key_of(kind, api_key_env="OTHER_KEY"),
        key_of(kind, price="other"),
        key_of(kind, generation="2024", vendor="another", disclosures=["a note"]),
        key_of(kind, endpoint=f"{base}/"),
        key_of(kind, endpoint=base),
    ]
    assert set(same) == {key_of(kind)}


@given(st.sampled_from(KINDS), st.randoms())
def test_the_order_of_fields_does_not_change_the_key(kind, chance):
    def shuffled(value):
        if isinstance(value, dict):
            names = list(value)
            chance.shuffle(names)
            return {name: shuffled(value[name]) for name in names}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    body = body_of(kind)
    assert key(kind, None, canonical_json(shuffled(body)), 1) == key(kind, None, canonical_json(body), 1)


@given(st.text(min_size=1, max_size=9), st.text(min_size=1, max_size=9), st.sampled_from(KINDS))
def test_two_models_never_share_a_key(one, other, kind):
    assert (key_of(kind, model_id=one) == key_of(kind, model_id=other)) is (one == other)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_of_one_model_in_three_dialects_differ_and_say_no_tools(kind):
    body = body_of(kind)
    assert "tool" not in json.dumps(body).lower()
    said = json.loads(settings_text(body))
    assert said["tools"] == "off" and not {"model", "messages", "contents", "system"} & set(said)
    assert "0.2" in settings_text(body) and "Up or down?" not in settings_text(body)


@pytest.mark.parametrize("kind", KINDS)
def test_transcripts_record_what_was_sent_and_that_tools_were_off(kind):
    table = pd.DataFrame([{**request(), "rep": 1, "tiers": "full"}])
    open_, locked = (
        json.loads(plan(entry(kind, temperature_locked=lock), providers.get(kind), SUITE, table).sampling[0])
        for lock in (False, True)
    )
    assert open_["tools"] == locked["tools"] == "off"
    assert "2048" in json.dumps(locked) and "temperature" in json.dumps(open_)
    assert "temperature" not in json.dumps(locked)


@settings(max_examples=200)
@given(st.data(), st.sampled_from(KINDS))
def test_reading_never_raises_and_what_is_read_fits_its_columns(data, kind):
    value = data.draw(shapes(FULL[kind]) | st.sampled_from(ERRORS).flatmap(shapes))
    reply = providers.get(kind).read(json.dumps(value).encode())
    assert providers.outcome(reply) in {
        "answer", "truncated", "refusal", "content_filter", "empty", "malformed_body",
    }  # fmt: skip
    if reply is None:
        return
    for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"):
        count = getattr(reply, name)
        assert count is None or (type(count) is int and 0 <= count < 2**63)
    for name in (
        "text",
        "reasoning",
        "finish_reason",
        "served_model",
        "fingerprint",
        "upstream",
        "request_id",
    ):
        assert getattr(reply, name) is None or isinstance(getattr(reply, name), str)
    assert reply.logprobs is None or isinstance(json.loads(reply.logprobs), list)


@settings(max_examples=200)
@given(st.data(), st.sampled_from(KINDS), st.integers(200, 599))
def test_judging_a_response_never_raises_and_its_words_are_one_short_line(data, kind, status):
    value = data.draw(st.sampled_from(ERRORS).flatmap(shapes) | shapes(FULL[kind]) | anything)
    found = failed(kind, status, value, {"Location": data.draw(st.text(max_size=12))})
    if found is not None:
        assert found.words == " ".join(found.words.split()) and 0 < len(found.words) <= MOST_WORDS + 1
        assert found.retry or not found.slow_down


@given(st.binary(max_size=60), st.sampled_from(KINDS), st.sampled_from([200, 307, 400, 429, 500]))
def test_any_bytes_can_be_read_and_judged(raw, kind, status):
    providers.get(kind).read(raw)
    failed(kind, status, raw, {})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b'{"error": {"message": "' + b"a 1-*" * 2_000_000 + b'"}}',
        b"x" * 10_000_000,
        b'{"error": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe\x00" * 1000,
    ],
    ids=["deep objects", "deep lists", "long error", "long noise", "long number", "no text"],
)
def test_monstrous_bodies_are_read_and_judged(kind, raw):
    assert providers.get(kind).read(raw) is None
    for status in (200, 400, 500):
        found = failed(kind, status, raw)
        assert found is None or len(found.words) <= MOST_WORDS + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_answer_is_read_whole(kind):
    words = "up " * 3_500_000
    raw = json.dumps(FULL[kind]).replace('"up"', json.dumps(words)).encode()
    assert providers.get(kind).read(raw).text == words
    assert failed(kind, 200, raw) is None


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcDEF123456. You can find",
        "Incorrect API key provided: sk-proj-abcD********3456.",
        "Authentication Fails, Your api key: ****3456 is invalid",
        "headers: {'Authorization': 'Bearer abcDEF123456abcDEF'}",
        "API key AIzaSyabcDEF123456abcDEF not valid",
        "GET /v1beta/models?key=abcDEF123456&alt=json",
        'api_key="abcDEF123456"',
        "x-api-key: sk-ant-api03-abcDEF123456",
    ],
)
def test_credentials_are_scrubbed_by_their_looks(text):
    clean = scrub(text)
    assert "[key]" in clean and "abcD" not in clean and "3456" not in clean
    found = failed("openai_chat", 401, {"error": {"message": text}})
    assert "abcD" not in found.words and "3456" not in found.words


@pytest.mark.parametrize(
    "text",
    [
        "invalid_api_key: Incorrect API key",
        "API_KEY_INVALID: API key not valid. Please pass a valid API key.",
        "HTTP Basic authentication is required",
        "model claude-sonnet-4-5-20250929 not found",
        "Rate limit reached: 30000 tokens per min (TPM), used 29000, requested 2400",
    ],
)
def test_words_that_hold_no_credential_are_left_alone(text):
    assert scrub(text) == text


@given(st.text(st.characters(codec="ascii", min_codepoint=33), min_size=4, max_size=30), st.text(max_size=40))
def test_a_known_secret_is_scrubbed_whatever_it_looks_like(secret, before):
    assert secret not in scrub(f"{before} {secret} after", [secret, None, ""]).replace("[key]", "")


def test_a_known_secret_is_scrubbed_as_urls_write_it():
    assert scrub("GET /v1/ab%2Fcd%2Bef%3D", ["ab/cd+ef="]) == "GET /v1/[key]"


@given(st.integers(MOST_WORDS - 60, MOST_WORDS + 60), st.sampled_from(["word ", "字", "\x00 "]))
def test_a_cut_never_leaves_half_a_credential(at, filling):
    secret = "Zq7" * 12
    line = one_line((filling * MOST_WORDS)[:at] + " " + secret + " tail" * 200)
    assert secret in line or "Zq7" not in line
    assert line.endswith("…")


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("claude-3-5-sonnet", "claude-3-5-sonnet@20241022", True),
        ("gemini-2.0-flash", "gemini-2.0-flash-001", True),
        ("models/gemini-2.5-flash", "gemini-2.5-flash", True),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", True),
        ("deepseek/deepseek-chat-v3-0324:free", "deepseek/deepseek-chat-v3-0324", True),
        ("Qwen/Qwen3-8B", "qwen/qwen3-8b", True),
        ("llama3.2:3b", "llama3.2:3b", True),
        ("llama3.2:3b", "llama3.2:1b", False),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", False),
        ("gpt-4o-2024-08-06", "gpt-4o", False),
        ("gpt-4", "gpt-4-32k", False),
        ("openai/gpt-4o", "azure/gpt-4o", False),
        ("deepseek-chat", "deepseek-v4-flash", False),
        ("gpt-4o", None, None),
    ],
)
def test_the_served_model_is_the_one_asked_or_its_snapshot(asked, served, same):
    assert served_is_asked(asked, served) is same
