"""The contract of a table of forecasts: one row per forecast, as every estimator of an audit reads it."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron.frames import DATE, Contract

REQUIRED = ("question", "resolved_on", "outcome", "forecast", "model")
REQUIRED_OF_SCORES = ("question", "resolved_on", "score", "model")
OPTIONAL = ("crowd", "frozen_on", "source", "cluster", "difficulty", "paraphrase", "cutoff", "role")
ROLES = ("target", "control")

OF_A_QUESTION = ("resolved_on", "outcome", "crowd", "frozen_on", "source", "cluster", "difficulty")
"""What all rows of a question must agree on."""
OF_A_MODEL = ("cutoff", "role")


class Forecasts(Contract):
    """Forecasts of one or several models on resolved questions; what was not given is missing."""

    question: Series[str]
    model: Series[str]
    paraphrase: Series[int] = pa.Field(ge=0)
    """0 is the original wording, which alone is scored; 1, 2, … are other wordings of it."""
    resolved_on: Series[str] = pa.Field(str_matches=DATE)
    outcome: Series[float] = pa.Field(isin=[0.0, 1.0], nullable=True)
    """Missing where the table holds scores."""
    forecast: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Probability of outcome 1; missing where the model gave none, or where the table holds scores."""
    score: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """A bounded score, higher is better, in place of forecast and outcome."""
    crowd: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Probability that a crowd gave on `frozen_on`, before the outcome."""
    frozen_on: Series[str] = pa.Field(str_matches=DATE, nullable=True)
    source: Series[str] = pa.Field(nullable=True)
    cluster: Series[str]
    """What is drawn together: as given, else source and month of resolution, else the month alone."""
    difficulty: Series[str] = pa.Field(nullable=True)
    cutoff: Series[str] = pa.Field(str_matches=DATE, nullable=True)
    """Last day of the model's training data, as its vendor states it."""
    role: Series[str] = pa.Field(isin=ROLES, nullable=True)

    @pa.dataframe_check(error="neither forecast with outcome nor score, or both")
    @classmethod
    def _is_one_kind(cls, frame: pd.DataFrame) -> pd.Series:
        scored = frame["score"].notna().any()
        return frame["outcome"].isna() & frame["forecast"].isna() if scored else frame["outcome"].notna()

    class Config:
        """One row per model, question and wording."""

        unique = ["model", "question", "paraphrase"]  # noqa: RUF012 - pandera reads a plain attribute
