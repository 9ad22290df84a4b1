"""One HTTP exchange: a body posted, what came back, or why nothing did. Knows of no provider and no store.

httpx's requests and responses over aiohttp's connections: httpx's own pool rescans every connection for each
request, and its client handles cookies, redirects and ``.netrc``, none of which is wanted here: a key goes where
the registry says and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from anachron import __version__
from anachron.errors import ConfigError

LARGEST_BODY = 64 * 2**20
"""Bytes of an unpacked response above which it is refused: no answer is that long."""

CONNECT_S = 30.0


@dataclass(frozen=True, slots=True)
class Response:
    """What came back: status, headers (names in lower case), unpacked body."""

    status: int
    headers: Mapping[str, str]
    raw: bytes


class ExchangeError(Exception):
    """Why no response came: a status of `records` and words."""

    def __init__(self, status: str, words: str):
        super().__init__(words)
        self.status, self.words = status, words


class TooLargeError(ExchangeError):
    """A response larger than `LARGEST_BODY`."""


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for a host; loopback addresses never have one.

    Raises
    ------
    ConfigError
        When it is no URL, or of a kind that is not supported; the text does not hold its credentials.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found or proxy_bypass(host):
        return None
    found = found if "://" in found else f"http://{found}"
    try:
        kind = urlsplit(found).scheme if httpx.URL(found).host else ""
    except (ValueError, httpx.InvalidURL):
        kind = ""
    if not kind:
        raise ConfigError(
            f"the environment names a proxy for {host} that is no URL; write HTTPS_PROXY or ALL_PROXY as "
            "http://host:port (a name and password before the host percent-encoded), or name the host in NO_PROXY"
        )
    if kind not in ("http", "https"):
        raise ConfigError(
            f"the environment names a {kind} proxy for {host}; only http proxies are supported: "
            "change HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY"
        )
    return found


def transport(base_url: str, concurrency: int) -> AiohttpTransport:
    """Return the connections to one host; the caller closes them.

    Redirects are not followed and cookies are not kept. Certificates of ``SSL_CERT_FILE`` are honoured.
    """
    proxy = proxy_for(base_url)
    # Reading the system's certificates takes longer than a small block; plain http (loopback only) has none.
    encrypted = urlsplit(base_url).scheme == "https"
    made = AiohttpTransport(verify=encrypted, proxy=httpx.Proxy(proxy) if proxy else None)

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=concurrency, ssl=made.ssl_context, keepalive_timeout=30.0)
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=65536,
            max_field_size=65536,
        )

    made.client = session
    return made


def headers(own: Mapping[str, str]) -> httpx.Headers:
    """Return the headers of every request: a provider's own, and what a JSON body goes with."""
    return httpx.Headers(
        {
            "connection": "keep-alive",
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
            "user-agent": f"anachron/{__version__}",
            "content-type": "application/json",
            **own,
        }
    )


async def exchange(
    connections: httpx.AsyncBaseTransport,
    url: httpx.URL,
    headers: httpx.Headers,
    content: bytes,
    timeout_s: float,
) -> Response:
    """Post `content` and return what came back.

    Raises
    ------
    ExchangeError
        When nothing came back that can be read; whether the request may have been served is in its status.
    """
    waits = {"connect": min(CONNECT_S, timeout_s), "read": timeout_s, "write": timeout_s, "pool": None}
    # Of a stream nothing is worked out for the headers: length and host are aiohttp's to write.
    request = httpx.Request(
        "POST", url, headers=headers, stream=httpx.ByteStream(content), extensions={"timeout": waits}
    )
    request.read()
    try:
        async with asyncio.timeout(timeout_s):
            response = await connections.handle_async_request(request)
            # Read once: httpx decodes all of its headers for each one that is looked up.
            found = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in response.headers.raw
            }
            try:
                raw = await _body(response, found.get("content-encoding"))
            finally:
                await response.aclose()
    except ExchangeError:
        raise
    except (TimeoutError, httpx.TimeoutException, aiohttp.ServerTimeoutError) as error:
        raise _no_answer(error, timeout_s) from None
    except (httpx.HTTPError, aiohttp.ClientError, OSError, EOFError) as error:
        raise _fault(error) from None
    return Response(response.status_code, found, raw)


async def _body(response: httpx.Response, packed: str | None) -> bytes:
    parts: list[bytes] = []
    size = 0
    assert isinstance(response.stream, httpx.AsyncByteStream)
    try:
        async for part in response.aiter_bytes() if packed else response.stream:
            size += len(part)
            if size > LARGEST_BODY:
                raise TooLargeError(
                    "unreadable",
                    f"the response is larger than {LARGEST_BODY / 2**20:.0f} MB, which no answer is",
                )
            parts.append(part)
    except httpx.DecodingError as error:
        raise ExchangeError("unreadable", f"the response cannot be unpacked as {packed} ({error})") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _no_answer(error: BaseException, timeout_s: float) -> ExchangeError:
    cause = _cause(error)
    if isinstance(cause, aiohttp.ConnectionTimeoutError):
        return ExchangeError("unsent", "no connection within the time limit")
    # The transport calls a broken connection a connect timeout; what aiohttp says decides.
    if isinstance(cause, aiohttp.ClientError) and not isinstance(cause, aiohttp.ServerTimeoutError):
        return _fault(error)
    return ExchangeError("timeout", f"no answer within {timeout_s:g} s")


def _fault(error: BaseException) -> ExchangeError:
    cause = _cause(error)
    words = str(cause) or type(cause).__name__
    if isinstance(
        cause, aiohttp.ClientConnectorError | aiohttp.ClientProxyConnectionError | aiohttp.InvalidURL
    ):
        return ExchangeError("unsent", f"no connection ({words})")
    if isinstance(cause, aiohttp.ClientHttpProxyError):
        return ExchangeError("unsent", f"the proxy refused the connection ({words})")
    return ExchangeError("dropped", f"the connection broke before the answer was complete ({words})")


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ is not None else error


def environment_key(variable: str) -> str | None:
    """Return the API key in an environment variable; None when it is not set or blank."""
    found: Any = os.environ.get(variable, "").strip()
    return found or None
