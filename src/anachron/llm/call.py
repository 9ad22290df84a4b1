"""One call over HTTP: the key it takes, what is sent, and what the response comes to."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import httpx

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.llm import http, limits
from anachron.llm.patience import asked_to_wait
from anachron.llm.plan import Ask
from anachron.llm.providers import Failure, Provider, Reply, Wire, outcome
from anachron.llm.providers.wire_common import credential
from anachron.llm.providers.wire_errors import scrub
from anachron.llm.records import Came

SECRET_LENGTH = 16
"""A key at least this long is cut out of an answer that repeats it; a shorter one is a local placeholder."""

_JSON = json.JSONEncoder(ensure_ascii=True, allow_nan=False)


class Line:
    """The way to one model: its address, what every request carries, and what must not be kept of what comes back.

    Raises
    ------
    ConfigError
        When the environment names a proxy that is none.
    """

    def __init__(self, entry: ModelEntry, provider: Provider, key: str | None):
        assert provider.wire is not None
        self.provider, self.wire, self.key = provider, provider.wire, key
        self.base_url, self.timeout_s = entry.base_url or "", entry.limits.timeout_s
        self.headers = http.headers(self.wire.headers(key))
        self.urls: dict[str, httpx.URL] = {}
        proxy = http.proxy_for(self.base_url)
        self.secrets = [key, unquote(urlsplit(proxy).password or "") if proxy else None]

    def payload(self, ask: Ask) -> bytes:
        """Return what is posted."""
        return _JSON.encode(self.wire.payload(ask.body)).encode("ascii")

    def scrubbed(self, words: str) -> str:
        """Return words without the key and the proxy's password."""
        return scrub(words, self.secrets)

    async def call(self, connections: httpx.AsyncBaseTransport, ask: Ask, content: bytes) -> Came:
        """Send one request and return what came of it."""
        clock = time.monotonic()
        try:
            response = await http.exchange(connections, self._url(ask), self.headers, content, self.timeout_s)
        except http.ExchangeError as error:
            failed = Failure(error.words, retry=not isinstance(error, http.TooLargeError))
            return Came(error.status, time.monotonic() - clock, failed)
        latency_s = time.monotonic() - clock
        raw = without_key(response.raw, self.key)
        status, failure, reply = verdict(self.provider, self.wire, response, raw)
        request_id = self.wire.request_id(response.headers)
        return Came(
            status,
            latency_s,
            failure,
            raw,
            reply,
            outcome(reply),
            response.status,
            None if request_id is None else self.scrubbed(request_id),
            asked_to_wait(failure, response.headers) if failure else None,
        )

    def _url(self, ask: Ask) -> httpx.URL:
        path = self.wire.path(ask.body)
        if path not in self.urls:
            self.urls[path] = httpx.URL(self.base_url + path)
        return self.urls[path]


class Verdict(NamedTuple):
    """What an attempt comes to: its status in the store, what is wrong, or what the answer says."""

    status: str
    failure: Failure | None
    reply: Reply | None


def api_key(entry: ModelEntry) -> str | None:
    """Return the API key of a model from the environment.

    Raises
    ------
    CollectError
        When the registry names a variable and it is not set, or holds no key; the text names the variable.
    """
    if entry.key_variable is None:
        return None
    found = http.environment_key(entry.key_variable)
    if found is None:
        raise CollectError(
            f"model {entry.name!r}: the environment variable {entry.key_variable} is not set, and its API key is "
            "read from there; nothing was sent. Set it and run again"
        )
    try:
        return credential(found)
    except CollectError as error:
        raise CollectError(f"model {entry.name!r}, {entry.key_variable}: {error}") from None


def counted_tokens(ask: Ask) -> float:
    """Return what a request counts against a cap on tokens a minute."""
    request = ask.request
    return limits.tokens_at_most(len(request["system"]) + len(request["prompt"]), request["max_tokens"])


def verdict(provider: Provider, wire: Wire, response: http.Response, raw: bytes) -> Verdict:
    """Return what an attempt comes to whose response has the body `raw`."""
    if 300 <= response.status < 400:
        host = urlsplit(response.headers.get("location", "")).hostname or "elsewhere"
        words = (
            f"HTTP {response.status}: a redirect to {host}, which is not followed because the API key would travel "
            "with it; write the final address as `endpoint`"
        )
        return Verdict("failed", Failure(words, retry=False), None)
    failure = wire.failure(response.status, response.headers, raw)
    if failure is not None:
        return Verdict("unreadable" if failure.page else "failed", failure, None)
    reply = None
    # The answer is paid for: a fault of the reader may stop the run at sealing, but not the storing.
    with suppress(Exception):
        reply = provider.read(raw)
    return Verdict("answered", None, reply)


def without_key(raw: bytes, key: str | None) -> bytes:
    """Return an answer without our own key, should a gateway repeat it."""
    if key is None or len(key) < SECRET_LENGTH:
        return raw
    return raw.replace(key.encode(), b"[key]")
