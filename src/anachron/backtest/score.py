"""Forecasts as scores: one row per question, one column per model.

The score of a forecast P on an outcome Y is (c − Y)² − (P − Y)², with the crowd's frozen probability c: how much
the model improves on the crowd. Without a crowd it is −(P − Y)²; a table of bounded scores is taken as it is.
Higher is better. Only the original wording is scored.

Source: Temporal Leakage, section 1 and appendix D.2; the suite's specification, "Score".
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.errors import BacktestError
from anachron.stats.cluster import Bools, Floats, Ints
from anachron.stats.standardise import CROWD_EDGES, combine, crowd_cells

Anchor = Literal["auto", "crowd", "none"]
Anchored = Literal["crowd", "none", "score"]
FIRST_DAY = dt.date(1970, 1, 1)
LEAST_CROWD = 0.5
"""Share of questions with a crowd from which on the crowd anchors the score, unless the user says otherwise."""
UNITS = {
    "crowd": "Brier points better than the crowd",
    "none": "Brier points, negative",
    "score": "the table's own score",
}


@dataclass(frozen=True)
class ScoreTable:
    """Scores of all models on all questions, and what is known of a question without a model."""

    models: tuple[str, ...]
    questions: NDArray[np.str_]
    days: Ints
    """Resolution days, in days since 1970-01-01."""
    score: Floats
    """Shape (questions, models); NaN where a model has none."""
    forecast: Floats
    """Shape (questions, models); NaN where a model has none, everywhere in a table of scores."""
    outcome: Floats
    crowd: Floats
    source: NDArray[np.str_]
    """Empty where not given."""
    difficulty: NDArray[np.str_]
    cluster: NDArray[np.str_]
    anchor: Anchored
    cutoffs: Mapping[str, int | None]
    """Cutoff days by model; None where not given."""
    roles: Mapping[str, str | None]
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Questions left out, by reason."""

    @property
    def unit(self) -> str:
        """The score's unit, in words."""
        return UNITS[self.anchor]

    def column(self, model: str) -> Floats:
        """Return a model's scores, shape (questions,)."""
        return np.asarray(self.score[:, self.place(model)])

    def forecasts(self, model: str) -> Floats:
        """Return a model's probabilities, shape (questions,)."""
        return np.asarray(self.forecast[:, self.place(model)])

    def place(self, model: str) -> int:
        """Return a model's column.

        Raises
        ------
        BacktestError
            When the table has no such model.
        """
        if model not in self.models:
            raise BacktestError(f"no forecasts of a model {model!r}; there are: {', '.join(self.models)}")
        return self.models.index(model)

    def take(self, rows: Bools | Ints) -> ScoreTable:
        """Return the table of some questions only."""
        return replace(
            self,
            questions=self.questions[rows],
            days=self.days[rows],
            score=self.score[rows],
            forecast=self.forecast[rows],
            outcome=self.outcome[rows],
            crowd=self.crowd[rows],
            source=self.source[rows],
            difficulty=self.difficulty[rows],
            cluster=self.cluster[rows],
        )

    def window(self, first: int | None = None, last: int | None = None) -> ScoreTable:
        """Return the table of the questions resolved from day `first` to day `last`, both included."""
        inside = np.ones(len(self.days), dtype=bool)
        if first is not None:
            inside &= self.days >= first
        if last is not None:
            inside &= self.days <= last
        return self.take(inside)

    def around(self, boundary: int, half_width: int) -> ScoreTable:
        """Return the table of the questions in [boundary − half_width, boundary + half_width)."""
        return self.window(boundary - half_width, boundary + half_width - 1)


def day(date: str | dt.date) -> int:
    """Return a day (YYYY-MM-DD) as days since 1970-01-01."""
    found = dt.date.fromisoformat(date) if isinstance(date, str) else date
    return (found - FIRST_DAY).days


def date(day_number: int) -> str:
    """Return a number of days since 1970-01-01 as YYYY-MM-DD."""
    return (FIRST_DAY + dt.timedelta(days=int(day_number))).isoformat()


def table(frame: pd.DataFrame, anchor: Anchor = "auto") -> ScoreTable:
    """Return the scores of a table of forecasts.

    Parameters
    ----------
    frame
        See `contract.Forecasts`.
    anchor
        ``crowd`` takes the crowd's score off and leaves out questions without a crowd; ``none`` does neither;
        ``auto`` is ``crowd`` where at least half of the questions have one.

    Raises
    ------
    BacktestError
        When the crowd is asked for and no question has one.
    """
    original = frame[frame["paraphrase"] == 0]
    asked = original.drop_duplicates("question").sort_values("question")
    models = tuple(sorted(original["model"].unique()))
    names = asked["question"].to_numpy(dtype=str)
    rows = np.searchsorted(names, original["question"].to_numpy(dtype=str))
    columns = np.searchsorted(np.array(models), original["model"].to_numpy(dtype=str))
    outcome = asked["outcome"].to_numpy(dtype=float)
    crowd = asked["crowd"].to_numpy(dtype=float)
    forecast = _spread(original["forecast"], rows, columns, len(names), len(models))
    kind: Anchored
    if original["score"].notna().any():
        kind, score = "score", _spread(original["score"], rows, columns, len(names), len(models))
    else:
        kind = _anchor(anchor, crowd)
        score = brier(forecast, outcome, crowd if kind == "crowd" else None)
    whole = ScoreTable(
        models=models,
        questions=names,
        days=np.array([day(one) for one in asked["resolved_on"]], dtype=np.int64),
        score=score,
        forecast=forecast,
        outcome=outcome,
        crowd=crowd,
        source=_texts(asked["source"]),
        difficulty=_texts(asked["difficulty"]),
        cluster=_texts(asked["cluster"]),
        anchor=kind,
        cutoffs={model: _of_model(original, model, "cutoff") for model in models},
        roles={model: _role(original, model) for model in models},
    )
    if kind != "crowd":
        return whole
    known = ~np.isnan(crowd)
    dropped = {"no crowd probability": int((~known).sum())} if not known.all() else {}
    return replace(whole.take(known), dropped=dropped)


def brier(forecast: Floats, outcome: Floats, crowd: Floats | None) -> Floats:
    """Return the score of probabilities (n,) or (n, models) on outcomes (n,), against a crowd (n,) or none."""
    outcome = outcome.reshape(-1, *[1] * (forecast.ndim - 1))
    loss = (forecast - outcome) ** 2
    if crowd is None:
        return np.asarray(-loss)
    return np.asarray((crowd.reshape(outcome.shape) - outcome) ** 2 - loss)


def question_cells(scores: ScoreTable, edges: Sequence[float] = CROWD_EDGES) -> Ints | None:
    """Return the cell of like questions that each question belongs to: crowd's bin × source, difficulty × source.

    The crowd's probability is taken where any question has one, else the difficulty, else the source alone; None
    where nothing is known of the questions.
    """
    parts: list[Ints | NDArray[np.str_]] = []
    if not np.isnan(scores.crowd).all():
        parts.append(crowd_cells(scores.crowd, tuple(edges)))
    elif (scores.difficulty != "").any():
        parts.append(scores.difficulty)
    if (scores.source != "").any():
        parts.append(scores.source)
    return combine(*parts) if parts else None


def _spread(values: pd.Series, rows: Ints, columns: Ints, height: int, width: int) -> Floats:
    spread = np.full((height, width), np.nan)
    spread[rows, columns] = values.to_numpy(dtype=float)
    return spread


def _anchor(wanted: Anchor, crowd: Floats) -> Literal["crowd", "none"]:
    known = float((~np.isnan(crowd)).mean()) if len(crowd) else 0.0
    if wanted == "crowd" and known == 0:
        raise BacktestError("the crowd is to anchor the score, and no question has a crowd probability")
    if wanted == "auto":
        return "crowd" if known >= LEAST_CROWD else "none"
    return wanted


def _texts(values: pd.Series) -> NDArray[np.str_]:
    return values.fillna("").to_numpy(dtype=str)


def _of_model(frame: pd.DataFrame, model: str, column: str) -> int | None:
    found = frame.loc[frame["model"] == model, column].dropna()
    return day(str(found.iloc[0])) if len(found) else None


def _role(frame: pd.DataFrame, model: str) -> str | None:
    found = frame.loc[frame["model"] == model, "role"].dropna()
    return str(found.iloc[0]) if len(found) else None
