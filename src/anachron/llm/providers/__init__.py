"""How each provider is asked and how its answers are read.

A provider that is asked is a module with a `PROVIDER` and a line in `MODULES`. Provider ``replay`` is not
asked: its records were made elsewhere and are read by `replay.transcripts`, with no store and no request.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from anachron.config import ModelEntry
from anachron.errors import CollectError

MODULES = {
    "planted": "anachron.llm.providers.planted",
    "openai_chat": "anachron.llm.providers.openai_chat",
    "anthropic": "anachron.llm.providers.anthropic",
    "gemini": "anachron.llm.providers.gemini",
}
"""Providers that are asked, and the module of each; imported only when a model needs it."""

RECORDED = ("replay",)
"""Providers whose answers were recorded elsewhere."""

FINISH_OUTCOMES = {
    "length": "truncated",
    "max_tokens": "truncated",
    "max_output_tokens": "truncated",
    "model_length": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refusal",
    "blocked": "content_filter",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "sensitive": "content_filter",
    "spii": "content_filter",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "recitation": "content_filter",
}
"""Finish reasons, in lower case and up to a colon, that decide an outcome whatever text came with them."""

COMPLETE = ("stop", "end_turn", "stop_sequence", "eos", "eos_token")
"""Finish reasons, in lower case, of an answer that came to its end."""


class Reply(NamedTuple):
    """What a wire answer says; None where it does not say. A tuple: hundreds of thousands are made at once."""

    text: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    upstream: str | None = None
    request_id: str | None = None
    logprobs: str | None = None
    """Canonical JSON: a list of ``{"token", "logprob", "top": [[token, logprob], ...]}``, one per token."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What an HTTP response says when it is no answer. What the network did is an error, never data."""

    words: str
    """The provider's own words, one line, with no credential in them."""
    retry: bool
    """Whether asking again later may help: busy, overloaded, over a rate. False: key, quota, request."""
    slow_down: bool = False
    """Whether it says that requests come too fast (429 and the like)."""
    after_s: float | None = None
    """How long its body asks to wait, in seconds; what its headers ask is read elsewhere."""
    page: bool = False
    """Whether a web page came in place of an answer: nobody knows who sent it, so a few tries decide."""


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider kind is spoken to over HTTP. Nothing here opens a socket."""

    path: Callable[[Mapping[str, Any]], str]
    """``path(body)``: where to post, below the base URL, with a slash at its beginning."""
    payload: Callable[[Mapping[str, Any]], dict[str, Any]]
    """``payload(body)``: the JSON that is posted; the body, without what only the key needs."""
    headers: Callable[[str | None], dict[str, str]]
    """``headers(api_key)``: the headers of authentication and version."""
    failure: Callable[[int, Mapping[str, str], bytes], Failure | None]
    """``failure(status, headers, raw)``: what is wrong with a response, or None when it is an answer. A
    response of status 200 can be a failure too: some gateways put an error object there."""
    request_id: Callable[[Mapping[str, str]], str | None]
    """``request_id(headers)``: the provider's name of a request, from the response's headers."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider kind: what it is, how a request is written, how an answer is read."""

    kind: str
    free: bool
    """Whether asking costs nothing."""
    provenance: str
    """What sealed transcripts say of where the answers came from."""
    body: Callable[[Mapping[str, Any], ModelEntry], dict[str, Any]]
    """``body(request, entry)``: the wire body of a neutral request, model identifier included."""
    read: Callable[[bytes], Reply | None]
    """``read(raw)``: what a raw answer says, or None when it is not what the provider documents."""
    ask: Callable[[Mapping[str, Any], Mapping[str, Any], Any], bytes] | None = None
    """``ask(request, body, respond)``: for a provider in this process; the raw answer, as it came."""
    wire: Wire | None = None
    """For a provider over HTTP. A provider has either `ask` or `wire`."""


def get(kind: str) -> Provider:
    """Return the provider of a kind that is asked.

    Raises
    ------
    CollectError
        When the kind is unknown, or is one whose answers were recorded elsewhere.
    """
    if kind in RECORDED:
        raise CollectError(f"provider {kind!r} holds records made elsewhere; it cannot be asked")
    if kind not in MODULES:
        raise CollectError(f"provider {kind!r} is not known; known: {', '.join((*MODULES, *RECORDED))}")
    provider: Provider = importlib.import_module(MODULES[kind]).PROVIDER
    return provider


def outcome(reply: Reply | None) -> str:
    """Return what became of a request that was answered (one of `frames.OUTCOMES`).

    The finish reason decides before the text does: a cut or filtered answer may still hold text.
    """
    if reply is None:
        return "malformed_body"
    decided = FINISH_OUTCOMES.get((reply.finish_reason or "").lower().partition(":")[0])
    if decided is not None:
        return decided
    return "answer" if reply.text and not reply.text.isspace() else "empty"


def known_ending(finish_reason: str) -> bool:
    """Return whether a finish reason is one that is documented somewhere; any other is counted in the row."""
    ending = finish_reason.lower().partition(":")[0]
    return ending in FINISH_OUTCOMES or ending in COMPLETE


def well_formed(text: str | None) -> str | None:
    """Return `text` with every lone surrogate replaced by U+FFFD, so that it can be written as UTF-8.

    The raw answer in the store keeps what came.
    """
    if text is None:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
