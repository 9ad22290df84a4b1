"""The opening of every audit: forecasters that know nothing, and whether they show the gap that the target shows.

A forecaster that always says 15 % knows no outcome. Where it shows a gap, the mix of questions changed with time;
where the target's gap is no larger than that, it could be composition alone. Source: the suite's specification,
"Model-free placebos".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anachron.backtest import gap, placebos
from anachron.backtest.convert import date_of, null, number
from anachron.backtest.options import Options
from anachron.backtest.result import Number, Opening, Placebo
from anachron.backtest.routes import Thresholds
from anachron.publish.text import fixed

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable


FEWEST = Thresholds().side


def opening(table: ScoreTable, target: str, split: int, options: Options) -> Opening:
    """Return the naive gap of the target beside the placebos', and what that says of composition.

    Parameters
    ----------
    table
        Scores by question and model.
    target
        Model to audit; only the questions that it answered are looked at.
    split
        First day of the later side.
    options
        Draws, seed and level.
    """
    own = table.take(~np.isnan(table.column(target)))
    fixed: dict[str, Any] = {"draws": options.draws, "seed": options.seed, "level": options.level}
    found = gap.naive_gap(own, target, boundary=split, **fixed)
    shown = Placebo(
        name="target",
        label=target,
        raw=number(found.raw),
        standardised=number(found.standardised.gap) if found.standardised else None,
    )
    nothing = [
        Placebo(
            name=one.name,
            label=label(one.name),
            raw=number(one.raw),
            standardised=number(one.standardised.gap) if one.standardised else None,
        )
        for one in placebos.placebos(own, boundary=split, **fixed)
    ]
    first, last = int(np.min(own.days)), int(np.max(own.days))
    verdict, says = judge(shown, nothing)
    return Opening(
        verdict=verdict,
        says=says,
        split=date_of(split).isoformat(),
        window=f"questions resolved {date_of(first)} to {date_of(last)}",
        target=shown,
        placebos=nothing,
    )


def label(name: str) -> str:
    """Return a placebo in words.

    >>> label("P = 0.15"), label("0.5·c0")
    ('always 15 %', 'half the crowd’s forecast')
    """
    if not name.startswith("P = "):
        return "half the crowd’s forecast"
    return f"always {float(name.removeprefix('P = ')):.0%}".replace("%", " %")


Verdict = Literal["explained", "partly", "not seen", "no gap", "untested"]


def judge(target: Placebo, nothing: list[Placebo]) -> tuple[Verdict, str]:
    """Return whether the gap could be composition: a verdict and the sentences that say it.

    ``explained``: a forecaster that knows nothing shows a gap as large as the target's may be. ``partly``: a
    smaller one, or the gap is gone at the same mix of questions. ``not seen``: neither. ``no gap``: the target's
    interval holds zero. ``untested``: scores without forecasts, or no gap to look at.
    """
    held = target.raw
    fewer = min(held.n_before or 0, held.n_after or 0)
    if held.estimate is None or null(held) is None or fewer < FEWEST:
        return "untested", (
            f"{target.label} has no gap that could be read: {held.n_before} questions before the split and "
            f"{held.n_after} after it are too few. Nothing can be said of composition."
        )
    if not nothing:
        return "untested", (
            f"{target.label} scores {_amount(held)} before the split than after it. Scores without forecasts allow no "
            f"placebo: no forecaster that knows nothing can be put in the model's place. {_same_mix(target)} "
            "Composition cannot be ruled out."
        )
    largest = max(nothing, key=lambda one: (_shows(one.raw, held), _signed(one.raw, held)))
    told = f"{largest.label} shows {_value(largest.raw)}"
    if null(held):
        return "no gap", (
            f"{target.label} shows no gap ({_value(held)}); of the forecasters that know nothing, {told}. There is no "
            "gap for composition to explain. That is no evidence of a clean backtest: leakage, recency and a changing "
            "mix of questions can cancel."
        )
    if _shows(largest.raw, held):
        if _signed(largest.raw, held) >= min(abs(held.low or 0.0), abs(held.high or 0.0)):
            return "explained", (
                f"Yes. {target.label} scores {_amount(held)} before the split than after it, and a forecaster that "
                f"knows nothing shows as much: {told}. The gap could be composition alone, the mix of questions "
                f"having changed with time. {_same_mix(target)}"
            )
        return "partly", (
            f"In part. {target.label} scores {_amount(held)} before the split than after it. A forecaster that knows "
            f"nothing shows a part of that: {told}. {_same_mix(target)}"
        )
    if target.standardised is not None and null(target.standardised):
        return "partly", (
            f"Perhaps. {target.label} scores {_amount(held)} before the split than after it. No forecaster that knows "
            f"nothing shows it (the largest: {told}), but {_same_mix(target)[0].lower()}{_same_mix(target)[1:]}"
        )
    return "not seen", (
        f"Not that these placebos show. {target.label} scores {_amount(held)} before the split than after it, and no "
        f"forecaster that knows nothing does (the largest: {told}). {_same_mix(target)} The gap may still be recency: "
        "a model knows the recent past better, with no answer leaked."
    )


def _shows(placebo: Number, target: Number) -> bool:
    return null(placebo) is False and _signed(placebo, target) > 0


def _signed(placebo: Number, target: Number) -> float:
    """Return a placebo's gap in the direction of the target's."""
    if placebo.estimate is None or target.estimate is None:
        return float("-inf")
    return placebo.estimate if target.estimate >= 0 else -placebo.estimate


def _same_mix(target: Placebo) -> str:
    held = target.standardised
    if held is None:
        return "There are no cells of like questions to weight by."
    fewer = min(held.n_before or 0, held.n_after or 0)
    if held.estimate is None or null(held) is None or fewer < FEWEST:
        return "At the same mix of questions the gap is undefined: no cell has questions on both sides."
    if null(held):
        return f"At the same mix of questions the gap is null ({_value(held)})."
    return f"At the same mix of questions it is {_value(held)}."


def _amount(held: Number) -> str:
    value = held.estimate or 0.0
    return f"{fixed(abs(value), 3)} {'higher' if value >= 0 else 'lower'}{_ends(held)}"


def _value(held: Number) -> str:
    return "an undefined gap" if held.estimate is None else fixed(held.estimate, 3, plus=True) + _ends(held)


def _ends(held: Number) -> str:
    if held.low is None or held.high is None:
        return ""
    return f" [{fixed(held.low, 3, plus=True)}, {fixed(held.high, 3, plus=True)}]"
