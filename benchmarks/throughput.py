"""Requests a second of collecting over HTTP against a bare loop on the same transport, in the same run.

    python benchmarks/throughput.py [--requests 5000] [--concurrency 64 256] [--rounds 3]

A server in another process answers each chat request after 50 ms. The bare loop posts one prepared body from as
many workers (httpx over the same connections) and reads the answers; collecting writes each body, notes the try,
reads the answer and commits it, waiting for the disk. Bare and collecting alternate; the median of their ratios
counts. Targets: 0.85 of the bare loop, no fall from 64 to 256 in flight, and memory that does not grow with the
number of requests beyond their table and keys (the peak of a process that collects twice as many). Seconds depend
on what else the machine does; CPU milliseconds a request, of all threads, and their ratio are printed beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

DELAY_S, TARGET = 0.05, 0.85
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "bench-1",
    "system_fingerprint": "fp_1",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "up " * 40}}
    ],
    "usage": {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340},
}


def main() -> None:
    """Print a line per concurrency, and the peak memory for one and for two times the requests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        print(
            f"{'in flight':>10}{'bare /s':>10}{'collect /s':>12}{'ratio':>8}"
            f"{'bare ms':>9}{'CPU ms':>9}{'CPU ratio':>11}"
        )
        for concurrency in given.concurrency:
            bare, ours, least, cpu = [], [], [], []
            for _ in range(given.rounds):
                seconds, used, _ = apart(bare_loop, url, given.requests, concurrency)
                bare.append(given.requests / seconds)
                least.append(used / given.requests * 1000)
                seconds, used, _ = apart(collecting, url, given.requests, concurrency)
                ours.append(given.requests / seconds)
                cpu.append(used / given.requests * 1000)
            ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
            thrift = statistics.median(a / b for a, b in zip(least, cpu, strict=True))
            told = "" if ratio >= TARGET else f"  below {TARGET}"
            print(
                f"{concurrency:>10}{statistics.median(bare):10,.0f}{statistics.median(ours):12,.0f}"
                f"{ratio:8.2f}{statistics.median(least):9.2f}{statistics.median(cpu):9.2f}{thrift:11.2f}{told}"
            )
        few, many = (apart(collecting, url, n, 64)[2] for n in (given.requests, 2 * given.requests))
        print(f"peak memory: {few:,.0f} MB for {given.requests:,} requests, {many:,.0f} MB for twice as many")
    finally:
        server.terminate()
        server.wait()


def apart(work, *arguments) -> tuple[float, float, float]:
    """Run in a fresh process and return its seconds, CPU seconds and peak memory in MB."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(there, work, arguments))
    process.start()
    there.close()
    found = here.recv()
    process.join()
    return found


def measured(pipe, work, arguments) -> None:
    import anachron.llm.client  # noqa: F401 - imports are no part of what is measured

    seconds, cpu = work(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send((seconds, cpu, peak))


def bare_loop(url: str, count: int, concurrency: int) -> tuple[float, float]:
    """Post `count` bodies from `concurrency` workers; return the seconds and the CPU seconds it took."""
    import httpx

    from anachron.llm import http, plan, providers

    entry = model(url, concurrency)
    made = plan.plan(entry, providers.get(entry.provider), "bench", requests(1))
    (ask,) = plan.each(made, [0])
    body = ask.call.body.encode()

    async def run() -> tuple[float, float]:
        async with httpx.AsyncClient(transport=http.transport(url, concurrency)) as client:
            left = iter(range(count))

            async def work() -> None:
                for _ in left:
                    response = await client.post(
                        url + "/chat/completions", content=body, headers={"content-type": "application/json"}
                    )
                    assert response.status_code == 200 and response.content

            started, cpu = time.perf_counter(), time.process_time()
            await asyncio.gather(*(work() for _ in range(concurrency)))
            return time.perf_counter() - started, time.process_time() - cpu

    return asyncio.run(run())


def collecting(url: str, count: int, concurrency: int) -> tuple[float, float]:
    """Collect `count` requests into a fresh store; return what asking took, keys and sealing left out."""
    from anachron.llm import collect
    from anachron.llm.budget import Price

    took = []
    ask = collect._ask

    def timed(*arguments) -> None:
        started, cpu = time.perf_counter(), time.process_time()
        ask(*arguments)
        took.append((time.perf_counter() - started, time.process_time() - cpu))

    collect._ask = timed
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        frame = collect.collect(
            model(url, concurrency),
            "bench",
            requests(count),
            Path(folder),
            price=Price(cost=lambda reply: 0.0, worst=lambda request: 0.0),
            progress=False,
        )
    assert len(frame) == count and set(frame["outcome"]) == {"answer"}
    return took[0]


def model(url: str, concurrency: int):
    from anachron.config import ModelEntry

    return ModelEntry(
        name="bench",
        provider="openai_chat",
        endpoint=url,
        limits={"concurrency": concurrency, "timeout_s": 60},
    )


def requests(count: int) -> pd.DataFrame:
    """Return `count` requests with prompts of about a thousand characters."""
    return pd.DataFrame(
        {
            "suite": "bench",
            "arm": "R",
            "item": [f"item-{n:06d}" for n in range(count)],
            "rep": 1,
            "system": "Answer with one word.",
            "prompt": [f"Question {n}. " + "It is a long question. " * 45 for n in range(count)],
            "shown_date": None,
            "temperature": 0.2,
            "max_tokens": 64,
            "tiers": "full",
        }
    )


def serve() -> None:
    """Answer every chat request after 50 ms; print the base URL first."""
    from aiohttp import web

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(DELAY_S)
        return web.json_response(ANSWER)

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main()
