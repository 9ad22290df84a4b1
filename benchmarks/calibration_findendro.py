"""Calibration of the suite `findendro` on planted respondents: bias, coverage of intervals, and where ends are put.

    python benchmarks/calibration_findendro.py [--replicates 2000] [--only NAME] [--draws 1000]

A replicate redraws what a respondent knows, claims, guesses and writes, on the complete generated facts of the
snapshot; facts, candidates and the order of options stay. The truth is exact (`planted_truth`). Bias is in standard
errors of one estimate; every figure stands beside its Monte Carlo error. About a quarter of a CPU second a replicate.
Four degenerate respondents follow, a tenth as often: the mean of each measure beside its truth, or how often which gate
leaves it undefined.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

from anachron.blocks import from_ordinal, ordinal
from anachron.config import Sources
from anachron.estimates import Estimate
from anachron.stats import calibration
from anachron.suites import load_protocol
from anachron.suites.findendro import items, measures
from anachron.suites.findendro.draws import Draws
from anachron.suites.findendro.estimate import measured
from anachron.suites.findendro.measures import Model
from anachron.suites.findendro.planted import Memory
from anachron.suites.findendro.planted_parameters import Parameters
from anachron.suites.findendro.planted_setting import behaviour, drawn, setting
from anachron.suites.findendro.planted_truth import Expectation, safeguards, truth
from anachron.suites.findendro.protocol import Protocol

ROOT = Path(__file__).resolve().parents[1]

RESPONDENTS = {
    "modest": {
        "seed": 1,
        "knowledge": {"1999-01": 0.6, "2010-01": 0.8, "2023-11": 0.0},
        "claims_known": {"1999-01": 0.55, "2023-11": 0.05},
        "claims_unknown": {"1999-01": 0.20, "2023-11": 0.02},
        "predict_claims": 0.9,
        "date_obedience": 0.9,
        "date_forgets": 0.1,
        "position_bias": 0.05,
        "form": {"refusal": 0.02, "no_letter": 0.01},
    },
    "boastful": {
        "seed": 2,
        "knowledge": {"1999-01": 0.5, "2015-01": 0.7, "2022-02": 0.0},
        "claims_known": {"1999-01": 0.8, "2023-11": 0.1},
        "claims_unknown": {"1999-01": 0.6, "2023-11": 0.05},
        "date_obedience": 0.5,
        "policy_guess": "unchanged",
    },
    "ignorant": {
        "seed": 3,
        "knowledge": {"1999-01": 0.0},
        "claims_known": {"1999-01": 0.4},
        "claims_unknown": {"1999-01": 0.4, "2024-02": 0.02},
        "position_bias": 0.05,
    },
}
"""Ends lie in the middle of a quarter: at its edge the rolling mean stands at the threshold itself."""

NEVER, ALWAYS = {"1999-01": 0.0}, {"1999-01": 1.0}
DEGENERATE = {
    "repeats last month": {"seed": 4, "knowledge": NEVER, "numeric_guess": "persistence"},
    "always unchanged": {"seed": 5, "knowledge": NEVER, "policy_guess": "unchanged"},
    "knows all, denies all": {"seed": 6, "knowledge": ALWAYS},
    "always the first option": {"seed": 7, "knowledge": ALWAYS, "position_bias": 1.0},
}
"""All claim nothing."""
SHOWN = (
    "knows",
    "knows.macro",
    "knows.stock",
    "knows.policy",
    "says",
    "gap",
    "knowledge_end",
    "claims_end",
    "position.value",
)

ENDS = ("knowledge_end", "claims_end")
APART = "claims_minus_knowledge"
BESIDE_AN_END = ("filter.", "backtest.")
BIAS_ALLOWED = 0.1
COVERAGE_AIMED = (0.93, 0.97)
FALSE_ENDS = 0.05
"""Share of replicates in which an end may be located where there is none: the level of the gate that holds it."""


def complete() -> tuple[Protocol, Memory]:
    """Return the protocol on generated facts, and what a respondent may know of them."""
    loaded = load_protocol("findendro", ROOT / "config/protocols/findendro.yaml")
    protocol: Protocol = loaded.model_copy(update={"facts": "synthetic"})
    sources = Sources(snapshot=str(ROOT / "resources/snapshot"))
    return protocol, items.memory(items.build(protocol, sources, protocol.months))


def replicate(
    who: Parameters, protocol: Protocol, memory: Memory, replicates: int, draws: int, metrics: list[str]
) -> dict[str, np.ndarray]:
    """Return value, lower and upper end of every metric by replicate, shape (replicates, 3); months as ordinals.

    What is inside and after an end is held against what is true inside and after the end that was estimated: it is
    shifted by how much that differs from what is true at the true end.
    """
    here = setting(protocol, memory)
    acts = behaviour(who, here)
    rule = Draws(len(here.grid), protocol.bootstrap.model_copy(update={"draws": draws}))
    generator = np.random.default_rng(who.seed)
    expected = Expectation(who, here, acts)
    known, inside = truth(who, protocol, memory), dict[str, dict[str, float | str]]()
    found = {metric: np.full((replicates, 3), np.nan) for metric in metrics}
    for number in range(replicates):
        estimates, *_ = measured(Model(here.grid, drawn(who, here, acts, generator), rule, protocol))
        passed = {one.metric: one for one in estimates if all(gate.passed for gate in one.gates)}
        located = passed["knowledge_end"].value if "knowledge_end" in passed else None
        for metric in found.keys() & passed.keys():
            shift = 0.0
            if metric.startswith(BESIDE_AN_END) and isinstance(located, str):
                if located not in inside:
                    inside[located] = safeguards(expected, located)
                shift = float(known.get(metric, np.nan)) - float(inside[located].get(metric, np.nan))
            found[metric][number] = np.array(numbers(passed[metric])) + shift
    return found


def numbers(estimate: Estimate) -> tuple[float, float, float]:
    """Return an estimate and its interval as numbers."""
    ends = (estimate.interval.low, estimate.interval.high) if estimate.interval else (None, None)
    value, low, high = (_number(one) for one in (estimate.value, *ends))
    return value, low, high


def _number(value: float | str | None) -> float:
    if value is None:
        return float("nan")
    return float(ordinal(value)) if isinstance(value, str) else float(value)


def report(name: str, found: dict[str, np.ndarray], known: dict[str, float | str]) -> list[str]:
    """Print one line a metric, and return the misses."""
    misses = []
    print(f"\n{name}")
    for metric, values in found.items():
        true = known.get(metric)
        if true is None:
            share = float(np.isfinite(values[:, 0]).mean())
            print(f"  {metric:36s} truth none, defined in {share:.3f} of replicates")
            continue
        exact = _number(true)
        held = calibration.coverage(values[:, 1], values[:, 2], exact)
        text = f"coverage {held.share:.3f} ± {held.error:.3f}"
        if isinstance(true, str) or metric == APART:
            near = calibration.rate(np.abs(values[:, 0] - exact) <= 3)
            print(
                f"  {metric:36s} truth {true}, within one quarter {near.share:.3f} ± {near.error:.3f}, {text}"
            )
            if metric in ENDS and near.share + 2 * near.error < 0.95:
                misses.append(f"{name}: {metric} within one quarter {near.share:.3f}")
            continue
        off = calibration.bias(values[:, 0], exact)
        line = f"mean {off.mean:.4f}, bias {off.in_errors:+.3f} ± {off.error:.3f} errors, {text}"
        print(f"  {metric:36s} truth {exact:.4f}, {line}, defined {off.defined}/{off.replicates}")
        if abs(off.in_errors) - 2 * off.error > BIAS_ALLOWED:
            misses.append(f"{name}: {metric} bias {off.in_errors:+.3f}")
        low, high = COVERAGE_AIMED
        if held.share + 2 * held.error < low or held.share - 2 * held.error > high:
            misses.append(f"{name}: {metric} coverage {held.share:.3f}")
    return misses


def degenerate(who: Parameters, protocol: Protocol, memory: Memory, replicates: int) -> list[str]:
    """Print what is found of a degenerate respondent; return metrics that differ from their truth."""
    here = setting(protocol, memory)
    acts = behaviour(who, here)
    rule = Draws(len(here.grid), protocol.bootstrap.model_copy(update={"draws": 100}))
    generator = np.random.default_rng(who.seed)
    known = truth(who, protocol, memory)
    values: dict[str, list[float]] = {metric: [] for metric in SHOWN}
    gates: dict[str, Counter[str]] = {metric: Counter() for metric in SHOWN}
    for _ in range(replicates):
        model = Model(here.grid, drawn(who, here, acts, generator), rule, protocol)
        for one in (*measured(model)[0], *measures.families(model), *measures.position(model)):
            if one.metric in values:
                failed = [gate.mark for gate in one.gates if not gate.passed]
                gates[one.metric].update(failed[:1])
                values[one.metric] += [] if failed else [_number(one.value)]
    misses = []
    for metric in SHOWN:
        true = known.get(metric)
        exact = float("nan") if true is None else _number(true)
        located = calibration.rate(np.arange(replicates) < len(values[metric]))
        if metric in ENDS and true is None and located.share - 2 * located.error > FALSE_ENDS:
            misses.append(metric)
        error = float(np.std(values[metric]) / len(values[metric]) ** 0.5) if values[metric] else 0.0
        mean = float(np.mean(values[metric])) if values[metric] else float("nan")
        undefined = ", ".join(f"{mark} in {count / replicates:.3f}" for mark, count in gates[metric].items())
        shown = [
            from_ordinal(round(one)) if metric in ENDS and np.isfinite(one) else f"{one:.4f}"
            for one in (exact, mean)
        ]
        print(
            f"  {metric:16s} truth {shown[0]}, mean {shown[1]} ± {error:.4f}, undefined by {undefined or 'none'}"
        )
        if abs(mean - exact) > 3 * error + 1e-9:
            misses.append(metric)
    return misses


def main() -> None:
    """Calibrate."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--replicates", type=int, default=2000)
    options.add_argument("--draws", type=int, default=1000)
    options.add_argument("--only", choices=[*RESPONDENTS, *DEGENERATE])
    asked = options.parse_args()
    protocol, memory = complete()
    misses = []
    named = [asked.only] if asked.only else [*RESPONDENTS, *DEGENERATE]
    for name in [one for one in RESPONDENTS if one in named]:
        who = Parameters.model_validate(RESPONDENTS[name])
        known = truth(who, protocol, memory)
        skipped = ("knows.", "says.", "difference.", "baseline.", "self_report")
        kept = ("says.predict", "says.dated", "says.change")
        metrics = [one for one in known if one in kept or not one.startswith(skipped)]
        start = time.process_time()
        found = replicate(who, protocol, memory, asked.replicates, asked.draws, sorted({*metrics, *ENDS}))
        spent = time.process_time() - start
        misses += report(name, found, known)
        print(f"  {asked.replicates} replicates, {spent:.0f} CPU seconds", flush=True)
    for name in [one for one in DEGENERATE if one in named]:
        print(f"\n{name}")
        who = Parameters.model_validate({"claims_known": NEVER, "claims_unknown": NEVER, **DEGENERATE[name]})
        found_off = degenerate(who, protocol, memory, max(1, asked.replicates // 10))
        misses += [f"{name}: {metric}" for metric in found_off]
    print("\n" + ("\n".join(["Outside the bounds:", *misses]) if misses else "All within the bounds."))


if __name__ == "__main__":
    main()
