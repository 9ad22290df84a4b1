"""Log-probabilities of a text that is given, from the completions dialect of servers that host open models.

A request whose cap is 0 asks for no answer but for how likely its prompt is, token by token. It is sent as likelihood
benchmarks send theirs: one token is asked for, because not every server takes none, and left out again. vLLM and
llama-cpp-python score prompts; servers that give the log-probabilities of the new token alone are told apart by count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.config import ModelEntry
from anachron.llm.providers import Failure, Reply
from anachron.llm.providers.wire_common import (
    logprobs_text,
    mapping,
    model_id,
    sequence,
    text_of,
    tokens,
    with_extra,
)

PATH = "/completions"
FIXED = (
    *("model", "models", "route", "prompt", "messages", "stream", "n", "best_of", "suffix", "temperature"),
    *("max_tokens", "max_completion_tokens", "echo", "logprobs"),
)


KINDS = ("text_completion", "text.completion")
"""How servers name an answer of the dialect."""


def is_scoring(request: Mapping[str, Any]) -> bool:
    """Whether a neutral request asks for the log-probabilities of its prompt."""
    return bool(request["max_tokens"] == 0)


def body(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """Return the wire body: both texts as plain text, no chat template."""
    texts = [text for text in (request["system"], request["prompt"]) if text]
    written = {
        "model": model_id(entry),
        "prompt": "\n\n".join(texts),
        "max_tokens": 1,
        "temperature": 0.0,
        "echo": True,
        "logprobs": 1,
    }
    return with_extra(written, entry, FIXED)


def is_answer(answer: Any) -> bool:
    """Whether a parsed answer is one of the completions dialect."""
    kind, choices = mapping(answer).get("object"), sequence(mapping(answer).get("choices"))
    if not choices:
        return bool(kind in KINDS)
    first = mapping(choices[0])
    return kind in KINDS or (kind != "chat.completion" and "message" not in first and "text" in first)


def read(answer: Mapping[str, Any]) -> Reply | None:
    """Return the prompt's tokens with their log-probabilities; their texts joined are the text."""
    steps = _prompt_steps(answer)
    if steps is None:
        return None
    usage = mapping(answer.get("usage"))
    return Reply(
        text="".join(step[0] for step in steps),
        finish_reason="stop",
        served_model=text_of(answer.get("model")),
        fingerprint=text_of(answer.get("system_fingerprint")),
        upstream=text_of(answer.get("provider")),
        request_id=text_of(answer.get("id")),
        logprobs=logprobs_text((token, value, ()) for token, value in steps),
        input_tokens=tokens(usage.get("prompt_tokens")),
        output_tokens=tokens(usage.get("completion_tokens")),
    )


def failure(answer: Any) -> Failure | None:
    """Return what is wrong with a parsed answer of status 200: a server that scores no prompt will never score one."""
    if not is_answer(answer) or _prompt_steps(answer) is not None:
        return None
    return Failure(
        "the server gave no log-probabilities of the prompt's tokens, which `echo` with `logprobs` asks for; ask "
        "one that scores prompts, such as vLLM or llama-cpp-python",
        retry=False,
    )


def _prompt_steps(answer: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    """Return token and log-probability of the prompt's tokens; None where the server does not give them."""
    first = mapping(next(iter(sequence(answer.get("choices"))), None))
    given = mapping(first.get("logprobs"))
    names, values = sequence(given.get("tokens")), sequence(given.get("token_logprobs"))
    if not names or len(names) != len(values) or not all(isinstance(name, str) for name in names):
        return None
    usage = mapping(answer.get("usage"))
    prompt, new = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
    made = 1 if new is None else new
    # Some servers leave the begin-of-text token out of one count and not of the other, so that the prompt's count does
    # not say where the new token begins; an end-of-text token that was made may be counted and not listed.
    if len(names) <= made or (prompt is not None and len(names) < prompt - 1):
        return None
    unlisted = len(names) == prompt and first.get("finish_reason") == "stop"
    kept = len(names) if unlisted else len(names) - made
    # The first token has nothing before it to be likely after; where no other has a value, nothing is scored.
    if all(value is None for value in values[1:kept]):
        return None
    return list(zip(names[:kept], values[:kept], strict=True))
