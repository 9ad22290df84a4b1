"""Which way of measuring leakage a backtest allows: plain rules over what the user supplied.

A route is chosen before any score is looked at, from counts and dates alone. Each says what it needs, what it
identifies and what it assumes; the ones that a backtest does not allow say what they lack.

Source: Temporal Leakage, section 5, Table 1, appendix C (figure 6, practitioner's recipe), Proposition 7; the suite's
specification, "Route chooser".
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anachron.backtest.route_words import DESCRIPTIONS, STRONGEST_FIRST, Route

RANK = {"zero": 3, "global": 3, "boundary": 2, "detection": 1, "nothing": 0}
"""How much a route says, by what it identifies."""


@dataclass(frozen=True)
class Thresholds:
    """The fewest questions that a route is tried with; below them its intervals say nothing."""

    side: int = 20
    """Questions on each side of a split."""
    near: int = 20
    """Questions on each side within the window around the cutoff."""
    anchors: int = 50
    """Clean questions with paraphrases that a calibration is fitted on."""
    clean_span: float = 0.5
    """Length of the clean side against that of the eligible side, below which nothing is extrapolated."""


@dataclass(frozen=True)
class Control:
    """A model that the target may be compared with, and what it has in common with the target."""

    name: str
    cutoff: datetime.date | None
    declared_clean: bool
    """The user says that it knows no answer although its cutoff is not given."""
    clean_before: int
    clean_after: int
    """Common questions on each side of the split whose answers the control cannot know: resolved `clean_days` after
    its own cutoff or later, or all where it is declared clean; none where nothing is known of it."""
    left_out: int
    """Common questions that it may know the answers of."""
    near_before: int
    near_after: int
    """Common questions on each side within the window around the target's cutoff."""
    smooth: bool
    """Its own leakage does not end inside that window: its cutoff lies elsewhere, or it is declared clean."""


@dataclass(frozen=True)
class Supplied:
    """What a backtest brings, as far as the choice of a route depends on it."""

    target: str
    cutoff: datetime.date | None
    questions: int
    before: int
    """Questions resolved before the split: the cutoff, or the median resolution date."""
    after: int
    """Questions resolved on the day of the split or later."""
    grey: int
    """Of these, the ones in the first `clean_days` days, where a cutoff that is a little off would show."""
    near_before: int
    near_after: int
    window_days: int
    clean_days: int
    span_before: int
    span_after: int
    """Days from the split to the first and the last resolution."""
    controls: tuple[Control, ...]
    paraphrased: int
    """Questions resolved before the split that have two paraphrases or more."""
    anchors: int
    """Questions resolved `clean_days` after the cutoff or later that have two paraphrases or more."""
    binary: bool
    extrapolate: int | None
    """Degree of the polynomial by which the user accepts that honest performance goes on; None when not accepted."""


@dataclass(frozen=True)
class Considered:
    """One route held against what was supplied: `lacking` says in words what it would need."""

    route: Route
    usable: bool
    lacking: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """The route, its controls, and every other route with what it lacks."""

    route: Route
    controls: tuple[str, ...]
    considered: tuple[Considered, ...]


def choose(supplied: Supplied, least: Thresholds = Thresholds()) -> Choice:
    """Return the strongest route that a backtest allows, and why the others are not it.

    Parameters
    ----------
    supplied
        Counts and dates; no score.
    least
        The fewest questions that a route is tried with.
    """
    considered = tuple(
        Considered(route, not lacking, tuple(lacking))
        for route in STRONGEST_FIRST
        for lacking in [_LACKING[route](supplied, least)]
    )
    route: Route = next((one.route for one in considered if one.usable), "none")
    return Choice(route, tuple(one.name for one in controls_of(route, supplied, least)), considered)


def controls_of(route: Route, supplied: Supplied, least: Thresholds) -> list[Control]:
    """Return the controls that a route may use, those with most common questions first."""
    fewest = _FEWEST_COMMON.get(route)
    if fewest is None:
        return []
    found = [one for one in supplied.controls if fewest(one) >= least.side]
    return sorted(found, key=lambda one: (-fewest(one), one.name))


def stronger(choice: Choice) -> list[Considered]:
    """Return the routes that would say more than the one chosen, with what each lacks; the nearest first."""
    here = RANK[DESCRIPTIONS[choice.route].identifies]
    better = [one for one in choice.considered if RANK[DESCRIPTIONS[one.route].identifies] > here]
    return sorted((one for one in better if not one.usable), key=lambda one: len(one.lacking))


def _clean_common(control: Control) -> int:
    return min(control.clean_before, control.clean_after)


def _near_common(control: Control) -> int:
    return min(control.near_before, control.near_after) if control.smooth else 0


_FEWEST_COMMON: dict[Route, Callable[[Control], int]] = {
    "did": _clean_common,
    "did-split": _clean_common,
    "did-boundary": _near_common,
}


def _forward(held: Supplied, least: Thresholds) -> list[str]:
    if held.cutoff is None:
        return ["the target's cutoff"]
    if held.before or held.grey:
        early = held.before + held.grey
        return [
            f"questions resolved {held.clean_days} days or more after {held.cutoff} only "
            f"({early:,} of {held.questions:,} are earlier)"
        ]
    return [] if held.questions else ["a question"]


def _did(held: Supplied, least: Thresholds) -> list[str]:
    lacking = [] if held.cutoff is not None else ["the target's cutoff"]
    return lacking + _sides(held, least) + _control(held, least, "did")


def _did_split(held: Supplied, least: Thresholds) -> list[str]:
    return _sides(held, least) + _control(held, least, "did-split")


def _did_boundary(held: Supplied, least: Thresholds) -> list[str]:
    if held.cutoff is None:
        return ["the target's cutoff"]
    return _near(held, least) + _control(held, least, "did-boundary")


def _rd(held: Supplied, least: Thresholds) -> list[str]:
    return _near(held, least) if held.cutoff is not None else ["the target's cutoff"]


def _extrapolation(held: Supplied, least: Thresholds) -> list[str]:
    lacking = _rd(held, least)
    if held.cutoff is not None and held.span_after < least.clean_span * held.span_before:
        lacking.append(
            f"clean questions over {least.clean_span:.0%} of the {held.span_before:,} days that have to be "
            f"extrapolated over (there are {held.span_after:,} days)"
        )
    if held.extrapolate is None:
        lacking.append(
            "your word that honest performance goes on before the cutoff as it runs after it (--extrapolate)"
        )
    return lacking


def _prc(held: Supplied, least: Thresholds) -> list[str]:
    if not held.binary:
        return ["probabilities of yes-or-no questions: the covariance has no meaning for scores"]
    lacking = []
    if held.paraphrased < least.side:
        lacking.append(
            f"two paraphrases or more of at least {least.side} questions before the cutoff "
            f"(there are {held.paraphrased})"
        )
    if held.cutoff is None:
        lacking.append("the target's cutoff, since only clean questions calibrate")
    elif held.anchors < least.anchors:
        lacking.append(
            f"at least {least.anchors} paraphrased questions resolved {held.clean_days} days or more after the "
            f"cutoff, for calibration (there are {held.anchors})"
        )
    return lacking


def _sides(held: Supplied, least: Thresholds) -> list[str]:
    if min(held.before, held.after) >= least.side:
        return []
    place = "the cutoff" if held.cutoff is not None else "the split"
    return [
        f"at least {least.side} questions on each side of {place} (there are {held.before:,} and {held.after:,})"
    ]


def _near(held: Supplied, least: Thresholds) -> list[str]:
    if min(held.near_before, held.near_after) >= least.near:
        return []
    return [
        f"at least {least.near} questions on each side within {held.window_days} days of the cutoff "
        f"(there are {held.near_before:,} and {held.near_after:,})"
    ]


def _control(held: Supplied, least: Thresholds, route: Route) -> list[str]:
    if controls_of(route, held, least):
        return []
    if route == "did-boundary":
        kind = f"whose own cutoff lies outside the {held.window_days} days around the target's"
    else:
        kind = "that cannot know the answers (its cutoff lies before the questions, or it is declared clean)"
    lacking = f"a control model {kind}, with at least {least.side} common questions on each side"
    return [f"{lacking} ({_why_not(held.controls, route)})" if held.controls else lacking]


def _why_not(controls: Sequence[Control], route: Route) -> str:
    said = []
    for one in controls:
        near = route == "did-boundary"
        if one.cutoff is None and not one.declared_clean:
            reason = "its cutoff is not given"
        elif near and not one.smooth:
            reason = f"its cutoff, {one.cutoff}, lies inside"
        else:
            before, after = (one.near_before, one.near_after) if near else (one.clean_before, one.clean_after)
            reason = f"{before:,} and {after:,} such questions"
        said.append(f"{one.name}: {reason}")
    return "; ".join(said)


_LACKING: dict[Route, Callable[[Supplied, Thresholds], list[str]]] = {
    "forward": _forward,
    "did": _did,
    "extrapolation": _extrapolation,
    "did-boundary": _did_boundary,
    "rd": _rd,
    "did-split": _did_split,
    "prc": _prc,
    "naive": _sides,
}
