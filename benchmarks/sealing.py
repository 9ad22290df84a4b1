"""Answers a second from a store to sealed Parquet when nothing has to be asked.

    python benchmarks/sealing.py [--answers 300000] [--bytes 1000]

A store is filled with answers of the OpenAI chat dialect; then blocks of it are collected again with nothing
missing. Listed are the CPU seconds of a block of 1,000 from requests to file (target: under 2 s), and for all answers
the CPU seconds of writing the keys, of looking the answers up and sealing them, and of writing the file (target:
20,000 a second looked up and sealed). Baseline of the same run: `json.loads` over the same raw answers.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from throughput import ANSWER, model, requests

from anachron import frames
from anachron.llm import answers, collect, plan, providers, records, store

TARGET_RATE, TARGET_BLOCK_S = 20_000, 2.0


def main() -> None:
    """Print seconds and rates against the targets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=300_000)
    parser.add_argument("--bytes", type=int, default=1000, help="Length of an answer's text.")
    given = parser.parse_args()
    entry = model("http://127.0.0.1:9/v1", 1)
    provider = providers.get(entry.provider)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        table = requests(given.answers)
        started = time.process_time()
        made = plan.plan(entry, provider, "bench", table)
        planned = time.process_time() - started
        raws = [answer(number, given.bytes) for number in range(1000)]
        fill(folder, entry, provider, made, raws)

        block = table.head(1000)
        started = time.process_time()
        frame = collect.collect(entry, "bench", block, folder, progress=False)
        frames.write(frame, folder / "block.parquet", frames.Transcripts)
        seconds = time.process_time() - started
        print(f"block of {len(frame):,}, requests to file: {seconds:.2f} s (target {TARGET_BLOCK_S} s)")

        with store.open_store(folder, entry.slug, durable=True) as opened:
            started = time.process_time()
            assert len(answers.present(opened, made.keys)) == given.answers
            frame = collect._seal(made, answers.in_order(opened, made.keys))
            sealed = time.process_time() - started
        started = time.process_time()
        frames.write(frame, folder / "all.parquet", frames.Transcripts)
        written = time.process_time() - started
        started = time.process_time()
        for number in range(given.answers):
            json.loads(raws[number % 1000])
        baseline = time.process_time() - started
        rate = given.answers / sealed
        print(f"{given.answers:,} answers of {len(raws[0]):,} bytes")
        print(f"  keys written       {planned:7.2f} s{given.answers / planned:12,.0f} /s")
        print(f"  looked up, sealed  {sealed:7.2f} s{rate:12,.0f} /s (target {TARGET_RATE:,} /s)")
        print(f"  file written       {written:7.2f} s{given.answers / written:12,.0f} /s")
        print(f"  json.loads alone   {baseline:7.2f} s{given.answers / baseline:12,.0f} /s")
        print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def answer(number: int, length: int) -> bytes:
    """Return a raw answer whose text has `length` characters and belongs to `number`."""
    text = (f"Answer {number}: " + f"the move was up by {number} points. " * (length // 30 + 1))[:length]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({**ANSWER, "id": f"chatcmpl-{number}", "choices": [choice]}).encode()


def fill(folder: Path, entry, provider, made: plan.Plan, raws: list[bytes]) -> None:
    """Store an answer for every key, many to a commit."""
    replies = [provider.read(raw) for raw in raws]
    with store.open_store(folder, entry.slug, durable=False) as opened:
        opened.connection.execute("BEGIN")
        for number, key in enumerate(made.keys):
            attempt = records.Try(number + 1, key, 0.0, 0.0)
            came = records.Came(
                "answered", 0.1, None, raws[number % 1000], replies[number % 1000], "answer", 200
            )
            records.write_answered(opened, attempt, came, cost_usd=0.0)
        opened.connection.execute("COMMIT")


if __name__ == "__main__":
    main()
