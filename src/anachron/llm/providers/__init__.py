"""How each provider is asked and how its answers are read.

A provider that is asked is a module with a `PROVIDER` and a line in `MODULES`. Provider ``replay`` is not
asked: its records were made elsewhere and are read by `replay.transcripts`, with no store and no request.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anachron.config import ModelEntry
from anachron.errors import CollectError

MODULES = {"planted": "anachron.llm.providers.planted"}
"""Providers that are asked, and the module of each; imported only when a model needs it."""

RECORDED = ("replay",)
"""Providers whose answers were recorded elsewhere."""

FINISH_OUTCOMES = {
    "length": "truncated",
    "max_tokens": "truncated",
    "model_length": "truncated",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "recitation": "content_filter",
}
"""Finish reasons, in lower case, that decide an outcome whatever text came with them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a wire answer says; None where it does not say."""

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


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider kind: four facts and three functions."""

    kind: str
    free: bool
    """Whether asking costs nothing."""
    provenance: str
    """What sealed transcripts say of where the answers came from."""
    body: Callable[[Mapping[str, Any], ModelEntry], dict[str, Any]]
    """``body(request, entry)``: the wire body of a neutral request, model identifier included."""
    ask: Callable[[Mapping[str, Any], Mapping[str, Any], Any], bytes]
    """``ask(request, body, respond)``: send one body; the raw answer, as it came."""
    read: Callable[[bytes], Reply | None]
    """``read(raw)``: what a raw answer says, or None when it is not what the provider documents."""


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
    decided = FINISH_OUTCOMES.get((reply.finish_reason or "").lower())
    if decided is not None:
        return decided
    return "answer" if reply.text is not None and reply.text.strip() else "empty"


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
