"""What an HTTP response says when it is no answer: in the provider's words, and whether to ask again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from anachron.llm.providers import Failure
from anachron.llm.providers.wire_common import header, mapping, sequence, text_of

MOST_WORDS = 400
"""Characters of a provider's words that are kept."""

_LOOK_AT = 8_000

QUOTA = re.compile(
    r"insufficient[ _](quota|balance|funds|credit)|quota_exceeded|exceeded_current_quota|credit_balance|"
    r"credit balance|billing[ _](hard|soft|limit|not|detail|error|issue)|spend[ _]limit|usage[ _]limit|"
    r"out of credits|more credits|not_enough_balance|account.{0,30}(suspended|deactivated|not active)|"
    r"exceeded your current quota|per-day",
    re.IGNORECASE,
)
"""Words of a 429 that waiting does not mend."""

FILTERED_CODES = (
    "content_filter",
    "content_policy_violation",
    "data_inspection_failed",
    "invalid_prompt",
    "moderation_blocked",
)
FILTERED_WORDS = re.compile(
    r"content management policy|blocked by content filtering|content exists risk|"
    r"flagged as potentially violating|considered high risk",
    re.IGNORECASE,
)
"""How endpoints say in an error that a filter stopped a prompt or an answer. Asking again gives the same, so
this is what became of the request, not a fault of the network."""

BUSY_WORDS = re.compile(
    r"overload|rate.?limit|too many requests|at capacity|resource.?exhausted", re.IGNORECASE
)
PASSING_WORDS = re.compile(
    r"time.?out|timed out|unavailable|internal|server.?error|bad gateway|upstream|try again|api_error",
    re.IGNORECASE,
)

SLOW_DOWN = (429, 503, 529)
RETRIED = (408, 409, 425, 429)
NOT_RETRIED = (501, 505)
"""Of the statuses from 500 on, those that say that the server will never do what is asked."""

_CREDENTIALS = re.compile(
    r"(?i:bearer|basic)\s+[^\s\"',;]{16,}"
    r"|\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|nvapi|csk|fw|tgp)[-_][\w*.\-]{6,}"
    r"|\bAIza[\w*\-]{10,}"
    r"|\bya29\.[\w.\-]{6,}"
    r"|\beyJ[\w\-]{6,}(?:\.[\w\-]*){0,2}"
    r"|\w{0,40}\*{3,}\w{0,40}",
    re.ASCII,
)
_AFTER_KEY = re.compile(
    r"(?i)((?:api|access|secret|auth)[ _-]?(?:key|token)[^:=\n]{0,24}[:=]\s{0,9}[\"']?)"
    r"(?=[^\s\"',;&]{0,80}[\d*])[^\s\"',;&]{4,}"
)
_IN_QUERY = re.compile(r"(?i)([?&](?:key|api[_-]?key|token|access_token)=)[^&\s\"']+")


def scrub(text: str, secrets: Iterable[str | None] = ()) -> str:
    """Return `text` with every credential in it replaced by ``[key]``.

    Parameters
    ----------
    text
        Anything on its way to a person, a log or a file.
    secrets
        What is known to be secret. Each is replaced as it stands and as URLs write it; ones shorter than four
        characters are no secrets (a local server's placeholder) and are left.
    """
    for secret in sorted({s for s in secrets if s and len(s) >= 4}, key=len, reverse=True):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, "[key]")
    text = _IN_QUERY.sub(r"\1[key]", text)
    text = _AFTER_KEY.sub(r"\1[key]", text)
    return _CREDENTIALS.sub("[key]", text)


def one_line(text: str, most: int = MOST_WORDS) -> str:
    """Return `text` scrubbed, on one line of printable characters, cut at `most` characters.

    Where it is cut, the last word goes too if it could be the first half of a credential.
    """
    seen = text[:_LOOK_AT]
    line = scrub(" ".join("".join(c if c.isprintable() else " " for c in seen).split()))
    if len(line) <= most and len(seen) == len(text):
        return line
    return re.sub(r"[!-~]+$", "", line[:most]).rstrip() + "…"


def error_of(answer: Any) -> dict[str, Any]:
    """Return the error object of an answer, in whichever of the usual places it stands; empty when there is none.

    Known are ``{"error": {...}}`` (OpenAI, Anthropic, Gemini, OpenRouter), the same in a list of one (Gemini),
    ``{"error": "words"}`` (Ollama), and ``{"object": "error", ...}``, ``{"message": ...}``, ``{"detail": ...}``
    (vLLM, gateways).
    """
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    whole = mapping(answer)
    error = whole.get("error")
    if isinstance(error, dict) and error:
        return error
    if text_of(error):
        return {"message": error, "code": whole.get("code"), "type": whole.get("error_type")}
    if whole.get("object") == "error" or whole.get("type") == "error":
        return whole
    if not any(name in whole for name in ("choices", "content", "candidates")):
        words = text_of(whole.get("message")) or text_of(whole.get("detail"))
        if words is None and (listed := sequence(whole.get("detail"))):
            words = text_of(mapping(listed[0]).get("msg"))
        if words is not None:
            return {"message": words, "code": whole.get("code"), "type": whole.get("type")}
    return {}


def _names(error: Mapping[str, Any]) -> list[str]:
    details = mapping(error.get("details"))
    found = [error.get("code"), error.get("type"), error.get("status"), details.get("error_code")]
    return [name for name in found if isinstance(name, str) and name.strip()]


def _said(error: Mapping[str, Any]) -> str:
    # Addresses say where to read more, not what is wrong: OpenAI's rate limits link to a page on billing.
    return re.sub(
        r"https?://\S+", "", " ".join([*_names(error), text_of(error.get("message")) or ""])[:_LOOK_AT]
    )


def is_filtered(status: int, error: Mapping[str, Any]) -> bool:
    """Whether an error says that a content filter stopped the prompt or the answer."""
    if not error or status not in (200, 400, 403, 422):
        return False
    if any(name.lower() in FILTERED_CODES for name in _names(error)):
        return True
    # OpenRouter's moderation names its reasons; its code alone is that of a key without permission.
    flagged = bool(sequence(mapping(error.get("metadata")).get("reasons")))
    return flagged or bool(FILTERED_WORDS.search(_said(error)))


def words_of(status: int, error: Mapping[str, Any], raw: bytes) -> str:
    """Return what a response said, in one line: the status, the error's name, its message."""
    name = next(iter(_names(error)), None)
    message = text_of(error.get("message"))
    upstream = text_of(mapping(error.get("metadata")).get("raw"))
    if message is None and not error:
        message = text_of(raw[:_LOOK_AT].decode("utf-8", "replace"))
        if message is not None and is_html(raw):
            message = html_title(raw) or "an HTML page"
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "no standard status"
    said = ": ".join(part for part in (name, message, upstream) if part)
    return one_line(f"HTTP {status}: {said or phrase}")


def is_html(raw: bytes) -> bool:
    """Whether a body is a page for a browser rather than JSON."""
    return raw[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def html_title(raw: bytes) -> str | None:
    """Return the title of a page, or None when it has none."""
    found = re.search(
        r"<title[^>]{0,200}>([^<]{1,300})", raw[:_LOOK_AT].decode("utf-8", "replace"), re.IGNORECASE
    )
    return found.group(1).strip() or None if found else None


def failure_of(
    status: int, headers: Mapping[str, str], raw: bytes, error: Mapping[str, Any]
) -> Failure | None:
    """Return what is wrong with a response, or None when it is an answer.

    Parameters
    ----------
    status
        Status of the response.
    headers
        Its headers.
    raw
        Its body.
    error
        What `error_of` found in the body.

    Notes
    -----
    Asked again are 408, 409, 425, 429 (not for lack of quota) and statuses from 500 on, but for 501 and 505. An
    error under status 200 is judged by the status it names, or else by its words. A web page under status 200 is
    asked again a few times (`Failure.page`): it may be a gateway's in trouble, which passes, or a portal's or that
    of an address which is not the API's, which do not.
    """
    if is_filtered(status, error):
        return None
    if 300 <= status < 400:
        host = _host(header(headers, "location") or "")
        to = f" to {host}" if host else ""
        return Failure(
            one_line(f"HTTP {status}: the server redirects{to}, and redirects are not followed"), False
        )
    if 200 <= status < 300:
        if error:
            return _in_disguise(status, error, raw)
        return page_in_place(status, headers, raw)
    return _failed(status, error, raw)


def page_in_place(status: int, headers: Mapping[str, str], raw: bytes) -> Failure | None:
    """Return what is wrong with a response that is a web page, by its beginning or by its type; else None."""
    said_to_be = "html" in (header(headers, "content-type") or "").lower()
    if not is_html(raw) and not (said_to_be and not raw.lstrip().startswith((b"{", b"["))):
        return None
    title = html_title(raw)
    named = f" titled {title!r}" if title else ""
    words = (
        f"HTTP {status}: a web page{named} came in place of JSON; check `endpoint`, and whether a proxy, a portal "
        "or a gateway answers in its stead"
    )
    return Failure(one_line(words), retry=True, page=True)


def _host(location: str) -> str | None:
    try:
        return urlsplit(location).hostname
    except ValueError:
        return None


def _failed(status: int, error: Mapping[str, Any], raw: bytes) -> Failure:
    words = words_of(status, error, raw)
    said = _said(error) or words
    if status == 404 and not error:
        # An API says in JSON what it does not know; a server that is none has only the status.
        words = f"{words}; check `endpoint`, the base URL"
    if status == 429:
        quota = bool(QUOTA.search(said))
        return Failure(words, retry=not quota, slow_down=not quota)
    retry = status in RETRIED or (status >= 500 and status not in NOT_RETRIED)
    return Failure(
        words, retry=retry, slow_down=retry and (status in SLOW_DOWN or bool(BUSY_WORDS.search(said)))
    )


def _in_disguise(status: int, error: Mapping[str, Any], raw: bytes) -> Failure:
    code = error.get("code")
    if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code):
        code = int(code)
    if type(code) is int and 400 <= code < 600:
        return _failed(code, error, raw)
    words, said = words_of(status, error, raw), _said(error)
    if QUOTA.search(said):
        return Failure(words, retry=False)
    busy = bool(BUSY_WORDS.search(said))
    return Failure(words, retry=busy or bool(PASSING_WORDS.search(said)), slow_down=busy)
