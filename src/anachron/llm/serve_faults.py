"""What can go wrong between a provider and its client, on request: the faults of `anachron serve-planted`.

A fault is of one of four families, which say when it acts and whether the request counts as answered:

* a refusal: an HTTP status and an error object, before anything is answered;
* a broken connection: the request was read, and no whole answer comes;
* a changed answer: a whole and valid answer that says something else;
* a malformed answer: status 200 and bytes that are not what the dialect promises.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from pydantic import Field, field_validator, model_validator

from anachron.errors import ConfigError
from anachron.validation import StrictModel, nearest, validate

ERRORS: dict[int, tuple[str, str, str]] = {
    400: ("invalid_request_error", "invalid_value", "The request is not one this model takes."),
    401: ("invalid_request_error", "invalid_api_key", "The API key was revoked."),
    402: ("insufficient_quota", "insufficient_credits", "The account holds no credit."),
    403: ("permission_error", "model_not_allowed", "The project may not use this model."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    408: ("server_error", "timeout", "The request took too long."),
    409: ("server_error", "conflict", "The request met another one; try again."),
    413: ("invalid_request_error", "request_too_large", "The request is too large."),
    422: ("invalid_request_error", "unprocessable", "The request cannot be processed."),
    429: ("requests", "rate_limit_exceeded", "Too many requests; slow down."),
    500: ("server_error", "internal_error", "The server had an error."),
    502: ("server_error", "bad_gateway", "The upstream server gave no answer."),
    503: ("server_error", "service_unavailable", "The engine is overloaded; try again later."),
    504: ("server_error", "gateway_timeout", "The upstream server took too long."),
    529: ("overloaded_error", "overloaded", "The service is overloaded."),
}
"""Refusals by status: type, code and message of the error object."""

NAMED = {
    "quota": "429 that no waiting mends: the account's quota is used up",
    "retry-after-date": "429 whose Retry-After is a date, SECONDS from now (default 1)",
    "redirect": "307 to URL (default another host)",
    "hang": "the request is read and never answered",
    "drop": "the connection is closed before an answer",
    "reset": "the connection is reset before an answer",
    "cut-off": "the connection is closed in the middle of an answer",
    "slow": "the answer comes SECONDS later (default 1)",
    "finish": "the finish reason is REASON (default one that no provider documents)",
    "served-model": "the answer names the model NAME as the one that served it",
    "fingerprint": "the answer carries the fingerprint NAME",
    "huge": "the answer's text is filled up to MEGABYTES (default 10)",
    "null-content": "the message has no text",
    "content-type": "a right answer, declared as text/plain",
    "truncated-json": "half of the JSON, and no more",
    "empty": "nothing at all",
    "html": "a web page",
    "error-200": "an error object with status 200",
    "gzip-garbage": "bytes declared as gzip that are none",
    "not-an-object": "JSON that is a list",
    "no-choices": "JSON without a choice",
    "wrong-types": "JSON whose fields have other types than documented",
    "bad-utf8": "JSON with bytes that are not UTF-8 in its text",
    "deep-json": "JSON nested too deeply to read",
}
"""Every fault that is not a plain status, in words."""

REFUSALS = ("quota", "retry-after-date", "redirect")
BROKEN = ("hang", "drop", "reset", "cut-off")
NUMBERS = ("slow", "huge", "retry-after-date")
WORDS = ("finish", "served-model", "fingerprint", "redirect")


class Fault(StrictModel):
    """One fault and when it acts; the body of ``POST /faults`` is a list of these."""

    name: str = Field(description="A status such as 429, or a name of `NAMED`.")
    argument: str | None = Field(None, description="What the fault takes: seconds, a name, a URL.")
    after: int = Field(0, ge=0, description="Requests that pass before it begins.")
    count: int | None = Field(None, ge=1, description="How many requests it meets; null for all.")
    seconds: float | None = Field(None, gt=0, description="How long it lasts once begun; null for ever.")
    share: float = Field(1.0, gt=0, le=1, description="Share of requests it meets, drawn with `seed`.")
    seed: int = Field(0, description="Seed of the share's draw.")

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        known = [*map(str, ERRORS), *NAMED]
        if name not in known:
            raise ValueError(f"no fault is called {name!r}{nearest(name, known)}; known: {', '.join(known)}")
        return name

    @model_validator(mode="after")
    def _argument_fits(self) -> Fault:
        if self.argument is None:
            return self
        if self.name.isdigit() or self.name in NUMBERS:
            try:
                right = 0 <= float(self.argument) < 1e6
            except ValueError:
                right = False
            if not right:
                raise ValueError(f"fault {self.name} takes a number of at least 0, not {self.argument!r}")
        elif self.name not in WORDS:
            raise ValueError(f"fault {self.name} takes no argument, and {self.argument!r} was given")
        return self

    @property
    def number(self) -> float | None:
        """The argument as a number; None when there is none."""
        return None if self.argument is None else float(self.argument)


@dataclass(slots=True)
class Active:
    """A fault that was switched on, and how far it has come."""

    fault: Fault
    seen: int = 0
    met: int = 0
    began: float | None = None
    chance: random.Random = field(default_factory=random.Random)


def parse(
    texts: Iterable[str], after: int = 0, lasting: str | None = None, share: float = 1.0
) -> list[Fault]:
    """Return the faults that a command line names.

    Parameters
    ----------
    texts
        ``NAME`` or ``NAME=ARGUMENT`` each.
    after
        Requests that pass before they begin.
    lasting
        How many requests each meets (``20``), or how long it lasts (``20s``); None for ever.
    share
        Share of requests they meet, a fraction.

    Raises
    ------
    ConfigError
        When a name is unknown or an argument does not fit.
    """
    times: dict[str, Any] = {}
    if lasting is not None:
        found = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)s", lasting)
        if not found:
            raise ConfigError(f"--fault-for {lasting!r}: write a number of requests (20) or of seconds (20s)")
        times = {"count": int(found[1])} if found[1] else {"seconds": float(found[2])}
    faults = []
    for text in texts:
        name, equals, argument = text.partition("=")
        values = {"name": name, "argument": argument if equals else None, "after": after, "share": share}
        faults.append(validate(Fault, values | times, f"--fault {text}"))
    return faults


def switch_on(faults: Iterable[Fault]) -> list[Active]:
    """Return faults ready to act, their clocks and counts at zero."""
    return [Active(fault, chance=random.Random(fault.seed)) for fault in faults]


def meeting(actives: Iterable[Active]) -> list[Fault]:
    """Count one request, and return the faults that meet it.

    Of those that leave no whole answer only the first does; the others pass it over, so that each of several
    faults meets as many requests as it should.
    """
    met: list[Fault] = []
    ended = False
    for active in actives:
        ends = active.fault.name in (*REFUSALS, *BROKEN) or active.fault.name.isdigit()
        if not (ended and ends) and due(active):
            met.append(active.fault)
            ended = ended or ends
    return met


def due(active: Active, now: float | None = None) -> bool:
    """Count one request for a fault, and return whether it meets this one."""
    fault = active.fault
    active.seen += 1
    if active.seen <= fault.after or (fault.count is not None and active.met >= fault.count):
        return False
    now = time.monotonic() if now is None else now
    if active.began is None:
        active.began = now
    if fault.seconds is not None and now - active.began >= fault.seconds:
        return False
    if fault.share < 1.0 and active.chance.random() >= fault.share:
        return False
    active.met += 1
    return True


def error_object(status: int, message: str | None = None, code: str | None = None) -> bytes:
    """Return an error in the words of the dialect."""
    kind, usual_code, usual = ERRORS[status]
    error = {"message": message or usual, "type": kind, "param": None, "code": code or usual_code}
    return json.dumps({"error": error}).encode()


def refusal(fault: Fault) -> tuple[int, dict[str, str], bytes] | None:
    """Return status, headers and body of a fault that refuses; None when it is of another family."""
    if fault.name.isdigit():
        headers = {} if fault.argument is None else {"Retry-After": fault.argument}
        return int(fault.name), headers, error_object(int(fault.name))
    if fault.name == "quota":
        words = "You have used up your quota; check your plan and billing details."
        raw = json.dumps({"error": {"message": words, "type": "insufficient_quota", "param": None,
                                    "code": "insufficient_quota"}})  # fmt: skip
        return 429, {}, raw.encode()
    if fault.name == "retry-after-date":
        seconds = 1.0 if fault.number is None else fault.number
        when = formatdate(time.time() + seconds, usegmt=True)
        return 429, {"Retry-After": when}, error_object(429)
    if fault.name == "redirect":
        return 307, {"Location": fault.argument or "http://127.0.0.2:9/v1/chat/completions"}, b""
    return None


def _finish(answer: dict[str, Any], fault: Fault) -> None:
    answer["choices"][0]["finish_reason"] = fault.argument or "stopped_for_reasons_unknown"


def _served_model(answer: dict[str, Any], fault: Fault) -> None:
    answer["model"] = fault.argument or f"{answer['model']}-other"


def _fingerprint(answer: dict[str, Any], fault: Fault) -> None:
    answer["system_fingerprint"] = fault.argument or "fp_other"


def _huge(answer: dict[str, Any], fault: Fault) -> None:
    place, name = _said(answer)
    size = int((10.0 if fault.number is None else fault.number) * 2**20)
    place[name] = (place[name] or "").ljust(size, ".")


def _null_content(answer: dict[str, Any], fault: Fault) -> None:
    place, name = _said(answer)
    place[name] = None
    if place.get("logprobs"):
        place["logprobs"]["token_logprobs"] = [None] * len(place["logprobs"]["tokens"])


def _said(answer: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the object that holds an answer's text, and under which name: a message's content, or a choice's text."""
    choice = answer["choices"][0]
    return (choice["message"], "content") if "message" in choice else (choice, "text")


CHANGED: dict[str, Callable[[dict[str, Any], Fault], None]] = {
    "finish": _finish,
    "served-model": _served_model,
    "fingerprint": _fingerprint,
    "huge": _huge,
    "null-content": _null_content,
}
"""Faults that change a valid answer in place."""

Malformed = tuple[bytes, dict[str, str]]
JSON_TYPE = {"Content-Type": "application/json"}


def _bad_utf8(raw: bytes) -> bytes:
    name = b'"content": "' if b'"content": "' in raw else b'"tokens": ["'
    return raw.replace(name, name + b"\xff\xfe\xc3(", 1)


MALFORMED: dict[str, Callable[[bytes], Malformed]] = {
    "content-type": lambda raw: (raw, {"Content-Type": "text/plain"}),
    "truncated-json": lambda raw: (raw[: len(raw) // 2], JSON_TYPE),
    "empty": lambda raw: (b"", JSON_TYPE),
    "html": lambda raw: (b"<!doctype html><title>Busy</title><p>Sign in.", {"Content-Type": "text/html"}),
    "error-200": lambda raw: (error_object(500), JSON_TYPE),
    "gzip-garbage": lambda raw: (b"\x1f\x8b\x08\x00" + raw[:200], JSON_TYPE | {"Content-Encoding": "gzip"}),
    "not-an-object": lambda raw: (b"[" + raw + b"]", JSON_TYPE),
    "no-choices": lambda raw: (b'{"object": "chat.completion", "choices": []}', JSON_TYPE),
    "wrong-types": lambda raw: (b'{"choices": {"0": 1}, "usage": "many", "model": 7}', JSON_TYPE),
    "bad-utf8": lambda raw: (_bad_utf8(raw), JSON_TYPE),
    "deep-json": lambda raw: (b"[" * 200_000 + b"]" * 200_000, JSON_TYPE),
}
"""Faults that change the bytes of an answer of status 200."""
