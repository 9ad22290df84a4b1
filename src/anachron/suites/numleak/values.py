"""Estimates of a sheet: r, slope, error, band, sign, and how many answered; each beside its nulls.

Source: NumLeak §2, Tables 1 to 10; the suite's specification, "Metrics".
"""

from __future__ import annotations

import math

import numpy as np

from anachron.blocks import from_ordinal, ordinal
from anachron.estimates import Estimate, Gate, Interval
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import (
    Floats,
    Sheet,
    basis_points,
    correlation,
    correlations,
    same_sign,
    slope,
    wilson,
    within,
)

PAPER_SEED = 0
WILSON = "Wilson"
ROWS = "percentile bootstrap of rows"
MONTHS = "percentile bootstrap of months"
EXTREMES = "range of all draws of a bootstrap of rows"
MIN_VALID = 0.5


class Resampled:
    """Draws of one sheet's rows: the paper's rows, or months with all their rows."""

    def __init__(self, sheet: Sheet, protocol: Protocol, scoring: str) -> None:
        self.rule, self.paper = protocol.bootstrap, scoring == "paper"
        if self.paper:
            chance = np.random.default_rng(PAPER_SEED)
            self.rows = chance.integers(0, max(sheet.n, 1), (self.rule.paper_draws, sheet.n))
            self.weights = None
        else:
            months, place = np.unique(sheet.months, return_inverse=True)
            chance = np.random.default_rng(self.rule.seed)
            drawn = chance.integers(0, max(len(months), 1), (self.rule.draws, len(months)))
            counts = np.zeros((self.rule.draws, len(months)))
            np.add.at(counts, (np.arange(self.rule.draws)[:, None], drawn), 1.0)
            self.weights = counts[:, place]

    def interval(self, values: Floats) -> Interval | None:
        """Return the percentile interval of drawn values; None where under half are defined."""
        valid = values[np.isfinite(values)]
        if len(valid) < MIN_VALID * len(values) or len(valid) == 0:
            return None
        tail = 100 * (1 - self.rule.level) / 2
        low, high = np.percentile(valid, [tail, 100 - tail])
        seed = PAPER_SEED if self.paper else self.rule.seed
        method = ROWS if self.paper else MONTHS
        return Interval(float(low), float(high), method, self.rule.level, len(values), len(valid), seed)

    def extremes(self, truth: Floats, said: Floats) -> Interval | None:
        """Return the smallest and the largest drawn correlation, which part of a published table gives as ends."""
        if len(said) < 2 or self.weights is not None:
            return None
        drawn = correlations(truth[self.rows], said[self.rows])
        valid = drawn[np.isfinite(drawn)]
        if len(valid) == 0:
            return None
        ends = float(valid.min()), float(valid.max())
        return Interval(*ends, EXTREMES, 1.0, len(drawn), len(valid), PAPER_SEED)

    def mean(self, values: Floats) -> Interval | None:
        """Return the interval of a mean."""
        if len(values) == 0:
            return None
        if self.weights is None:
            return self.interval(values[self.rows].mean(axis=1))
        return self.interval(self.weights @ values / self.weights.sum(axis=1))

    def share(self, hits: Floats, months: int) -> Interval | None:
        """Return the interval of a share; Wilson's over months where all or none hit and resampling shows nothing."""
        if len(hits) and hits.min() == hits.max():
            low, high = wilson(months * int(hits[0]), months) or (0.0, 1.0)
            ends = (low, 1.0) if hits[0] else (0.0, high)
            return Interval(*ends, f"{WILSON}, months", 0.95)
        return self.mean(hits)

    def r(self, truth: Floats, said: Floats) -> Interval | None:
        """Return the interval of a correlation."""
        if len(said) < 2:
            return None
        if self.weights is None:
            return self.interval(correlations(truth[self.rows], said[self.rows]))
        return self.interval(weighted_correlations(truth, said, self.weights))


def weighted_correlations(one: Floats, other: Floats, weights: Floats) -> Floats:
    """Return the correlation under each row of weights."""
    share = weights / weights.sum(axis=1, keepdims=True)
    x, y = share @ one, share @ other
    xx, yy = share @ (one * one) - x * x, share @ (other * other) - y * y
    xy = share @ (one * other) - x * y
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where((xx > 1e-12) & (yy > 1e-12), xy / np.sqrt(xx * yy), np.nan)
    return np.asarray(np.clip(found, -1.0, 1.0))


def describe(sheet: Sheet, protocol: Protocol, scoring: str) -> list[Estimate]:
    """Return the estimates of one sheet, named ``<sheet>.<measure>``.

    r, slope, mae (in the series' unit), w25 (off by at most 25 basis points) and w25_under (by less) of answered,
    w25_asked of asked, sign, parse, refused, truncated. `paper` adds r_range, the extremes of the draws behind the
    interval of r: the paper's Table 3 prints these for one model's five factors, and percentiles everywhere else.
    """
    paper, drawn = scoring == "paper", Resampled(sheet, protocol, scoring)
    truth, said, n, asked = sheet.truth, sheet.said, sheet.n, sheet.asked
    least = 2 if paper else protocol.gates.correlation
    distinct = n if paper else len(np.unique(sheet.months))
    few = Gate(
        "n", distinct >= least, distinct, least, f"{distinct} months answered; at least {least} are needed"
    )
    some = Gate("n", n >= 1, n, 1, f"{n} answers hold a number; at least 1 is needed")
    r = correlation(truth, said)
    varied = Gate("v", n < 2 or math.isfinite(r), None, None, "answers and truth must vary")

    def share(measure: str, hits: Floats, below: int) -> Estimate:
        count = int(hits.sum())
        if paper:
            ends = wilson(count, below)
            interval = Interval(*ends, WILSON, 0.95) if ends else None
        else:
            interval = drawn.share(hits, distinct) if below == n else None
        gates = (some,) if below == n else ()
        return Estimate(
            f"{sheet.name}.{measure}", "share", count / below if below else None, below, interval, gates
        )

    bp = basis_points(truth, said)
    read = sheet.readings
    counts = {
        "parse": sheet.given,
        "refused": read.get("refusal", 0),
        "truncated": read.get("truncated", 0),
    }
    return [
        Estimate(f"{sheet.name}.r", "coefficient", r, n, drawn.r(truth, said), (few, varied)),
        *(
            [
                Estimate(
                    f"{sheet.name}.r_range", "coefficient", r, n, drawn.extremes(truth, said), (few, varied)
                )
            ]
            if paper
            else []
        ),
        Estimate(f"{sheet.name}.slope", "coefficient", slope(truth, said), n, None, (few, varied)),
        Estimate(
            f"{sheet.name}.mae",
            "score",
            float(np.abs(said - truth).mean()) if n else None,
            n,
            drawn.mean(np.abs(said - truth)),
            (some,),
        ),
        share("w25", (bp <= 25).astype(float), n),
        share("w25_under", (bp < 25).astype(float), n),
        share("w50", (bp <= 50).astype(float), n),
        share("w25_asked", (bp <= 25).astype(float), asked),
        share("sign", same_sign(truth, said).astype(float), n),
        *(
            Estimate(f"{sheet.name}.{name}", "share", count / asked if asked else None, asked)
            for name, count in counts.items()
        ),
    ]


def nulls(sheet: Sheet, truth: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return what simple predictors would score on a sheet's months, by predictor and measure.

    ``mean``: the mean of the asked months' true values; ``sign``: the true sign with the mean size; ``previous``:
    the true value of the month before. r of a constant counts as zero.
    """
    true = sheet.truth
    if sheet.n < 2:
        return {}
    before = [
        truth.get(f"{from_ordinal(ordinal(month) - 1)} {sheet.series}", math.nan)
        for month in sheet.months.tolist()
    ]
    made = {
        "mean": np.full(len(true), true.mean()),
        "sign": np.sign(true) * np.abs(true).mean(),
        "previous": np.array(before, float),
    }
    found = {}
    for name, said in made.items():
        kept = np.isfinite(said)
        if kept.sum() < 2:
            continue
        r = correlation(true[kept], said[kept])
        found[name] = {
            "r": r if math.isfinite(r) else 0.0,
            "mae": float(np.abs(true - said)[kept].mean()),
            "w25": float(within(true[kept], said[kept]).mean()),
            "sign": float(same_sign(true[kept], said[kept]).mean()),
        }
    return found


def shuffled(sheet: Sheet) -> dict[str, float]:
    """Return the exact expectation of a sheet's measures when answers are dealt out anew among its months.

    Mean absolute error, band and sign average over all pairs of an answer with another month's truth; r is zero.
    """
    if sheet.n < 2:
        return {}
    true, said = np.meshgrid(sheet.truth, sheet.said, indexing="ij")
    other = ~np.eye(sheet.n, dtype=bool)
    true, said = true[other], said[other]
    return {
        "r": 0.0,
        "mae": float(np.abs(true - said).mean()),
        "w25": float(within(true, said).mean()),
        "sign": float(same_sign(true, said).mean()),
    }
