"""Coverage of four intervals for E2 and E3, which rest on 11 crisis and 36 calm dates.

    python benchmarks/interval.py [--replicates 2000] [--draws 1000]

Every replicate draws a bearish propensity for each date (a mean, an effect of its set, a random departure of
the date shared by both arms and one of its own) and then 16 sketches a side. The target is the contrast of
the mean propensities over the population of dates. In E3 the departures belong to the answers: an answer
stands under its true and under its false date. Printed: coverage, its Monte Carlo error, and the mean width.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from anachron.stats.bootstrap import date_weights
from anachron.stats.gaps import Contrast, contrast
from anachron.stats.intervals import linearised_t
from anachron.suites import load_protocol
from anachron.suites.hindsightbench.cells import grid_of

Floats = NDArray[np.float64]
Interval = tuple[float, float]

LEVEL = 0.95
SKETCHES = 16
PROTOCOL = Path(__file__).resolve().parents[1] / "config" / "protocols" / "bm1.yaml"
GRID = grid_of(load_protocol("hindsightbench", PROTOCOL))
SHIFT = 66
CRISIS, CALM = len(GRID.crisis), len(GRID.calm)


def propensity(generator: np.random.Generator, mean: Floats, spread: float) -> Floats:
    """Return propensities with standard deviation `spread` (Beta), so that they stay within 0 and 1."""
    if spread == 0:
        return mean
    size = mean * (1 - mean) / spread**2 - 1
    return generator.beta(mean * size, (1 - mean) * size)


def date_trigger(generator: np.random.Generator, effect: float, spread: float) -> tuple[Floats, Contrast]:
    """Return an E2-like sample: the differences D - M by date, and its contrast."""
    in_crisis = np.arange(CRISIS + CALM) < CRISIS
    shared = propensity(generator, np.full(CRISIS + CALM, 0.3), spread)
    dated = propensity(generator, np.clip(shared + effect * in_crisis, 0.05, 0.95), spread / 2)
    masked = propensity(generator, np.clip(shared, 0.05, 0.95), spread / 2)
    counts = [generator.binomial(SKETCHES, chance).astype(float) for chance in (dated, masked)]
    total = np.full(CRISIS + CALM, float(SKETCHES))
    places = (np.arange(CRISIS), np.arange(CRISIS, CRISIS + CALM))
    rows = [
        (outer * inner, where, count[where], total[where])
        for outer, count in ((1.0, counts[0]), (-1.0, counts[1]))
        for inner, where in ((1.0, places[0]), (-1.0, places[1]))
    ]
    return (counts[0] - counts[1]) / SKETCHES, contrast(rows, CRISIS + CALM)


def transplant(generator: np.random.Generator, effect: float, spread: float) -> tuple[Floats, Contrast]:
    """Return an E3-like sample: the differences fake - true by label date, and its contrast by answer."""
    size = len(GRID.pre)
    fake = (np.arange(size) + SHIFT) % size
    mean = np.full(size, 0.3) + effect * np.isin(fake, GRID.crisis)
    counts = generator.binomial(SKETCHES, propensity(generator, mean, spread)).astype(float)
    origin = np.argsort(fake)
    total = np.full(size, float(SKETCHES))
    rows = [
        (outer * inner, where, counts[where], total[where])
        for outer, key in ((1.0, origin), (-1.0, np.arange(size)))
        for inner, where in ((1.0, key[GRID.crisis]), (-1.0, key[GRID.calm]))
    ]
    labels = GRID.contrasted
    return (counts[origin[labels]] - counts[labels]) / SKETCHES, contrast(rows, size)


def bootstrap_values(difference: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the contrast of every draw and its standard error in the draw; all dates weigh the same here."""
    value, variance = np.zeros(len(weights)), np.zeros(len(weights))
    for sign, start, size in ((1, 0, CRISIS), (-1, CRISIS, CALM)):
        part, weight = difference[start : start + size], weights[:, start : start + size]
        mean = weight @ part / size
        value += sign * mean
        variance += np.maximum(weight @ part**2 / size - mean**2, 0) / (size - 1)
    return value, np.sqrt(variance)


def percentile(difference: Floats, weights: Floats) -> Interval:
    """Return the percentile interval."""
    low, high = np.percentile(bootstrap_values(difference, weights)[0], [2.5, 97.5])
    return float(low), float(high)


def bca(difference: Floats, weights: Floats) -> Interval:
    """Return the BCa interval (Efron 1987), its acceleration from linearised contributions."""
    values, _ = bootstrap_values(difference, weights)
    estimate = bootstrap_values(difference, np.ones((1, len(difference))))[0][0]
    parts = (difference[:CRISIS], difference[CRISIS:])
    contribution = np.concatenate(
        [(parts[0] - parts[0].mean()) / CRISIS, -(parts[1] - parts[1].mean()) / CALM]
    )
    spread = float((contribution**2).sum())
    acceleration = float((contribution**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    normal = NormalDist()
    below = float(np.mean(values < estimate) + np.mean(values == estimate) / 2)
    bias = normal.inv_cdf(min(max(below, 1 / len(values)), 1 - 1 / len(values)))
    ends = []
    for z in (normal.inv_cdf((1 - LEVEL) / 2), normal.inv_cdf((1 + LEVEL) / 2)):
        ends.append(normal.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))))
    low, high = np.quantile(values, ends)
    return float(low), float(high)


def studentised(difference: Floats, weights: Floats) -> Interval:
    """Return the bootstrap-t interval; draws whose standard error is zero are dropped."""
    values, errors = bootstrap_values(difference, weights)
    estimate, error = (part[0] for part in bootstrap_values(difference, np.ones((1, len(difference)))))
    usable = errors > 0
    if error == 0 or not usable.any():
        return float(estimate), float(estimate)
    low, high = np.quantile((values[usable] - estimate) / errors[usable], [0.025, 0.975])
    return float(estimate - high * error), float(estimate - low * error)


SAMPLES = {"E2": date_trigger, "E3": transplant}
SETTINGS = ((0.0, 0.0), (0.0, 0.1), (0.3, 0.1), (0.3, 0.2))
BOOTSTRAPS: dict[str, Callable[[Floats, Floats], Interval]] = {
    "percentile": percentile,
    "BCa": bca,
    "studentised": studentised,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    weights = date_weights((CRISIS, CALM), options.draws, 2026)
    print(f"{'':4}{'effect':>7}{'spread':>8}  {'interval':<14}{'coverage':>9}{'± s.e.':>8}{'width':>8}")
    for name, sample in SAMPLES.items():
        for place, (effect, spread) in enumerate(SETTINGS):
            generator = np.random.default_rng([2026, len(name), place])
            truth = effect * (1 if name == "E2" else 1 - expected_overlap())
            found: dict[str, list[Interval]] = {method: [] for method in (*BOOTSTRAPS, "linearised t")}
            for _ in range(options.replicates):
                difference, of = sample(generator, effect, spread)
                for method, rule in BOOTSTRAPS.items():
                    found[method].append(rule(difference, weights))
                found["linearised t"].append(linearised_t(of, LEVEL) or (math.nan, math.nan))
            for method, intervals in found.items():
                ends = np.array(intervals)
                hit = float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
                error = math.sqrt(hit * (1 - hit) / options.replicates)
                width = float(np.mean(ends[:, 1] - ends[:, 0]))
                print(f"{name:4}{effect:7.2f}{spread:8.2f}  {method:<14}{hit:9.3f}{error:8.3f}{width:8.3f}")


def expected_overlap() -> float:
    """Return the share of the effect that the true keying sees: its dates, too, are shown as crisis dates."""
    shown = np.isin((np.arange(len(GRID.pre)) + SHIFT) % len(GRID.pre), GRID.crisis)
    return float(shown[GRID.crisis].mean() - shown[GRID.calm].mean())


if __name__ == "__main__":
    main()
