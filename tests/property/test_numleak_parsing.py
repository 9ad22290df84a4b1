"""Parsers of numleak: they never raise, and read a number however it is written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anachron.suites.numleak import parse
from anachron.suites.numleak.numerals import final, published
from anachron.suites.numleak.verdicts import declines, mentions, verdict

MINUS = "-−–—‐‑‒﹣－⁻"
PAIR = ("2008-10", "2020-03")
CENTS = st.integers(-2500, 2500)


@given(st.text() | st.text(alphabet="0123456789.,+-−%() \nbpsto'", max_size=60))
def test_no_text_raises(text: str) -> None:
    for unit in ("percent", "bps", "index"):
        found = final(text, unit)
        assert found.value is None or math.isfinite(found.value)
    said = published(text)
    assert said is None or math.isfinite(said)
    for rule in ("endorsed", "first", "last"):
        assert verdict(text, PAIR, rule) in (*PAIR, None)  # type: ignore[arg-type]
    for cut in (False, True):
        assert parse.silent(text, cut) in parse.READINGS


@given(CENTS, st.sampled_from(MINUS), st.sampled_from(["", "%", " %", " percent", " pp"]))
def test_every_minus_sign_is_one(cents: int, minus: str, unit: str) -> None:
    number = cents / 100
    text = f"{minus if cents < 0 else ''}{abs(number):.2f}"
    assert final(text + unit).value == pytest.approx(number)
    assert published(text) == pytest.approx(number)


@given(CENTS.filter(lambda cents: cents != 0))
def test_words_and_brackets_make_a_number_negative(cents: int) -> None:
    size = abs(cents) / 100
    for text in (f"minus {size:.2f}", f"negative {size:.2f}%", f"({size:.2f})", f"({size:.2f}%)"):
        assert final(text).value == pytest.approx(-size), text


@given(CENTS)
def test_a_decimal_comma_is_a_point(cents: int) -> None:
    assert final(f"{cents / 100:+.2f}".replace(".", ",")).value == pytest.approx(cents / 100)


@given(
    st.integers(1, 999),
    st.integers(0, 999),
    st.integers(0, 99),
    st.sampled_from([",", "'", "\u202f", "\u00a0"]),
)
def test_thousands_are_set_off_as_one_likes(high: int, low: int, cents: int, mark: str) -> None:
    value = 1000 * high + low + cents / 100
    assert final(f"{high}{mark}{low:03d}.{cents:02d}", "index").value == pytest.approx(value)


@given(CENTS)
def test_basis_points_and_percent_are_converted(cents: int) -> None:
    assert final(f"{cents:+d} bps").value == pytest.approx(cents / 100)
    assert final(f"{cents / 100:+.2f}%", "bps").value == pytest.approx(cents)
    assert published(f"{cents:+d} bps") == pytest.approx(cents / 100)


@given(
    st.integers(0, 900),
    st.integers(1, 90),
    st.sampled_from(["-", "–", " to ", " - "]),
    st.sampled_from(["", "%"]),
)
def test_a_range_is_no_negative_number(low: int, step: int, to: str, unit: str) -> None:
    found = final(f"{low / 100:.2f}{to}{(low + step) / 100:.2f}{unit}")
    assert (found.value, found.fault) == (None, "range")


@given(CENTS, CENTS)
def test_the_final_line_counts_and_not_what_was_weighed(first: int, last: int) -> None:
    text = f"It may have been {first / 100:+.2f}%, or 3% to 4%.\n\n**{last / 100:+.2f}**"
    assert final(text).value == pytest.approx(last / 100)


@given(CENTS)
def test_a_number_after_a_cue_counts(cents: int) -> None:
    text = f"It was a weak month, as I recall it.\nMy best estimate is {cents / 100:+.2f}%, give or take."
    assert final(text).value == pytest.approx(cents / 100)


@pytest.mark.parametrize(
    "text",
    [
        "In March 2020 shares fell.",
        "2020-03",
        "the 5-factor data",
        "",
        "150%",
        "€1.50",
        "20 °C",
        "It was 1.5 or 2.5 then",
    ],
)
def test_what_is_no_answer_has_no_value(text: str) -> None:
    assert final(text).value is None


def test_a_think_aloud_that_was_cut_off_is_truncated_and_no_refusal() -> None:
    thinking = "Let me recall the month.\n\nI don't have the exact figure at hand, but the market fell by about 3% and"
    assert declines(thinking)
    assert parse.silent(thinking, cut=True) == "truncated"
    assert parse.silent("I don't have access to this data. You may find it at", cut=True) == "refusal"
    assert parse.silent("I cannot verify that figure.", cut=False) == "refusal"
    assert parse.silent("", cut=False) == "empty"
    assert parse.silent("", cut=True) == "truncated"


def test_verdicts() -> None:
    text = "I need to compare October 2008 and March 2020. **October 2008** was the worse one"
    assert mentions(text, PAIR) == ["2008-10", "2020-03", "2008-10"]
    assert verdict(text, PAIR, "first") == verdict(text, PAIR, "endorsed") == "2008-10"
    said = "March 2020 had the higher return; October 2008 fell more."
    assert verdict(said, PAIR, "endorsed") == "2020-03" and verdict(said, PAIR, "last") == "2008-10"
    assert verdict("I cannot say whether March 2020 was higher.", PAIR, "endorsed") is None
    assert verdict("Neither.", PAIR, "last") is None
