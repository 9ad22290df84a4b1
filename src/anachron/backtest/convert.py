"""From what the estimators return to the numbers and findings of a result, and the sentences that go with them."""

from __future__ import annotations

import datetime
import math
from statistics import NormalDist
from typing import Any

from anachron.backtest.options import Options
from anachron.backtest.result import Finding, Gate, Number
from anachron.publish.text import EM_DASH, fixed
from anachron.stats import power
from anachron.stats.power import Power

EPOCH = datetime.date(1970, 1, 1)


def day_number(date: datetime.date) -> int:
    """Return a date as days since 1970-01-01."""
    return (date - EPOCH).days


def date_of(day: float) -> datetime.date:
    """Return the date of a number of days since 1970-01-01."""
    return EPOCH + datetime.timedelta(days=int(day))


def finite(value: Any) -> float | None:
    """Return a number as a float; None for what is none, not finite or missing."""
    return None if value is None or not math.isfinite(float(value)) else float(value)


def gate(held: Any) -> Gate:
    """Return an estimator's gate."""
    return Gate(
        name=held.name,
        passed=None if held.passed is None else bool(held.passed),
        figure=finite(held.figure),
        text=held.text,
    )


def number(estimate: Any, *, p: float | None = None) -> Number:
    """Return an estimate of any estimator; fields that it does not have stay empty."""

    def held(name: str) -> Any:
        return getattr(estimate, name, None)

    return Number(
        estimate=finite(estimate.estimate),
        low=finite(estimate.low),
        high=finite(estimate.high),
        n_before=held("n_pre"),
        n_after=held("n_post"),
        clusters_before=held("clusters_pre"),
        clusters_after=held("clusters_post"),
        p=finite(p),
        method=held("method") or "",
        level=held("level"),
        draws=held("draws"),
        seed=held("seed"),
        gates=[gate(one) for one in held("gates") or ()],
    )


def null(held: Number) -> bool | None:
    """Whether an interval holds zero; None without an interval."""
    if held.estimate is None or held.low is None or held.high is None:
        return None
    return held.low <= 0 <= held.high


def finding(
    name: str,
    label: str,
    means: str,
    held: Number,
    power: Power | None = None,
    says: str = "",
    unit: str = "points",
) -> Finding:
    """Return a finding with its power and a sentence: `says`, or what interval and power say."""
    if power is not None and finite(power.mde) is None and held.estimate is not None:
        # Too few of the panels drawn had an interval: what its own width allows is told in their place.
        power = study_of_width(held) or power
    mde = None if power is None or held.low == held.high else finite(power.mde)
    return Finding(
        name=name,
        label=label,
        means=means,
        number=held,
        null=null(held),
        mde=mde,
        mde_method="" if power is None else power.method,
        mde_clean=None if power is None else finite(power.false_positive),
        says=says or sentence(held, mde, unit),
    )


def study_of_gap(held: Number, score: Any, before: Any, cluster: Any, options: Options) -> Power | None:
    """Return what a gap would have found: by semi-synthetic panels, or without any from the width of its interval.

    Parameters
    ----------
    held
        The gap.
    score, before, cluster
        As `power.of_gap`.
    options
        Panels, seed and level.
    """
    if options.panels:
        fixed: dict[str, Any] = {"replicates": options.panels, "seed": options.seed, "level": options.level}
        return power.of_gap(score, before, cluster, **fixed)
    return study_of_width(held)


def study_of_width(held: Number) -> Power | None:
    """Return what an estimate with an interval of this width would have found, were it normal."""
    if held.low is None or held.high is None:
        return None
    level = held.level or 0.95
    spread = NormalDist().inv_cdf((1 + level) / 2)
    return power.of_error((held.high - held.low) / (2 * spread), level=level)


def sentence(held: Number, mde: float | None, unit: str = "points") -> str:
    """Return what an estimate says: undefined and why, an effect, or a null with what it would have found."""
    if held.estimate is None:
        failed = next((one for one in held.gates if one.passed is False), None)
        return f"Undefined: {failed.text}." if failed else "Undefined."
    if held.low is None or held.high is None:
        return "It has no interval."
    if held.low == held.high:
        return "The scores do not vary: nothing can be concluded from an interval without width."
    if not null(held):
        return (
            "Above zero: what leakage would give."
            if held.estimate > 0
            else "Below zero: the opposite of leakage."
        )
    bound = (
        f"effects of {fixed(mde, 3)} {unit} or more would have been found in four of five cases"
        if mde is not None
        else "what it could have found is not known"
    )
    return f"Null: {bound}; smaller ones are not excluded."


def told(number: Number, plus: bool = True) -> str:
    """Return a number with its interval and its failed gates, as the tables print it.

    >>> told(Number(estimate=0.0625, low=-0.01, high=0.135))
    '+.062 [−.010, +.135]'
    """
    failed = [gate.name.replace("_", " ") for gate in number.gates if gate.passed is False]
    marks = f" ({', '.join(failed)})" if failed else ""
    if number.estimate is None:
        return EM_DASH + marks
    ends = ""
    if number.low is not None and number.high is not None:
        ends = f" [{fixed(number.low, 3, plus=plus)}, {fixed(number.high, 3, plus=plus)}]"
    return fixed(number.estimate, 3, plus=plus) + ends + marks


def chance(p: float) -> str:
    """Return a p as the reports print it.

    >>> chance(0.0162), chance(0.00025)
    ('p = .016', 'p = .0002')
    """
    return f"p = {fixed(p, 4 if p < 0.001 else 3)}"


def counts(number: Number) -> str:
    """Return the questions before and after, as the tables print them."""
    if number.n_before is None:
        return EM_DASH
    return f"{number.n_before:,}" + (f" / {number.n_after:,}" if number.n_after is not None else "")
