"""What is planted in a forecaster: expected scores of the very questions, and the leakage among them.

Expectations are over its noise: the questions, their crowd and their outcomes are as they are. The last month it has
read stands for its cutoff, as the registry should state it. Source: Temporal Leakage, section 4, Assumption 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from anachron.stats.gaps import Floats
from anachron.suites.leakage.items import Memory
from anachron.suites.leakage.planted import aim, distance, pull
from anachron.suites.leakage.planted_parameters import Parameters
from anachron.suites.leakage.protocol import Protocol

NODES, WEIGHTS = hermegauss(40)
DECIMALS = 10


class Questions(NamedTuple):
    """The questions by item, each array of shape (n,)."""

    days: Floats
    """Days of resolution, from the first day after the last month that was read, or from 1970-01-01 where none was."""
    outcome: Floats
    crowd: Floats
    source: list[str]
    honest: Floats
    """Expected squared error of the honest forecast, b0."""
    w: Floats
    score: Floats
    """Expected score."""
    leakage: Floats
    """Expected part of the score that is leakage, b0·w(2 − w)."""


def questions(who: Parameters, memory: Memory) -> Questions:
    """Return the questions with what a respondent is expected to score on each."""
    items = sorted(memory)
    source, resolved, crowd, outcome = (
        list(one) for one in zip(*(memory[item] for item in items), strict=True)
    )
    aims = np.array([aim(who, item, memory) for item in items])
    w = np.array([pull(who, item, memory) for item in items])
    answer, anchor = np.array(outcome, dtype=float), np.array(crowd, dtype=float)
    forecasts = 1 / (1 + np.exp(-(aims[:, None] + who.noise * NODES[None, :])))
    honest = (forecasts - answer[:, None]) ** 2 @ (WEIGHTS / WEIGHTS.sum())
    loss = honest * (1 - w) ** 2
    # The anchor is the audit's: a crowd where at least half of the questions have one.
    score = (anchor - answer) ** 2 - loss if np.isfinite(anchor).mean() >= 0.5 else -loss
    days = [distance(who.knows_until or "1969-12", day) - 1 for day in resolved]
    return Questions(np.array(days, dtype=float), answer, anchor, source, honest, w, score, honest - loss)


def planted(who: Parameters, protocol: Protocol, memory: Memory) -> dict[str, float | str]:
    """Return the truth of every metric that has one.

    Returns
    -------
    dict
        `score.before`, `score.clean`, `gap`, `gap.mix`: expected scores through the estimator's own means. `jump`: the
        leakage just before the cutoff, the end of a line through the leakage of the questions before it; 0 where no
        answer was read. `valid`: share of answers that state a probability.
    """
    from anachron.backtest.gap import median_day
    from anachron.stats.standardise import combine, crowd_cells, standardised_gap

    found: dict[str, float | str] = {"valid": 1 - who.refusal}
    if len(memory) < 2:
        return found
    held = questions(who, memory)
    known = np.isfinite(held.score)
    split = 0.0 if who.knows_until is not None else float(median_day(held.days[known].astype(np.int64)))
    before, after = known & (held.days < split), known & (held.days >= split)
    if before.any() and after.any():
        cells = combine(crowd_cells(held.crowd), held.source)
        found["gap"] = float(held.score[before].mean() - held.score[after].mean())
        mixed = standardised_gap(held.score, held.days < split, cells, draws=100).gap.estimate
        if mixed is not None and np.isfinite(mixed):
            found["gap.mix"] = float(mixed)
    if who.knows_until is not None:
        clean = known & (held.days >= protocol.audit.clean_days)
        found |= {
            name: float(held.score[rows].mean())
            for name, rows in (("score.before", before), ("score.clean", clean))
            if rows.any()
        }
        found |= at_cutoff(held, known, 2 * protocol.audit.window_days)
    return {
        name: round(value, DECIMALS) if isinstance(value, float) else value
        for name, value in sorted(found.items())
    }


def at_cutoff(
    held: Questions, known: np.ndarray[tuple[int], np.dtype[np.bool_]], width: int
) -> dict[str, float]:
    """Return the leakage just before the cutoff: a line with triangular weights, `width` days wide, at its end."""
    near = known & (held.days < 0) & (held.days >= -width)
    if len(np.unique(held.days[near])) < 2:
        return {}
    weight = np.sqrt(1 + held.days[near] / width)
    return {"jump": float(np.polyfit(held.days[near], held.leakage[near], 1, w=weight)[1])}
