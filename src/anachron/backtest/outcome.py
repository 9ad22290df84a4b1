"""What running one route gives: findings, checks, curves, and the leakage where the route identifies it."""

from __future__ import annotations

from dataclasses import dataclass, field

from anachron.backtest.result import Check, Curve, Finding


@dataclass(frozen=True)
class Outcome:
    """The result of one route.

    Attributes
    ----------
    findings
        Estimates, the route's own first.
    leakage
        The finding that is the mean leakage over the questions before the cutoff, for a route that identifies it; its
        number is undefined where the route's gates fail.
    refusal
        Why `leakage` may not be taken off a score although it has a value; empty where it may.
    warning
        What speaks against the route's control, to be read before its estimate.
    first_day
        First day of the questions that `leakage` is about, since 1970-01-01; None for all.
    """

    findings: list[Finding]
    checks: list[Check] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    leakage: Finding | None = None
    refusal: str = ""
    warning: str = ""
    first_day: int | None = None
