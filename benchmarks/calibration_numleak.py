"""Calibration of the suite `numleak` on planted respondents: bias, coverage of intervals, and who is taken for whom.

    python benchmarks/calibration_numleak.py [--replicates 1000] [--only NAME] [--draws 500]

A replicate redraws what a respondent recalls, invents, declines and breaks off, on the generated factors of the
snapshot, and goes the whole way: requests, answers as text, parser, estimates. Months and true values stay. The truth
is `planted_truth`. Bias is in standard deviations of the estimate; every figure stands beside its Monte Carlo error.
About a tenth of a CPU second a replicate.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anachron import frames
from anachron.config import Sources
from anachron.stats import calibration
from anachron.suites import load_protocol
from anachron.suites.numleak import ask, estimate, items, naming, parse, planted
from anachron.suites.numleak.planted_parameters import Parameters
from anachron.suites.numleak.protocol import Protocol

ROOT = Path(__file__).resolve().parents[1]
FORM = {"refusal": 0.05, "truncation": 0.03, "fabrication": 0.6}
SMB = {"knows": "value", "error_bp": {"1926-07": 150}}

RESPONDENTS: dict[str, dict[str, Any]] = {
    "recites": {
        "series": {"Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 25, "2010-01": 10}}, "SMB": SMB},
        "ranks": "coin",
        "signal_truth": 0.0,
        "signal_recall": 0.05,
        "signal_noise": 0.15,
        **FORM,
    },
    "knows roughly": {
        "series": {"Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 200}}, "SMB": SMB},
        "signal_truth": 0.02,
        "signal_recall": 0.02,
        "signal_noise": 0.15,
        **FORM,
    },
    "knows the sign": {"series": {"Mkt-RF": {"knows": "sign"}}, "signal_truth": 0.03, **FORM},
    "knows the mean": {"series": {"Mkt-RF": {"knows": "mean"}}, "signal_truth": 0.03, **FORM},
    "invents": {"series": {"Mkt-RF": {"knows": "nothing"}}, "signal_truth": 0.03, **FORM},
}
ARMS = (naming.VALUE, naming.RANK_FORCED, naming.FABRICATED, naming.SIGNAL)
SERIES = ("Mkt-RF", "SMB", "HML")
KINDS = {
    "recites": "recites",
    "knows the sign": "sign alone",
    "knows the mean": "flat",
    "invents": "none of these",
}
METRICS = (
    *(
        f"value.{series}.{name}"
        for series in ("Mkt-RF", "SMB")
        for name in ("parse", "truncated", "r", "mae", "w25", "w25_asked", "sign")
    ),
    *("value.Mkt-RF.slope", "value.Mkt-RF.selectivity", "fabricated.commit"),
    *(f"rank-forced.Mkt-RF.{name}" for name in ("accuracy", "implied")),
    *(f"signal.{name}" for name in ("beta_truth", "beta_recall", "recall_r", "truth_r")),
    *(f"signal.{name}" for name in ("leak_share", "leak_share.null", "partial", "alpha_max")),
)
BATCH = 25
"""Replicates parsed together."""
BIAS_ALLOWED = 0.25
NULL_ALLOWED = 0.03
"""A null that is simulated hardly varies: what counts is how far off it is."""
TOLD_APART = 0.95


def setting(draws: int) -> tuple[Protocol, pd.DataFrame]:
    """Return the protocol on three generated factors, with few draws a replicate, and its items."""
    shipped = load_protocol("numleak", ROOT / "config/protocols/numleak-generated.yaml")
    rule = shipped.bootstrap.model_copy(update={"draws": draws, "permutations": 100})
    asked = [entry for entry in shipped.series if entry.id in SERIES]
    protocol: Protocol = shipped.model_copy(update={"bootstrap": rule, "series": asked})
    return protocol, items.build(
        protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months
    )


def replicate(
    who: Parameters, protocol: Protocol, known: pd.DataFrame, replicates: int
) -> tuple[dict[str, np.ndarray], Counter[str]]:
    """Return value, lower and upper end of every metric by replicate, shape (replicates, 3), and the kinds found."""
    memory = items.memory(known)
    true = {item: value for item, value in memory.items() if value is not None}
    parts = [ask.build(protocol, known, arm, items.names(known)) for arm in ARMS]
    requests = pd.concat(parts, ignore_index=True)
    requests = requests.sort_values(["arm", "item", "rep"], ignore_index=True)
    asked = requests.to_dict("records")
    form = transcripts(requests)
    found = {metric: np.full((replicates, 3), np.nan) for metric in METRICS}
    kinds: Counter[str] = Counter()
    for first in range(0, replicates, BATCH):
        numbers = range(first, min(first + BATCH, replicates))
        spoken = [said(who, number, asked, protocol, memory, form) for number in numbers]
        answers = parse.parse(pd.concat(spoken, ignore_index=True), protocol)
        for number, part in answers.groupby("duplicate", sort=False):
            estimates = estimate.score(part.reset_index(drop=True), true, protocol, "anachron")
            made = {one.metric: one for one in estimates}
            for metric in METRICS:
                if metric in made and all(gate.passed for gate in made[metric].gates):
                    interval, value = made[metric].interval, made[metric].value
                    ends = (interval.low, interval.high) if interval else (np.nan, np.nan)
                    found[metric][int(str(number))] = [np.nan if value is None else value, *ends]
            kinds[kind({name: cell.value for name, cell in made.items()})] += 1
    return found, kinds


def said(
    who: Parameters,
    number: int,
    asked: list[Any],
    protocol: Protocol,
    memory: planted.Memory,
    form: pd.DataFrame,
) -> pd.DataFrame:
    """Return the transcripts of one replicate; its number tells it from the others."""
    one = who.model_copy(update={"seed": 10_000 + number})
    replies = [planted.respond(request, one, protocol, memory) for request in asked]
    ends = [reply.finish_reason for reply in replies]
    return form.assign(
        duplicate=number,
        text=[reply.text for reply in replies],
        finish_reason=ends,
        outcome=["truncated" if end == "length" else "answer" for end in ends],
    )


def kind(found: dict[str, Any]) -> str:
    """Return what the joint signature takes the answers for the market for."""
    for metric, name in (("memorised", "recites"), ("flat", "flat"), ("sign_only", "sign alone")):
        if found.get(f"value.Mkt-RF.{metric}"):
            return name
    return "none of these"


def transcripts(requests: pd.DataFrame) -> pd.DataFrame:
    """Return transcripts of requests, without their texts."""
    kept = requests[["suite", "arm", "item", "rep", "shown_date"]]
    frame = kept.assign(model="planted", provenance="planted", outcome="answer")
    frame["key"] = [f"{place:064d}" for place in range(len(frame))]
    missing = pd.Series([None] * len(frame), dtype="str")
    columns = list(frames.Transcripts.to_schema().columns)
    return frame.assign(**{name: missing for name in columns if name not in frame})[columns]


def report(name: str, found: dict[str, np.ndarray], truth: dict[str, float | str]) -> list[str]:
    """Print one line a metric, and return the misses."""
    misses = []
    for metric, values in found.items():
        true = truth.get(metric)
        defined = np.isfinite(values[:, 0])
        if true is None:
            print(f"  {metric:30s} truth none, defined in {defined.mean():.3f} of replicates")
            continue
        exact, spread = float(true), float(values[defined, 0].std())
        mean = float(values[defined, 0].mean()) if defined.any() else np.nan
        off, error = calibration_bias(values[defined, 0], exact)
        line = f"truth {exact:+.4f}, mean {mean:+.4f}, sd {spread:.4f}, bias {off:+.3f} ± {error:.3f} sd"
        if np.isfinite(values[:, 1]).any():
            held = calibration.coverage(values[:, 1], values[:, 2], exact)
            line += f", coverage {held.share:.3f} ± {held.error:.3f}"
        print(f"  {metric:30s} {line}")
        null = metric.endswith(".null") and abs(mean - exact) <= NULL_ALLOWED
        if abs(off) - 2 * error > BIAS_ALLOWED and not null:
            misses.append(f"{name}: {metric} bias {off:+.3f}")
    return misses


def calibration_bias(values: np.ndarray, exact: float) -> tuple[float, float]:
    """Return the bias in standard deviations and its Monte Carlo error; zero where nothing varies and all is exact."""
    spread, gap = float(values.std()), float(values.mean() - exact)
    if spread < 1e-9:
        return (0.0 if abs(gap) < 1e-6 else np.inf * np.sign(gap)), 0.0
    return gap / spread, 1 / np.sqrt(len(values))


def main() -> None:
    """Calibrate."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--replicates", type=int, default=1000)
    options.add_argument("--draws", type=int, default=500)
    options.add_argument("--only", choices=sorted(RESPONDENTS))
    given = options.parse_args()
    protocol, known = setting(given.draws)
    misses = []
    for name in [given.only] if given.only else RESPONDENTS:
        who = Parameters.model_validate({"seed": 1, **RESPONDENTS[name]})
        start = time.process_time()
        found, kinds = replicate(who, protocol, known, given.replicates)
        print(f"\n{name}")
        misses += report(name, found, planted.truth(who, protocol, items.memory(known)))
        print(
            "  taken for: "
            + ", ".join(f"{one} {count / given.replicates:.3f}" for one, count in kinds.most_common())
        )
        print(f"  {given.replicates} replicates, {time.process_time() - start:.0f} CPU seconds", flush=True)
        right = kinds[KINDS.get(name, "")] / given.replicates
        if name in KINDS and right < TOLD_APART:
            misses.append(f"{name}: taken for what it is in {right:.3f} of runs")
    print("\n" + ("\n".join(["Outside the bounds:", *misses]) if misses else "All within the bounds."))


if __name__ == "__main__":
    main()
