"""The pool, the sample, the candidates and the question file of the suite `findendro`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest
from findendro_facts import complete, protocol, sample

from anachron.errors import ContractError
from anachron.suites.findendro import ask, items
from anachron.suites.findendro.facts import Facts, Value
from anachron.suites.findendro.options import nearest, nice, numeric, units
from anachron.suites.findendro.protocol_parts import OUTCOMES, PROMPTS

CHOSEN = protocol()
ASKED = [
    "suite",
    "arm",
    "item",
    "rep",
    "system",
    "prompt",
    "shown_date",
    "temperature",
    "max_tokens",
    "tiers",
]
QUESTION_FILE = "3929d70ed27c0e1fd7ec5d98689f392284f86feb1a6398e53b024331b68ef7aa"
"""SHA-256 of the question file on complete generated facts: a new one means that every model is asked anew."""


@pytest.fixture(scope="module")
def known() -> pd.DataFrame:
    """Return the whole sample on complete generated facts."""
    return sample()


@pytest.fixture(scope="module")
def questions(known: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the requests of the four prompts."""
    return {arm: ask.build(CHOSEN, known, arm, items.names(known)) for arm in PROMPTS}


def options(prompt: str) -> list[str]:
    """Return the option texts of a prompt, by reading it."""
    return [line[3:] for line in prompt.splitlines() if line[1:3] == ") "]


def test_pool_and_sample_have_the_papers_counts(known: pd.DataFrame) -> None:
    family = CHOSEN.families()
    pool = Counter(family[name] for month in CHOSEN.months for name in CHOSEN.pool_of(month))
    assert pool == {"macro": 3993, "stock": 16_646, "policy": 333}
    asked = known[known["missing"].isna() & (known["family"] != "cutoff")]
    assert Counter(asked["family"]) == {"macro": 1353, "stock": 540, "policy": 333}
    assert len(asked[asked["month"] < "2021-01"]) == 1056
    october = set(asked.loc[asked["month"] == "2025-10", "name"])
    assert october.isdisjoint({"CPIAUCNS", "CPILFENS", "UNRATE"}) and "GS10" in october


def test_no_company_is_asked_about_before_it_was_listed() -> None:
    listed = {month for month in CHOSEN.months if "GS" in CHOSEN.pool_of(month)}
    assert min(listed) == "1999-05"


def lines(frame: pd.DataFrame) -> list[str]:
    """Return every request as one line of JSON, whole."""
    rows = frame[ASKED].astype(object).where(frame[ASKED].notna(), None).to_dict("records")
    return [json.dumps(row, ensure_ascii=True) for row in rows]


def test_the_question_file_is_the_same_byte_for_byte_on_every_machine(
    questions: dict[str, pd.DataFrame],
) -> None:
    written = [line for arm in PROMPTS for line in lines(questions[arm])]
    assert len(written) == 8904
    assert hashlib.sha256("\n".join(written).encode()).hexdigest() == QUESTION_FILE


def test_adding_months_changes_no_question(questions: dict[str, pd.DataFrame]) -> None:
    short = protocol(dates={"start": "1999-01", "dense": "2021-01", "end": "2023-04"})
    before = items.assemble(short, complete(short), short.months)
    assert short.ask_digest() == CHOSEN.ask_digest() and short.panel_digest() == CHOSEN.panel_digest()
    for arm in PROMPTS:
        old, new = lines(ask.build(short, before, arm, items.names(before))), lines(questions[arm])
        assert len(new) > len(old) > 1_000
        assert new[: len(old)] == old, arm


def test_the_truth_stands_among_the_options_once_or_with_both_claims(
    known: pd.DataFrame, questions: dict[str, pd.DataFrame]
) -> None:
    truth = {
        row["item"]: json.loads(row["candidates"])[row["truth"]]
        for row in known[known["missing"].isna() & (known["family"] != "cutoff")].to_dict("records")
    }
    for arm, times in {"value": 1, "recall": 2, "predict": 2, "dated": 2}.items():
        for item, prompt in zip(questions[arm]["item"], questions[arm]["prompt"], strict=True):
            shown = [text.split(" (")[0] for text in options(prompt)]
            wanted = truth[item]
            found = [
                text for text in shown if text == wanted or (wanted in OUTCOMES and text.endswith(wanted))
            ]
            assert len(found) == times, (arm, item)
            assert len(shown) == len(set(options(prompt))) == times * (3 if wanted in OUTCOMES else 4)


def test_all_prompts_of_a_fact_offer_the_same_candidates(questions: dict[str, pd.DataFrame]) -> None:
    offered = {
        arm: {
            item: frozenset(text.split(" (")[0].removeprefix("will be ") for text in options(prompt))
            for item, prompt in zip(frame["item"], frame["prompt"], strict=True)
        }
        for arm, frame in questions.items()
    }
    assert offered["value"] == offered["recall"] == offered["predict"] == offered["dated"]


def test_no_prompt_holds_a_candidate_outside_its_options(
    known: pd.DataFrame, questions: dict[str, pd.DataFrame]
) -> None:
    candidates = dict(zip(known["item"], known["candidates"].map(json.loads), strict=True))
    for arm in PROMPTS:
        for item, prompt in zip(questions[arm]["item"], questions[arm]["prompt"], strict=True):
            around = "\n".join(line for line in prompt.splitlines() if line[1:3] != ") ")
            assert not any(text in around for text in candidates[item]), (arm, item)


def test_wording_that_would_tell_the_answer_is_refused(known: pd.DataFrame) -> None:
    told = CHOSEN.model_dump(mode="json")
    told["task"]["value"]["policy"] = "Was the target raised in the reference month?"
    telling = type(CHOSEN).model_validate(told)
    with pytest.raises(ContractError, match=r"1999-01 FEDTARGET.*'raised' outside its options"):
        ask.build(telling, known, "value", ["1999-01 FEDTARGET"])


def test_dated_prompts_state_the_last_day_of_the_month_before(questions: dict[str, pd.DataFrame]) -> None:
    dated = questions["dated"]
    for item, prompt, shown in zip(dated["item"], dated["prompt"], dated["shown_date"], strict=True):
        day = pd.Timestamp(item[:7] + "-01") - pd.Timedelta(days=1)
        assert shown == f"{day:%Y-%m-%d}" and f"Take {day.day} {day:%B %Y} to be today" in prompt
    assert questions["predict"]["shown_date"].isna().all()
    assert not questions["predict"]["prompt"].str.contains("to be today").any()


def test_letters_and_ranks_of_the_truth_are_balanced(
    known: pd.DataFrame, questions: dict[str, pd.DataFrame]
) -> None:
    """Chi-square statistics stay under their 99.9 % points: 16.3 for four cells, 24.3 for eight."""
    numeric_facts = known[known["family"].isin(["macro", "stock"]) & known["missing"].isna()]
    truth = {
        row["item"]: json.loads(row["candidates"])[row["truth"]] for row in numeric_facts.to_dict("records")
    }
    free = numeric_facts[numeric_facts["family"] == "stock"]
    assert chi_square(Counter(free["truth"]), 4) < 16.3
    for arm, bound in {"value": 16.3, "recall": 24.3, "predict": 24.3, "dated": 24.3}.items():
        frame = questions[arm]
        letters: Counter[int] = Counter()
        for item, prompt in zip(frame["item"], frame["prompt"], strict=True):
            if item in truth:
                letters.update(
                    place for place, text in enumerate(options(prompt)) if text.split(" (")[0] == truth[item]
                )
        assert chi_square(letters, 4 if arm == "value" else 8) < bound, arm


def chi_square(found: Counter[int], cells: int) -> float:
    """Return the statistic of a count against equal shares."""
    expected = sum(found.values()) / cells
    return sum((found[cell] - expected) ** 2 / expected for cell in range(cells))


def test_candidates_are_possible_distinct_and_a_small_step_says_nothing_of_the_rank() -> None:
    multiples = CHOSEN.spacing.multiples
    for value in range(0, 60):
        made = {numeric(f"x{n}", value, None, 20, 0, multiples, 1).values for n in range(60)}
        assert all(min(values) >= 0 and len(set(values)) == 4 and value in values for values in made)
        if value >= 3:
            assert len({values[1] - values[0] for values in made}) == 1
            assert {values.index(value) for values in made} == {0, 1, 2, 3}
    oil = {numeric(f"x{n}", -3663, None, 300, None, multiples, 1).values for n in range(40)}
    assert any(min(values) < -3663 for values in oil)


def test_rounding_is_half_to_even_and_steps_are_nice() -> None:
    assert [units(Decimal(text), 1) for text in ("3.25", "3.35", "-0.05", "0.15")] == [32, 34, 0, 2]
    assert nice(Fraction(12), CHOSEN.spacing.multiples) == 10
    assert nice(Fraction(13), CHOSEN.spacing.multiples) == 15
    assert nice(Fraction(0), CHOSEN.spacing.multiples) == 1


def test_persistence_is_judged_by_the_nearest_candidate_and_ties_by_none() -> None:
    assert nearest((10, 20, 30, 40), 24) == 1
    assert nearest((10, 20, 30, 40), 25) is None
    assert nearest((10, 20, 30, 40), None) is None
    assert nearest((10, 20, 30, 40), 500) == 3


def test_a_fact_that_cannot_be_asked_stays_with_its_reason() -> None:
    facts = complete(CHOSEN)
    values = dict(facts.values)
    values["2024-03", "UNRATE"] = Value("3.8", first_release=False)
    values["2024-03", "GS2"] = Value("4.6", synthetic=True)
    values["2024-03", "GS10"] = Value(None, missing="not published yet")
    known = items.assemble(CHOSEN, Facts(CHOSEN, values), ["2024-03"])
    reasons = dict(zip(known["name"], known["missing"], strict=True))
    assert reasons["UNRATE"] == "first release unknown"
    assert reasons["GS2"] == "only a synthetic value is at hand"
    assert reasons["GS10"] == "not published yet"
    assert pd.isna(reasons["GS3M"])
    assert items.missing(known) == {
        "macro: first release unknown": 1,
        "macro: not published yet": 1,
        "macro: only a synthetic value is at hand": 1,
    }
    with pytest.raises(ContractError, match=r"2024-03 GS2.*only a synthetic value"):
        ask.build(CHOSEN, known, "value", ["2024-03 GS2"])


def test_real_and_synthetic_facts_never_share_a_question_file(known: pd.DataFrame) -> None:
    mixed = known.copy()
    mixed.loc[0, "vintage_kind"] = "synthetic"
    with pytest.raises(ContractError, match="real time and synthetic"):
        ask.build(CHOSEN, mixed, "value", items.names(mixed))


def test_one_request_asks_for_the_cutoff(known: pd.DataFrame) -> None:
    asked = ask.build(CHOSEN, known, "cutoff", items.names(known))
    assert asked["item"].tolist() == ["1999-01 cutoff"]
    assert ask.build(CHOSEN, known, "cutoff", ["2020-05 FEDTARGET"]).empty
