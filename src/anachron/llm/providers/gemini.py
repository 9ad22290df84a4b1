"""Provider ``gemini``: Google's generateContent.

Built from Google's documentation. No tools are given and ``toolConfig`` is left out: the API refuses it where there
are no function declarations. The model stands in the path, not in what is posted; the body carries it for the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm.providers import Failure, Provider, Reply, Wire
from anachron.llm.providers.wire_common import (
    TOP_LOGPROBS,
    Usage,
    credential,
    joined,
    logprobs_text,
    mapping,
    model_id,
    parsed,
    refuse_scoring,
    require_room,
    sequence,
    text_of,
    tokens,
    total,
    wants_json,
    with_extra,
)
from anachron.llm.providers.wire_errors import error_of, failure_of

FIXED = ("model", "contents", "systemInstruction")
"""Fields of the body that other keys of the registry decide."""

FIXED_SETTINGS = ("temperature", "maxOutputTokens", "candidateCount", "responseMimeType", "responseLogprobs")
"""The same, of the body's `generationConfig`."""


def body(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    """Return the wire body of a neutral request, with the model's identifier, which `payload` takes out again.

    `thinking: off` sends a budget of 0, on a budget the model chooses (-1), a number that budget, locked nothing: for
    models that do not think, cannot be stopped from it, or take a level in `extra_body`
    (``generationConfig: {thinkingConfig: {thinkingLevel: low}}``).

    Raises
    ------
    CollectError
        When `extra_body` names what it may not, or a thinking budget does not fit under the cap.
    """
    refuse_scoring(request, entry)
    own = mapping(entry.extra_body.get("generationConfig"))
    named = [name for name in FIXED_SETTINGS if name in own]
    if named:
        raise CollectError(
            f"model {entry.name!r}: `extra_body` names {named[0]!r}, which the request itself decides; leave it out"
        )
    settings: dict[str, Any] = {"maxOutputTokens": request["max_tokens"]}
    if not entry.temperature_locked:
        settings["temperature"] = request["temperature"]
    if wants_json(request, entry):
        settings["responseMimeType"] = "application/json"
    if entry.logprobs:
        settings |= {"responseLogprobs": True, "logprobs": TOP_LOGPROBS}
    thinking = {} if "thinkingConfig" in own else _thinking(request, entry)
    if thinking:
        settings["thinkingConfig"] = thinking
    written: dict[str, Any] = {
        "model": model_id(entry),
        "contents": [{"role": "user", "parts": [{"text": request["prompt"]}]}],
        "generationConfig": settings,
    }
    if request["system"]:
        written["systemInstruction"] = {"parts": [{"text": request["system"]}]}
    return with_extra(written, entry, FIXED)


def _thinking(request: Mapping[str, Any], entry: ModelEntry) -> dict[str, Any]:
    if entry.thinking == "locked":
        return {}
    if entry.thinking == "off":
        return {"thinkingBudget": 0}
    if entry.thinking == "on":
        return {"thinkingBudget": -1, "includeThoughts": True}
    require_room(request, entry)
    return {"thinkingBudget": entry.thinking, "includeThoughts": True}


def path(body: Mapping[str, Any]) -> str:
    """Return where a body is posted: ``/models/NAME:generateContent``, the name percent-encoded."""
    name = str(body["model"]).removeprefix("models/")
    kind, slash, tuned = name.partition("/")
    if slash and kind == "tunedModels":
        return f"/tunedModels/{quote(tuned, safe='')}:generateContent"
    return f"/models/{quote(name, safe='')}:generateContent"


def payload(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is posted: the body without the model, which the path names."""
    return {name: value for name, value in body.items() if name != "model"}


def read(raw: bytes) -> Reply | None:
    """Return what a raw answer says, or None when it is not of the documented form.

    A prompt that was blocked has no candidate; its finish reason is ``blocked:`` and the reason that was given.
    """
    answer = parsed(raw)
    if not isinstance(answer, dict):
        return None
    feedback = mapping(answer.get("promptFeedback"))
    blocked = text_of(feedback.get("blockReason"))
    candidates = answer.get("candidates")
    usage = mapping(answer.get("usageMetadata"))
    if not isinstance(candidates, list):
        # JSON of this API leaves empty lists out: usage without candidates is an answer that says nothing.
        if candidates is not None or not (blocked or usage or feedback):
            return None
        candidates = []
    first = candidates[0] if candidates else {}
    if not isinstance(first, dict):
        return None
    parts = [mapping(part) for part in sequence(mapping(first.get("content")).get("parts"))]
    said = text_of(feedback.get("blockReasonMessage")) if blocked and not parts else None
    return Reply(
        text=said or joined(_said(part) for part in parts if part.get("thought") is not True),
        reasoning=text_of(joined(_said(part) for part in parts if part.get("thought") is True)),
        finish_reason=f"blocked:{blocked}" if blocked and not parts else text_of(first.get("finishReason")),
        served_model=text_of(answer.get("modelVersion")),
        request_id=text_of(answer.get("responseId")),
        logprobs=_logprobs(mapping(first.get("logprobsResult"))),
        **_usage(usage),
    )


def _said(part: Mapping[str, Any]) -> str | None:
    value = part.get("text")
    return value if isinstance(value, str) else None


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the four token counts of `Reply`; thoughts are counted beside the candidates, cached in the prompt."""
    thought = tokens(usage.get("thoughtsTokenCount"))
    prompt = tokens(usage.get("promptTokenCount"))
    said = tokens(usage.get("candidatesTokenCount"))
    if said is None and prompt is not None:
        said = 0  # the API leaves zeros out
    return {
        "input_tokens": total(prompt, tokens(usage.get("toolUsePromptTokenCount"))),
        "cached_tokens": tokens(usage.get("cachedContentTokenCount")),
        "output_tokens": total(said, thought),
        "reasoning_tokens": thought,
    }


def _logprobs(result: Mapping[str, Any]) -> str | None:
    chosen = [mapping(step) for step in sequence(result.get("chosenCandidates"))]
    top = [sequence(mapping(step).get("candidates")) for step in sequence(result.get("topCandidates"))]
    top += [[]] * (len(chosen) - len(top))
    return logprobs_text(
        (
            step.get("token"),
            step.get("logProbability"),
            [(mapping(other).get("token"), mapping(other).get("logProbability")) for other in others],
        )
        for step, others in zip(chosen, top, strict=False)
    )


def failure(status: int, headers: Mapping[str, str], raw: bytes) -> Failure | None:
    """Return what is wrong with a response, or None when it is an answer; see `wire_errors.failure_of`.

    Google says "exceeded your current quota" of a minute's limit and of a day's; the quota's name or a delay
    given for the next try tells them apart. Only a minute's limit is worth asking again.
    """
    error = error_of(parsed(raw))
    found = failure_of(status, headers, raw, error)
    if found is None or (status != 429 and error.get("code") != 429):
        return found
    quotas, delays = _limits(error)
    if quotas or delays:
        passing = not any(re.search("per_?day", quota, re.IGNORECASE) for quota in quotas)
        after_s = max(delays, default=None)
        return Failure(found.words, retry=passing, slow_down=passing, after_s=after_s)
    return found


def _limits(error: Mapping[str, Any]) -> tuple[list[str], list[float]]:
    """Return the names of the quotas that were passed, and the delays given for the next try, in seconds."""
    details = [mapping(detail) for detail in sequence(error.get("details"))]
    violations = [mapping(v) for detail in details for v in sequence(detail.get("violations"))]
    named = [v.get("quotaId") for v in violations]
    named += [mapping(detail.get("metadata")).get("quota_limit") for detail in details]
    delays = [_seconds(detail.get("retryDelay")) for detail in details]
    return [q for q in named if isinstance(q, str)], [delay for delay in delays if delay is not None]


def _seconds(duration: Any) -> float | None:
    """Return a duration of Google's JSON (``34.07s``) in seconds; None when it is none."""
    found = (
        re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)s", duration, re.ASCII) if isinstance(duration, str) else None
    )
    return float(found[1]) if found else None


def _headers(api_key: str | None) -> dict[str, str]:
    key = credential(api_key)
    return {"x-goog-api-key": key} if key else {}


WIRE = Wire(
    path=path,
    payload=payload,
    headers=_headers,
    failure=failure,
    request_id=lambda headers: None,
)
PROVIDER = Provider("gemini", free=False, provenance="api", body=body, read=read, wire=WIRE)
