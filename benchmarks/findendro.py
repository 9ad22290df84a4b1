"""What parsing and estimating the suite `findendro` costs, from sealed transcripts to estimates.

    python benchmarks/findendro.py [--models 15]

Every model answers the whole sample, 4 prompts for each of 2,226 facts, on the complete generated facts.
Prints CPU seconds a model for reading, parsing and estimating with the bootstrap, and the peak memory. Writing the
transcripts is not counted.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import pandas as pd

from anachron import frames
from anachron.config import Sources
from anachron.llm.providers import outcome
from anachron.suites import load_protocol
from anachron.suites.findendro import ask, items, planted
from anachron.suites.findendro.estimate import estimate
from anachron.suites.findendro.parse import parse
from anachron.suites.findendro.protocol import PROMPTS, Protocol

ROOT = Path(__file__).resolve().parents[1]


def transcripts(
    protocol: Protocol, requests: pd.DataFrame, memory: planted.Memory, seed: int
) -> pd.DataFrame:
    """Return what one respondent answers."""
    who = planted.Parameters.model_validate(
        {
            "seed": seed,
            "knowledge": {"1999-01": 0.7, "2023-11": 0.0},
            "claims_known": {"1999-01": 0.5, "2023-11": 0.05},
            "claims_unknown": {"1999-01": 0.2, "2023-11": 0.02},
            "form": {"prose": 0.2, "long": 0.1, "refusal": 0.01},
        }
    )
    rows = []
    for request in ({str(name): value for name, value in row.items()} for row in requests.to_dict("records")):
        reply = planted.respond(request, who, protocol, memory)
        rows.append(
            dict.fromkeys(frames.Transcripts.to_schema().columns)
            | {column: request[column] for column in ("suite", "arm", "item", "rep")}
            | {"model": f"model-{seed}", "duplicate": 0, "key": "k", "provenance": "planted"}
            | {"outcome": outcome(reply), "text": reply.text, "finish_reason": reply.finish_reason}
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Time it."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--models", type=int, default=15)
    asked = options.parse_args()
    loaded = load_protocol("findendro", ROOT / "config/protocols/findendro.yaml")
    protocol: Protocol = loaded.model_copy(update={"facts": "synthetic"})
    sources = Sources(snapshot=str(ROOT / "resources/snapshot"))
    known = items.build(protocol, sources, protocol.months)
    memory = items.memory(known)
    requests = pd.concat(
        [ask.build(protocol, known, arm, items.names(known)) for arm in (*PROMPTS, "cutoff")]
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for seed in range(asked.models):
            paths.append(Path(folder) / f"{seed}.parquet")
            frames.write(transcripts(protocol, requests, memory, seed), paths[-1], frames.Transcripts)
        spent = {"read": 0.0, "parse": 0.0, "estimate": 0.0}
        for path in paths:
            start = time.process_time()
            sealed = frames.read(path, frames.Transcripts)
            spent["read"] += time.process_time() - start
            start = time.process_time()
            answers = parse(sealed, protocol)
            spent["parse"] += time.process_time() - start
            start = time.process_time()
            estimate(answers, known, protocol)
            spent["estimate"] += time.process_time() - start
    total = sum(spent.values())
    print(f"{asked.models} models x {len(requests):,} answers, {protocol.bootstrap.draws} draws")
    print(", ".join(f"{name} {seconds / asked.models:.3f}" for name, seconds in spent.items()))
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{total / asked.models:.3f} CPU seconds a model, {total:.1f} in all; peak memory {memory_mb:.0f} MB"
    )


if __name__ == "__main__":
    main()
