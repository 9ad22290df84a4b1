"""CPU seconds and peak memory from published records to estimates, both scorings, intervals of E1 to E3 included.

    python benchmarks/table.py FOLDER

FOLDER is what `anachron import hindsightbench` takes. One process does one model after another, as a replay
does. CPU is quoted in seconds and as a multiple of a baseline of the same run: `json.loads` over the same answers.
The targets, 4 CPU-s and 250 MB for fifteen models with 30,759 answers, are taken pro rata of the answers found
(memory as it stands); reading the records, and starting Python and importing, are listed apart.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

STARTED = time.process_time()

from anachron.suites import load_protocol  # noqa: E402
from anachron.suites.hindsightbench import artifact, estimate, parse  # noqa: E402
from anachron.suites.hindsightbench.protocol import ARMS  # noqa: E402

IMPORTED = time.process_time() - STARTED
PROTOCOL = Path(__file__).resolve().parents[1] / "config" / "protocols" / "bm1.yaml"
TARGET_CPU, TARGET_MB, TARGET_ANSWERS = 4.0, 250.0, 30_759
PHASES = ("read", "parse", "estimate", "baseline")

T = TypeVar("T")


def main() -> None:
    """Print a line per model and the whole against the targets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    protocol = load_protocol("hindsightbench", PROTOCOL)
    spent = dict.fromkeys(PHASES, 0.0)

    def timed(phase: str, work: Callable[[], T]) -> T:
        started = time.process_time()
        result = work()
        spent[phase] += time.process_time() - started
        return result

    panel = timed("read", lambda: artifact.panel(options.folder, protocol))
    if panel is None:
        raise SystemExit(f"{options.folder}: holds no panel, so there is nothing to hold recall against")
    answers_read = 0
    started_mb = peak_mb()
    print(f"{'model':<22}{'answers':>8}" + "".join(f"{phase:>10}" for phase in PHASES) + f"{'peak MB':>9}")
    models = artifact.each(options.folder, protocol)
    while (model := timed("read", lambda: next(models, None))) is not None:
        before = {**spent, "read": spent["read"]}
        transcripts, name = model.transcripts, model.name
        tier = artifact.tier(transcripts, protocol)
        answers = timed("parse", lambda: parse.parse(transcripts, protocol))
        timed("estimate", lambda: estimate.estimate(answers, panel, protocol, tier=tier))
        texts = transcripts.loc[transcripts["arm"].isin(ARMS), "text"].tolist()
        timed("baseline", lambda: loads(texts))
        answers_read += len(texts)
        parts = "".join(f"{spent[phase] - before[phase]:10.2f}" for phase in PHASES[1:])
        print(f"{name:<22}{len(texts):>8}{'':>10}{parts}{peak_mb():9.0f}")
        del model, transcripts, answers, texts
    ours = spent["parse"] + spent["estimate"]
    allowed = TARGET_CPU * answers_read / TARGET_ANSWERS
    print(f"{'all':<22}{answers_read:>8}" + "".join(f"{spent[phase]:10.2f}" for phase in PHASES))
    print(
        f"parse and estimate: {ours:.2f} CPU-s, {ours / spent['baseline']:.1f} times the baseline; "
        f"target {allowed:.2f} for {answers_read} answers"
    )
    print(
        f"peak memory: {peak_mb():.0f} MB, {started_mb:.0f} of it before the first model; target {TARGET_MB:.0f}"
    )
    print(f"starting Python and importing: {IMPORTED:.2f} CPU-s")


def loads(texts: list[str | None]) -> int:
    """Read every answer as JSON and nothing else; return how many could be."""
    read = 0
    for text in texts:
        try:
            json.loads(text or "")
            read += 1
        except ValueError:
            continue
    return read


def peak_mb() -> float:
    """Return the peak resident memory of this process in megabytes (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
