"""A small chat server whose behaviour a test decides call by call, and the wire that speaks to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import contextmanager

from aiohttp import web

from anachron.config import ModelEntry
from anachron.llm.providers import Failure, Provider, Reply, Wire
from anachron.llm.providers.wire_errors import page_in_place

SECRET = "sk-test-0123456789abcdefghij-secret"
VARIABLE = "ANACHRON_TEST_KEY"


def answer(number: int = 0, text: str = "up", **fields) -> web.Response:
    return web.json_response(
        {"text": text, "served_model": "m-1", "input_tokens": 10, "output_tokens": 5, **fields},
        headers={"x-request-id": f"req-{number}"},
    )


class Chat:
    """Counts what arrives; `behave(number, payload)` returns a response, "drop", or seconds and a response."""

    def __init__(self, behave: Callable | None = None):
        self.behave = behave or (lambda number, payload: answer(number))
        self.hits: list[str] = []
        self.keys: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self.url = ""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        payload = await request.json()
        self.hits.append(json.dumps(payload, sort_keys=True))
        self.keys.add(request.headers.get("authorization", ""))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            said = self.behave(len(self.hits), payload)
            if isinstance(said, tuple):
                await asyncio.sleep(said[0])
                said = said[1]
            if said == "drop":
                request.transport.abort()
                return web.Response()
            return said
        finally:
            self.in_flight -= 1


@contextmanager
def serving(behave: Callable | None = None, port: int = 0):
    """Serve on loopback from a thread of this process; yields the `Chat`."""
    chat = Chat(behave)
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat", chat.respond)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        chat.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield chat
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def _body(request, entry):
    return {
        "model": request["model"],
        "system": request["system"],
        "prompt": request["prompt"],
        "max_tokens": request["max_tokens"],
    }


def _read(raw: bytes) -> Reply | None:
    try:
        fields = json.loads(raw)
        return Reply(**fields)
    except (ValueError, TypeError, RecursionError):
        return None


def _failure(status, headers, raw):
    if status < 400:
        return page_in_place(status, headers, raw)
    words = raw.decode("utf-8", "replace")
    return Failure(
        f"HTTP {status}: {words}", status in (408, 409, 429) or status >= 500, status in (429, 503)
    )


PROVIDER = Provider(
    "openai_chat",
    free=False,
    provenance="api",
    body=_body,
    read=_read,
    wire=Wire(
        path=lambda body: "/chat",
        payload=dict,
        headers=lambda key: {"authorization": f"Bearer {key}"} if key else {},
        failure=_failure,
        request_id=lambda headers: headers.get("x-request-id"),
    ),
)


def model(url: str, name: str = "http one", **fields) -> ModelEntry:
    fields = {"api_key_env": VARIABLE, **fields}
    return ModelEntry(name=name, provider="openai_chat", endpoint=url, **fields)
