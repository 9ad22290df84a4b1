"""Downloading one file over HTTP: only when it changed, patiently, and with errors that say who refused and why.

Nothing is kept here; what to keep and under which name is the caller's business.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anachron.errors import SourceError
from anachron.sources.raw import redact

RETRIES = 3
"""Attempts after the first (spec `sources`)."""

TIMEOUT_S = 60.0
LONGEST_WAIT_S = 300.0
"""A source that asks for a longer wait is not waited for: the error says what it asked."""

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may go away by themselves."""


@dataclass(frozen=True)
class Download:
    """An answer with a body."""

    content: bytes
    headers: Mapping[str, str]
    fetched_at: dt.datetime


def get(
    url: str,
    what: str,
    *,
    params: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Download | None:
    """Get a URL; None when the server says that it has not changed (304).

    Parameters
    ----------
    url
        What to get. Redirects are followed.
    what
        Source and file, for the error text.
    params, headers
        Sent along; `raw.conditional_headers` gives the headers that make a 304 possible.
    retries
        Attempts after the first, for connections that break, time-outs and passing statuses. The waits are 1, 2,
        4, … seconds, or what ``Retry-After`` says.
    timeout_s
        Seconds to wait for the connection and for each part of the body.
    sleep
        Waits; tests pass their own.

    Raises
    ------
    SourceError
        When no attempt succeeded: names `what`, the last answer and the number of attempts. Keys in URLs are
        not shown.
    """
    import httpx

    said = ""
    with httpx.Client(timeout=timeout_s, follow_redirects=True) as client:
        for attempt in range(retries + 1):
            wait_s = 2.0**attempt
            try:
                answer = client.get(url, params=dict(params or {}), headers=dict(headers or {}))
            except httpx.TimeoutException:
                said = f"no answer within {timeout_s:g} s"
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise SourceError(
                    f"{what}: {redact(url)}: {redact(str(error))} Set the base URL anew"
                ) from None
            except httpx.TransportError as error:
                said = f"the connection failed ({error or type(error).__name__})"
            except httpx.HTTPError as error:
                raise SourceError(f"{what}: {redact(url)}: {redact(str(error))}") from None
            else:
                if answer.status_code == 304:
                    return None
                if answer.status_code == 200:
                    return Download(answer.content, answer.headers, dt.datetime.now(dt.UTC))
                said = f"HTTP {answer.status_code}: {excerpt(answer.content)}"
                if answer.status_code not in PASSING:
                    raise SourceError(f"{what}: {redact(url)} answered {redact(said)}")
                wait_s = retry_after(answer.headers.get("retry-after"), dt.datetime.now(dt.UTC), wait_s)
                if wait_s > LONGEST_WAIT_S:
                    raise SourceError(
                        f"{what}: {redact(url)} answered {redact(said)} and asks to wait {wait_s:.0f} s; "
                        "try again after that"
                    )
            if attempt < retries:
                sleep(wait_s)
    raise SourceError(f"{what}: {redact(url)}: {redact(said)}, after {retries + 1} attempts")


def retry_after(header: str | None, now: dt.datetime, default_s: float) -> float:
    """Return the seconds a ``Retry-After`` header asks for (seconds or an HTTP date); `default_s` without one."""
    if header is None:
        return default_s
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(header) - now).total_seconds())
    except (TypeError, ValueError):
        return default_s


def excerpt(content: bytes, length: int = 120) -> str:
    """Return the beginning of a body on one line, for an error text."""
    text = " ".join(content[: 4 * length].decode("utf-8", "replace").split())
    return text if len(text) <= length else text[:length] + "…"
