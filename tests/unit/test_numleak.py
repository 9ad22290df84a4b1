"""NumLeak asked and measured end to end on planted respondents; panels, requests, nulls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anachron import frames
from anachron.blocks import months
from anachron.config import Sources
from anachron.errors import ContractError
from anachron.stages_judge import with_judgement
from anachron.suites import load_protocol
from anachron.suites.numleak import ask, estimate, items, judging, naming, parse, planted
from anachron.suites.numleak.panels import main_panel, pairs, seeded_panel
from anachron.suites.numleak.planted_parameters import Parameters, Recall
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import Sheet
from anachron.suites.numleak.signature import signature

ROOT = Path(__file__).resolve().parents[2]
EXACT = {"knows": "value", "error_bp": {"1926-07": 0}}
QUICK = (naming.VALUE, naming.RANK_FORCED, naming.FABRICATED, naming.SIGNAL, naming.REASON)


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    """The shipped protocol on generated values, whose factors begin in 1990."""
    shipped = load_protocol("numleak", ROOT / "config/protocols/numleak.yaml")
    dates = shipped.dates.model_copy(update={"start": "1990-01", "window": "1990-01"})
    bootstrap = shipped.bootstrap.model_copy(update={"draws": 200, "permutations": 500})
    changed: Protocol = shipped.model_copy(
        update={"facts": "synthetic", "dates": dates, "bootstrap": bootstrap}
    )
    return changed


@pytest.fixture(scope="module")
def known(protocol: Protocol) -> pd.DataFrame:
    return items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)


def transcripts(
    protocol: Protocol, known: pd.DataFrame, who: dict[str, Any], arms: tuple[str, ...]
) -> pd.DataFrame:
    memory, rows = items.memory(known), []
    parameters = Parameters.model_validate({"seed": 1, **who})
    for arm in arms:
        for request in ask.build(protocol, known, arm, items.names(known)).to_dict("records"):
            reply = planted.respond(request, parameters, protocol, memory)
            outcome = "truncated" if reply.finish_reason == "length" else "answer"
            kept = {name: request[name] for name in ("suite", "arm", "item", "rep", "shown_date")}
            said = {"text": reply.text, "finish_reason": reply.finish_reason, "logprobs": reply.logprobs}
            rows.append({**kept, "outcome": outcome, **said})
    frame = pd.DataFrame(rows).assign(model="planted", duplicate=0, provenance="planted")
    frame["key"] = [f"{place:064d}" for place in range(len(frame))]
    missing = pd.Series([None] * len(frame), dtype="str")
    columns = list(frames.Transcripts.to_schema().columns)
    frame = frame.assign(**{name: missing for name in columns if name not in frame})
    return frames.check(frame[columns], frames.Transcripts, "planted")


def cells(
    protocol: Protocol, known: pd.DataFrame, who: dict[str, Any], arms: tuple[str, ...] = QUICK
) -> dict[str, dict[str, Any]]:
    answers = parse.parse(transcripts(protocol, known, who, arms), protocol)
    result = estimate.estimate(answers, known, protocol)
    return {record["metric"]: record for record in result.records if record["scoring"] == "anachron"}


def test_panels_are_those_of_the_paper_and_a_later_end_leaves_them() -> None:
    shipped = load_protocol("numleak", ROOT / "config/protocols/numleak.yaml")
    pool = months("1963-07", "2026-02")
    assert len(pool) == 752
    assert shipped.main_months() == main_panel(pool, 42, 40)
    assert shipped.panel_months("SMB", 2) == seeded_panel(months("1963-07", "2022-12"), "SMB", 2, 40)
    later = shipped.model_copy(update={"dates": shipped.dates.model_copy(update={"end": "2027-03"})})
    assert later.main_months() == shipped.main_months() and later.pair_list() == shipped.pair_list()


def test_pairs_are_unequal_each_once_and_in_either_order() -> None:
    drawn = pairs(months("2000-01", "2003-04"), 42, 60)
    assert len({frozenset(pair) for pair in drawn}) == 60 and all(one != other for one, other in drawn)
    assert 15 < sum(one < other for one, other in drawn) < 45


def test_every_arm_is_asked_and_no_prompt_holds_a_true_value(protocol: Protocol, known: pd.DataFrame) -> None:
    for arm in protocol.known_arms():
        made = ask.build(protocol, known, arm, items.names(known))
        assert len(made), arm
        values = known.set_index("item")["value"]
        for item, prompt in zip(made["item"], made["prompt"], strict=True):
            if np.isfinite(values[item]) and abs(values[item]) >= 1:
                assert f"{abs(values[item]):.2f}" not in prompt
        assert "{" not in " ".join(made["prompt"])
    for arm, item in ask.smoke(protocol):
        assert item in items.of_arm(protocol, arm)


def test_a_defence_goes_into_the_system_role_or_before_the_prompt(
    protocol: Protocol, known: pd.DataFrame
) -> None:
    arm, text = "defence-strong", protocol.defences["strong"]
    made = ask.build(protocol, known, arm, items.names(known))
    assert set(made["system"]) == {text} and not made["prompt"].str.contains(text, regex=False).any()
    assert sorted(made["rep"].unique()) == list(range(7))
    prefixed = ask.build(protocol.model_copy(update={"placing": "prefix"}), known, arm, items.names(known))
    assert set(prefixed["system"]) == {""} and prefixed["prompt"].str.startswith(text).all()


def test_a_shifted_signal_states_the_month_half_a_year_later(protocol: Protocol, known: pd.DataFrame) -> None:
    made = ask.build(protocol, known, naming.SIGNAL_SHIFTED, items.names(known)).iloc[0]
    month = items.shown_month(protocol, naming.SIGNAL_SHIFTED, made["item"])
    assert month != made["item"][:7] and ask.in_words(month) in made["prompt"]


def test_items_that_were_not_built_are_an_error(protocol: Protocol, known: pd.DataFrame) -> None:
    with pytest.raises(ContractError, match="build them again"):
        ask.build(protocol, known.iloc[:0], naming.VALUE, items.names(known))


def test_a_respondent_that_knows_the_values_is_found_as_planted(
    protocol: Protocol, known: pd.DataFrame
) -> None:
    who = {
        "series": {"Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 20}}},
        "refusal": 0.1,
        "truncation": 0.05,
        "fabrication": 0.7,
    }
    found = cells(protocol, known, who)
    expected = planted.truth({"seed": 1, **who}, protocol, items.memory(known))
    for metric, slack in (("w25", 0.2), ("parse", 0.15), ("r", 0.02), ("mae", 0.08), ("sign", 0.1)):
        name = f"value.Mkt-RF.{metric}"
        assert abs(found[name]["value"] - float(expected[name])) < slack, name
    assert abs(found["fabricated.commit"]["value"] - 0.7) < 0.2
    assert found["value.Mkt-RF.memorised"]["value"] == 1
    assert found["value.Mkt-RF.truncated"]["value"] > 0 and found["value.Mkt-RF.refused"]["value"] > 0
    assert found["value.Mkt-RF.selectivity"]["value"] < 0.5


def test_what_is_planted_is_what_is_found(protocol: Protocol, known: pd.DataFrame) -> None:
    """Selectivity, decoupling and transmission recover the plan; see benchmarks/calibration_numleak.py."""
    who = {
        "series": {
            "Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 40}},
            "SMB": {"knows": "value", "error_bp": {"1926-07": 120}},
        },
        "ranks": "coin",
        "signal_truth": 0.01,
        "signal_recall": 0.05,
        "signal_noise": 0.1,
        "obeys": {"soft": 0.6},
        "cutoff": "2025-06",
    }
    arms = (*QUICK[:-1], naming.RECENT, "defence-soft")
    found = cells(protocol, known, who, arms)
    expected = planted.truth({"seed": 1, **who}, protocol, items.memory(known))
    for metric, slack in (
        ("value.Mkt-RF.selectivity", 0.25),
        ("rank-forced.Mkt-RF.accuracy", 0.17),
        ("rank-forced.Mkt-RF.implied", 0.06),
        ("signal.leak_share", 0.06),
        ("signal.leak_share.null", 0.03),
        ("signal.beta_recall", 0.015),
        ("signal.truth_r", 0.1),
        ("recent.Mkt-RF.parse", 1e-9),
        ("defence-soft.benign", 0.2),
        ("defence-soft.worst", 0.1),
    ):
        assert abs(found[metric]["value"] - float(expected[metric])) < slack, (metric, expected[metric])
    assert found["recent.Mkt-RF.end"]["value_month"] == expected["recent.Mkt-RF.end"] == "2025-06"
    assert "d" in found["rank-forced.Mkt-RF.accuracy"]["marks"]
    assert found["value.SMB.w25"]["value"] < found["value.Mkt-RF.w25"]["value"]


def test_a_measure_that_a_null_explains_is_marked(protocol: Protocol, known: pd.DataFrame) -> None:
    found = cells(protocol, known, {"series": {"Mkt-RF": {"knows": "sign"}}})
    assert "j" in found["value.Mkt-RF.r"]["marks"] and "j" in found["value.Mkt-RF.mae"]["marks"]
    assert "j" not in found["value.Mkt-RF.sign"]["marks"]
    assert found["value.Mkt-RF.r"]["value"] > 0.7  # high, and explained by the sign alone
    assert found["value.Mkt-RF.best_null.r"]["value"] >= found["value.Mkt-RF.r"]["value"] - 0.02
    recites = cells(protocol, known, {"series": {"Mkt-RF": EXACT}})
    for measure in ("r", "mae", "w25", "sign"):
        assert "j" not in recites[f"value.Mkt-RF.{measure}"]["marks"], measure
    assert recites["value.Mkt-RF.null.factors.w25"]["value"] < 0.2


def test_famous_months_and_the_distance_to_the_cutoff(protocol: Protocol, known: pd.DataFrame) -> None:
    who = {"series": {"Mkt-RF": EXACT}, "cutoff": "2025-06"}
    arms = (naming.VALUE, naming.FAMOUS, naming.RECENT)
    answers = parse.parse(transcripts(protocol, known, who, arms), protocol)
    result = estimate.estimate(answers, known, protocol, cutoff="2025-06")
    found = {one["metric"]: one for one in result.records if one["scoring"] == "anachron"}
    assert found["recent.Mkt-RF.near_cutoff.answered"]["value"] == 1
    assert found["recent.Mkt-RF.near_cutoff.answered"]["n"] == 6
    assert found["recent.Mkt-RF.after_cutoff.answered"]["value"] == 0
    assert found["recent.Mkt-RF.after_cutoff.w25"]["value"] is None
    assert found["famous.Mkt-RF.gap"]["value"] == 0 and "o" in found["famous.Mkt-RF.gap"]["marks"]
    assert found["famous.Mkt-RF.w25"]["n"] == len(protocol.famous_months()) > 10


def test_a_series_of_one_sign_is_recited_though_no_sign_can_be_wrong(
    protocol: Protocol, known: pd.DataFrame
) -> None:
    found = cells(protocol, known, {"series": {"UNRATE": EXACT}}, (naming.VALUE,))
    assert found["value.UNRATE.best_null.sign"]["value"] == 1
    assert found["value.UNRATE.memorised"]["value"] == 1


def test_likelihoods_of_candidates_and_spread_of_first_tokens(
    protocol: Protocol, known: pd.DataFrame
) -> None:
    arms = (naming.CANDIDATES, naming.ENTROPY)
    who = {"series": {"Mkt-RF": EXACT}, "fabrication": 1.0}
    found = cells(protocol, known, who, arms)
    expected = planted.truth({"seed": 1, **who}, protocol, items.memory(known))
    assert found["candidates.top1"]["value"] == 1 and found["candidates.mean_rank"]["value"] == 1
    for name in ("Mkt-RF", "fabricated"):
        metric = f"entropy.{name}.mean"
        assert found[metric]["value"] == pytest.approx(float(expected[metric])), metric
    ignorant = cells(protocol, known, {}, arms)
    assert ignorant["candidates.top1"]["value"] < 0.5
    made = ask.build(protocol, known, naming.CANDIDATES, items.names(known))
    assert set(made["max_tokens"]) == {0} and made["item"].str[:7].value_counts().eq(5).all()
    silent = transcripts(protocol, known, who, arms).assign(logprobs=None)
    result = estimate.estimate(parse.parse(silent, protocol), known, protocol)
    gates = {one["metric"]: one["gate"] for one in result.records if one["value"] is None}
    assert gates["entropy.Mkt-RF.mean"] == gates["candidates.top1"] == "l"


def test_a_judge_grades_and_nobody_grades_itself(protocol: Protocol, known: pd.DataFrame) -> None:
    arm = "utility-soft"
    sealed = transcripts(protocol, known, {"useful": 0.5}, (arm,))
    asked = judging.build(protocol, sealed)
    assert len(asked) == 18 and asked["prompt"].str.contains("Answer: ").all()
    judge, memory = Parameters(seed=2, grade=3), items.memory(known)
    replies = [planted.respond(one, judge, protocol, memory).text for one in asked.to_dict("records")]
    said = asked[["item", "rep"]].assign(text=replies, outcome="answer", key="k")
    graded = with_judgement(sealed, said, "another model")
    answers = parse.parse(graded, protocol)
    refused = sealed["text"].eq(planted.REFUSAL)
    assert 3 < refused.sum() < 15
    assert answers["score"].tolist() == [0.0 if one else 3.0 for one in refused]
    result = estimate.estimate(answers, known, protocol)
    found = {one["metric"]: one for one in result.records if one["scoring"] == "anachron"}
    assert found["utility-soft.score"]["value"] == pytest.approx(3 * (1 - refused.mean()))
    assert "w" not in found["utility-soft.score"]["marks"]
    itself = estimate.estimate(answers.assign(judge="planted"), known, protocol)
    assert all("w" in one["marks"] for one in itself.records if one["metric"] == "utility-soft.score")
    ungraded = estimate.estimate(parse.parse(sealed, protocol), known, protocol)
    assert any(one["metric"] == "utility-soft.score" and one["gate"] == "y" for one in ungraded.records)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("3", 3),
        ("**4**", 4),
        ("Score: 2. It names no cause of 2008.", 2),
        ("4/4", 4),
        ("The answer is vague.\n\n1", 1),
        ("between 2 and 3", None),
        ("7", None),
        ("3.5", None),
        ("10%", None),
        ("", None),
    ],
)
def test_the_score_of_a_judge(text: str, score: int | None) -> None:
    assert judging.score(text) == score


def test_reasoning_before_the_answer_changes_no_number(protocol: Protocol, known: pd.DataFrame) -> None:
    found = cells(protocol, known, {"series": {"Mkt-RF": EXACT}})
    assert found["reason.Mkt-RF.w25"]["value"] == found["value.Mkt-RF.w25"]["value"] == 1
    counted = {
        name: one["n"] for name, one in found.items() if name.startswith("value.Mkt-RF.") and "0s.w25" in name
    }
    assert len(counted) >= 3 and sum(counted.values()) == found["value.Mkt-RF.w25"]["n"]
    assert found["value_reason.tie"]["value"] == found["value_reason.tie"]["n"]


def test_ranks_that_follow_values_and_ranks_that_do_not(protocol: Protocol, known: pd.DataFrame) -> None:
    for way, low, high in (("values", 0.95, 1.0), ("coin", 0.3, 0.7)):
        found = cells(protocol, known, {"series": {"Mkt-RF": EXACT}, "ranks": way})
        assert low <= found["rank-forced.Mkt-RF.accuracy"]["value"] <= high
        assert found["rank-forced.Mkt-RF.implied"]["value"] == 1


def test_a_signal_of_the_truth_alone_is_not_informative(protocol: Protocol, known: pd.DataFrame) -> None:
    recall = {"Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 100}}}
    truth_alone = {"series": recall, "signal_truth": 0.06, "signal_recall": 0.0, "signal_noise": 0.1}
    found = cells(protocol, known, truth_alone)
    assert found["signal.leak_share"]["value"] > 0.8
    assert "u" in found["signal.leak_share"]["marks"]
    assert abs(found["signal.partial"]["value"]) < 0.45
    leaking = cells(
        protocol, known, {**truth_alone, "signal_truth": 0.0, "signal_recall": 0.06, "signal_noise": 0.02}
    )
    assert leaking["signal.partial"]["value"] > 0.6


RUNS = 60
KINDS = {"value": "memorised", "sign": "sign_only", "mean": "flat", "nothing": None}


@pytest.mark.parametrize("knows", ["value", "sign", "mean", "nothing"])
def test_the_joint_signature_tells_respondents_apart(
    protocol: Protocol, known: pd.DataFrame, knows: str
) -> None:
    """Whoever recites, knows only the sign, only the mean, or invents, is taken for just that."""
    truth = {row.item: float(row.value) for row in known.itertuples() if row.value == row.value}
    main = [month for month in protocol.main_months() if f"{month} Mkt-RF" in truth]
    true = np.array([truth[f"{month} Mkt-RF"] for month in main])
    right = 0
    for seed in range(RUNS):
        recall = Recall.model_validate({"knows": knows, "error_bp": {"1926-07": 25}})
        who = Parameters(seed=seed, series={"Mkt-RF": recall})
        said = np.array(
            [planted.value(who, "Mkt-RF", m, t) for m, t in zip(main, true.tolist(), strict=True)]
        )
        sheet = Sheet(
            "value.Mkt-RF",
            "Mkt-RF",
            "value",
            np.array(main),
            true,
            said.round(2),
            len(main),
            len(main),
            tuple(main),
            {},
        )
        found = {one.metric: one.value for one in signature(sheet, truth, protocol)}
        told = {name for name in KINDS.values() if name and found[f"value.Mkt-RF.{name}"]}
        right += told == {KINDS[knows]} - {None}
    assert right >= 0.95 * RUNS
