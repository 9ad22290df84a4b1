"""Rows of the suite `numleak` for the tests of publishing: two planted models, one that recites the market."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from anachron import frames
from anachron.config import ModelEntry, Sources
from anachron.publish import row
from anachron.stages_estimate import document
from anachron.suites import load_protocol
from anachron.suites.numleak import ask, estimate, items, parse, planted
from anachron.suites.numleak.planted_parameters import Parameters

ROOT = Path(__file__).resolve().parents[2]
KNOWS = {"Mkt-RF": {"error_bp": {"1926-07": 25}}}


def rows() -> list[dict[str, Any]]:
    """Return the rows, made from planted answers to the question of values alone."""
    shipped = load_protocol("numleak", ROOT / "config/protocols/numleak.yaml")
    dates = shipped.dates.model_copy(update={"start": "1990-01", "window": "1990-01"})
    bootstrap = shipped.bootstrap.model_copy(update={"draws": 50, "permutations": 50})
    protocol = shipped.model_copy(update={"facts": "synthetic", "dates": dates, "bootstrap": bootstrap})
    known = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    made = []
    for name, series in (("reciter", KNOWS), ("inventor", {})):
        who = {"seed": 1, "series": series}
        entry = ModelEntry(name=name, provider="planted", planted={"numleak": who})
        sealed = transcripts(protocol, known, who, name)
        answers = parse.parse(sealed, protocol)
        result = estimate.estimate(answers, known, protocol)
        made.append(
            row.build(
                entry,
                {"numleak": document(entry, "numleak", protocol, sealed, answers, known, result, truth={})},
            )
        )
    return made


def transcripts(protocol: Any, known: pd.DataFrame, who: dict[str, Any], model: str) -> pd.DataFrame:
    """Return what a planted respondent answers to the question of values."""
    parameters, memory, told = Parameters.model_validate(who), items.memory(known), []
    for request in ask.build(protocol, known, "value", items.names(known)).to_dict("records"):
        reply = planted.respond(request, parameters, protocol, memory)
        kept = {name: request[name] for name in ("suite", "arm", "item", "rep", "shown_date")}
        told.append({**kept, "outcome": "answer", "text": reply.text, "finish_reason": reply.finish_reason})
    frame = pd.DataFrame(told).assign(model=model, duplicate=0, provenance="planted")
    frame["key"] = [f"{place:064d}" for place in range(len(frame))]
    columns = list(frames.Transcripts.to_schema().columns)
    missing = pd.Series([None] * len(frame), dtype="str")
    frame = frame.assign(**{name: missing for name in columns if name not in frame})
    return frames.check(frame[columns], frames.Transcripts, "planted")
