"""Small backtests made by hand, one for each thing that an audit can be confronted with; what leaked is known.

A question has a true probability q, a crowd that sees most of it, and an outcome drawn from q. An honest forecast is q
with noise; a leaked one is pulled a share w of the way to the outcome.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

START = datetime.date(2024, 1, 1)
CUTOFF = datetime.date(2025, 1, 1)
DAYS = 730
SOURCES = ("market", "polls")


@dataclass(frozen=True)
class Questions:
    """Questions with what is true of them."""

    day: np.ndarray[Any, Any]
    chance: np.ndarray[Any, Any]
    outcome: np.ndarray[Any, Any]
    frame: pd.DataFrame

    @property
    def before(self) -> np.ndarray[Any, Any]:
        """Which are resolved before the cutoff."""
        return self.day < (CUTOFF - START).days


def questions(number: int, seed: int, *, first: int = 0, last: int = DAYS, drift: float = 0.0) -> Questions:
    """Return questions resolved evenly from day `first` to day `last`; `drift` moves their chances over time."""
    chance = np.random.default_rng(seed)
    day = np.sort(chance.integers(first, last, number))
    centre = 0.35 - drift * (day - day.mean()) / max(1, last - first)
    q = np.clip(centre + 0.22 * chance.standard_normal(number), 0.02, 0.98)
    outcome = (chance.random(number) < q).astype(float)
    crowd = np.clip(q + 0.08 * chance.standard_normal(number), 0.01, 0.99)
    dates = [START + datetime.timedelta(days=int(one)) for one in day]
    frame = pd.DataFrame(
        {
            "question": [f"q{place:04d}" for place in range(number)],
            "resolved_on": [one.isoformat() for one in dates],
            "outcome": outcome.astype(int),
            "crowd": crowd.round(4),
            "frozen_on": [(one - datetime.timedelta(days=45)).isoformat() for one in dates],
            "source": [SOURCES[int(one)] for one in chance.integers(0, 2, number)],
        }
    )
    return Questions(day, q, outcome, frame)


def forecasts(
    held: Questions,
    model: str,
    seed: int,
    *,
    w: float = 0.0,
    noise: float = 0.06,
    recency: float = 0.0,
    wording: int = 0,
) -> pd.DataFrame:
    """Return one model's forecasts; before the cutoff they are pulled a share `w` of the way to the outcome.

    `recency` makes the honest forecast worse with the days since the first question: it is no leakage.
    """
    chance = np.random.default_rng((seed, wording))
    base = np.random.default_rng(seed).standard_normal(len(held.day))
    spread = noise * (1 + recency * held.day / DAYS)
    honest = np.clip(held.chance + spread * base, 0.01, 0.99)
    leaked = np.where(held.before, honest + w * (held.outcome - honest), honest)
    if wording:
        leaked = np.clip(leaked + 0.03 * chance.standard_normal(len(held.day)), 0.005, 0.995)
    return held.frame.assign(forecast=leaked.round(6), model=model, paraphrase=wording)


def leakage(held: Questions, seed: int, w: float, *, noise: float = 0.06, recency: float = 0.0) -> float:
    """Return the mean leakage that `forecasts` planted in the questions before the cutoff, in Brier points."""
    honest = forecasts(held, "honest", seed, noise=noise, recency=recency)["forecast"].to_numpy()
    gap = (honest - held.outcome) ** 2
    return float((gap * w * (2 - w))[held.before].mean())


def write(folder: Path, name: str, *parts: pd.DataFrame, **columns: Any) -> Path:
    """Write parts as one CSV file and return its path; `columns` gives columns by model."""
    table = pd.concat(parts, ignore_index=True)
    for column, by_model in columns.items():
        table[column] = table["model"].map(by_model)
    path = folder / f"{name}.csv"
    table.to_csv(path, index=False)
    return path
