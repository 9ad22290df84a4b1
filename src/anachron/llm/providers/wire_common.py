"""What the providers over HTTP share: reading JSON that may be anything, and writing bodies.

Nothing here raises on what a server sent: an answer that cannot be read is still an answer that was paid.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.files import canonical_json

MOST_TOKENS = 2**63 - 1
TOP_LOGPROBS = 20
"""Alternatives asked for at each token: the most that OpenAI and Gemini document. Two spellings of each of
eight option letters fit. A server that allows fewer is told so in `extra_body`."""

LEAST_LOGPROB = -9999.0
"""What OpenAI writes for a token too unlikely to have a log-probability; used where others write -Infinity."""

RETRIEVAL_OFF: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "tool_choice": ("none", {"type": "none"}),
    "functions": ([],),
    "function_call": ("none",),
    "toolConfig": (),
    "mcp_servers": ([],),
    "web_search_options": (),
    "web_search": (False,),
    "plugins": ([],),
    "search_parameters": ({"mode": "off"},),
    "enable_search": (False,),
    "cachedContent": (),
}
"""Fields by which endpoints are known to give a model tools or a search, and the values that say off. Any other
value in `extra_body` is refused: an audit of what a model remembers cannot be run on one that looks things up."""


_DECODE = json.JSONDecoder().decode


class Usage(TypedDict):
    """The token counts of `Reply`: the prompt's, of these the cached; the answer's, of these the reasoning."""

    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None


def parsed(raw: bytes) -> Any:
    """Return the JSON value in `raw`, or None when there is none (which JSON ``null`` is not told from)."""
    text = raw.decode("utf-8", "replace")
    try:
        return _DECODE(text[1:] if text.startswith("\ufeff") else text)
    except (ValueError, RecursionError):
        return None


def mapping(value: Any) -> dict[str, Any]:
    """Return `value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return `value` when it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """Return `value` when it is text that says something, else None."""
    return value if isinstance(value, str) and value and not value.isspace() else None


def tokens(value: Any) -> int | None:
    """Return a count of tokens, or None when `value` is none."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def total(*counts: int | None) -> int | None:
    """Return the sum of the counts that are known, or None when none is."""
    known = [count for count in counts if count is not None]
    return min(sum(known), MOST_TOKENS) if known else None


def joined(parts: Iterable[str | None], between: str = "") -> str | None:
    """Return the texts that are there, joined; None when there is none."""
    said = [part for part in parts if part is not None]
    return between.join(said) if said else None


def header(headers: Mapping[str, str], name: str) -> str | None:
    """Return a header, whatever the case of its name."""
    wanted = name.lower()
    return next((value for key, value in headers.items() if key.lower() == wanted), None)


def logprob(value: Any) -> float | None:
    """Return a log-probability as a finite number, or None when `value` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if math.isnan(number) or number == math.inf:
        return None
    return max(number, LEAST_LOGPROB)


def logprobs_text(steps: Iterable[tuple[Any, Any, Iterable[tuple[Any, Any]]]]) -> str | None:
    """Return log-probabilities in the form of `Reply.logprobs`, or None when there is no token.

    Parameters
    ----------
    steps
        For each token of the answer: the token, its natural log-probability, and pairs of the same for its
        alternatives. Tokens that are no text are left out of the alternatives and stand as "" in the answer,
        so that positions are kept.
    """
    written = [
        {
            "token": token if isinstance(token, str) else "",
            "logprob": logprob(value),
            "top": [[other, logprob(odds)] for other, odds in top if isinstance(other, str)],
        }
        for token, value, top in steps
    ]
    return canonical_json(written) if written else None


def credential(api_key: str | None) -> str | None:
    """Return an API key as it can stand in a header; None for no key.

    Raises
    ------
    CollectError
        When the key holds a blank, a line break or a character outside ASCII. The text does not hold the key.
    """
    key = (api_key or "").strip()
    if not key:
        return None
    if not re.fullmatch(r"[!-~]+", key):
        raise CollectError(
            "the API key holds a blank, a line break or a character outside ASCII; set its environment "
            "variable to the key alone"
        )
    return key


def model_id(entry: ModelEntry) -> str:
    """Return the model's identifier as it is sent."""
    return entry.model_id or entry.name


def wants_json(request: Mapping[str, Any], entry: ModelEntry) -> bool:
    """Whether the registry asks for a JSON object as the format of this request's answer."""
    return request["arm"] in entry.json_mode.get(request["suite"], [])


def require_room(request: Mapping[str, Any], entry: ModelEntry) -> None:
    """Check that a thinking budget leaves room for an answer.

    Every vendor counts thinking toward the cap, so that the cap is what an answer can cost at most.

    Raises
    ------
    CollectError
        When the cap is no larger than the budget.
    """
    if isinstance(entry.thinking, int) and request["max_tokens"] <= entry.thinking:
        raise CollectError(
            f"model {entry.name!r}, suite {request['suite']}, arm {request['arm']}: the cap of "
            f"{request['max_tokens']:,} tokens leaves no room for an answer after `thinking: {entry.thinking}`, "
            "which counts toward it; raise `max_output_tokens` above the budget"
        )


def refuse_scoring(request: Mapping[str, Any], entry: ModelEntry) -> None:
    """Check that an answer is asked for, where the vendor gives no log-probabilities of a prompt.

    Raises
    ------
    CollectError
        When the request's cap is 0.
    """
    if request["max_tokens"] == 0:
        raise CollectError(
            f"model {entry.name!r}, suite {request['suite']}, arm {request['arm']}: asks how likely given texts are, "
            f"and provider {entry.provider} does not say; leave the arm out of the model's `arms`"
        )


def with_extra(body: dict[str, Any], entry: ModelEntry, fixed: Iterable[str]) -> dict[str, Any]:
    """Return `body` with the registry's `extra_body` laid over it; objects are merged, all else replaced.

    Parameters
    ----------
    body
        The body as the provider writes it.
    entry
        The model.
    fixed
        Fields that `extra_body` may not name, because another key of the registry decides them.

    Raises
    ------
    CollectError
        When `extra_body` names such a field, or gives the model tools or a search.
    """
    fixed = tuple(fixed)
    for name, value in entry.extra_body.items():
        if name in fixed:
            raise CollectError(
                f"model {entry.name!r}: `extra_body` names {name!r}, which the request itself decides; leave it out"
            )
        if name in RETRIEVAL_OFF and value not in RETRIEVAL_OFF[name]:
            raise CollectError(
                f"model {entry.name!r}: `extra_body` turns on tools or a search through {name!r}; the protocol "
                "asks for what the model remembers, so leave it out"
            )
    return _merged(body, entry.extra_body)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


PROMPT_FIELDS = ("model", "messages", "prompt", "system", "contents", "systemInstruction")


def settings_text(body: Mapping[str, Any]) -> str:
    """Return what a wire body says beside model and prompt, as canonical JSON, with ``"tools": "off"`` in it.

    No API here has a switch that turns tools off where none are given: all refuse one. A body without tools is
    how each documents that the model has none, and this is where that is put on record.
    """
    settings = {name: value for name, value in body.items() if name not in PROMPT_FIELDS}
    return canonical_json({**settings, "tools": "off"})
