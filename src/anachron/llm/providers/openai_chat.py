"""Provider ``openai_chat``: the chat dialect of OpenAI, spoken by many vendors, routers and local servers.

Built from the documentation of OpenAI, OpenRouter, DeepSeek, Moonshot, Mistral, xAI, vLLM, Ollama and llama.cpp's
server. No tools are given and ``tool_choice`` is left out: OpenAI refuses it where there are no tools, and says
that none is then the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm.providers import Failure, Provider, Reply, Wire, openai_scoring
from anachron.llm.providers.wire_common import (
    TOP_LOGPROBS,
    Usage,
    credential,
    header,
    joined,
    logprobs_text,
    mapping,
    model_id,
    parsed,
    require_room,
    sequence,
    text_of,
    tokens,
    total,
    wants_json,
    with_extra,
)
from anachron.llm.providers.wire_errors import error_of, failure_of, is_filtered, words_of

FIXED = (
    "model",
    "messages",
    "stream",
    "n",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "logprobs",
    "models",
    "route",
)
"""Fields of the body that other keys of the registry decide, and those that name other models to fall back to."""

THINKING_FIELDS = ("reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "enable_thinking")
"""Fields by which endpoints take a regime of reasoning; one in `extra_body` replaces what `thinking` would send."""

SWITCHES: dict[str, dict[str, dict[str, Any]]] = {
    "openrouter.ai": {
        "off": {"reasoning": {"enabled": False}},
        "on": {"reasoning": {"enabled": True}},
    },
    "api.deepseek.com": {
        "off": {"thinking": {"type": "disabled"}},
        "on": {"thinking": {"type": "enabled"}},
    },
}
"""Hosts that document a switch for all their models. Elsewhere off sends nothing (models that do not reason refuse
every such field) and on sends ``reasoning_effort``."""

RETRIEVING = (":online", "-search-preview", "-search-api", "-deep-research")
"""Marks of identifiers under which OpenRouter and OpenAI serve models that search the web by themselves."""

CACHED_TOKENS = ("prompt_cache_hit_tokens", "cached_tokens")
"""Where DeepSeek and Moonshot count cached tokens; OpenAI does in ``prompt_tokens_details``."""

CUT_OFF = ("error", "abort", "network_error", "insufficient_system_resource")
"""Finish reasons that say that serving failed: OpenRouter's, vLLM's, Zhipu's, DeepSeek's. No model said them."""


def body(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """Return the wire body of a neutral request; of one that asks for no answer, see `openai_scoring`.

    Raises
    ------
    CollectError
        When the model searches the web by itself, `extra_body` names what it may not, or a thinking budget is
        asked of an endpoint that documents none or does not fit under the cap.
    """
    name = model_id(entry)
    if any(mark in name.casefold() for mark in RETRIEVING):
        raise CollectError(
            f"model {entry.name!r}: {name!r} is served with a web search; the protocol asks for what the model "
            "remembers, so name the model without it"
        )
    if openai_scoring.is_scoring(request):
        return openai_scoring.body(request, entry)
    messages = [{"role": "user", "content": request["prompt"]}]
    if request["system"]:
        messages.insert(0, {"role": "system", "content": request["system"]})
    written: dict[str, Any] = {
        "model": name,
        "messages": messages,
        entry.max_tokens_field: request["max_tokens"],
    }
    if not entry.temperature_locked:
        written["temperature"] = request["temperature"]
    if wants_json(request, entry):
        written["response_format"] = {"type": "json_object"}
    if entry.logprobs:
        written |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    written |= _thinking(request, entry)
    return with_extra(written, entry, FIXED)


def _thinking(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    if entry.thinking == "locked" or any(name in entry.extra_body for name in THINKING_FIELDS):
        return {}
    host = urlsplit(entry.base_url or "").hostname or ""
    if isinstance(entry.thinking, int):
        if host != "openrouter.ai":
            raise CollectError(
                f"model {entry.name!r}: no budget of thinking tokens is documented for {host}; write `thinking: on`, "
                "or name the endpoint's own field in `extra_body`"
            )
        require_room(request, entry)
        return {"reasoning": {"max_tokens": entry.thinking}}
    if host in SWITCHES:
        return SWITCHES[host][entry.thinking]
    return {"reasoning_effort": "medium"} if entry.thinking == "on" else {}


def read(raw: bytes) -> Reply | None:
    """Return what a raw answer says, or None when it is not of the documented form.

    Text, refusal and reasoning stand where the vendors put them; a ``<think>`` block inside the text stays text.
    """
    answer = parsed(raw)
    if not isinstance(answer, dict):
        return None
    if openai_scoring.is_answer(answer):
        return openai_scoring.read(answer)
    choices = answer.get("choices")
    if not choices or answer.get("error"):
        error = error_of(answer)
        if error and is_filtered(200, error):
            name = text_of(answer.get("request_id")) or text_of(answer.get("id"))
            return Reply(text=words_of(400, error, raw), finish_reason="content_filter", request_id=name)
    if not isinstance(choices, list):
        return None
    choice = choices[0] if choices else {"message": {}}
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return None
    message = choice["message"]
    content = message.get("content")
    if not (content is None or isinstance(content, str | list)):
        return None
    text, thought, declined = _content(content)
    declined = text_of(message.get("refusal")) or declined
    return Reply(
        text=text if text_of(text) or declined is None else declined,
        reasoning=_reasoning(message) or thought,
        finish_reason="refusal" if declined else text_of(choice.get("finish_reason")),
        served_model=text_of(answer.get("model")),
        fingerprint=text_of(answer.get("system_fingerprint")),
        upstream=text_of(answer.get("provider")),
        request_id=text_of(answer.get("id")),
        logprobs=_logprobs(choice),
        **_usage(mapping(answer.get("usage"))),
    )


def _content(content: str | list[Any] | None) -> tuple[str | None, str | None, str | None]:
    """Return text, thoughts and refusal of a message's content, which is text or a list of parts."""
    if not isinstance(content, list):
        return content, None, None
    said: dict[str, list[str | None]] = {"text": [], "thinking": [], "refusal": []}
    for part in content:
        if isinstance(part, str):
            said["text"].append(part)
            continue
        kind = mapping(part).get("type")
        if kind == "thinking":
            inner = part.get("thinking")
            whole = inner if isinstance(inner, str) else _content(sequence(inner))[0]
            said["thinking"].append(whole)
        elif kind in ("text", "output_text", "refusal"):
            name = "refusal" if kind == "refusal" else "text"
            value = part.get(name)
            said[name].append(value if isinstance(value, str) else None)
    return joined(said["text"]), joined(said["thinking"]), text_of(joined(said["refusal"]))


def _reasoning(message: Mapping[str, Any]) -> str | None:
    plain = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    if plain is not None:
        return plain
    if "reasoning_details" not in message:
        return None
    details = [mapping(part) for part in sequence(message.get("reasoning_details"))]
    return joined(text_of(part.get("text")) or text_of(part.get("summary")) for part in details)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the four token counts of `Reply`.

    Cached tokens are part of the prompt's, and reasoning of the completion's. xAI counts reasoning beside the
    completion: there the total is the sum of all three.
    """
    prompt, completion = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
    thought = tokens(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    thought = tokens(usage.get("reasoning_tokens")) if thought is None else thought
    if thought and completion is not None:
        whole = tokens(usage.get("total_tokens"))
        if whole == total(prompt, completion, thought):
            completion = total(completion, thought)
    cached = tokens(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = next((n for name in CACHED_TOKENS if (n := tokens(usage.get(name))) is not None), None)
    return {
        "input_tokens": prompt,
        "cached_tokens": cached,
        "output_tokens": completion,
        "reasoning_tokens": thought,
    }


def _logprobs(choice: Mapping[str, Any]) -> str | None:
    if not choice.get("logprobs"):
        return None
    steps = [mapping(step) for step in sequence(mapping(choice.get("logprobs")).get("content"))]
    return logprobs_text(
        (
            step.get("token"),
            step.get("logprob"),
            [
                (mapping(other).get("token"), mapping(other).get("logprob"))
                for other in sequence(step.get("top_logprobs"))
            ],
        )
        for step in steps
    )


def failure(status: int, headers: Mapping[str, str], raw: bytes) -> Failure | None:
    """Return what is wrong with a response, or None when it is an answer; see `wire_errors.failure_of`.

    A choice that ends in an error of serving is a failure: the model was cut off by its host.
    """
    answer = parsed(raw)
    found = failure_of(status, headers, raw, error_of(answer))
    if found is not None or not 200 <= status < 300:
        return found
    first = mapping(next(iter(sequence(mapping(answer).get("choices"))), None))
    error = mapping(first.get("error"))
    if error:
        return failure_of(status, headers, raw, error)
    if first.get("finish_reason") in CUT_OFF:
        words = f"HTTP {status}: serving ended with finish_reason {first['finish_reason']!r}"
        return Failure(words, retry=True, slow_down=first["finish_reason"] == "insufficient_system_resource")
    return openai_scoring.failure(answer)


def _headers(api_key: str | None) -> dict[str, str]:
    key = credential(api_key)
    return {"Authorization": f"Bearer {key}"} if key else {}


WIRE = Wire(
    path=lambda body: openai_scoring.PATH if "prompt" in body else "/chat/completions",
    payload=dict,
    headers=_headers,
    failure=failure,
    request_id=lambda headers: header(headers, "x-request-id"),
)
PROVIDER = Provider("openai_chat", free=False, provenance="api", body=body, read=read, wire=WIRE)
