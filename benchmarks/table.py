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
from pathlib import Path

STARTED = time.process_time()

from anachron.memory import give_back, thrifty_memory  # noqa: E402
from anachron.suites import load_protocol  # noqa: E402
from anachron.suites.hindsightbench import artifact, estimate, parse  # noqa: E402
from anachron.suites.hindsightbench.protocol import ARMS  # noqa: E402

IMPORTED = time.process_time() - STARTED
PROTOCOL = Path(__file__).resolve().parents[1] / "config" / "protocols" / "bm1.yaml"
TARGET_CPU, TARGET_MB, TARGET_ANSWERS = 4.0, 250.0, 30_759
ROWS_AT_ONCE = 512
PHASES = ("read", "parse", "estimate", "baseline")


def main() -> None:
    """Print a line per model and the whole against the targets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with thrifty_memory():  # as a replay has it
        run(folder)


def run(folder: Path) -> None:
    """Take the models through the stages one after another."""
    protocol = load_protocol("hindsightbench", PROTOCOL)
    clock = Clock()
    panel = artifact.panel(folder, protocol)
    if panel is None:
        raise SystemExit(f"{folder}: holds no panel, so there is nothing to hold recall against")
    answers_read, started_mb = 0, peak_mb()
    print(f"{'model':<22}{'answers':>8}" + "".join(f"{phase:>10}" for phase in PHASES) + f"{'peak MB':>9}")
    models = artifact.each(folder, protocol)
    clock.lap("")
    while (model := next(models, None)) is not None:
        clock.last = dict.fromkeys(clock.last, 0.0)
        clock.lap("read")
        name, tier = model.name, artifact.tier(model.transcripts, protocol)
        answers = parse.parse(model.transcripts, protocol)
        clock.lap("parse")
        estimate.estimate(answers, panel, protocol, tier=tier)
        clock.lap("estimate")
        found = 0
        for start in range(0, len(model.transcripts), ROWS_AT_ONCE):  # the baseline must not raise the peak
            part = model.transcripts.iloc[start : start + ROWS_AT_ONCE]
            texts = part.loc[part["arm"].isin(ARMS), "text"].tolist()
            found += len(texts)
            clock.lap("")
            loads(texts)
            clock.lap("baseline")
        answers_read += found
        print(f"{name:<22}{found:>8}{clock.line(last=True)}{peak_mb():9.0f}")
        del model, answers, part, texts
        give_back()
        clock.lap("")
    spent, allowed = clock.total, TARGET_CPU * answers_read / TARGET_ANSWERS
    ours = spent["parse"] + spent["estimate"]
    print(f"{'all':<22}{answers_read:>8}{clock.line()}")
    print(
        f"parse and estimate: {ours:.2f} CPU-s, {ours / spent['baseline']:.1f} times the baseline; "
        f"target {allowed:.2f} for {answers_read} answers"
    )
    print(f"peak memory: {peak_mb():.0f} MB, {started_mb:.0f} before the first model; target {TARGET_MB:.0f}")
    print(f"starting Python and importing: {IMPORTED:.2f} CPU-s")


class Clock:
    """CPU seconds by phase: those of the model at hand, and in all."""

    def __init__(self) -> None:
        self.total = dict.fromkeys((*PHASES, ""), 0.0)
        self.last = dict(self.total)
        self._at = time.process_time()

    def lap(self, phase: str) -> None:
        """Count what has passed since the last call as `phase`; the empty name is not printed."""
        now = time.process_time()
        self.last[phase] += now - self._at
        self.total[phase] += now - self._at
        self._at = now

    def line(self, last: bool = False) -> str:
        """Return the phases as text."""
        return "".join(f"{(self.last if last else self.total)[phase]:10.2f}" for phase in PHASES)


def loads(texts: list[str | None]) -> int:
    """Read every answer as JSON, from its first bracket to its last, and nothing else; return how many could be."""
    read = 0
    for text in texts:
        try:
            body = text or ""
            json.loads(body[body.find("[") : body.rfind("]") + 1])
            read += 1
        except ValueError:
            continue
    return read


def peak_mb() -> float:
    """Return the peak resident memory of this process in megabytes (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
