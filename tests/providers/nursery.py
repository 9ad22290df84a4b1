"""Collecting processes that start at once: forked from one that has already imported all they need.

Run as a script it takes lines of JSON, ``{"start": [url, folder, items, concurrency]}`` or ``{"wait": pid}``, and
answers each with a number: the process id, or how it ended (an exit code, or minus the signal).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Nursery:
    """Starts collecting processes, kills them, and tells how they ended."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process

    def start(self, url: str, folder: Path, items: int, concurrency: int) -> int:
        return self._ask({"start": [url, str(folder), items, concurrency]})

    def wait(self, pid: int) -> int:
        return self._ask({"wait": pid})

    def kill(self, pid: int) -> int:
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def _ask(self, question: dict) -> int:
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Keep a nursery for the duration of a block; children that still run then are killed with it."""
    from collecting import environment

    process = subprocess.Popen(
        [sys.executable, __file__],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Nursery(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()


def main() -> None:
    import httpx_aiohttp  # noqa: F401
    from collecting import requests
    from serving import gather

    from anachron.errors import CollectError
    from anachron.llm import providers

    providers.get("openai_chat")
    requests(2)
    for line in sys.stdin:
        question = json.loads(line)
        if "wait" in question:
            print(os.waitstatus_to_exitcode(os.waitpid(question["wait"], 0)[1]), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            url, folder, items, concurrency = question["start"]
            try:
                gather(url, Path(folder), items, limits={"concurrency": concurrency})
            except CollectError as error:
                print(error, file=sys.stderr, flush=True)
                os._exit(1)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(2)
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
