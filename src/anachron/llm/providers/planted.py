"""Provider ``planted``: respondents whose hindsight is known, answering in this process.

Which respondent answers is the caller's affair: it hands in ``respond(request, parameters)``, which returns
the text of the answer, a `Reply` when more than text is to be said (a finish reason, token counts), or raw
bytes, taken as the answer's whole body, to be as malformed as a body can be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm.providers import Provider, Reply

_FIELDS = Reply._fields
_TOKEN_FIELDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_MOST_TOKENS = 2**63 - 1

CHARACTERS_A_TOKEN = 4
"""What a nominal token holds: planted respondents have no tokenizer."""


def nominal(request: Mapping[str, Any], text: str, finish_reason: str) -> Reply:
    """Return a respondent's answer with nominal token counts of it and of the request's two texts."""
    asked = len(str(request.get("system", ""))) + len(str(request.get("prompt", "")))
    return Reply(
        text=text,
        finish_reason=finish_reason,
        input_tokens=asked // CHARACTERS_A_TOKEN,
        output_tokens=len(text) // CHARACTERS_A_TOKEN,
    )


def body(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """Return the wire body: a chat request, and with it everything else a respondent may look at.

    Parameters
    ----------
    request
        Neutral request: suite, arm, item, system, prompt, shown_date, temperature, max_tokens, respondent.
    entry
        The model; its parameters for the suite enter the body, so that changing them asks anew.

    Raises
    ------
    CollectError
        When the registry gives the model no parameters for the suite.
    """
    if request["suite"] not in entry.planted:
        raise CollectError(
            f"model {entry.name!r}: `planted` has no parameters for suite {request['suite']!r}; "
            f"it has them for: {', '.join(sorted(entry.planted)) or 'none'}"
        )
    return {
        "model": entry.model_id or entry.name,
        "messages": [
            {"role": "system", "content": request["system"]},
            {"role": "user", "content": request["prompt"]},
        ],
        "temperature": request["temperature"],
        "max_tokens": request["max_tokens"],
        "planted": entry.planted[request["suite"]],
        "about": {name: request[name] for name in ("suite", "arm", "item", "shown_date", "respondent")},
    }


def ask(request: Mapping[str, Any], body: Mapping[str, Any], respond: Any) -> bytes:
    """Ask the respondent and return the body of its answer: JSON with the fields of `Reply` that are set.

    `request` is the neutral request with `key` and `rep`, from which a respondent takes its chance.
    """
    said = respond(request, body["planted"])
    if isinstance(said, bytes):
        return said
    reply = Reply(text=said) if isinstance(said, str) else said
    if not isinstance(reply, Reply):
        raise CollectError(
            f"a planted respondent returned {type(said).__name__}; allowed: text, a Reply or bytes"
        )
    fields = {name: getattr(reply, name) for name in _FIELDS if getattr(reply, name) is not None}
    # ASCII keeps lone surrogates, which a respondent may well say, as escapes.
    return json.dumps(fields, ensure_ascii=True).encode("ascii")


def read(raw: bytes) -> Reply | None:
    """Return what a body says, or None when it is no JSON object or a field is not of its kind."""
    try:
        fields = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    said = {name: value for name, value in fields.items() if name in _FIELDS and value is not None}
    for name, value in said.items():
        whole_number = type(value) is int and 0 <= value <= _MOST_TOKENS
        if not (whole_number if name in _TOKEN_FIELDS else isinstance(value, str)):
            return None
    return Reply(**said)


PROVIDER = Provider("planted", free=True, provenance="planted", body=body, ask=ask, read=read)
