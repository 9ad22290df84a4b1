"""Planted forecasters through requests, parser and estimators: gap, jump, difference and w come out as planted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from leakage_forecasters import KNOWS_UNTIL, answers, drawn, of_panel, shipped, table

from anachron.backtest import control, score
from anachron.backtest.convert import null, number
from anachron.stats import extraction, rd
from anachron.stats.cluster import gap
from anachron.stats.gaps import Floats
from anachron.suites.leakage import forecasts, items
from anachron.suites.leakage.planted_parameters import Parameters
from anachron.suites.leakage.planted_truth import planted, questions
from anachron.suites.leakage.protocol import Protocol

HONEST: dict[str, Any] = {"skill": 0.15, "recency_days": 250, "fresh_until": "2023-09", "noise": 0.4}
LEAKS = HONEST | {"seed": 1, "knows_until": KNOWS_UNTIL, "w": 0.4}
PANELS = 60


class Study(NamedTuple):
    """Panels of questions, and what three forecasters said of them."""

    protocol: Protocol
    known: pd.DataFrame
    forecasts: pd.DataFrame

    def scores(self, panel: int, *models: str) -> score.ScoreTable:
        """The scores of some models on one panel."""
        own = of_panel(self.forecasts, panel)
        return score.table(own[own["model"].isin(models)])


@pytest.fixture(scope="module")
def study() -> Study:
    protocol, known = shipped(), drawn(0, n=300, panels=PANELS)
    models = {"leaks": LEAKS, "clean": HONEST | {"seed": 2}, "control": HONEST | {"seed": 3}}
    cutoffs = {"leaks": KNOWS_UNTIL, "clean": KNOWS_UNTIL}
    return Study(protocol, known, table(protocol, known, models, **cutoffs))


def since_cutoff(held: score.ScoreTable, model: str) -> tuple[Floats, Floats, int]:
    """Days from the cutoff, scores, and the cutoff of a model."""
    cutoff = held.cutoffs[model]
    assert cutoff is not None
    return (held.days - cutoff).astype(float), held.column(model), cutoff


def assert_near(found: list[float], true: list[float]) -> None:
    """Hold the mean of an estimator within three Monte Carlo errors of the plan, and the plan six away from nothing."""
    off = np.array(found) - np.array(true)
    error = float(off.std(ddof=1)) / math.sqrt(len(off))
    assert abs(float(off.mean())) < 3 * error
    assert float(np.mean(true)) > 6 * error, "too few panels to tell the plan from nothing"


def test_gap_jump_and_difference_recover_the_plan(study: Study) -> None:
    found: dict[str, list[float]] = {"gap": [], "jump": [], "did": []}
    true: dict[str, list[float]] = {"gap": [], "jump": [], "did": []}
    who, memory = Parameters.model_validate(LEAKS), items.memory(study.known)
    for panel in range(PANELS):
        held = study.scores(panel, "leaks", "control")
        days, own, cutoff = since_cutoff(held, "leaks")
        found["gap"].append(gap(own, days < 0, held.cluster, draws=100).estimate or math.nan)
        found["jump"].append(rd.jump(days, own, held.cluster).estimate or math.nan)
        both = control.paired_did(held, "leaks", ["control"], cutoff, draws=100)
        found["did"].append(both.raw.estimate or math.nan)
        asked = {item: memory[item] for item in held.questions.tolist()}
        told, plan = planted(who, study.protocol, asked), questions(who, asked)
        true["gap"].append(float(told["gap"]))
        true["jump"].append(float(told["jump"]))
        true["did"].append(float(plan.leakage[plan.days < 0].mean()))
    for name in found:
        assert_near(found[name], true[name])
    assert np.mean(true["gap"]) > 1.1 * np.mean(true["did"]), (
        "recency is in the gap and not in the difference"
    )


def test_w_is_recovered_by_the_movement_from_the_honest_twin() -> None:
    protocol, known = shipped(), drawn(3)
    leaks = LEAKS | {"w_by_source": {"south": 0.7}}
    twin = LEAKS | {"w": 0}
    both = [answers(protocol, known, name, who) for name, who in (("leaks", leaks), ("twin", twin))]
    p, p0 = (one["probability"].to_numpy(dtype=float) for one in both)
    joined = both[0][["item"]].merge(known, on="item")
    for source, w in (("north", 0.4), ("south", 0.7)):
        read = ((joined["month"] <= KNOWS_UNTIL) & (joined["source"] == source)).to_numpy()
        held = extraction.weight(p[read], p0[read], joined["outcome"].to_numpy()[read])
        assert held.estimate == pytest.approx(w, abs=0.004), "answers have two decimals"
    after = (joined["month"] > KNOWS_UNTIL).to_numpy()
    assert np.array_equal(p[after], p0[after])


def test_who_leaks_nothing_is_flagged_as_often_as_stated_although_it_is_fresh(study: Study) -> None:
    flagged = {"gap": 0, "jump": 0, "did": 0}
    for panel in range(PANELS):
        held = study.scores(panel, "clean", "control")
        days, own, cutoff = since_cutoff(held, "clean")
        results = {
            "gap": gap(own, days < 0, held.cluster, draws=1000),
            "jump": rd.jump(days, own, held.cluster),
            "did": control.paired_did(held, "clean", ["control"], cutoff, draws=1000).raw,
        }
        for name, one in results.items():
            flagged[name] += null(number(one)) is False
    bound = 0.05 + 3 * math.sqrt(0.05 * 0.95 / PANELS)
    assert flagged["jump"] / PANELS <= bound
    assert flagged["did"] / PANELS <= bound
    assert flagged["gap"] / PANELS > 0.5, "the naive gap takes recency for leakage"


def test_forecasts_join_what_was_asked_with_what_came_true() -> None:
    protocol, known = shipped(), drawn(1, n=60)
    read = answers(protocol, known, "target", LEAKS | {"refusal": 0.3})
    made = forecasts.table(read, known, {"target": KNOWS_UNTIL})
    assert set(made["cutoff"]) == {"2024-07-01"}
    assert len(made) == (read["reading"] == "probability").sum() < 60
    assert (read["reading"].value_counts()["refusal"]) + len(made) == 60
