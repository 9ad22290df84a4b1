"""What the tests of collecting share: a model, requests, and a respondent that counts its calls in a file."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pandas as pd

from anachron import frames
from anachron.config import ModelEntry
from anachron.llm.collect import collect

SUITE = "suite"
CONTEXT = multiprocessing.get_context("forkserver")
"""Children start from a clean server that has already imported what they need."""
CONTEXT.set_forkserver_preload(["anachron.llm.collect", "zstandard", "sqlite3"])


def model(name: str = "planted one", **fields) -> ModelEntry:
    return ModelEntry(
        **{"name": name, "provider": "planted", "planted": {SUITE: {"lean": 0.3}}, **fields},
    )


def requests(items: int = 10, reps: int = 2, arm: str = "R", **columns) -> pd.DataFrame:
    rows = [
        {
            "suite": SUITE,
            "arm": arm,
            "item": f"{2000 + item // 12}-{item % 12 + 1:02d}-15",
            "rep": rep,
            "system": "Answer.",
            "prompt": f"Question {item}?",
            "shown_date": None,
            "temperature": 0.2,
            "max_tokens": 64,
            "tiers": "full,reduced",
            **columns,
        }
        for item in range(items)
        for rep in range(1, reps + 1)
    ]
    return frames.check(pd.DataFrame(rows), frames.Requests, "test")


class Respondent:
    """Answers from the key alone; writes one line a call, before it answers, to `log`."""

    def __init__(self, log: Path, seconds: float = 0.0):
        self.log, self.seconds = log, seconds

    def __call__(self, request, parameters):
        with self.log.open("ab", buffering=0) as log:
            log.write(f"{request['key']}\n".encode())
        if self.seconds:
            time.sleep(self.seconds)
        return f"{parameters['lean']} {request['key'][:8]}"

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []


def run(store: Path, log: Path, items: int, seconds: float, name: str = "planted one") -> None:
    """Collect in a child process."""
    collect(model(name), SUITE, requests(items), store, Respondent(log, seconds), progress=False)


def start(*arguments):
    process = CONTEXT.Process(target=run, args=arguments)
    process.start()
    return process


def wait_for(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the child process did not get there")
        time.sleep(0.002)


def sealed(frame: pd.DataFrame, path: Path) -> bytes:
    frames.write(frame, path, frames.Transcripts)
    return path.read_bytes()


def environment() -> dict[str, str]:
    here = str(Path(__file__).parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
