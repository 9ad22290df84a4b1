"""The chooser of routes: what opens each, what closes it, and what it says is lacking."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest

from anachron.backtest.route_words import DESCRIPTIONS, STRONGEST_FIRST
from anachron.backtest.routes import RANK, Control, Supplied, choose, stronger

CUTOFF = datetime.date(2025, 6, 1)
CLEAN = Control(
    "old", datetime.date(2023, 1, 1), False, 90, 90, 0, near_before=40, near_after=40, smooth=True
)
LATER = Control(
    "later", datetime.date(2026, 5, 1), False, 0, 15, 90, near_before=40, near_after=40, smooth=True
)
UNKNOWN = Control("unknown", None, False, 0, 0, 90, near_before=40, near_after=40, smooth=False)
STRADDLING = Supplied(
    target="m",
    cutoff=CUTOFF,
    questions=200,
    before=100,
    after=100,
    grey=10,
    near_before=40,
    near_after=40,
    window_days=90,
    clean_days=30,
    span_before=300,
    span_after=300,
    controls=(),
    paraphrased=0,
    anchors=0,
    binary=True,
    extrapolate=None,
)
FAR = replace(STRADDLING, near_before=0, near_after=3)


@pytest.mark.parametrize(
    ("supplied", "route"),
    [
        (replace(STRADDLING, before=0, grey=0, after=200, near_before=0), "forward"),
        (replace(STRADDLING, controls=(CLEAN,)), "did"),
        (replace(STRADDLING, controls=(CLEAN,), extrapolate=1), "did"),
        (replace(STRADDLING, extrapolate=1), "extrapolation"),
        (replace(STRADDLING, controls=(LATER,)), "did-boundary"),
        (STRADDLING, "rd"),
        (replace(STRADDLING, controls=(UNKNOWN,)), "rd"),
        (replace(STRADDLING, cutoff=None, controls=(CLEAN,)), "did-split"),
        (replace(FAR, paraphrased=100, anchors=100), "prc"),
        (replace(STRADDLING, cutoff=None), "naive"),
        (FAR, "naive"),
        (replace(STRADDLING, before=5, after=3, near_before=5, near_after=3), "none"),
    ],
)
def test_the_strongest_open_route_is_taken(supplied: Supplied, route: str) -> None:
    assert choose(supplied).route == route


@pytest.mark.parametrize(
    "shut",
    [
        replace(STRADDLING, before=0, after=200, near_before=0, grey=4),
        replace(STRADDLING, controls=(replace(CLEAN, clean_before=19),)),
        replace(STRADDLING, controls=(UNKNOWN,)),
        replace(STRADDLING, extrapolate=1, span_after=100),
    ],
    ids=[
        "a question in the grey days",
        "few common questions",
        "a control that is not clean",
        "short clean side",
    ],
)
def test_what_falls_short_opens_no_route_to_the_whole_leakage(shut: Supplied) -> None:
    assert DESCRIPTIONS[choose(shut).route].identifies not in ("global", "zero")


def test_paraphrases_of_scores_detect_nothing() -> None:
    assert choose(replace(FAR, paraphrased=100, anchors=100, binary=False)).route == "naive"


def test_paraphrases_need_clean_questions_to_calibrate_on() -> None:
    choice = choose(replace(FAR, paraphrased=100, anchors=12))
    lacking = {one.route: one.lacking for one in choice.considered}["prc"]
    assert choice.route == "naive"
    assert len(lacking) == 1 and "there are 12" in lacking[0]


def test_the_control_with_most_common_questions_comes_first_and_unfit_ones_are_named() -> None:
    fewer = replace(CLEAN, name="fewer", clean_after=30)
    assert choose(replace(STRADDLING, controls=(fewer, LATER, CLEAN))).controls == ("old", "fewer")
    unfit = choose(replace(STRADDLING, controls=(replace(LATER, smooth=False), UNKNOWN)))
    said = " ".join(text for one in unfit.considered for text in one.lacking)
    assert "later: its cutoff, 2026-05-01, lies inside; unknown: its cutoff is not given" in said
    assert "later: 0 and 15 such questions; unknown: its cutoff is not given" in said


def test_what_a_stronger_route_needs_is_only_of_stronger_routes_nearest_first() -> None:
    choice = choose(STRADDLING)
    better = stronger(choice)
    assert {one.route for one in better} == {"forward", "did", "extrapolation"}
    assert all(one.lacking for one in better)
    assert [len(one.lacking) for one in better] == sorted(len(one.lacking) for one in better)
    assert stronger(choose(replace(STRADDLING, before=0, grey=0, after=200))) == []


def test_routes_stand_in_the_order_of_what_they_identify() -> None:
    ranks = [RANK[DESCRIPTIONS[route].identifies] for route in STRONGEST_FIRST]
    assert ranks == sorted(ranks, reverse=True)
    assert set(DESCRIPTIONS) == {*STRONGEST_FIRST, "none"}
