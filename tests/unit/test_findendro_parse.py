"""Reading letters, likelihoods and stated cutoffs of the suite `findendro`."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from findendro_facts import protocol, sample

from anachron import frames
from anachron.suites.findendro import ask
from anachron.suites.findendro.layout import LETTERS, layout
from anachron.suites.findendro.letters import month, read
from anachron.suites.findendro.likelihood import shares
from anachron.suites.findendro.parse import parse

LETTER = [
    ("B", "B"),
    (" b)", "B"),
    ("**C**", "C"),
    ("(D) 3.0", "D"),
    ("A) 3.0 (I know it)", "A"),
    ("The answer is **B**.", "B"),
    ("I think B", "B"),
    ("A reasonable guess is C", "C"),
    ("I'd say A", "A"),
    ("U.S. inflation: B", "B"),
    (r"$\boxed{\text{B}}$", "B"),
    ("Not A but D; my answer: D", "D"),
    ("The rate fell in spring.\nOption A is too high.\n\nAnswer: C", "C"),
    ("The rate fell in spring.\n**B) 3.0**", "B"),
    ("B\n\nThe rate fell, so option A is too high.", "B"),
    (
        "I weighed all four of them at length, and in the end the correct option is D because of the level.",
        "D",
    ),
    ("The options are:\nA) 1.0\nB) 2.0\nC) 3.0\nD) 4.0", None),
    ("3.0", None),
    ("I don't know.", None),
]


@pytest.mark.parametrize(("text", "letter"), LETTER)
def test_the_letter_of_an_answer(text: str, letter: str | None) -> None:
    assert read(text, 4) == (("letter", letter) if letter else ("no letter", None))


def test_refusals_and_strange_letters_are_named() -> None:
    assert read("I'm sorry, but I cannot help with that.", 4) == ("refusal", None)
    assert read("E", 4) == ("letter not offered", "E")
    assert read("E", 8) == ("letter", "E")
    assert read("Answer: F", 4) == ("letter not offered", "F")


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("2023-10", "2023-10"),
        ("My training data goes up to October 2023.", "2023-10"),
        ("Sept. 2021", "2021-09"),
        ("2024 May", "2024-05"),
        ("Between 2022-04 and June 2024", "2024-06"),
        ("I may not tell, in 2024 or ever", None),
        ("unknown", None),
    ],
)
def test_the_month_of_a_stated_cutoff(text: str, stated: str | None) -> None:
    assert month(text) == stated


def logprobs(*steps: tuple[str, list[tuple[str, float]]]) -> str:
    """Return log-probabilities in the form that transcripts keep."""
    return json.dumps([{"token": token, "logprob": top[0][1], "top": top} for token, top in steps])


def test_likelihood_adds_the_spellings_of_a_letter_and_passes_over_blanks() -> None:
    top = [("B", math.log(0.3)), (" B", math.log(0.2)), ("C", math.log(0.25)), ("The", math.log(0.2))]
    found = shares(logprobs(("\n", [("\n", -0.1)]), ("B", top)), 4)
    assert found == pytest.approx([0, 0.5 / 0.75, 0.25 / 0.75, 0])
    assert shares(logprobs(("The", [("The", -0.1), ("E", -3.0)])), 4) is None
    assert shares("not json", 4) is None


def test_an_option_is_read_as_candidate_and_claim_whatever_the_wording_or_the_outcome() -> None:
    chosen, item = protocol(), "2023-05 GS10"
    options = layout(chosen.seed, item, "recall", 4)
    wanted = options.index((2, True))
    shown = ask.build(chosen, sample(), "recall", [item])["prompt"].iloc[0].splitlines()
    candidates = json.loads(sample().set_index("item").loc[item, "candidates"])
    line = next(one for one in shown if one.startswith(f"{LETTERS[wanted]}) "))
    assert line == f"{LETTERS[wanted]}) {candidates[2]} (I know it)"

    top = [(LETTERS[options.index((0, False))], -0.1), (LETTERS[wanted], -2.0)]
    cases = {
        "answer": (LETTERS[wanted], "letter"),
        "truncated": (f"{LETTERS[wanted]}) {candidates[2]}, because the", "letter"),
        "refusal": ("no", "refusal"),
        "empty": (None, "empty"),
    }
    rows = [
        dict.fromkeys(frames.Transcripts.to_schema().columns)
        | {
            "model": "m",
            "suite": "findendro",
            "arm": "recall",
            "item": item,
            "rep": rep,
            "duplicate": 0,
            "key": "k",
        }
        | {"outcome": outcome, "text": text, "provenance": "api", "logprobs": logprobs(("x", top))}
        for rep, (outcome, (text, _)) in enumerate(cases.items())
    ]
    answers = parse(frames.check(pd.DataFrame(rows), frames.Transcripts, "test"), chosen)
    assert answers["reading"].tolist() == [reading for _, reading in cases.values()]
    chose = [reading == "letter" for _, reading in cases.values()]
    assert answers["candidate"].notna().tolist() == chose and answers["knows"].notna().tolist() == chose
    assert answers.loc[chose, "candidate"].tolist() == [2, 2] and answers.loc[chose, "knows"].all()
    assert answers["likely_candidate"].tolist() == [0] * 4 and not answers["likely_knows"].any()
