"""The client `fredapi`, made patient and discreet.

`fredapi` knows what to ask FRED. How it asks is replaced here: it has no timeout, no retry and no paging, takes
any error page for XML, and puts the key into addresses that end up in error texts. Every answer is recorded as
it came. The rows it makes are checked against ours (`alfred`), for it drops the day a value ceased to stand.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from anachron.errors import SourceError
from anachron.sources.download import LONGEST_WAIT_S, RETRIES, TIMEOUT_S, excerpt, retry_after
from anachron.sources.raw import HIDDEN, redact

if TYPE_CHECKING:
    import httpx

BASE_URL = "https://api.stlouisfed.org/fred"
KEY_VARIABLE = "FRED_API_KEY"
KEY_PAGE = "https://fred.stlouisfed.org/docs/api/api_key.html"

SPACING_S = 0.6
"""FRED allows two requests a second."""
RATE_LIMIT_WAIT_S = 20.0
"""First wait after an HTTP 429 that does not say how long; the next ones are twice as long each."""

PASSING = frozenset({408, 423, 425, 429, 500, 502, 503, 504})
"""Statuses that may go away by themselves; 423 is FRED's "locked"."""

_KEY = re.compile(r"[0-9a-z]{32}")
_LOGGER = "httpx"


class Refused(SourceError):  # noqa: N818 - the state of the source, told apart from faults of one series
    """FRED refuses whatever is asked: the key is not accepted, or too much was asked."""


class Passing(SourceError):  # noqa: N818 - never reaches the user as such
    """An attempt failed in a way that may pass."""

    def __init__(self, text: str, wait_s: float | None, limited: bool = False) -> None:
        super().__init__(text)
        self.wait_s = wait_s
        self.limited = limited


@dataclass(frozen=True)
class Answer:
    """One answer, as it came."""

    url: str
    """Without the key."""
    content: bytes
    headers: Mapping[str, str]
    fetched_at: dt.datetime


def key_from_environment() -> str:
    """Return the key.

    Raises
    ------
    SourceError
        When `FRED_API_KEY` is not set, or cannot be a key; says where one comes from, never what was found.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise SourceError(
            f"ALFRED: {KEY_VARIABLE} is not set. A key is free: {KEY_PAGE}. Without one, the embedded snapshot in "
            "resources/snapshot works as it is"
        )
    if not _KEY.fullmatch(key):
        raise SourceError(
            f"ALFRED: {KEY_VARIABLE} is not a key: it has {len(key)} characters, and a key has 32, lower-case letters "
            f"and digits only. Copy it again from {KEY_PAGE}"
        )
    return key


def client(
    key: str,
    *,
    base_url: str = BASE_URL,
    retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    spacing_s: float = SPACING_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """Return a `fredapi.Fred` that waits, retries, follows pages and records.

    Parameters
    ----------
    key
        The API key. It is sent, and stands nowhere else.
    base_url
        Root of the API; a gateway's, or a test server's.
    retries
        Attempts after the first, for broken connections, time-outs, passing statuses and unreadable bodies. The
        waits are 1, 2, 4, … seconds, or what ``Retry-After`` says.
    timeout_s
        Seconds to wait for the connection and for each part of the body.
    spacing_s
        Seconds from one request to the next, at least.
    sleep
        Waits; tests pass their own.

    Returns
    -------
    fredapi.Fred
        `answers` lists what came for the last call, page by page; `close` ends it. Calls raise `SourceError`, and
        `Refused` when there is no use in asking for anything else.
    """
    import fredapi
    import httpx

    class PatientFred(fredapi.Fred):  # type: ignore[misc]
        root_url = base_url.rstrip("/")

        def __init__(self) -> None:
            super().__init__(api_key=HIDDEN)
            self.answers: list[Answer] = []
            self._asked: float | None = None
            self._http = httpx.Client(timeout=timeout_s)

        def close(self) -> None:
            self._http.close()

        def _parse(self, date_str: str, format: str = "%Y-%m-%d") -> Any:
            return dt.date.fromisoformat(date_str)

        def _Fred__fetch_data(self, url: str) -> ElementTree.Element:  # noqa: N802 - fredapi's own, replaced
            self.answers = []
            root = self._page(url)
            while "count" in root.attrib and len(root) < int(root.get("count", "0")):
                page = self._page(f"{url}&offset={len(root)}")
                if not len(page) or page.get("count") != root.get("count"):
                    raise SourceError(
                        f"{_what(url)}: of {root.get('count')} rows {len(root)} came, and then {len(page)} of "
                        f"{page.get('count')}; the series changed while it was fetched: fetch it again"
                    )
                root.extend(page)
            return root

        def _page(self, url: str) -> ElementTree.Element:
            answer, root = _patiently(self._ask, url, retries, sleep, key)
            self.answers.append(answer)
            return root

        def _ask(self, url: str) -> tuple[Answer, ElementTree.Element]:
            now = time.monotonic()
            if self._asked is not None and now - self._asked < spacing_s:
                sleep(spacing_s - (now - self._asked))
            self._asked = time.monotonic()
            return _ask(url, key, self._http, timeout_s)

    return PatientFred()


def _patiently(
    ask: Callable[[str], tuple[Answer, ElementTree.Element]],
    url: str,
    retries: int,
    sleep: Callable[[float], None],
    key: str,
) -> tuple[Answer, ElementTree.Element]:
    import tenacity

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, Passing):
            return 0.0
        if error.wait_s is not None:
            return error.wait_s
        first: float = RATE_LIMIT_WAIT_S if error.limited else 1.0
        return first * 2.0 ** (state.attempt_number - 1)

    def may_pass(error: BaseException) -> bool:
        return isinstance(error, Passing) and (error.wait_s or 0.0) <= LONGEST_WAIT_S

    attempts = 0

    def once() -> tuple[Answer, ElementTree.Element]:
        nonlocal attempts
        attempts += 1
        return ask(url)

    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(retries + 1),
        wait=wait,
        retry=tenacity.retry_if_exception(may_pass),
        sleep=sleep,
        reraise=True,
    )
    try:
        return retrying(once)
    except Passing as error:
        tried = f"after {attempts} attempt{'s' if attempts > 1 else ''}"
        later = f"; it asks to wait {error.wait_s:.0f} s: try again after that" if error.wait_s else ""
        kind = Refused if error.limited else SourceError
        raise kind(_hide(f"{error}, {tried}{later}; what was fetched before is in place", key)) from None


def _ask(url: str, key: str, http: httpx.Client, timeout_s: float) -> tuple[Answer, ElementTree.Element]:
    """Ask once. Nothing that is raised, logged or returned holds the key."""
    import httpx

    what = _what(url)
    try:
        with _no_key_in_logs(key):
            reply = http.get(httpx.URL(url).copy_merge_params({"api_key": key}))
            content = reply.content
    except httpx.TimeoutException:
        raise Passing(f"{what}: no answer within {timeout_s:g} s", None) from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise SourceError(_hide(f"{what}: {redact(url)}: {error} Set the base URL anew", key)) from None
    except httpx.TransportError as error:
        raise Passing(
            _hide(f"{what}: the connection failed ({error or type(error).__name__})", key), None
        ) from None
    except httpx.HTTPError as error:
        raise SourceError(_hide(f"{what}: {redact(url)}: {error}", key)) from None
    if reply.status_code != 200:
        raise _refusal(what, reply.status_code, content, reply.headers, key)
    if key.encode() in content:
        raise SourceError(f"{what}: the answer repeats the key, so it is not FRED's and is not kept")
    answer = Answer(redact(url), content, dict(reply.headers), dt.datetime.now(dt.UTC))
    try:
        return answer, _xml(content)
    except ElementTree.ParseError:
        kind = "a web page" if b"<html" in content[:2000].lower() else "not XML, or cut short"
        raise Passing(_hide(f"{what}: the answer is {kind}: {_excerpt(content, key)}", key), None) from None


def _refusal(what: str, status: int, content: bytes, headers: Mapping[str, str], key: str) -> SourceError:
    try:
        told = f"FRED says {_xml(content).get('message', '')!r}"
    except ElementTree.ParseError:
        told = _excerpt(content, key) or "no text"
    text = _hide(f"{what}: HTTP {status}: {told}", key)
    if status in PASSING:
        header = headers.get("retry-after")
        asked = None if header is None else retry_after(header, dt.datetime.now(dt.UTC), RATE_LIMIT_WAIT_S)
        return Passing(text, asked, limited=status == 429)
    if 300 <= status < 400:
        place = _hide(redact(headers.get("location", "elsewhere").split("?")[0]), key)
        return SourceError(f"{what}: HTTP {status}: sent on to {place}; set the base URL to where the API is")
    if "api_key" in told or status in (401, 403):
        return Refused(f"{text}. Set {KEY_VARIABLE} to a key that is registered ({KEY_PAGE}), or unset it")
    if "does not exist" in told:
        return SourceError(
            f"{text} Look its id up on https://alfred.stlouisfed.org: it may be misspelt, renamed, or have no vintages"
        )
    return SourceError(text)


def _xml(content: bytes) -> ElementTree.Element:
    if b"<!ENTITY" in content[:2000]:
        raise ElementTree.ParseError("entities are not read")
    try:
        root = ElementTree.fromstring(content)
    except (LookupError, ValueError) as error:  # an encoding that there is not
        raise ElementTree.ParseError(str(error)) from None
    if root.tag.lower() == "html":
        raise ElementTree.ParseError("a web page")
    return root


def _what(url: str) -> str:
    found = re.search(r"series_id=([^&]*)", url)
    path = url.split("?")[0].rsplit("/series", 1)[-1].strip("/") or "series"
    return f"ALFRED, {found.group(1) if found else 'FRED'}, {path}"


def _excerpt(content: bytes, key: str) -> str:
    """Return the beginning of a body; the key goes first, since a cut may leave a piece of it."""
    return excerpt(content.replace(key.encode(), HIDDEN.encode()))


def _hide(text: str, key: str) -> str:
    return redact(text).replace(key, HIDDEN).replace(quote_plus(key), HIDDEN)


@contextlib.contextmanager
def _no_key_in_logs(key: str) -> Iterator[None]:
    """Take the key out of what httpx logs, which is the whole address of every request."""

    def discreet(record: logging.LogRecord) -> bool:
        record.msg, record.args = _hide(record.getMessage(), key), ()
        return True

    logger = logging.getLogger(_LOGGER)
    logger.addFilter(discreet)
    try:
        yield
    finally:
        logger.removeFilter(discreet)
