"""The OpenAI chat dialect as a server speaks it: what a request asks, and how an answer is written.

Beside it stands as much of the completions dialect as scores a prompt: `echo` with `logprobs`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anachron.errors import AnachronError
from anachron.llm.providers import Reply
from anachron.llm.providers.planted import CHARACTERS_A_TOKEN

Answer = Callable[[str, str, int], Reply | bytes | None]
"""``answer(system, prompt, before)``: what is said to a prompt that was answered `before` times already. Bytes
are sent as they are; None says that the prompt is not known."""

CREATED = 1_700_000_000
"""What answers say of when they were made: the same answer is the same bytes on every day."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that the server offers."""

    name: str
    answer: Answer
    fingerprint: str = "planted"
    """What its answers carry as `system_fingerprint`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a chat request asks."""

    model: str
    system: str
    prompt: str
    cap: int | None
    logprobs: bool
    digest: str
    """SHA-256 of the prompt, as sealed transcripts carry it (`prompt_sha256`)."""
    scores: bool = False
    """Whether the prompt's own log-probabilities are asked for, in the completions dialect."""


def question(raw: bytes) -> Question:
    """Read the body of a chat request.

    Raises
    ------
    AnachronError
        When it is no request of the dialect, or asks for what this server does not do.
    """
    body = _body(raw)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise AnachronError("`messages` is missing or empty.")
    said: dict[str, list[str]] = {"system": [], "user": []}
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "developer":
            role = "system"
        if role not in said:
            raise AnachronError("`messages` holds another role than system, developer and user.")
        said[role].append(_text(message.get("content")))
    if len(said["user"]) != 1:
        raise AnachronError(f"`messages` holds {len(said['user'])} messages of the user; one is answered.")
    cap = body.get("max_completion_tokens", body.get("max_tokens"))
    if cap is not None and (type(cap) is not int or cap < 1):
        raise AnachronError("`max_tokens` is no whole number of at least 1.")
    prompt, logprobs = said["user"][0], bool(body.get("logprobs"))
    return Question(body["model"], "\n".join(said["system"]), prompt, cap, logprobs, _digest(prompt))


def scoring(raw: bytes) -> Question:
    """Read the body of a completions request that asks how likely its prompt is.

    Raises
    ------
    AnachronError
        When it is no request of the dialect, or asks for anything else.
    """
    body = _body(raw)
    prompt = body.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        raise AnachronError("`prompt` is no text.")
    if not body.get("echo") or not body.get("logprobs") or body.get("max_tokens") not in (0, 1):
        raise AnachronError("This server completes nothing: ask with `echo`, `logprobs` and `max_tokens` 1.")
    return Question(body["model"], "", prompt, body["max_tokens"], True, _digest(prompt), scores=True)


def _body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise AnachronError("The body is not JSON.") from None
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise AnachronError("The body is no JSON object with a `model`.")
    if body.get("stream") or body.get("n", 1) != 1 or body.get("tools"):
        raise AnachronError("`stream`, `n` and `tools` are not supported: one whole answer of text is given.")
    return body


def _digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
        for part in content
    ):
        return "".join(part["text"] for part in content)
    raise AnachronError("A message's `content` is neither text nor a list of parts of type text.")


def completion(model: Model, said: Reply, asked: Question, number: str) -> dict[str, Any]:
    """Return an answer in the dialect's form; a text over the cap is cut where its nominal tokens end.

    Tokens are nominal, as planted respondents count them. Log-probabilities are sent when they were asked for and
    the respondent says some.
    """
    text, finish, tokens = said.text, said.finish_reason, said.output_tokens
    if asked.cap is not None and text is not None and len(text) // CHARACTERS_A_TOKEN > asked.cap:
        text, finish, tokens = text[: CHARACTERS_A_TOKEN * asked.cap], "length", asked.cap
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if said.reasoning is not None:
        message["reasoning_content"] = said.reasoning
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": said.served_model or model.name,
        "system_fingerprint": said.fingerprint or model.fingerprint,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": _logprobs(said) if asked.logprobs else None,
                "finish_reason": finish,
            }
        ],
    }
    if said.upstream is not None:
        answer["provider"] = said.upstream
    if said.input_tokens is not None and tokens is not None:
        answer["usage"] = _usage(said, said.input_tokens, tokens)
    return answer


def _usage(said: Reply, asked: int, answered: int) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    }
    if said.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": said.cached_tokens}
    if said.reasoning_tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": said.reasoning_tokens}
    return usage


def _logprobs(said: Reply) -> dict[str, Any] | None:
    if said.logprobs is None:
        return None
    return {
        "content": [
            {
                "token": one["token"],
                "logprob": one["logprob"],
                "bytes": list(one["token"].encode()),
                "top_logprobs": [
                    {"token": token, "logprob": logprob, "bytes": list(token.encode())}
                    for token, logprob in one["top"]
                ],
            }
            for one in json.loads(said.logprobs)
        ]
    }


def scored(model: Model, said: Reply, asked: Question, number: str) -> dict[str, Any]:
    """Return an answer of the completions dialect: the prompt's tokens with their log-probabilities, and one more.

    A respondent that says no log-probabilities answers like a server that scores no prompt: with those of the token
    that it made alone.
    """
    steps = json.loads(said.logprobs) if said.logprobs else []
    made = [" and"] * (asked.cap or 0)
    usage = {"prompt_tokens": len(steps), "completion_tokens": len(made)}
    return {
        "id": f"cmpl-{number}",
        "object": "text_completion",
        "created": CREATED,
        "model": said.served_model or model.name,
        "system_fingerprint": said.fingerprint or model.fingerprint,
        "choices": [
            {
                "index": 0,
                "text": asked.prompt + "".join(made),
                "logprobs": {
                    "tokens": [one["token"] for one in steps] + made,
                    "token_logprobs": [one["logprob"] for one in steps] + [-1.0] * len(made),
                },
                "finish_reason": "length",
            }
        ],
        "usage": {**usage, "total_tokens": len(steps) + len(made)},
    }
