"""Serving stability: do two rows of the same weights agree? Source: HindsightBench §7.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.blocks import ordinal

CUTOFF_TOLERANCE_MONTHS = 1


def stability(row: Mapping[str, Any], other: Mapping[str, Any], scoring: str = "anachron") -> dict[str, Any]:
    """Compare two audit rows of the same weights under different serving.

    Parameters
    ----------
    row, other
        Audit rows; their ``estimates`` hold this suite's records by scoring and metric.
    scoring
        Which scoring to compare.

    Returns
    -------
    dict
        For E2 and E3 whether each interval holds the other's value (mutual containment), for the cutoff
        whether the months differ by at most one; None where either row leaves the estimate undefined.
        ``stable`` is False when any check fails, None when none fails but one is undefined.
    """
    records = [one["estimates"]["hindsightbench"][scoring] for one in (row, other)]
    checks: dict[str, bool | None] = {
        metric: _mutual(*(one.get(metric) or {} for one in records)) for metric in ("E2", "E3")
    }
    first, second = ((one.get("cutoff") or {}).get("value_month") for one in records)
    checks["cutoff"] = (
        None
        if first is None or second is None
        else abs(ordinal(first) - ordinal(second)) <= CUTOFF_TOLERANCE_MONTHS
    )
    if False in checks.values():
        stable: bool | None = False
    else:
        stable = None if None in checks.values() else True
    return {**checks, "stable": stable}


def _mutual(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool | None:
    needed = [side.get(key) for side in (one, two) for key in ("value", "low", "high")]
    if any(value is None for value in needed):
        return None
    return bool(one["low"] <= two["value"] <= one["high"] and two["low"] <= one["value"] <= two["high"])
