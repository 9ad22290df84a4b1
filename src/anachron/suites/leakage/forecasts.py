"""Answers as a table of forecasts, the form that an audit of a backtest takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from anachron import frames
from anachron.backtest.contract import Forecasts
from anachron.blocks import from_ordinal, ordinal

if TYPE_CHECKING:
    from anachron.backtest.reader import Backtest


def cutoff_day(month: str | None) -> str | None:
    """Return the first day after the month that is stated as the end of training data; None where none is."""
    return None if month is None else f"{from_ordinal(ordinal(month) + 1)}-01"


def table(answers: pd.DataFrame, panel: pd.DataFrame, cutoffs: Mapping[str, str | None]) -> pd.DataFrame:
    """Return forecasts (`contract.Forecasts`) of one model or several; answers without a probability are left out.

    Parameters
    ----------
    answers
        The parser's `Contract`, of any number of models.
    panel
        Columns `items.IMPORTED`.
    cutoffs
        Stated month of each model, ``YYYY-MM``, or None.
    """
    read = answers[(answers["duplicate"] == 0) & answers["probability"].notna()]
    known = panel[["item", "source", "asked_on", "resolved_on", "crowd", "outcome"]]
    joined = read[["model", "item", "rep", "probability"]].merge(known, on="item", how="inner")
    days = {model: cutoff_day(month) for model, month in cutoffs.items()}
    frame = pd.DataFrame(
        {
            "question": joined["item"],
            "model": joined["model"],
            "paraphrase": joined["rep"].astype(int),
            "resolved_on": joined["resolved_on"],
            "outcome": joined["outcome"],
            "forecast": joined["probability"],
            "score": float("nan"),
            "crowd": joined["crowd"],
            "frozen_on": joined["asked_on"],
            "source": joined["source"],
            "cluster": joined["source"] + " " + joined["resolved_on"].str.slice(0, 7),
            "difficulty": pd.Series(None, index=joined.index, dtype="str"),
            "cutoff": joined["model"].map(days).astype("str"),
            "role": pd.Series(None, index=joined.index, dtype="str"),
        }
    )
    frame["cutoff"] = frame["cutoff"].where(joined["model"].map(days).notna())
    frame = frame[list(Forecasts.to_schema().columns)]
    return frames.check(
        frame.sort_values(["model", "question", "paraphrase"], ignore_index=True), Forecasts, "forecasts"
    )


def backtest(forecasts: pd.DataFrame, name: str) -> Backtest:
    """Return forecasts as `reader.read` would give them."""
    from pathlib import Path

    from anachron.backtest.contract import OPTIONAL
    from anachron.backtest.reader import Backtest

    given = frozenset(column for column in OPTIONAL if forecasts[column].notna().any())
    return Backtest(frame=forecasts, kind="forecast", given=given, warnings=(), path=Path(name))
