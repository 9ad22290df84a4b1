"""A planted server in a thread of the test, what the tests say to it, and how they collect from it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import pandas as pd
from collecting import SUITE, requests, wait_for

from anachron.config import ModelEntry
from anachron.llm.budget import Price
from anachron.llm.collect import collect
from anachron.llm.patience import Patience
from anachron.llm.providers import Reply
from anachron.llm.serve_chat import Model
from anachron.llm.serve_faults import Fault, switch_on
from anachron.llm.serve_planted import Server, running


def says(text: str = "yes"):
    """Answer every prompt with `text` and how often it was answered before."""

    def answer(system: str, prompt: str, before: int) -> Reply:
        said = f"{text} {before}"
        return Reply(
            text=said, finish_reason="stop", input_tokens=len(prompt) // 4, output_tokens=len(said) // 4
        )

    return answer


class Running:
    """A server that can be stopped and started again on its port, with the counts it has."""

    def __init__(self, server: Server):
        self.server, self.port, self.url = server, 0, ""
        self.start()

    def start(self) -> None:
        up = threading.Event()
        failed: list[BaseException] = []

        def ready(url: str) -> None:
            self.url, self.port = url, int(url.rsplit(":", 1)[1].split("/")[0])
            up.set()

        async def serving() -> None:
            self.loop, self.stop_event = asyncio.get_running_loop(), asyncio.Event()
            await running(self.server, self.port, ready, self.stop_event)

        def run() -> None:
            try:
                asyncio.run(serving())
            except BaseException as error:
                failed.append(error)
                up.set()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        assert up.wait(20) and not failed, failed

    def stop(self) -> None:
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.stop_event.set)
            self.thread.join(20)
        assert not self.thread.is_alive()

    def faults(self, *faults: Fault) -> None:
        self.server.active = switch_on(faults)

    @property
    def hits(self):
        return self.server.hits


@contextmanager
def served(answer=None, **options) -> Iterator[Running]:
    """Serve one model called ``planted one`` for the duration of a block."""
    faults = options.pop("faults", [])
    model = Model("planted one", answer or says())
    running_server = Running(Server({model.name: model}, active=switch_on(faults), **options))
    try:
        yield running_server
    finally:
        running_server.stop()


def call(url: str, body=None, method: str | None = None, headers=None, timeout: float = 20.0):
    """Return status, headers and body of one plain HTTP call; no redirect is followed."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})}
    )
    opener = urllib.request.build_opener(_Stay, urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments, **named):
        return None


def chat(prompt: str = "Question?", system: str = "Answer.", **fields):
    """Return the body of a chat request."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    return {"model": "planted one", "messages": messages, **fields}


FREE = Price(cost=lambda reply: 0.0, worst=lambda request: 0.0)
QUICK = Patience(first_wait_s=0.01, longest_wait_s=0.05)
NAME = "served/one: model"


def entry(url: str, **fields) -> ModelEntry:
    """Return a model that asks the served one as any endpoint of the dialect is asked."""
    return ModelEntry(
        **{"name": NAME, "provider": "openai_chat", "endpoint": url, "model_id": "planted one", **fields}
    )


def gather(
    url: str, folder: Path, items: int = 20, *, patience: Patience = QUICK, report=None, **fields
) -> pd.DataFrame:
    """Collect one block, a question for each item."""
    options = {} if report is None else {"report": report}
    return collect(
        entry(url, **fields),
        SUITE,
        requests(items, reps=1),
        folder,
        price=FREE,
        patience=patience,
        progress=False,
        **options,
    )


def store_path(folder: Path) -> Path:
    return folder / f"{entry('http://127.0.0.1').slug}.sqlite"


def rows(folder: Path, query: str) -> list[tuple]:
    """Return what a query finds in the store; it is opened so that nothing in it is changed or tidied."""
    path = f"file:{quote(str(store_path(folder)))}?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()


def stored(folder: Path) -> int:
    """Return how many answers are in the store; none where there is no store yet."""
    if not store_path(folder).exists():
        return 0
    return rows(folder, "SELECT count(*) FROM responses")[0][0]


def statuses(folder: Path) -> dict[str, int]:
    """Return how many attempts came to what."""
    return dict(rows(folder, "SELECT status, count(*) FROM attempts GROUP BY status"))


def settled(server: Running) -> int:
    """Wait until nothing is in work at the server, and return how many requests have arrived."""
    wait_for(lambda: server.hits.in_flight == 0)
    time.sleep(0.005)
    wait_for(lambda: server.hits.in_flight == 0)
    return server.hits.total
