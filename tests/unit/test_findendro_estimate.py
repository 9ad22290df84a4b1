"""Measures of the suite `findendro`, held against planted respondents and against plain counting."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from findendro_facts import protocol, sample, transcripts

from anachron.blocks import ordinal
from anachron.suites.findendro import items, planted
from anachron.suites.findendro.draws import Draws
from anachron.suites.findendro.ends import Curve, first_fall, last_above
from anachron.suites.findendro.estimate import estimate
from anachron.suites.findendro.parse import parse

CHOSEN = protocol()
ALWAYS: dict[str, Any] = {
    "seed": 5,
    "knowledge": {"1999-01": 1.0},
    "claims_known": {"1999-01": 0.0},
    "claims_unknown": {"1999-01": 0.0},
}
MODEST = {
    "seed": 4,
    "knowledge": {"1999-01": 0.6, "2010-01": 0.8, "2023-11": 0.0},
    "claims_known": {"1999-01": 0.55, "2023-11": 0.05},
    "claims_unknown": {"1999-01": 0.2, "2023-11": 0.02},
    "date_obedience": 0.9,
    "position_bias": 0.05,
    "self_report": "2023-06",
    "form": {"refusal": 0.02, "long": 0.2, "truncated": 0.01},
}


def estimates(
    parameters: dict[str, Any], arms: tuple[str, ...] = ("value", "recall")
) -> dict[str, dict[str, Any]]:
    """Return the estimates of a respondent on the whole sample, by metric."""
    answers = parse(transcripts(CHOSEN, sample(), parameters, arms), CHOSEN)
    return {one["metric"]: one for one in estimate(answers, sample(), CHOSEN, arms=arms).records}


def test_a_respondent_that_knows_all_and_denies_all() -> None:
    found = estimates(ALWAYS)
    assert found["knows"]["value"] == 1.0 and found["says"]["value"] == 0.0
    assert found["gap"]["value"] is None and found["gap"]["gate"] == "g"
    assert found["acc_denies"]["value"] == 1.0
    assert found["claims_end"]["value_month"] is None and found["claims_end"]["gate"] == "c"
    assert found["knowledge_end"]["value_month"] == "2026-09" and "o" in found["knowledge_end"]["marks"]


def test_persistence_and_the_usual_outcome_earn_no_more_than_chance() -> None:
    persistent = estimates(ALWAYS | {"knowledge": {"1999-01": 0.0}, "numeric_guess": "persistence"})
    assert persistent["knows.macro"]["value"] == persistent["knows.stock"]["value"] == 0.0
    assert persistent["knows"]["value"] < persistent["chance"]["value"]
    assert persistent["knowledge_end"]["gate"] == "b" and persistent["knowledge_end"]["value_month"] is None
    assert persistent["filter.inside.accuracy"]["gate"] == "e"
    unchanged = estimates(ALWAYS | {"knowledge": {"1999-01": 0.0}, "policy_guess": "unchanged"})
    assert unchanged["knows.policy"]["value"] == pytest.approx(1 / 3)


def test_a_respondent_that_always_takes_the_first_option_fails_the_position_gate() -> None:
    found = estimates(ALWAYS | {"position_bias": 1.0})
    assert found["first_option.value"]["value"] == 1.0
    for metric in ("knows", "says", "gap", "knowledge_end", "claims_end"):
        assert found[metric]["gate"] == "p" and found[metric]["value"] is found[metric]["value_month"] is None
    assert found["knows"]["before_value"] == pytest.approx(0.27, abs=0.05)


def test_estimates_hold_the_truth_of_a_planted_respondent() -> None:
    found = estimates(MODEST, ("value", "recall", "predict", "dated", "cutoff"))
    truth = planted.truth(MODEST, CHOSEN, items.memory(sample()))
    assert set(truth) <= set(found)
    shares = {
        name: value
        for name, value in truth.items()
        if not isinstance(value, str) and found[name]["low"] is not None
    }
    assert len(shares) > 60
    held = [found[name]["low"] <= value <= found[name]["high"] for name, value in shares.items()]
    # Metrics share facts, so one bad draw misses several; an estimator that is off misses most.
    assert np.mean(held) > 0.8
    for name in ("knows", "says", "says.predict", "says.dated", "accuracy.dated"):
        assert found[name]["value"] == pytest.approx(truth[name], abs=0.05)
    for name in ("knowledge_end", "claims_end"):
        assert abs(ordinal(found[name]["value_month"]) - ordinal(str(truth[name]))) <= 3
    assert found["self_report"]["value_month"] == "2023-06"
    assert found["claims_end.minus_self_report"]["value"] == ordinal(
        found["claims_end"]["value_month"]
    ) - ordinal("2023-06")


def test_headline_measures_agree_with_plain_counting() -> None:
    answers = parse(transcripts(CHOSEN, sample(), MODEST, ("value", "recall")), CHOSEN)
    found = {one["metric"]: one for one in estimate(answers, sample(), CHOSEN).records}
    plain = answers.astype(object).where(answers.notna(), None)
    candidate, claim = (
        dict(zip(part["item"], part[column], strict=True))
        for part, column in (
            (plain[plain["arm"] == "value"], "candidate"),
            (plain[plain["arm"] == "recall"], "knows"),
        )
    )
    facts = sample().astype(object).where(sample().notna(), None).to_dict("records")
    facts = [fact for fact in facts if fact["family"] != "cutoff"]
    right = {fact["item"]: candidate[fact["item"]] == fact["truth"] for fact in facts}
    numeric = [f for f in facts if f["family"] != "policy" and f["nearest"] not in (None, f["truth"])]
    policy = [f for f in facts if f["family"] == "policy"]
    classes = [[right[f["item"]] for f in policy if f["truth"] == outcome] for outcome in range(3)]
    balanced = np.mean([np.mean(hits) for hits in classes])
    knows = (sum(right[f["item"]] for f in numeric) + len(policy) * balanced) / (len(numeric) + len(policy))
    assert found["knows"]["value"] == pytest.approx(knows)
    assert found["says"]["value"] == pytest.approx(sum(claim[f["item"]] is True for f in facts) / len(facts))

    controlled = numeric + policy
    groups = {one: [right[f["item"]] for f in controlled if claim[f["item"]] is one] for one in (True, False)}
    assert found["acc_says"]["value"] == pytest.approx(np.mean(groups[True]))
    assert found["acc_denies"]["value"] == pytest.approx(np.mean(groups[False]))

    halves = [f"{year}-{month}" for year in range(2021, 2027) for month in ("01", "07")]
    starts = ["1999-01", "2006-01", "2011-01", "2016-01", *halves, "9999-01"]
    size, gap = 0, 0.0
    for first, after in itertools.pairwise(starts):
        inside = [f["item"] for f in controlled if first <= f["month"] < after]
        claimed, denied = ([right[one] for one in inside if claim[one] is says] for says in (True, False))
        if claimed and denied:
            size += len(claimed) + len(denied)
            gap += (len(claimed) + len(denied)) * (np.mean(claimed) - np.mean(denied))
    assert found["gap"]["value"] == pytest.approx(gap / size) and found["gap"]["n"] == size


def test_the_rule_of_the_ends() -> None:
    shares = np.array([[0.8, 0.8, 0.8, 0.2, 0.2, 0.9, 0.2, 0.2]])
    curve = Curve(shares * 10, np.full_like(shares, 10.0), np.array([0.8]), np.array([0.2]))
    # Two-quarter means: .8 .8 .8 .5 .2 .55 .55 .2; the threshold is .5, and at it is not above it.
    assert last_above(curve, 0.5, 2)[0] == 6
    assert first_fall(curve, 0.5, 2, 2, after=1)[0] == 3
    assert np.isnan(first_fall(curve, 0.5, 2, 3, after=1)[0])
    assert last_above(curve, 0.99, 1)[0] == 5


def test_draws_are_exact_counts_whatever_the_order_of_sums() -> None:
    draws = Draws(300, CHOSEN.bootstrap)
    inside = np.arange(300) % 3 == 0
    cell = np.arange(300) // 50
    whole = draws.sums(inside[:, None])[:, 0]
    assert whole[0] == 100 and np.array_equal(whole, draws.by_cell(inside, cell, 6).sum(axis=1))
    assert np.array_equal(draws.matrix.sum(axis=1), np.full(CHOSEN.bootstrap.draws + 1, 300.0))
    assert 90 < whole[1:].mean() < 110 and 6 < whole[1:].std() < 10
