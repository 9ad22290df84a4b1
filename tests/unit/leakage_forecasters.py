"""Questions drawn at random, and planted forecasters asked about them through the suite's own stages."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anachron import frames
from anachron.suites import load_protocol
from anachron.suites.leakage import ask, forecasts, items, parse, planted
from anachron.suites.leakage.planted_parameters import Parameters
from anachron.suites.leakage.protocol import FORECAST, Protocol

ROOT = Path(__file__).resolve().parents[2]
KNOWS_UNTIL = "2024-06"
FIRST_CLEAN = dt.date(2024, 7, 1)


def shipped() -> Protocol:
    """The protocol that runs."""
    found: Protocol = load_protocol("leakage", ROOT / "config/protocols/leakage.yaml")
    return found


def drawn(seed: int, n: int = 400, half_width: int = 300, panels: int = 1) -> pd.DataFrame:
    """Questions (`items.Contract`) resolved around the end of `KNOWS_UNTIL`, whose crowd is calibrated.

    Several panels of n questions each stand in one table, since asking many questions at once is quick; see `of_panel`.
    """
    n *= panels
    rng = np.random.default_rng(seed)
    days = [FIRST_CLEAN + dt.timedelta(days=int(day)) for day in rng.integers(-half_width, half_width, n)]
    crowd = rng.uniform(0.05, 0.95, n)
    frame = pd.DataFrame(
        {
            "item": [f"{day:%Y-%m} p{place % panels} q{place}" for place, day in enumerate(days)],
            "month": [f"{day:%Y-%m}" for day in days],
            "source": rng.choice(["north", "south"], n),
            "reference": "",
            "threshold": "",
            "text": [f"Will event {place} happen?" for place in range(n)],
            "asked_on": [f"{day - dt.timedelta(days=30)}" for day in days],
            "resolved_on": [f"{day}" for day in days],
            "crowd": crowd,
            "outcome": (rng.uniform(size=n) < crowd).astype(float),
            "vintage_kind": "real time",
        }
    )
    return frames.check(frame.sort_values(items.ORDER, ignore_index=True), items.Contract, "drawn")


def of_panel(forecasts: pd.DataFrame, panel: int) -> pd.DataFrame:
    """The forecasts of one panel."""
    return forecasts[forecasts["question"].str.contains(f" p{panel} ", regex=False)]


def transcripts(
    protocol: Protocol,
    known: pd.DataFrame,
    model: str,
    who: dict[str, Any],
    arms: tuple[str, ...] = (FORECAST,),
) -> pd.DataFrame:
    """What a planted forecaster says to every request of some arms (`frames.Transcripts`)."""
    memory, parameters, rows = items.memory(known), Parameters.model_validate(who), []
    for arm in arms:
        for request in ask.build(protocol, known, arm, items.names(known)).to_dict("records"):
            reply = planted.respond(request, parameters, protocol, memory)
            kept = {name: request[name] for name in ("suite", "arm", "item", "rep", "shown_date")}
            rows.append(
                {**kept, "outcome": "answer", "text": reply.text, "finish_reason": reply.finish_reason}
            )
    frame = pd.DataFrame(rows).assign(model=model, duplicate=0, provenance="planted")
    frame["key"] = [f"{place:064d}" for place in range(len(frame))]
    missing = pd.Series([None] * len(frame), dtype="str")
    columns = list(frames.Transcripts.to_schema().columns)
    frame = frame.assign(**{name: missing for name in columns if name not in frame})
    return frames.check(frame[columns], frames.Transcripts, "planted")


def answers(
    protocol: Protocol,
    known: pd.DataFrame,
    model: str,
    who: dict[str, Any],
    arms: tuple[str, ...] = (FORECAST,),
) -> pd.DataFrame:
    """The parsed answers of a planted forecaster (`parse.Contract`)."""
    return parse.parse(transcripts(protocol, known, model, who, arms), protocol)


def table(
    protocol: Protocol, known: pd.DataFrame, models: dict[str, dict[str, Any]], **cutoffs: str
) -> pd.DataFrame:
    """The forecasts of several planted forecasters (`backtest.contract.Forecasts`)."""
    asked = [answers(protocol, known, model, who) for model, who in models.items()]
    stated = {model: cutoffs.get(model) for model in models}
    return forecasts.table(pd.concat(asked, ignore_index=True), known, stated)
