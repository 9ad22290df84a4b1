"""The whole way on a planted respondent: real requests, its answers, parser, estimates, against its truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anachron import frames
from anachron.blocks import ordinal
from anachron.config import Registry, Sources, load
from anachron.items import panel as panels
from anachron.llm.providers import outcome
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import ask, planted
from anachron.suites.hindsightbench.estimate import estimate
from anachron.suites.hindsightbench.parse import parse
from anachron.suites.hindsightbench.planted_counts import simulate
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
ARMS = ("R", "D", "M", "W", "LAP", "REC")


def transcripts(
    protocol: Protocol, panel: pd.DataFrame, parameters: Any, world: dict[str, int]
) -> pd.DataFrame:
    """Return what collecting would seal, without a store."""
    rows = []
    for arm in ARMS:
        for request in ask.build(protocol, panel, arm, protocol.decision_dates).to_dict("records"):
            shown = request["shown_date"] if isinstance(request["shown_date"], str) else None
            reply = planted.respond(request | {"shown_date": shown}, parameters, protocol, world)
            rows.append(
                dict.fromkeys(frames.Transcripts.to_schema().columns)
                | {column: request[column] for column in ("suite", "arm", "item", "rep")}
                | {
                    "model": "planted",
                    "duplicate": 0,
                    "key": "k",
                    "provenance": "planted",
                    "shown_date": shown,
                }
                | {"outcome": outcome(reply), "text": reply.text, "finish_reason": reply.finish_reason}
            )
    return frames.check(pd.DataFrame(rows), frames.Transcripts, "test")


@pytest.fixture(scope="module")
def run() -> tuple[dict[tuple[str, str], dict[str, Any]], dict[str, Any], dict[str, float]]:
    """Return the estimates by scoring and metric, the truths by scoring, and standard errors by metric."""
    protocol = load_protocol("hindsightbench", ROOT / "config/protocols/bm1.yaml")
    macro = Sources(snapshot=str(ROOT / "resources/snapshot"))
    panel = panels.build(protocol, macro, protocol.decision_dates)
    known = panel.drop_duplicates("decision_date").dropna(subset="realised")
    world = dict(zip(known["decision_date"], known["realised"].astype(int), strict=True))
    entry = load(Registry, ROOT / "config/models.yaml").get("planted-trigger")
    parameters = planted.Parameters.model_validate(entry.planted["hindsightbench"])
    answers = parse(transcripts(protocol, panel, parameters, world), protocol)
    records = estimate(answers, panel, protocol, "full", list(ARMS)).records
    found = {(record["scoring"], record["metric"]): record for record in records}
    truths = {
        scoring: planted.truth(parameters, protocol, world, scoring=scoring)
        for scoring in ("anachron", "bm1")
    }
    drawn = simulate(parameters, protocol, world, 200, seed=5)
    place = {date: number for number, date in enumerate(protocol.decision_dates)}

    def share(arm: str, dates: list[str]) -> np.ndarray:
        where = [place[date] for date in dates]
        return drawn.bearish[arm][:, where].sum(1) / drawn.total[arm][:, where].sum(1)

    gap = {arm: share(arm, protocol.crisis_dates) - share(arm, protocol.calm_dates) for arm in "RDMW"}
    fakes = protocol.fake_dates(protocol.shift.months)
    back = {fakes[date]: date for date in protocol.pre_dates}
    fake = share("W", [back[d] for d in protocol.crisis_dates]) - share(
        "W", [back[d] for d in protocol.calm_dates]
    )
    errors = {
        "E1": gap["R"] - gap["D"],
        "E2": gap["D"] - gap["M"],
        "E3": fake - gap["W"],
        "P1.calendar": share("D", protocol.placebo_dates) - share("M", protocol.placebo_dates),
        "LAP.pre": ((drawn.up + drawn.down) / drawn.asked)[:, : len(protocol.pre_dates)].mean(1),
    }
    return found, truths, {metric: float(values.std(ddof=1)) for metric, values in errors.items()}


@pytest.mark.parametrize("scoring", ["anachron", "bm1"])
@pytest.mark.parametrize("metric", ["E1", "E2", "E3", "P1.calendar", "LAP.pre"])
def test_an_estimate_lies_within_four_errors_of_the_truth(run: Any, scoring: str, metric: str) -> None:
    found, truths, errors = run
    record = found[scoring, metric]
    assert record["value"] == pytest.approx(truths[scoring][metric], abs=4 * errors[metric])


@pytest.mark.parametrize("scoring", ["anachron", "bm1"])
def test_recall_is_located_and_its_accuracy_found(run: Any, scoring: str) -> None:
    found, truths, _ = run
    cutoff = found[scoring, "cutoff"]["value_month"]
    assert cutoff is not None and abs(ordinal(cutoff) - ordinal(truths[scoring]["cutoff"])) <= 1
    hit = truths[scoring]["hit_rate"]
    size = found[scoring, "hit_rate"]["n"]
    assert found[scoring, "hit_rate"]["value"] == pytest.approx(hit, abs=4 * np.sqrt(hit * (1 - hit) / size))
    year = truths[scoring]["REC.pre.year"]
    error = np.sqrt(year * (1 - year) / found[scoring, "REC.pre.year"]["n"])
    assert found[scoring, "REC.pre.year"]["value"] == pytest.approx(year, abs=4 * error)


@pytest.mark.parametrize("scoring", ["anachron", "bm1"])
def test_valid_share_follows_from_the_planted_forms(run: Any, scoring: str) -> None:
    """Answers are lost whole: 2,064 of them, so one standard error is about 0.003."""
    found, truths, _ = run
    assert found[scoring, "VALID"]["value"] == pytest.approx(truths[scoring]["VALID"], abs=0.014)
    assert truths["bm1"]["VALID"] < truths["anachron"]["VALID"]


@pytest.mark.parametrize("scoring", ["anachron", "bm1"])
def test_every_truth_has_its_estimate(run: Any, scoring: str) -> None:
    found, truths, _ = run
    asked = {metric for metric in truths[scoring] if "72" not in metric}
    assert asked <= {metric for name, metric in found if name == scoring}
