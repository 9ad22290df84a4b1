"""What the estimators of leakage find where the leakage is planted: the paper's study T1 to T6, and size and power.

    python benchmarks/leakage_synthetic.py [study|size] [--replicates 400] [--seed 20260101]

`study` runs the synthetic study of the paper's appendix E.1 at its numbers of replicates and prints every published
figure beside the measured one and their distance in Monte Carlo standard errors; it exits with an error when one
lies further than three. The error is that of the difference of two studies: the paper's, whose replicates it states,
and this one. About ten CPU seconds. `size` asks how often each test fires without leakage, recency present, and with
it; about fifteen CPU minutes at 400 replicates. Both print Markdown, as in docs/reference/leakage-validation.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from anachron.stats import calibration, extraction, local_linear, power, prc, rd, synthetic
from anachron.stats.cluster import gap
from anachron.stats.did import did
from anachron.stats.gaps import Floats
from anachron.stats.permutation import cluster_shuffle, date_shuffle, reassignments
from anachron.stats.recalibrate import expit, logit

# Published figures: the paper's appendix E.1 to E.3, to the digits of its records where they have more.
T1 = {
    0.0: (0.0, 0.9433),
    0.2: (0.037647, 0.9733),
    0.4: (0.066928, 0.99),
    0.7: (0.095163, 0.9967),
    1.0: (0.104574, 0.9967),
}
T1_BIAS = -0.00087269
T2 = {0.0: 0.00012479, 0.3: 0.0394954, 0.6: 0.0649705}
T2_PLACEBO = -6.14e-05
T3 = {
    0.0: (-0.0012578, -0.0015284),
    0.25: (0.0385331, 0.0905852),
    0.5: (0.0520064, 0.1563806),
    0.75: (0.0391621, 0.1958579),
    1.0: (0.0, 0.209017),
}
T4_NAIVE = {2.0: 0.0222, 4.0: 0.0552, 8.0: 0.0853}
T4_ANCHORS = (100, 250, 500, 1000, 2000, 5000)
T5 = {0.25: (-0.0028564, 0.3367), 0.5: (-0.0122754, 0.0467), 1.0: (-0.0437841, 0.0)}
T6 = (0.0175158, 0.0407551, 0.0832601, 0.1735698)
T6_PREDICTED = (0.0175184, 0.0407461, 0.0832243, 0.1736876)
FURTHEST = 3.0


class Line(NamedTuple):
    """One published figure beside the measured one."""

    arm: str
    figure: str
    published: float
    measured: float
    error: float

    @property
    def distance(self) -> float:
        off = self.measured - self.published
        return 0.0 if abs(off) < 1e-12 else off / self.error if self.error > 0 else math.inf


def line(arm: str, figure: str, published: float, values: Floats, replicates: int) -> Line:
    """Return a line; both studies have the spread of `values`, the paper's over `replicates` of its own."""
    spread = float(np.std(values, ddof=1))
    return Line(
        arm, figure, published, float(np.mean(values)), spread * math.sqrt(1 / len(values) + 1 / replicates)
    )


def share(arm: str, figure: str, published: float, flags: np.ndarray, replicates: int) -> Line:
    """Return a line for a share; the error is binomial, shrunk so that a share of 1 has one too."""
    found = calibration.rate(flags)
    return Line(arm, figure, published, found.share, found.error * math.sqrt(1 + len(flags) / replicates))


def published(seed: int) -> Iterator[Line]:
    """Yield every figure that the paper prints."""
    for w, found in synthetic.recovery(seed, tuple(T1)).items():
        inside = (found.low <= found.own) & (found.own <= found.high)
        yield line("T1", f"B, w = {w}", T1[w][0], found.own, 300)
        yield line("T1", f"bias, w = {w}", T1_BIAS, found.estimate - found.own, 300)
        yield share("T1", f"coverage of the sample's B, w = {w}", T1[w][1], inside, 300)
    for w, jump in T2.items():
        yield line("T2", f"jump, w = {w}", jump, synthetic.jumps(seed + 1, w), 300)
    yield line("T2", "placebo jump", T2_PLACEBO, synthetic.jumps(seed + 2, 0.0), 300)
    for w, (covariance, score) in T3.items():
        found = synthetic.complementarity(seed + 3, w)
        yield line("T3", f"PRC, w = {w}", covariance, found.covariance, 1)
        yield line("T3", f"L, w = {w}", score, found.score, 1)
    for factor, off in T4_NAIVE.items():
        yield line(
            "T4", f"naive error, T = {factor:g}", off, synthetic.overconfidence(seed + 4, factor, None), 200
        )
    for spread, (mean, positive) in T5.items():
        found = synthetic.no_free_inflation(seed + 5, spread)
        yield line("T5", f"estimate, noise {spread}", mean, found, 300)
        yield share("T5", f"share above zero, noise {spread}", positive, found > 0, 300)
    observed, predicted = synthetic.concentration(seed + 6)
    for place in range(4):
        yield line("T6", f"estimate, quartile {place + 1}", T6[place], observed[:, place], 300)
        yield line("T6", f"prediction, quartile {place + 1}", T6_PREDICTED[place], predicted[:, place], 300)


def study(seed: int) -> bool:
    """Print the study; return whether every figure lies near enough."""
    print("| arm | figure | published | measured | MC error | distance |\n|---|---|---|---|---|---|")
    far = []
    for one in published(seed):
        print(
            f"| {one.arm} | {one.figure} | {one.published:+.4f} | {one.measured:+.4f} | {one.error:.4f} "
            f"| {one.distance:+.1f} |"
        )
        if abs(one.distance) > FURTHEST:
            far.append(one)
    print("\nT1, coverage of the population's B:\n\n| w | B | coverage | MC error |\n|---|---|---|---|")
    for w, found in synthetic.recovery(seed, tuple(T1)).items():
        truth = synthetic.population_inflation(seed + 7, w)
        held = calibration.coverage(found.low, found.high, truth)
        print(f"| {w} | {truth:.4f} | {held.share:.3f} | {held.error:.3f} |")
    print(
        "\nT3, with the finite-K term:\n\n| w | PRC | MC error | w (1 - w) E[c (1 - c)] |\n|---|---|---|---|"
    )
    for w in T3:
        found = synthetic.complementarity(seed + 3, w).corrected
        print(
            f"| {w} | {found.mean():+.4f} | {found.std(ddof=1) / math.sqrt(len(found)):.4f} "
            f"| {w * (1 - w) * (0.25 - 0.7**2 / 12):+.4f} |"
        )
    print("\nT4, after calibration:\n\n| T | anchors | mean error | MC error | mean absolute error | RMSE |")
    print("|---|---|---|---|---|---|")
    for factor in (1.0, *T4_NAIVE):
        for anchors in T4_ANCHORS:
            off = synthetic.overconfidence(seed + 4, factor, anchors)
            error = off.std(ddof=1) / math.sqrt(len(off))
            print(
                f"| {factor:g} | {anchors} | {off.mean():+.4f} | {error:.4f} | {np.abs(off).mean():.4f} "
                f"| {math.sqrt(np.mean(off**2)):.4f} |"
            )
            limit = {100: 0.008, 5000: 0.001}.get(anchors)
            if limit is not None and abs(off.mean()) > limit + FURTHEST * error:
                far.append(Line("T4", f"T = {factor:g}, {anchors} anchors", limit, float(off.mean()), error))
    for one in far:
        print(f"\nfurther than {FURTHEST:g} errors: {one}")
    return not far


def size(seed: int, replicates: int) -> None:
    """Print how often each test fires."""
    print("| test | panel | fires | MC error | mean estimate |\n|---|---|---|---|---|")
    for arm, panels, run in (*_jumps(), *_gaps(), *_laws(), *_powers()):
        _print(arm, panels, run, seed, replicates)
    for weight in (0.0, 0.2, 0.5, 1.0):
        _covariances(weight, seed, max(50, replicates // 2))


Run = Callable[[np.random.Generator], tuple[float, bool]]


def _print(arm: str, panels: str, run: Run, seed: int, replicates: int) -> None:
    started = time.process_time()
    generator = np.random.default_rng(seed)
    found = [run(generator) for _ in range(replicates)]
    rate = calibration.rate(np.array([fires for _, fires in found]))
    mean = float(np.nanmean([value for value, _ in found]))
    print(f"| {arm} | {panels} | {rate.share:.3f} | {rate.error:.3f} | {mean:+.4f} |", flush=True)
    print(f"{arm}, {panels}: {time.process_time() - started:.0f} CPU s", file=sys.stderr)


def _jumps() -> Iterator[tuple[str, str, Run]]:
    def jump(clustered: bool, errors: str = "cr3", **options: float) -> Run:
        def run(generator: np.random.Generator) -> tuple[float, bool]:
            drawn = synthetic.panel(generator, **options)
            rd.CLUSTER_ERRORS = errors
            found = rd.jump(drawn.days, drawn.score, drawn.cluster if clustered else None)
            return math.nan if found.estimate is None else found.estimate, found.starred

        return run

    def line_only(generator: np.random.Generator) -> tuple[float, bool]:
        drawn = synthetic.panel(generator)
        found = local_linear.local_linear(drawn.days, drawn.score, 90)
        return found.estimate, abs(found.estimate) > 1.959964 * found.error

    yield "RD", "no leakage, recency", jump(False)
    yield "RD", "no leakage, recency and drift", jump(False, drift=0.3)
    yield "RD", "no leakage, 500 questions", jump(False, n=500)
    yield "RD", "w = 0.3", jump(False, weight=0.3)
    yield "RD", "w = 0.6", jump(False, weight=0.6)
    yield "RD, 500 questions", "w = 0.6", jump(False, weight=0.6, n=500)
    for errors in ("cr1", "cr2", "cr3"):
        shared = f"RD clustered, {errors.upper()}"
        yield shared, "no leakage, clusters share luck", jump(True, errors, cluster_spread=0.2)
        yield (
            shared,
            "the same, half as many clusters",
            jump(True, errors, cluster_spread=0.2, days_a_cluster=14),
        )
    yield "RD, clusters ignored", "no leakage, clusters share luck", jump(False, cluster_spread=0.2)
    yield "RD clustered, CR3", "w = 0.6, clusters share luck", jump(True, weight=0.6, cluster_spread=0.2)
    yield "local line of 90 days, uncorrected", "no leakage, recency", line_only


def _gaps() -> Iterator[tuple[str, str, Run]]:
    def naive(**options: float) -> Run:
        def run(generator: np.random.Generator) -> tuple[float, bool]:
            drawn = synthetic.panel(generator, **options)
            found = gap(drawn.score, drawn.days < 0, drawn.cluster, draws=1000)
            return float(found.estimate or 0), found.starred

        return run

    def against(kind: str, weight: float, shuffled: str = "", luck: float = 0.1) -> Run:
        def run(generator: np.random.Generator) -> tuple[float, bool]:
            drawn = synthetic.panel(generator, weight=weight, drift=0.3, cluster_spread=luck)
            skill = {"matched": synthetic.recency(drawn.days) - 0.3 * drawn.days / 360, "weak": 0.05}[kind]
            honest = drawn.crowd + skill * (drawn.outcome - drawn.crowd)
            forecast = synthetic.held(honest + generator.normal(0, synthetic.NOISE, len(honest)))
            control = synthetic.brier_reduction(drawn.crowd, forecast, drawn.outcome)
            difference, near = drawn.score - control, np.abs(drawn.days + 0.5) < 90
            if shuffled:
                found = (
                    date_shuffle(difference[near], drawn.days[near], [0], [0], 90, draws=400)
                    if shuffled == "questions"
                    else cluster_shuffle(
                        difference[near], drawn.days[near] < 0, drawn.cluster[near], draws=400
                    )
                )
                return float(found.statistic or 0), found.p is not None and found.p <= 0.05
            raw = did(drawn.score, control, drawn.days < 0, drawn.cluster, draws=1000).raw
            return float(raw.estimate or 0), raw.starred

        return run

    yield "naive gap", "no leakage, recency", naive()
    yield "naive gap", "no leakage, drift", naive(drift=0.3)
    yield "DiD, matched control", "no leakage, drift", against("matched", 0.0)
    yield "DiD, matched control", "w = 0.1, drift", against("matched", 0.1)
    yield "DiD, weak control", "no leakage, drift", against("weak", 0.0)
    for unit in ("questions", "clusters"):
        arm = f"dates of {unit} exchanged, matched control"
        yield arm, "no leakage, drift", against("matched", 0.0, unit, 0.0)
        yield arm, "no leakage, drift, clusters share luck", against("matched", 0.0, unit)
        yield arm, "w = 0.1, drift, clusters share luck", against("matched", 0.1, unit)
    for weight in (0.0, 0.1):
        panels = "no leakage, drift" if weight == 0 else f"w = {weight}, drift"
        yield "cutoffs of five models reassigned, all 120", panels, _reassigned(weight)


def _reassigned(weight: float) -> Run:
    """Return five models with cutoffs of their own on the same questions, against a clean control."""
    edges = np.array([-120, -60, 0, 60, 120])

    def run(generator: np.random.Generator) -> tuple[float, bool]:
        days = np.floor(generator.uniform(-240, 240, 2000))
        drawn = synthetic.questions(generator, (2000,), skill=0.4 - 0.2 * days / 480)
        columns = []
        for edge in (*edges, None):
            noisy = synthetic.held(drawn.honest + generator.normal(0, synthetic.NOISE, len(days)))
            leaked = 0.0 if edge is None else weight * (days < edge)
            forecast = synthetic.held(synthetic.pulled(noisy, drawn.outcome, leaked))
            columns.append(synthetic.brier_reduction(drawn.crowd, forecast, drawn.outcome))
        scores = np.stack(columns[:-1], axis=1) - columns[-1][:, None]
        before, after = (
            np.stack(
                [scores[(days >= edge + low) & (days < edge + low + 60)].mean(axis=0) for edge in edges],
                axis=1,
            )
            for low in (-60, 0)
        )
        jumps = before - after
        found = reassignments(jumps, np.arange(len(edges)))
        return float(found.statistic or 0), found.p is not None and found.p <= 0.05

    return run


def _laws() -> Iterator[tuple[str, str, Run]]:
    def misled(weight: float) -> Run:
        def run(generator: np.random.Generator) -> tuple[float, bool]:
            drawn = synthetic.panel(generator, n=600)
            noise = generator.normal(0, 0.1, 600)
            forecast = synthetic.held(synthetic.pulled(drawn.honest, drawn.outcome, weight) + noise)
            found = extraction.law(forecast, drawn.honest, drawn.outcome, drawn.cluster, draws=1000)
            return found.w.estimate, found.misleading.passed is False

        return run

    yield "misleading leakage (w < 0)", "w = 0", misled(0.0)
    yield "misleading leakage (w < 0)", "w = -0.05", misled(-0.05)


def _powers() -> Iterator[tuple[str, str, Run]]:
    def detectable(generator: np.random.Generator) -> tuple[float, bool]:
        # The effect that one panel says it can find is put into another of the same kind.
        first, second = (synthetic.panel(generator, n=600, cluster_spread=0.2) for _ in range(2))
        mde = power.of_gap(first.score, first.days < 0, first.cluster, replicates=200, draws=500).mde or 0.0
        found = gap(second.score + mde * (second.days < 0), second.days < 0, second.cluster, draws=500)
        return mde, found.low is not None and found.low > 0

    yield "gap with its own minimum detectable effect", "injected into a fresh panel", detectable


def _covariances(weight: float, seed: int, replicates: int) -> None:
    """Print the excess covariance of an overconfident model that answers five wordings in whole percent."""
    started = time.process_time()
    generator = np.random.default_rng(seed)
    fires: dict[str, list[bool]] = {}
    means: dict[str, list[float]] = {}
    for _ in range(replicates):
        drawn = synthetic.questions(generator, (600, 1), skill=0.0, noise=0.0)
        clean = np.arange(600) < 300
        wording = synthetic.held(drawn.crowd + generator.normal(0, 0.1, (600, 5)))
        w = np.where(clean, 0.0, weight)[:, None]
        stated = np.round(expit(2 * logit(synthetic.pulled(wording, drawn.outcome, w))), 2)
        cluster = generator.integers(0, 80, 600)
        found = prc.detect(stated, drawn.outcome[:, 0], clean, cluster, draws=500)
        for name, one in (*found.by_method.items(), ("without calibration", found.raw)):
            fires.setdefault(name, []).append(one.excess.verdict != 0)
            means.setdefault(name, []).append(one.excess.estimate)
        fires.setdefault("all agree: detected", []).append(bool(found.detected))
    for name, flags in fires.items():
        rate = calibration.rate(np.array(flags))
        mean = f"{np.mean(means[name]):+.4f}" if name in means else "—"
        print(
            f"| PRC excess, {name} | w = {weight} | {rate.share:.3f} | {rate.error:.3f} | {mean} |",
            flush=True,
        )
    print(f"PRC, w = {weight}: {time.process_time() - started:.0f} CPU s", file=sys.stderr)


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=("study", "size"), default="study")
    parser.add_argument("--replicates", type=int, default=400, help="panels of each row of `size`")
    parser.add_argument("--seed", type=int, default=20260101)
    choice = parser.parse_args()
    if choice.part == "size":
        size(choice.seed, choice.replicates)
    elif not study(choice.seed):
        sys.exit(1)


if __name__ == "__main__":
    main()
