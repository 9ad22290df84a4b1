"""Reading probabilities: no text raises, every usual way of writing one is read, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anachron.suites.leakage.probability import FAULTS, read

PERCENTS = st.integers(0, 100)
FRAMES = (
    "{}",
    "**{}**",
    "Probability: {}",
    "probability of yes = {}.",
    "My estimate is about {}",
    "After 3 cuts in 12 months and 2.5 % inflation I lean to yes.\n\nFinal answer: {}",
    "\\boxed{{{}}}",
    "{}\n\nNote: as of 2024-10-14, with the last 12 months in mind.",
    '{{"probability": "{}"}}',
)


@given(st.text() | st.text(alphabet="0123456789.,%-–/:()=~<> \nintouofrangeyesno", max_size=80))
def test_no_text_raises_and_what_is_read_is_a_probability(text: str) -> None:
    found = read(text)
    assert (found.value is None) == (found.fault in FAULTS)
    assert found.value is None or (found.fault == "" and 0 <= found.value <= 1)


@given(PERCENTS, st.sampled_from(FRAMES))
def test_percent_fraction_and_decimal_comma_are_one_number(percent: int, frame: str) -> None:
    for written in (
        f"{percent / 100:.2f}",
        f"{percent}%",
        f"{percent} percent",
        f"{percent / 100:.2f}".replace(".", ","),
    ):
        assert read(frame.format(written)).value == pytest.approx(percent / 100), frame.format(written)


@given(st.integers(0, 50), st.integers(1, 50), st.sampled_from([" in ", " out of ", "/", "-in-"]))
def test_so_many_in_so_many_is_a_share(part: int, more: int, between: str) -> None:
    found = read(f"I would say {part}{between}{part + more}")
    assert found.value == pytest.approx(part / (part + more), abs=1e-8)


@given(
    st.integers(1, 50),
    st.integers(1, 40),
    st.sampled_from(["-", "–", " to ", " and "]),
    st.sampled_from(["", "%"]),
)
def test_a_range_has_no_value(low: int, step: int, between: str, sign: str) -> None:
    ends = (low, low + step) if sign else (low / 100, (low + step) / 100)
    for text in (
        f"{ends[0]}{sign}{between}{ends[1]}{sign}",
        f"Probability: {ends[0]}{sign}{between}{ends[1]}{sign}",
    ):
        assert read(text) == (None, "range"), text


@given(st.floats(1.001, 999, allow_nan=False))
def test_a_number_above_one_without_a_percent_sign_is_not_guessed_at(value: float) -> None:
    assert read(f"Probability: {value:.3f}").fault == "outside"
    assert read(f"{value:.3f}").fault == "outside"


@pytest.mark.parametrize(
    ("text", "value", "fault"),
    [
        ("one in four", 0.25, ""),
        ("½", 0.5, ""),
        ("0.35 (35%)", 0.35, ""),
        ("0.35\nInflation was 2.5%.", 0.35, ""),
        ("My probability that CPI exceeds 2.5 percent is 0.6", 0.6, ""),
        ("A number between 0 and 1: 0.4", 0.4, ""),
        ("Probability: 0.35 (range 0.2-0.5)", 0.35, ""),
        ("Probability of yes: 0.3\nProbability of no: 0.7", 0.3, ""),
        ("Probability of yes: 0.3, of no: 0.7", 0.3, ""),
        ("<think>maybe 0.9</think>0.3", 0.3, ""),
        ("It was 4.1 % in May, so I say 0.35", None, "several"),
        ("0.2 or so; on reflection 0.4", None, "several"),
        ("Probability: <1%", None, "range"),
        ("less than 5%", None, "range"),
        ("odds of 3:1", None, "range"),
        ("-0.2", None, "outside"),
        ("110%", None, "outside"),
        ("it rose 2 in 2024", None, "unread"),
        ("12 months of data", None, "unread"),
        ("quite likely", None, "unread"),
        ("", None, "unread"),
        ("I cannot predict this.", None, "refusal"),
        ("I'm unable to give a probability for 2024-10-14.", None, "refusal"),
        ("I can't know, but 40%", 0.4, ""),
    ],
)
def test_what_answers_say(text: str, value: float | None, fault: str) -> None:
    assert read(text) == (value, fault)
