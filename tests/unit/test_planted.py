"""Planted respondents: what they say against what they should say, by counting and by other arithmetic."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from anachron.config import Registry, load, read_yaml
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import planted
from anachron.suites.hindsightbench.cells import grid_of
from anachron.suites.hindsightbench.planted import Parameters, respond, truth
from anachron.suites.hindsightbench.planted_counts import simulate
from anachron.suites.hindsightbench.protocol import Protocol
from anachron.suites.hindsightbench.recall import Recall, locate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    return load_protocol("hindsightbench", ROOT / "config/protocols/bm1.yaml")


@pytest.fixture(scope="module")
def world(protocol: Protocol) -> dict[str, int]:
    draws = np.random.default_rng(5).random(len(protocol.months))
    return {date: 1 if draw < 0.63 else -1 for date, draw in zip(protocol.decision_dates, draws, strict=True)}


def request(arm: str, item: str, rep: int = 1, stated: str | None = None) -> dict[str, Any]:
    return {"arm": arm, "item": item, "rep": rep, "shown_date": stated, "system": "s", "prompt": "p"}


def bearish_counts(
    parameters: Parameters, protocol: Protocol, world: dict[str, int], arm: str, reps: int
) -> dict[str, list[bool]]:
    """Count plain answers by nothing but `json`: per date, whether each valid sketch is bearish."""
    fakes = protocol.fake_dates(protocol.shift.months)
    said: dict[str, list[bool]] = {}
    for date in protocol.decision_dates:
        stated = {"M": None, "W": fakes[date]}.get(arm, date)
        for rep in range(1, reps + 1):
            sketches = json.loads(respond(request(arm, date, rep, stated), parameters, protocol, world).text)
            said.setdefault(date, []).extend(
                s["direction"] == "-" for s in sketches if s["direction"] in "+-"
            )
    return said


STRONG = {
    "seed": 3,
    "bearish": {
        "base": 0.4,
        "context": {"crisis": 0.08, "calm": -0.03},
        "trigger": {"crisis": 0.3, "calm": -0.1},
        "revealed_crisis": -0.1,
        "unfamiliar": 0.1,
        "context_spread": 0.03,
        "date_spread": 0.03,
    },
    "recall": {
        "cutoff": "2024-03",
        "claim": 0.7,
        "claim_spread": 0.2,
        "ramp_months": 2,
        "knows": 0.6,
        "accuracy": 0.9,
    },
    "recovery": {"month": 0.2, "year": 0.5, "year_after": 0.1, "silent": 0.05},
}


def test_counted_answers_meet_the_truth(protocol: Protocol, world: dict[str, int]) -> None:
    parameters = Parameters.model_validate(STRONG)
    expected = truth(parameters, protocol, world)
    counts = {arm: bearish_counts(parameters, protocol, world, arm, 6) for arm in "RDMW"}

    def share(arm: str, dates: list[str]) -> float:
        return float(np.mean([bearish for date in dates for bearish in counts[arm][date]]))

    crisis, calm = protocol.crisis_dates, protocol.calm_dates
    back = {fake: date for date, fake in protocol.fake_dates(66).items() if date in protocol.pre_dates}
    gap = {arm: share(arm, crisis) - share(arm, calm) for arm in "RDMW"}
    fake = share("W", [back[date] for date in crisis]) - share("W", [back[date] for date in calm])
    placebo = protocol.placebo_dates
    found = {
        "E1": gap["R"] - gap["D"],
        "E2": gap["D"] - gap["M"],
        "E3": fake - gap["W"],
        "P1": share("D", placebo) - share("M", placebo),
    }
    for metric, value in found.items():
        # Binomial noise of 11 dates × 6 answers × 8 sketches in four shares is 0.04 at most; departures add.
        assert value == pytest.approx(expected[metric], abs=0.13), metric
    assert expected["E2"] == pytest.approx(0.4) and expected["E1"] == pytest.approx(-0.1)
    assert expected["P1"] == pytest.approx(0.1)


def test_recall_and_recovery_meet_the_truth(protocol: Protocol, world: dict[str, int]) -> None:
    parameters = Parameters.model_validate(STRONG)
    expected = truth(parameters, protocol, world)
    claims, hits, years = {}, [], []
    for date in protocol.decision_dates:
        words = Counter(
            respond(request("LAP", date, rep, date), parameters, protocol, world).text for rep in range(20)
        )
        claims[date] = (words["up"] + words["down"]) / 20
        if words["up"] != words["down"] and date in protocol.pre_dates:
            hits.append((words["up"] > words["down"]) == (world[date] > 0))
        answer = json.loads(respond(request("REC", date), parameters, protocol, world).text)["estimated_date"]
        if answer is not None and date in protocol.pre_dates:
            years.append(answer[:4] == date[:4])
    recalled = [date[:7] for date, claim in claims.items() if claim > 0.1]
    assert recalled[-1] == expected["cutoff"] == "2024-03"
    assert np.mean([claims[date] for date in protocol.pre_dates]) == pytest.approx(
        expected["LAP.pre"], abs=0.03
    )
    assert np.mean(hits) == pytest.approx(expected["hit_rate"], abs=0.1)
    assert np.mean(years) == pytest.approx(expected["REC.pre.year"], abs=0.12)
    assert all(claims[date] == 0 for date in protocol.post_dates)


def test_delta_is_the_regression_of_a_large_sample(protocol: Protocol, world: dict[str, int]) -> None:
    """The expected-moment δ equals least squares on many independent redraws of every date."""
    parameters = Parameters.model_validate(
        STRONG | {"bearish": {"base": 0.45, "signal_skill": 0.25, "context_spread": 0.1, "date_spread": 0.1}}
    )
    generator = np.random.default_rng(1)
    rows = []
    for date in protocol.pre_dates:
        size = 1500
        mean, width = parameters.recall.claim_at(date[:7])
        claim = mean + width * generator.uniform(-1, 1, size)
        known = parameters.recall.familiar(date)
        share = 0.45 + 0.1 * generator.uniform(-1, 1, size) + 0.1 * generator.uniform(-1, 1, size)
        share = share - 0.25 * world[date] * claim if known else share
        signal = np.sign(16 - 2 * generator.binomial(16, share))
        lap = generator.binomial(20, claim) / 20
        rows.append(np.stack([signal, lap, signal == world[date]], 1)[signal != 0])
    signal, lap, right = np.concatenate(rows).T
    design = np.stack([np.ones_like(signal), signal, lap, signal * lap], 1)
    fitted = np.linalg.lstsq(design, right, rcond=None)[0][3]
    assert truth(parameters, protocol, world)["delta"] == pytest.approx(fitted, abs=0.02)


def test_truth_has_no_digits_of_its_arithmetic(protocol: Protocol, world: dict[str, int]) -> None:
    """A δ of zero is zero, on every processor."""
    guesser = Parameters.model_validate({"bearish": {"base": 0.42}, "recall": {"claim_after": 0.5}})
    told = truth(guesser, protocol, world)
    assert told["delta"] == 0 and told["E2"] == 0 and "cutoff" not in told


def test_saturated_signals_have_no_delta(protocol: Protocol, world: dict[str, int]) -> None:
    assert "delta" not in truth(Parameters.model_validate({"bearish": {"base": 0.0}}), protocol, world)


def test_forms_are_drawn_at_their_rates_and_valid_follows(protocol: Protocol, world: dict[str, int]) -> None:
    form = {
        "fenced": 0.2,
        "trailing_comma": 0.2,
        "unterminated": 0.1,
        "truncated": 0.2,
        "refusal": 0.1,
        "empty": 0.1,
        "compliance": 0.9,
    }
    parameters = Parameters.model_validate({"seed": 1, "form": form})
    seen: Counter[str] = Counter()
    for date in protocol.decision_dates:
        for rep in range(1, 9):
            reply = respond(request("D", date, rep, date), parameters, protocol, world)
            text = reply.text
            looks = {
                "empty": not text,
                "fenced": text.startswith("```"),
                "refusal": text[:1] not in "[`",
                "truncated": reply.finish_reason == "length",
                "trailing_comma": text.endswith(",\n]"),
                "plain": text.endswith("]"),
                "unterminated": True,
            }
            kind = next(name for name, so in looks.items() if so)
            seen[kind] += 1
            if kind == "unterminated":
                assert len(json.loads(text + "]")) == 8
    total = seen.total()
    for kind in planted.FORM_KINDS:
        assert seen[kind] / total == pytest.approx(form[kind], abs=0.03), kind
    assert truth(parameters, protocol, world)["VALID"] == pytest.approx(0.9 * (0.6 + 0.2 * 3.5 / 8))
    assert truth(parameters, protocol, world, scoring="bm1")["VALID"] == pytest.approx(0.9 * 0.5)


def test_a_sketch_has_every_field_of_the_schema(protocol: Protocol, world: dict[str, int]) -> None:
    sketches = json.loads(respond(request("M", "2010-03-15"), Parameters(), protocol, world).text)
    example = json.loads(protocol.task.example)[0]
    assert all(list(sketch) == list(example) for sketch in sketches) and len(sketches) == protocol.sketches
    assert {s["candidate_horizon_hint"] for s in sketches} == set(protocol.horizons)
    assert len({s["dominant_domain"] for s in sketches}) >= 3


def test_a_masked_prompt_cannot_reveal_the_date(protocol: Protocol, world: dict[str, int]) -> None:
    """With no context effect, an arm that states no date gives the same answer whatever the regime."""
    loud = Parameters.model_validate(STRONG | {"bearish": STRONG["bearish"] | {"context": {}}})
    told = truth(loud, protocol, world)
    assert told["gap.M"] == pytest.approx(0, abs=1e-12) and told["gap.W.true"] < told["gap.W.fake"]
    text = respond(request("M", "2008-10-15"), loud, protocol, world).text
    assert "20" not in text.replace('"candidate_horizon_hint": 20', "")


def test_the_same_answer_everywhere(protocol: Protocol, world: dict[str, int]) -> None:
    """Pinned: another machine or Python must draw these very numbers."""
    assert planted.uniforms(2, 7, "arm", "D", "2008-09-15", 1) == (0.09470874148299013, 0.701576722779226)
    one = request("D", "2009-01-15", 2, "2009-01-15")
    validated = Parameters.model_validate(STRONG)
    assert respond(one, STRONG, protocol, world) == respond(one, validated, protocol, world)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ({"bearish": {"base": 0.9, "trigger": {"crisis": 0.2}}, "recall": {"cutoff": "2024-01"}}, "1.100"),
        ({"recovery": {"month": 0.3, "year": 0.2}}, "exceeds `year`"),
        ({"form": {"fenced": 0.7, "refusal": 0.4}}, "1.1; allowed: at most 1"),
        ({"recall": {"claim": 0.9, "claim_spread": 0.2}}, "claim_spread"),
        ({"bearish": {"bas": 0.2}}, "bas"),
    ],
)
def test_impossible_parameters_are_refused(fault: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Parameters.model_validate(fault)


@pytest.mark.parametrize(
    ("parameters", "located"),
    [
        pytest.param(
            {"recall": {"claim_after": 0.9, "guess_up": 1.0}}, {"bm1": "2026-06"}, id="a lucky guesser"
        ),
        pytest.param(
            {"recall": {"cutoff": "2021-05", "knows": 0.25, "accuracy": 0.8, "guess_up": 0.0}},
            {"anachron": "2021-05"},
            id="one that knows a little and guesses down",
        ),
    ],
)
def test_the_cutoff_that_truth_names_is_the_one_each_scoring_locates(
    protocol: Protocol, world: dict[str, int], parameters: dict[str, Any], located: dict[str, str]
) -> None:
    """`bm1` asks for a hit rate of 60 %, which an ever rising market grants to a guess; `anachron` does not."""
    who = Parameters.model_validate(parameters)
    told = {scoring: truth(who, protocol, world, scoring=scoring) for scoring in ("anachron", "bm1")}
    assert {scoring: one["cutoff"] for scoring, one in told.items() if "cutoff" in one} == located
    drawn = simulate(who, protocol, world, 1, seed=11)
    recall = Recall(drawn.up[0], drawn.down[0], np.full(len(protocol.months), drawn.asked))
    realised = np.array([float(world[date]) for date in protocol.decision_dates])
    grid = grid_of(protocol)
    found = {
        scoring: locate(recall, realised, grid, protocol, scoring).cutoff for scoring in ("anachron", "bm1")
    }
    assert {scoring: month for scoring, month in found.items() if month} == located


def test_the_published_scoring_has_no_truth_for_what_it_does_not_estimate(
    protocol: Protocol, world: dict[str, int]
) -> None:
    years = Parameters.model_validate({"recovery": {"year_only": 1.0}, "recall": {"claim_after": 0.5}})
    told = {scoring: set(truth(years, protocol, world, scoring=scoring)) for scoring in ("anachron", "bm1")}
    assert told["anachron"] - told["bm1"] == {
        "kappa", "REC.pre.year", "REC.post.year", "REC.pre.year_all", "REC.post.year_all",
    }  # fmt: skip


@pytest.mark.parametrize("registry", ["config/models.yaml", "config/test/models.yaml"])
def test_registered_respondents_are_valid(registry: str) -> None:
    planted = [entry for entry in load(Registry, ROOT / registry).models if entry.provider == "planted"]
    assert planted
    for entry in planted:
        assert entry.disclosures
        Parameters.model_validate(entry.planted["hindsightbench"])


def test_the_small_protocol_shares_the_wording() -> None:
    small, full = (
        read_yaml(ROOT / path) for path in ("config/test/protocol.yaml", "config/protocols/bm1.yaml")
    )
    for key in ("series", "target", "task", "domains", "horizons"):
        assert small[key] == full[key], (
            f"copy `{key}` of config/protocols/bm1.yaml to config/test/protocol.yaml"
        )
    load_protocol("hindsightbench", ROOT / "config/test/protocol.yaml")
