"""Calibration of the suite `hindsightbench` on planted respondents: bias of estimates, coverage of intervals.

    python benchmarks/calibration.py [--replicates 2000] [--only NAME]

Prints one block per respondent. A replicate redraws departures, known months, answer forms and answers: the
population that the intervals claim to cover. Dates, regimes and realised directions stay. Bias is in standard
errors of one estimate; every figure stands beside its Monte Carlo error. About two minutes of CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anachron.blocks import ordinal
from anachron.config import Registry, load
from anachron.stats import calibration
from anachron.stats.bootstrap import date_weights
from anachron.stats.gaps import Contrast, contrast, pooled_share
from anachron.stats.hac import newey_west
from anachron.stats.intervals import linearised_t
from anachron.suites import load_protocol
from anachron.suites.hindsightbench.planted import Parameters
from anachron.suites.hindsightbench.planted_counts import Replicates, simulate
from anachron.suites.hindsightbench.planted_truth import truth
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[1]
Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Rows = list[tuple[float, Places, str]]
"""A contrast of arms: sign, places of the dates, arm."""

BIAS_ALLOWED = 0.1
"""Standard errors of one estimate that a mean may be off."""
COVERAGE_AIMED = (0.93, 0.97)
CUTOFF_RATE = 0.95
"""Share of replicates whose cutoff must lie within one month of the planted one."""

MORE_RESPONDENTS = {
    "flat": {"bearish": {"base": 0.4}},
    "uneven": {
        "bearish": {
            "base": 0.4,
            "context": {"crisis": 0.1},
            "trigger": {"crisis": 0.15, "calm": -0.1},
            "revealed_crisis": -0.05,
            "unfamiliar": 0.06,
            "context_spread": 0.12,
            "date_spread": 0.13,
        },
        "recall": {"cutoff": "2025-06", "claim": 0.6, "claim_spread": 0.3, "ramp_months": 4, "knows": 0.5},
        "form": {"compliance": 0.8, "refusal": 0.05, "truncated": 0.05},
    },
}
"""Respondents beside those of config/models.yaml: one flat, one whose dates differ widely."""


def contrasts(protocol: Protocol) -> dict[str, Rows]:
    """Return the rows of E1, E2, E3, crisis dates first, by the places of the decision dates."""
    place = {date: number for number, date in enumerate(protocol.decision_dates)}
    fakes = protocol.fake_dates(protocol.shift.months)
    back = {fakes[date]: date for date in protocol.pre_dates}
    crisis, calm = (
        np.array([place[date] for date in dates]) for dates in (protocol.crisis_dates, protocol.calm_dates)
    )
    crisis_as, calm_as = (
        np.array([place[back[date]] for date in dates])
        for dates in (protocol.crisis_dates, protocol.calm_dates)
    )
    pair = [(1.0, crisis, "+"), (-1.0, calm, "+"), (-1.0, crisis, "-"), (1.0, calm, "-")]
    return {
        "E1": [(sign, where, {"+": "R", "-": "D"}[side]) for sign, where, side in pair],
        "E2": [(sign, where, {"+": "D", "-": "M"}[side]) for sign, where, side in pair],
        "E3": [(1.0, crisis_as, "W"), (-1.0, calm_as, "W"), (-1.0, crisis, "W"), (1.0, calm, "W")],
    }


def placebo_rows(protocol: Protocol, after: str | None = None) -> Rows:
    """Return the rows of P1: the calendar window, or the post dates after a month."""
    dates = [d for d in protocol.post_dates if d[:7] > after] if after else protocol.placebo_dates
    where = np.array([protocol.decision_dates.index(date) for date in dates])
    return [(1.0, where, "D"), (-1.0, where, "M")]


def values(drawn: Replicates, rows: Rows) -> Floats:
    """Return a contrast of every replicate, NaN where a side is empty."""
    return np.asarray(
        sum(
            sign
            * pooled_share(drawn.bearish[arm][:, where].sum(axis=1), drawn.total[arm][:, where].sum(axis=1))
            for sign, where, arm in rows
        )
    )


def as_contrast(drawn: Replicates, rows: Rows, replicate: int) -> Contrast:
    """Return one replicate's contrast as the statistics take it; a cluster is a decision date."""
    parts = [
        (sign, where, drawn.bearish[arm][replicate, where], drawn.total[arm][replicate, where])
        for sign, where, arm in rows
    ]
    return contrast(parts, len(drawn.dates))


def linearised(drawn: Replicates, rows: Rows, level: float) -> tuple[Floats, Floats]:
    """Return the ends of the `anachron` interval of every replicate, NaN where undefined."""
    replicates = len(drawn.up)
    ends = np.full((replicates, 2), np.nan)
    for replicate in range(replicates):
        found = linearised_t(as_contrast(drawn, rows, replicate), level)
        if found is not None:
            ends[replicate] = found
    return ends[:, 0], ends[:, 1]


def percentile(
    drawn: Replicates, rows: Rows, weights: Floats, level: float, chunk: int = 50
) -> tuple[Floats, Floats]:
    """Return the ends of the `bm1` interval of every replicate: percentiles over the rows of `weights`."""
    sizes = [len(where) for _, where, _ in rows]
    crisis = sizes[0]
    tail = 50 * (1 - level)
    ends = []
    for first in range(0, len(drawn.up), chunk):
        here = slice(first, first + chunk)
        drawn_values: Floats = np.zeros((len(weights), len(drawn.up[here])))
        for number, (sign, where, arm) in enumerate(rows):
            taken = weights[:, :crisis] if number % 2 == 0 else weights[:, crisis:]
            top = taken @ drawn.bearish[arm][here][:, where].T.astype(float)
            bottom = taken @ drawn.total[arm][here][:, where].T.astype(float)
            drawn_values += sign * pooled_share(top, bottom)
        ends.append(np.nanpercentile(drawn_values, [tail, 100 - tail], axis=0).T)
    stacked = np.concatenate(ends)
    return stacked[:, 0], stacked[:, 1]


def recall_values(drawn: Replicates, protocol: Protocol, world: Mapping[str, int]) -> dict[str, Floats]:
    """Return LAP.pre, LAP.post, cutoff (month number, NaN for none) and hit rate of every replicate."""
    lap = (drawn.up + drawn.down) / drawn.asked
    pre = len(protocol.pre_dates)
    above = lap > protocol.lap.threshold
    months = np.array([ordinal(date) for date in drawn.dates])
    last = np.where(above.any(axis=1), months[lap.shape[1] - 1 - above[:, ::-1].argmax(axis=1)], np.nan)
    realised = np.array([world.get(date, 0) for date in drawn.dates])[:pre]
    net = np.sign(drawn.up - drawn.down)[:, :pre] * (realised != 0)
    return {
        "LAP.pre": lap[:, :pre].mean(axis=1),
        "LAP.post": lap[:, pre:].mean(axis=1),
        "cutoff": last,
        "hit_rate": pooled_share(((net == realised) & (net != 0)).sum(axis=1), (net != 0).sum(axis=1)),
    }


def delta_values(drawn: Replicates, protocol: Protocol, world: Mapping[str, int]) -> Floats:
    """Return δ of every replicate, NaN where its design is short of rank."""
    pre = len(protocol.pre_dates)
    lap = ((drawn.up + drawn.down) / drawn.asked)[:, :pre]
    signal = np.sign(drawn.total["R"] - 2 * drawn.bearish["R"])[:, :pre]
    realised = np.array([world.get(date, 0) for date in drawn.dates])[:pre]
    found = np.full(len(lap), np.nan)
    for number in range(len(lap)):
        kept = (signal[number] != 0) & (realised != 0)
        s, recall = signal[number][kept].astype(float), lap[number][kept]
        design = np.stack([np.ones_like(s), s, recall, s * recall], axis=1)
        if len(s) <= protocol.gates.delta_min_n:
            continue
        fit = newey_west((s == realised[kept]).astype(float), design, protocol.gates.hac_lags)
        if fit.rank == design.shape[1]:
            found[number] = fit.coefficients[3]
    return found


def calibrate(
    name: str,
    parameters: Parameters,
    protocol: Protocol,
    world: Mapping[str, int],
    replicates: int,
    seed: int,
    say: Callable[[str], None] = print,
) -> list[str]:
    """Draw, estimate and print one respondent; return the figures that miss by more than chance explains.

    A figure misses when it lies outside its bound by more than three Monte Carlo errors.
    """
    drawn = simulate(parameters, protocol, world, replicates, seed)
    expected = truth(parameters, protocol, world)
    rows = contrasts(protocol)
    found = {metric: values(drawn, parts) for metric, parts in rows.items()}
    found["P1.calendar"] = values(drawn, placebo_rows(protocol))
    if "P1.relative" in expected:
        found["P1.relative"] = values(drawn, placebo_rows(protocol, str(expected["cutoff"])))
    found |= recall_values(drawn, protocol, world)
    if "delta" in expected:
        found["delta"] = delta_values(drawn, protocol, world)
    misses = []
    say(f"\n{name}: {replicates} replicates")
    say(f"  {'':12} {'truth':>9} {'mean':>9} {'SE':>8} {'bias/SE':>8} ± MC")
    for metric, estimates in found.items():
        if metric == "cutoff" or metric not in expected:
            continue
        bias = calibration.bias(estimates, float(expected[metric]))
        say(
            f"  {metric:12} {bias.truth:9.4f} {bias.mean:9.4f} {bias.spread:8.4f} {bias.in_errors:8.3f}"
            f" ± {bias.error:.3f}" + (f"  (defined: {bias.defined})" if bias.defined < replicates else "")
        )
        if abs(bias.in_errors) > BIAS_ALLOWED + 3 * bias.error:
            misses.append(f"{name} {metric}: bias {bias.in_errors:.3f} SE")
    if "cutoff" in expected:
        near = calibration.rate(np.abs(found["cutoff"] - ordinal(str(expected["cutoff"]))) <= 1)
        say(f"  cutoff {expected['cutoff']}: within one month in {near.share:.1%} ± {near.error:.1%}")
        if near.share < CUTOFF_RATE - 3 * near.error:
            misses.append(f"{name} cutoff: within one month in {near.share:.1%}")
    level, draws = protocol.bootstrap.level, protocol.bootstrap.draws
    sizes = (len(protocol.crisis_dates), len(protocol.calm_dates))
    weights = date_weights(sizes, 2 * draws, protocol.bootstrap.seed)
    streams = {"E1": weights[:draws], "E2": weights[:draws], "E3": weights[draws:]}
    ends = {
        (metric, kind): made
        for metric, parts in rows.items()
        for kind, made in (
            ("bm1", percentile(drawn, parts, streams[metric], level)),
            ("anachron", linearised(drawn, parts, level)),
        )
    }
    ends["P1.calendar", "anachron"] = linearised(drawn, placebo_rows(protocol), level)
    for (metric, kind), (low, high) in ends.items():
        held = calibration.coverage(low, high, float(expected[metric]))
        flagged = calibration.rate((low > 0) | (high < 0))
        say(
            f"  {metric:12} {kind:9} covers {held.share:6.1%} ± {held.error:.1%}, mean width "
            f"{np.nanmean(high - low):.3f}, excludes 0 in {flagged.share:6.1%} ± {flagged.error:.1%}"
        )
        low_aim, high_aim = COVERAGE_AIMED
        outside = held.share < low_aim - 3 * held.error or held.share > high_aim + 3 * held.error
        if kind == "anachron" and outside:
            misses.append(f"{name} {metric}: the interval covers {held.share:.1%}")
    return misses


def respondents() -> dict[str, Parameters]:
    """Return the respondents of config/models.yaml and `MORE_RESPONDENTS`."""
    registry = load(Registry, ROOT / "config/models.yaml")
    listed = {
        entry.name: entry.planted["hindsightbench"]
        for entry in registry.models
        if "hindsightbench" in entry.planted
    }
    return {name: Parameters.model_validate(part) for name, part in (listed | MORE_RESPONDENTS).items()}


def planted_world(protocol: Protocol) -> dict[str, int]:
    """Return realised directions for calibration: up in 63 % of months, fixed; estimators only see signs."""
    draws = np.random.default_rng(63).random(len(protocol.months))
    return {date: 1 if draw < 0.63 else -1 for date, draw in zip(protocol.decision_dates, draws, strict=True)}


def main() -> None:
    """Calibrate every respondent; the exit code says whether anything misses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--only", help="one respondent")
    options = parser.parse_args()
    protocol = load_protocol("hindsightbench", ROOT / "config/protocols/bm1.yaml")
    known = respondents()
    if options.only and options.only not in known:
        parser.error(f"no respondent {options.only!r}; known: {', '.join(known)}")
    chosen = {options.only: known[options.only]} if options.only else known
    misses = []
    for number, (name, parameters) in enumerate(chosen.items()):
        misses += calibrate(
            name, parameters, protocol, planted_world(protocol), options.replicates, 2026 + number
        )
    print("\n" + ("misses:\n  " + "\n  ".join(misses) if misses else "every figure is within its bound"))
    raise SystemExit(1 if misses else 0)


if __name__ == "__main__":
    main()
