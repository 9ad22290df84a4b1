"""A server on loopback that speaks the OpenAI chat dialect and answers as planted respondents do.

What answers is handed in (`serve_chat.Model`), so this module knows no suite; `anachron.stages_serve` makes models
of a registry and of request tables. Below ``/v1`` stand ``chat/completions``, ``completions`` (which only scores a
prompt) and ``models``; beside them ``/hits`` counts what arrived, and ``/faults`` switches faults on
and off while the server runs.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from anachron.errors import AnachronError, ConfigError
from anachron.llm import serve_faults
from anachron.llm.serve_chat import CREATED, Model, Question, completion, question, scored, scoring
from anachron.llm.serve_faults import Active, Fault, error_object
from anachron.validation import validate

LOOPBACK = "127.0.0.1"
LONGEST_BODY = 64 * 2**20


@dataclass(slots=True)
class Hits:
    """What arrived at the server. A request counts once its body was read: from then on a client may owe it."""

    total: int = 0
    answered: int = 0
    """Whole answers of status 200 handed to the connection; it may have been closed by then."""
    unknown: int = 0
    unauthorized: int = 0
    in_flight: int = 0
    by_prompt: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    before: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """How often a (model, system, prompt) was answered."""

    def document(self) -> dict[str, Any]:
        """Return the counts as ``GET /hits`` shows them."""
        names = ("total", "answered", "unknown", "unauthorized", "in_flight")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "faults": self.faults, "by_prompt": self.by_prompt}


@dataclass(slots=True)
class Server:
    """Everything a running server holds."""

    models: dict[str, Model]
    delay_s: float = 0.0
    api_key: str | None = None
    log: Path | None = None
    """A file that gets one line of JSON per request, written before the request is answered."""
    active: list[Active] = field(default_factory=list)
    hits: Hits = field(default_factory=Hits)

    def app(self) -> web.Application:
        """Return the web application; it may be run again on another loop, with the counts it has."""
        app = web.Application(client_max_size=LONGEST_BODY)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._scoring)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/hits", self._show_hits)
        app.router.add_get("/faults", self._show_faults)
        app.router.add_post("/faults", self._set_faults)
        app.router.add_delete("/faults", self._clear_faults)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._counted(request, question)

    async def _scoring(self, request: web.Request) -> web.StreamResponse:
        return await self._counted(request, scoring)

    async def _counted(self, request: web.Request, read: Callable[[bytes], Question]) -> web.StreamResponse:
        raw = await request.read()
        self.hits.total += 1
        self.hits.in_flight += 1
        try:
            return await self._respond(request, raw, read)
        finally:
            self.hits.in_flight -= 1

    async def _respond(
        self, request: web.Request, raw: bytes, read: Callable[[bytes], Question]
    ) -> web.StreamResponse:
        try:
            asked = read(raw)
        except AnachronError as error:
            self._note(None, [])
            return _refused(400, str(error), "invalid_value")
        met = serve_faults.meeting(self.active)
        self._note(asked, met)
        if not self._authorized(request):
            self.hits.unauthorized += 1
            return _refused(401, "Incorrect API key provided.", "invalid_api_key")
        seconds = self.delay_s + sum(_seconds(fault) for fault in met if fault.name == "slow")
        if seconds:
            await asyncio.sleep(seconds)
        for fault in met:
            refused = serve_faults.refusal(fault)
            if refused is not None:
                status, headers, body = refused
                return web.Response(status=status, body=body, headers={**serve_faults.JSON_TYPE, **headers})
            if fault.name in ("hang", "drop", "reset"):
                return await _break(request, fault.name)
        return await self._answer(request, asked, met)

    async def _answer(
        self, request: web.Request, asked: Question, met: Sequence[Fault]
    ) -> web.StreamResponse:
        model = self.models.get(asked.model)
        if model is None:
            known = ", ".join(self.models)
            return _refused(404, f"The model {asked.model!r} does not exist; served: {known}.")
        place = (asked.model, asked.system, asked.prompt)
        before = self.hits.before.get(place, 0)
        said = model.answer(asked.system, asked.prompt, before)
        if said is None:
            self.hits.unknown += 1
            return _refused(404, UNKNOWN.format(digest=asked.digest), "unknown_prompt")
        if isinstance(said, bytes):
            body = said
        else:
            number = f"{asked.digest[:16]}{before:08x}"
            answer = (scored if asked.scores else completion)(model, said, asked, number)
            for fault in met:
                if fault.name in serve_faults.CHANGED:
                    serve_faults.CHANGED[fault.name](answer, fault)
            body = json.dumps(answer).encode("ascii")
        headers = {"x-request-id": f"req_{asked.digest[:16]}{before:08x}", **serve_faults.JSON_TYPE}
        for fault in met:
            if fault.name in serve_faults.MALFORMED:
                body, changed = serve_faults.MALFORMED[fault.name](body)
                headers |= changed
        if any(fault.name == "cut-off" for fault in met):
            return await _cut_off(request, body, headers)
        self.hits.before[place] = before + 1
        self.hits.answered += 1
        return web.Response(body=body, headers=headers)

    def _note(self, asked: Question | None, met: Sequence[Fault]) -> None:
        digest = asked.digest if asked else "unreadable"
        self.hits.by_prompt[digest] = self.hits.by_prompt.get(digest, 0) + 1
        for fault in met:
            self.hits.faults[fault.name] = self.hits.faults.get(fault.name, 0) + 1
        if self.log is not None:
            line = {"hit": self.hits.total, "prompt": digest, "model": asked.model if asked else None,
                    "faults": [fault.name for fault in met]}  # fmt: skip
            with self.log.open("ab", buffering=0) as log:
                log.write(json.dumps(line).encode() + b"\n")

    def _authorized(self, request: web.Request) -> bool:
        if self.api_key is None:
            return True
        shown = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(shown, f"Bearer {self.api_key}".encode())

    async def _models(self, request: web.Request) -> web.Response:
        if not self._authorized(request):
            return _refused(401, "Incorrect API key provided.", "invalid_api_key")
        data = [
            {"id": name, "object": "model", "created": CREATED, "owned_by": "anachron"}
            for name in self.models
        ]
        return web.json_response({"object": "list", "data": data})

    async def _show_hits(self, request: web.Request) -> web.Response:
        return web.json_response(self.hits.document())

    async def _show_faults(self, request: web.Request) -> web.Response:
        shown = [
            {**active.fault.model_dump(), "seen": active.seen, "met": active.met} for active in self.active
        ]
        return web.json_response(shown)

    async def _set_faults(self, request: web.Request) -> web.Response:
        try:
            wanted = json.loads(await request.read())
            listed = wanted if isinstance(wanted, list) else [wanted]
            faults = [validate(Fault, one, "POST /faults") for one in listed]
        except (ValueError, RecursionError) as error:
            return _refused(400, f"POST /faults takes JSON, a list of faults: {error}")
        except ConfigError as error:
            return _refused(400, str(error))
        self.active = serve_faults.switch_on(faults)
        return await self._show_faults(request)

    async def _clear_faults(self, request: web.Request) -> web.Response:
        self.active = []
        return await self._show_faults(request)


UNKNOWN = (
    "No request table of this server holds the prompt with SHA-256 {digest}; start it with the tables that "
    "hold it (--requests)."
)


def _seconds(fault: Fault) -> float:
    return 1.0 if fault.number is None else fault.number


def _refused(status: int, message: str, code: str | None = None) -> web.Response:
    body = error_object(status, message, code)
    return web.Response(status=status, body=body, content_type="application/json")


async def _break(request: web.Request, how: str) -> web.StreamResponse:
    if how == "hang":
        await asyncio.Event().wait()
    transport = request.transport
    if transport is not None:
        if how == "reset":
            import socket

            line = transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort() if how == "reset" else transport.close()
    return web.Response()


async def _cut_off(request: web.Request, body: bytes, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={**headers, "Content-Length": str(len(body))})
    await response.prepare(request)
    with suppress(ConnectionError):
        await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


async def running(server: Server, port: int, ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """Serve on loopback until `stop` is set.

    Parameters
    ----------
    server
        What is served.
    port
        The port; 0 takes a free one.
    ready
        Called with the base URL once the server answers.
    stop
        Ends the serving. Requests in work get a moment to finish.

    Raises
    ------
    AnachronError
        When the port is taken.
    """
    runner = web.AppRunner(
        server.app(), access_log=None, handle_signals=False, shutdown_timeout=0.5, handler_cancellation=True
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, LOOPBACK, port, backlog=1024, reuse_address=True)
        try:
            await site.start()
        except OSError as error:
            raise AnachronError(
                f"port {port} of {LOOPBACK} cannot be served on ({error.strerror}); give another with --port, "
                "or --port 0 for a free one"
            ) from None
        ready(f"http://{LOOPBACK}:{runner.addresses[0][1]}/v1")
        await stop.wait()
    finally:
        await runner.cleanup()


def serve(server: Server, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; see `running`."""

    async def until_told() -> None:
        stop = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        await running(server, port, ready, stop)

    asyncio.run(until_told())
