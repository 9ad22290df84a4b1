"""Provider ``anthropic``: the Messages API.

Built from Anthropic's documentation. No tools are given and ``tool_choice`` is left out: the API refuses it where
there are no tools. It has no log-probabilities, and no JSON mode without a schema (the prompts ask for JSON in
words); a registry entry that asks for either is refused rather than quietly not heeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm.providers import Failure, Provider, Reply, Wire
from anachron.llm.providers.wire_common import (
    Usage,
    credential,
    header,
    joined,
    mapping,
    model_id,
    parsed,
    refuse_scoring,
    require_room,
    text_of,
    tokens,
    total,
    wants_json,
    with_extra,
)
from anachron.llm.providers.wire_errors import error_of, failure_of, is_filtered, words_of

VERSION = "2023-06-01"
"""Version of the API, sent with every request."""

LEAST_BUDGET = 1024
"""Tokens; the API refuses a smaller thinking budget."""

FIXED = ("model", "system", "messages", "stream", "temperature", "max_tokens")
"""Fields of the body that other keys of the registry decide."""


def body(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """Return the wire body of a neutral request.

    `thinking: off` sends ``disabled``, on sends ``adaptive`` (models from 4.6 on), a number sends a budget (models
    up to 4.6), locked sends nothing. A model that takes none of these is `locked`, or has its own ``thinking`` in
    `extra_body`. While a model thinks, no temperature is sent: the API refuses any but its own.

    Raises
    ------
    CollectError
        When the registry asks for what the API does not have, or a thinking budget is too small or does not fit
        under the cap.
    """
    refuse_scoring(request, entry)
    if entry.logprobs:
        raise CollectError(
            f"model {entry.name!r}: provider anthropic gives no log-probabilities; leave out `logprobs`"
        )
    if wants_json(request, entry):
        raise CollectError(
            f"model {entry.name!r}: provider anthropic has no JSON mode without a schema; leave out `json_mode` (the "
            "prompts ask for JSON in words)"
        )
    written: dict[str, Any] = {
        "model": model_id(entry),
        "messages": [{"role": "user", "content": request["prompt"]}],
        "max_tokens": request["max_tokens"],
    }
    if request["system"]:
        written["system"] = request["system"]
    own = mapping(entry.extra_body.get("thinking"))
    thinking = {} if own else _thinking(request, entry)
    if thinking:
        written["thinking"] = thinking
    thinks = (own or thinking).get("type") in ("enabled", "adaptive")
    if not entry.temperature_locked and not thinks:
        written["temperature"] = request["temperature"]
    return with_extra(written, entry, FIXED)


def _thinking(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    if entry.thinking == "locked":
        return {}
    if entry.thinking == "off":
        return {"type": "disabled"}
    if entry.thinking == "on":
        # Newer models leave the thoughts out unless their summary is asked for.
        return {"type": "adaptive", "display": "summarized"}
    if entry.thinking < LEAST_BUDGET:
        raise CollectError(
            f"model {entry.name!r}: `thinking: {entry.thinking}` is below the API's least budget of "
            f"{LEAST_BUDGET:,} tokens; write at least that, or off"
        )
    require_room(request, entry)
    return {"type": "enabled", "budget_tokens": entry.thinking}


def read(raw: bytes) -> Reply | None:
    """Return what a raw answer says, or None when it is not of the documented form."""
    answer = parsed(raw)
    if not isinstance(answer, dict):
        return None
    error = error_of(answer)
    if error and is_filtered(200, error):
        return Reply(
            text=words_of(400, error, raw),
            finish_reason="content_filter",
            request_id=text_of(answer.get("request_id")),
        )
    content = answer.get("content")
    if not isinstance(content, list):
        return None
    blocks = [mapping(block) for block in content]
    return Reply(
        text=joined(_said(block, "text") for block in blocks),
        reasoning=joined((text_of(_said(block, "thinking")) for block in blocks), "\n"),
        finish_reason=text_of(answer.get("stop_reason")),
        served_model=text_of(answer.get("model")),
        request_id=text_of(answer.get("id")),
        **_usage(mapping(answer.get("usage"))),
    )


def _said(block: Mapping[str, Any], kind: str) -> str | None:
    value = block.get(kind) if block.get("type") == kind else None
    return value if isinstance(value, str) else None


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the four token counts of `Reply`; what the cache wrote and read is counted beside `input_tokens`."""
    cached = tokens(usage.get("cache_read_input_tokens"))
    fresh = tokens(usage.get("input_tokens"))
    return {
        "input_tokens": total(fresh, cached, tokens(usage.get("cache_creation_input_tokens"))),
        "cached_tokens": cached,
        "output_tokens": tokens(usage.get("output_tokens")),
        "reasoning_tokens": tokens(mapping(usage.get("output_tokens_details")).get("thinking_tokens")),
    }


def failure(status: int, headers: Mapping[str, str], raw: bytes) -> Failure | None:
    """Return what is wrong with a response, or None when it is an answer; see `wire_errors.failure_of`."""
    return failure_of(status, headers, raw, error_of(parsed(raw)))


def _headers(api_key: str | None) -> dict[str, str]:
    key = credential(api_key)
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


WIRE = Wire(
    path=lambda body: "/messages",
    payload=dict,
    headers=_headers,
    failure=failure,
    request_id=lambda headers: header(headers, "request-id"),
)
PROVIDER = Provider("anthropic", free=False, provenance="api", body=body, read=read, wire=WIRE)
