"""What the loopback servers of files and charts share: a port, a list of what was asked, faults used up in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HTML = b"<html><head><title>429</title></head><body><h1>Too Many Requests</h1></body></html>"


@dataclass
class Fault:
    """What to send in place of the true answer, once."""

    status: int = 200
    body: bytes | None = None
    """None stands for the true body."""
    headers: dict[str, str] = field(default_factory=dict)
    only: str = ""
    """Part of the path and query it waits for."""
    hang_s: float = 0.0
    drop: bool = False
    """Close the connection without a word."""
    cut: float = 1.0
    """Send this share of the body, with a length that fits it."""
    broken_off: bool = False
    """Announce the whole body, send half of it, and close."""


@dataclass
class Loopback:
    """A running server."""

    faults: list[Fault] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Path and query of every request."""
    headers: list[dict[str, str]] = field(default_factory=list)
    """Headers of every request, names in lower case."""
    root: str = ""
    stop: Callable[[], None] = lambda: None

    def respond(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of the true answer."""
        raise NotImplementedError


@contextmanager
def serving(running: Loopback) -> Iterator[None]:
    """Serve on a free port of loopback; `root` is its address, `stop()` closes the port at once."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(running))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    running.root = f"http://127.0.0.1:{server.server_port}"

    def stop() -> None:
        server.shutdown()
        server.server_close()

    running.stop = stop
    try:
        yield
    finally:
        stop()
        thread.join(5)


def _handler(running: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            sent = {key.lower(): value for key, value in self.headers.items()}
            running.asked.append(self.path)
            running.headers.append(sent)
            fault = next((one for one in running.faults if one.only in self.path), None)
            status, body, headers = running.respond(self.path, sent)
            length = len(body)
            if fault is not None:
                running.faults.remove(fault)
                if fault.drop:
                    self.close_connection = True
                    return
                time.sleep(fault.hang_s)
                whole = body if fault.body is None else fault.body
                status, headers = fault.status, {**headers, **fault.headers}
                body = whole[: int(len(whole) * fault.cut)]
                length = len(body)
                if fault.broken_off:
                    body = body[: length // 2]
            self._send(status, body, {"Content-Length": str(length), **headers})

        do_POST = do_GET  # noqa: N815

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            try:
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass

    return Handler
