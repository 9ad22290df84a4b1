"""Transmission: whether a date-only signal follows the truth, the model's own recall, or both.

LeakShare compares what is left of the signal's correlation with the truth once the model's recall is taken out. It
is near one whenever recall is near the truth, also for a signal that never saw the recall: the truth-only null says
so beside it. Source: NumLeak §6, appendices L to N; the suite's specification, "Metrics".
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from anachron.estimates import Estimate, Gate, Interval
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import SCORED, Floats, correlation, correlations, slope

NULL_DRAWS = 2000
UNINFORMATIVE = 0.1
"""A LeakShare within this of its truth-only null says nothing."""
FLOOR = -1.0
"""Lower values of a simulated LeakShare count as this."""
ERAS = {
    naming.SIGNAL: (naming.VALUE, f"{naming.LABEL}mktrf", naming.PANELS),
    naming.SIGNAL_ANCIENT: (naming.ANCIENT,),
}
"""Arms of the signal, and the arms whose values are its recall: the first that has the month."""


def transmission(
    answers: pd.DataFrame, truth: dict[str, float], protocol: Protocol, scoring: str
) -> list[Estimate]:
    """Return slopes, LeakShare with its null, and the partial correlation of every signal arm."""
    found: list[Estimate] = []
    for arm, sources in ERAS.items():
        months, signal = _signal(answers, arm, scoring)
        if not months:
            continue
        recall = recalled(answers, sources, scoring)
        true = [truth.get(naming.item(month, naming.MARKET), math.nan) for month in months]
        own = [recall.get(month, math.nan) for month in months]
        data = np.array([signal, own, true], float)
        found += leak(arm, data[:, np.isfinite(data).all(axis=0)], protocol)
    return found + shifted(answers, truth, scoring)


def _signal(answers: pd.DataFrame, arm: str, scoring: str) -> tuple[list[str], list[float]]:
    part = answers[(answers["arm"] == arm) & answers[SCORED[scoring]].notna()].sort_values(["place", "item"])
    return [naming.month_of(item) for item in part["item"]], part[SCORED[scoring]].tolist()


def recalled(answers: pd.DataFrame, arms: tuple[str, ...], scoring: str) -> dict[str, float]:
    """Return the model's own value of the market by month, from the first of `arms` that has it."""
    found: dict[str, float] = {}
    for arm in arms:
        part = answers[(answers["arm"] == arm) & answers[SCORED[scoring]].notna()]
        for item, value in zip(part["item"], part[SCORED[scoring]].tolist(), strict=True):
            if naming.series_of(item) == naming.MARKET:
                found.setdefault(naming.month_of(item), value)
    return found


def leak(arm: str, data: Floats, protocol: Protocol) -> list[Estimate]:
    """Return the estimates of one signal arm; `data` has the rows signal, recall and truth."""
    signal, own, true = data
    n, least = data.shape[1], protocol.gates.correlation
    few = Gate(
        "n", n >= least, n, least, f"{n} months with signal, recall and truth; at least {least} are needed"
    )
    if n < 3:
        return [Estimate(f"{arm}.leak_share", "share", None, n, gates=(few,))]
    rho = correlation(signal, true)
    chance = np.random.default_rng(protocol.bootstrap.seed)
    share = leak_share(signal[None], own, true)[0]
    null = leak_share(truth_only(signal, true, chance), own, true)
    # A simulated signal that misses the truth by chance divides by next to nothing.
    null = np.maximum(null[np.isfinite(null)], FLOOR)
    middle = float(null.mean()) if len(null) else math.nan
    ends = np.percentile(null, [2.5, 97.5]) if len(null) else (math.nan, math.nan)
    band = Interval(
        float(ends[0]),
        float(ends[1]),
        "truth-only simulation",
        0.95,
        NULL_DRAWS,
        len(null),
        protocol.bootstrap.seed,
    )
    marks = ("u",) if math.isfinite(middle) and share <= middle + UNINFORMATIVE else ()
    partial = partial_correlation(signal, own, true)
    z, p = permuted(signal, true, protocol, chance)
    rho_recall = correlation(own, true)
    bound = min(1.0, abs(rho_recall) / abs(rho)) if rho else math.nan
    return [
        Estimate(f"{arm}.beta_truth", "coefficient", slope(true, signal), n, None, (few,)),
        Estimate(f"{arm}.beta_recall", "coefficient", slope(own, signal), n, None, (few,)),
        Estimate(f"{arm}.beta_truth.z", "t", z, n, None, (few,)),
        Estimate(f"{arm}.beta_truth.p", "p", p, n, None, (few,)),
        Estimate(f"{arm}.recall_r", "coefficient", rho_recall, n, None, (few,)),
        Estimate(f"{arm}.truth_r", "coefficient", rho, n, None, (few,)),
        Estimate(f"{arm}.leak_share", "share", float(share), n, None, (few,), marks),
        Estimate(f"{arm}.leak_share.null", "share", middle, n, band, (few,)),
        Estimate(f"{arm}.partial", "coefficient", partial, n, None, (few,)),
        Estimate(f"{arm}.partial.p", "p", partial_p(partial, n), n, None, (few,)),
        Estimate(f"{arm}.alpha_max", "share", bound, n, None, (few,)),
    ]


def leak_share(signals: Floats, own: Floats, true: Floats) -> Floats:
    """Return 1 − ρ(u, r)² / ρ(S, r)² of each signal, u its residual on the model's own recall."""
    centred = own - own.mean()
    below = centred @ centred
    moved = signals - signals.mean(axis=1, keepdims=True)
    left = moved - (moved @ centred)[:, None] / below * centred if below > 0 else moved
    against = np.broadcast_to(true, signals.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - correlations(left, against) ** 2 / correlations(moved, against) ** 2)


def truth_only(signal: Floats, true: Floats, chance: np.random.Generator) -> Floats:
    """Return signals that depend on the truth alone: the fitted line plus normal noise of the residuals' size."""
    step = slope(true, signal)
    fitted = signal.mean() + step * (true - true.mean())
    spread = float((signal - fitted).std(ddof=2)) if len(signal) > 2 else 0.0
    return np.asarray(fitted + spread * chance.standard_normal((NULL_DRAWS, len(signal))))


def permuted(
    signal: Floats, true: Floats, protocol: Protocol, chance: np.random.Generator
) -> tuple[float, float]:
    """Return the slope on the truth in standard deviations of its permutation null, and the two-sided p."""
    draws = protocol.bootstrap.permutations
    centred = true - true.mean()
    below = float(centred @ centred)
    if below <= 0:
        return math.nan, math.nan
    order = chance.permuted(np.tile(signal, (draws, 1)), axis=1)
    null = order @ centred / below
    real = float(signal @ centred) / below
    spread = float(null.std(ddof=1))
    p = (1 + int((np.abs(null) >= abs(real) - 1e-12).sum())) / (draws + 1)
    return (real / spread if spread > 0 else math.nan), p


def partial_correlation(one: Floats, other: Floats, given: Floats) -> float:
    """Return the correlation of two series given a third."""
    a, b, c = correlation(one, other), correlation(one, given), correlation(other, given)
    below = (1 - b * b) * (1 - c * c)
    return (a - b * c) / math.sqrt(below) if below > 1e-15 else math.nan


def partial_p(r: float, n: int) -> float:
    """Return the two-sided p of a partial correlation given one series."""
    from anachron.stats.intervals import student_probability

    if not math.isfinite(r) or n < 4:
        return math.nan
    t = abs(r) * math.sqrt((n - 3) / max(1e-300, 1 - r * r))
    return 2 * (1 - student_probability(t, n - 3))


def shifted(answers: pd.DataFrame, truth: dict[str, float], scoring: str) -> list[Estimate]:
    """Return the slopes of the shifted signal on the truth of its own month, and of the month the prompt stated."""
    part = answers[(answers["arm"] == naming.SIGNAL_SHIFTED) & answers[SCORED[scoring]].notna()]
    if part.empty:
        return []
    signal = part[SCORED[scoring]].to_numpy(float)
    found = []
    for name, months in (("own", part["item"].str[:7]), ("stated", part["shown_date"].astype(str).str[:7])):
        true = np.array([truth.get(naming.item(month, naming.MARKET), math.nan) for month in months], float)
        kept = np.isfinite(true)
        found.append(
            Estimate(
                f"{naming.SIGNAL_SHIFTED}.beta_{name}",
                "coefficient",
                slope(true[kept], signal[kept]),
                int(kept.sum()),
            )
        )
    return found
