"""The two probes: outcome recall (LAP), its cutoff, hit rate and dissociation; and date recovery (REC).

Source: HindsightBench §3.2, §3.3; the suite's specification, Metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anachron.blocks import ordinal
from anachron.estimates import Estimate, Gate, Interval
from anachron.stats.bootstrap import exceedance, last_exceeding_interval
from anachron.stats.gaps import Floats, pooled_share
from anachron.stats.gates import agreement_table, cohens_kappa, fisher_p
from anachron.stats.hac import newey_west
from anachron.suites.hindsightbench.cells import Cells, Grid, Part, Places, Scoring, counted
from anachron.suites.hindsightbench.protocol import Protocol

RESAMPLED = "reps resampled within months, exact"


@dataclass(frozen=True)
class Recall:
    """Outcome-recall answers by decision date, shape (dates,); `share` is NaN where a date has no answer."""

    up: NDArray[np.int64]
    down: NDArray[np.int64]
    answers: NDArray[np.int64]

    @property
    def share(self) -> Floats:
        """LAP: share of a date's answers that claim to recall a direction."""
        return pooled_share(self.up + self.down, self.answers)


def count_recall(parts: dict[str, Part], grid: Grid, scoring: Scoring) -> Recall:
    """Count recall answers; `bm1` counts every line, `anachron` each (date, rep) once."""
    size = len(grid.dates)
    if "LAP" not in parts:
        return Recall(*(np.zeros(size, dtype=np.int64) for _ in range(3)))
    part = counted(parts["LAP"], scoring)
    inside = part["place"] >= 0
    where = part["place"][inside]
    words = part["recall" if scoring == "bm1" else "recall_uniform"][inside]
    return Recall(
        *(
            np.bincount(where[these], minlength=size).astype(np.int64)
            for these in (words == "up", words == "down", slice(None))
        )
    )


@dataclass(frozen=True)
class Located:
    """What outcome recall says: its estimates, and the cutoff where it is defined."""

    estimates: list[Estimate]
    cutoff: str | None
    gate: Gate


def locate(recall: Recall, realised: Floats, grid: Grid, protocol: Protocol, scoring: Scoring) -> Located:
    """Return LAP means, hit rate, kappa and cutoff, the latter two behind gate g.

    Parameters
    ----------
    realised
        Shape (dates,): +1 or -1, NaN where the realised direction is not known.
    """
    share, asked = recall.share, recall.answers > 0
    post = np.arange(grid.pre[-1] + 1, len(grid.dates))
    found = [
        Estimate(f"LAP.{name}", "share", _mean(share[where]), int(asked[where].sum()))
        for name, where in (("pre", grid.pre), ("post", post))
    ]
    net = np.sign(recall.up - recall.down)[grid.pre]
    usable = (net != 0) & ~np.isnan(realised[grid.pre])
    answer, truth = net[usable], realised[grid.pre][usable].astype(np.int64)
    hit = float((answer == truth).mean()) if len(answer) else float("nan")
    table = agreement_table(answer, truth)
    kappa, p = cohens_kappa(table), fisher_p(table)
    gate = hit_gate(hit, kappa, p, len(answer), protocol, scoring)
    marks = () if gate.passed else ("g",)
    found.append(Estimate("hit_rate", "share", hit, len(answer), marks=marks))
    if scoring == "anachron":
        found += [
            Estimate("kappa", "coefficient", kappa, len(answer), marks=marks),
            Estimate("hit_p", "p", p, len(answer), marks=marks),
        ]
    months = [date[:7] for date in grid.dates]
    above = np.flatnonzero(np.nan_to_num(share) > protocol.lap.threshold)
    some = Gate(
        "g", len(above) > 0, float(len(above)), 1.0, f"{len(above)} months above {protocol.lap.threshold:g}"
    )
    last = months[above[-1]] if len(above) else None
    gates = (gate,) if len(above) else (gate, some)
    interval = cutoff_interval(recall, months, protocol) if scoring == "anachron" else None
    found.append(Estimate("cutoff", "month", last, int(asked.sum()), interval, gates))
    if scoring == "anachron":
        before = before_sustained_fall(share, protocol.lap.threshold, protocol.lap.sustained_months)
        length, words = protocol.lap.sustained_months, "falls" if before is not None else "never falls"
        text = f"recall {words} to {protocol.lap.threshold:g} or less for {length} months on end"
        held = Gate("g", before is not None, None, float(length), text)
        value = months[before] if before is not None else None
        found.append(Estimate("cutoff.sustained", "month", value, int(asked.sum()), gates=(gate, held)))
    return Located(found, last if gate.passed else None, gate)


def hit_gate(hit: float, kappa: float, p: float, n: int, protocol: Protocol, scoring: Scoring) -> Gate:
    """Return gate g: the recalled directions are told from guessing."""
    if n == 0:
        return Gate("g", False, None, None, "no date whose recalled directions lean either way")
    if scoring == "bm1":
        bound = protocol.gates.hit_rate
        return Gate("g", hit > bound, hit, bound, f"hit rate {hit:.3f} must exceed {bound:g} (n = {n})")
    bound = protocol.gates.hit_p
    passed = bool(p < bound and kappa > 0)
    text = f"Fisher's exact p {p:.2g} must be below {bound:g} with kappa {kappa:.3f} above 0 (n = {n})"
    return Gate("g", passed, p, bound, text)


def cutoff_interval(recall: Recall, months: list[str], protocol: Protocol) -> Interval | None:
    """Return the interval of the cutoff when each month's reps are resampled; None where it has none."""
    chances = exceedance(recall.up + recall.down, recall.answers, protocol.lap.threshold)
    ends = last_exceeding_interval(chances, protocol.bootstrap.level)
    if ends is None:
        return None
    return Interval(months[ends[0]], months[ends[1]], RESAMPLED, protocol.bootstrap.level)


def before_sustained_fall(share: Floats, threshold: float, length: int) -> int | None:
    """Return the place of the last month above the threshold before the first sustained fall.

    A fall is sustained when `length` asked months in a row are not above it. None when recall never starts or
    never stays down that long.
    """
    asked = np.flatnonzero(~np.isnan(share))
    last, run = None, 0
    for place in asked:
        if share[place] > threshold:
            last, run = int(place), 0
        elif last is not None:
            run += 1
            if run == length:
                return last
    return None


def sweep(recall: Recall, grid: Grid, protocol: Protocol) -> dict[str, str | None]:
    """Return the last month above each threshold of the sensitivity sweep."""
    share = np.nan_to_num(recall.share)
    found: dict[str, str | None] = {}
    for threshold in protocol.lap.sweep:
        above = np.flatnonzero(share > threshold)
        found[f"{threshold:g}"] = grid.dates[above[-1]][:7] if len(above) else None
    return found


def dissociation(
    cells: Cells, recall: Recall, realised: Floats, protocol: Protocol, hit: Gate
) -> tuple[list[Estimate], dict[str, Any]]:
    """Return δ and its t behind gates g and v, and the figures of the design.

    y = 1 where the sign of arm R's net direction equals the realised one, on a constant, the signal, LAP, and
    signal times LAP, over the pre dates in order.
    """
    grid, gates = cells.grid, protocol.gates
    if "R" not in cells.arms:
        missing = Gate("c", False, 0.0, 1.0, "arm R has no record")
        return [
            Estimate("delta", "coefficient", None, 0, gates=(missing,)),
            Estimate("delta.t", "t", None, 0, gates=(missing,)),
        ], {}
    bearish, valid = cells.arms["R"].pooled()
    signal, lap = np.sign(valid - 2 * bearish)[grid.pre], recall.share[grid.pre]
    truth = realised[grid.pre]
    used = (signal != 0) & ~np.isnan(lap) & ~np.isnan(truth)
    signal, lap, truth = signal[used], lap[used], truth[used]
    n, variance = len(signal), float(np.var(lap)) if used.any() else 0.0
    plus, minus = int((signal > 0).sum()), int((signal < 0).sum())
    design = np.column_stack([np.ones(n), signal, lap, signal * lap])
    fit = newey_west((signal == truth).astype(float), design, gates.hac_lags) if n > design.shape[1] else None
    rank = fit.rank if fit else int(np.linalg.matrix_rank(design)) if n else 0
    enough = n > gates.delta_min_n and variance > gates.delta_min_variance
    text = (
        f"more than {gates.delta_min_n} dates (found {n}) and a variance of recall above "
        f"{gates.delta_min_variance:g} (found {variance:.3g})"
    )
    figure, bound = variance, gates.delta_min_variance
    if cells.scoring == "anachron":
        text += (
            f", a design of full rank (found {rank} of 4) and {gates.delta_min_signals} dates of each signal "
            f"(found {plus} +, {minus} -)"
        )
        if enough:
            figure, bound = float(min(plus, minus)), float(gates.delta_min_signals)
            if rank < 4:
                figure, bound = float(rank), 4.0
        enough = enough and rank == 4 and min(plus, minus) >= gates.delta_min_signals
    if n <= gates.delta_min_n:
        figure, bound = float(n), float(gates.delta_min_n)
    order = (hit, Gate("v", enough, figure, bound, text))
    estimates = [
        Estimate("delta", "coefficient", float(fit.coefficients[3]) if fit else None, n, gates=order),
        Estimate("delta.t", "t", float(fit.t[3]) if fit else None, n, gates=order),
    ]
    return estimates, {"n": n, "variance": variance, "rank": rank, "plus": plus, "minus": minus}


def recovery(
    parts: dict[str, Part], grid: Grid, protocol: Protocol, scoring: Scoring, cutoff: str | None
) -> list[Estimate]:
    """Return the REC estimates of each window; n counts accepted answers, gate r needs enough of them."""
    answered: list[tuple[str, str | None, str | None]] = []
    if "REC" in parts:
        part = counted(parts["REC"], scoring)
        columns = (part[name].tolist() for name in ("item", "estimated_month", "estimated_year"))
        answered = [(item[:7], month, year) for item, month, year in zip(*columns, strict=True)]
    windows = {"pre": {grid.dates[place][:7] for place in grid.pre}}
    windows["post"] = {grid.dates[place][:7] for place in grid.placebo}
    relative = cutoff is not None and cutoff >= protocol.dates.placebo_start
    if relative:
        windows["post_relative"] = {date[:7] for date in grid.dates if date[:7] > str(cutoff)}
    found: list[Estimate] = []
    for name, window in windows.items():
        rows = [row for row in answered if row[0] in window]
        found += _recovery_window(f"REC.{name}", rows, protocol, scoring)
    return found


def _recovery_window(
    name: str, rows: list[tuple[str, str | None, str | None]], protocol: Protocol, scoring: Scoring
) -> list[Estimate]:
    dated = [(item, month) for item, month, _ in rows if month is not None]
    timed = [(item, year) for item, _, year in rows if year is not None]
    least = protocol.gates.rec_min_n
    accepted = [(item, month[:4]) for item, month in dated] if scoring == "bm1" else timed

    def gate(n: int) -> tuple[Gate, ...]:
        text = f"at least {least} accepted answers (found {n} of {len(rows)})"
        return (Gate("r", n >= least, float(n), float(least), text),)

    def share(hits: list[bool]) -> float | None:
        return sum(hits) / len(hits) if hits else None

    offsets = [abs(ordinal(item) - ordinal(month)) for item, month in dated]
    right_year = share([item[:4] == year for item, year in accepted])
    found = [
        Estimate(f"{name}.year", "share", right_year, len(accepted), gates=gate(len(accepted))),
        Estimate(
            f"{name}.month",
            "share",
            share([item == month for item, month in dated]),
            len(dated),
            gates=gate(len(dated)),
        ),
        Estimate(
            f"{name}.offset",
            "months",
            float(np.median(offsets)) if offsets else None,
            len(dated),
            gates=gate(len(dated)),
        ),
    ]
    if scoring == "anachron":
        right = sum(item[:4] == year for item, _, year in rows if year is not None)
        whole = [item[:4] for item, _, _ in rows]
        best = max((whole.count(year) for year in set(whole)), default=0)
        for suffix, hits in (("year_all", right), ("best_constant", best)):
            value = hits / len(rows) if rows else None
            found.append(Estimate(f"{name}.{suffix}", "share", value, len(rows)))
    return found


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else float("nan")


def relative_window(cutoff: str | None, grid: Grid, protocol: Protocol) -> Places | None:
    """Return the dates after a cutoff that lies inside the calendar placebo window; None when it does not."""
    if cutoff is None or cutoff < protocol.dates.placebo_start:
        return None
    return np.array([place for place, date in enumerate(grid.dates) if date[:7] > cutoff], dtype=np.intp)
