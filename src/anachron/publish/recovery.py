"""How well a suite finds what is planted: bias and coverage over the planted respondents of a block."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from anachron import files
from anachron.publish import tables
from anachron.publish.row_blocks import Block
from anachron.publish.text import EM_DASH, fixed


def recovery(block: Block, scoring: str) -> list[dict[str, Any]]:
    """Return bias and coverage of every metric whose truth is known, over the planted rows of a block.

    Returns
    -------
    list of dict
        metric, unit, respondents (how many have a truth), estimated (of how many of them there is an estimate),
        bias (mean of estimate minus truth, of those; months for a month), intervals (how many have one) and covered
        (how many of these hold the truth).
    """
    by_metric: dict[str, list[dict[str, Any]]] = {}
    for record in tables.truth(block, scoring):
        if record["truth"] is not None:
            by_metric.setdefault(record["metric"], []).append(record)
    found = []
    for metric, records in by_metric.items():
        errors = [record["error"] for record in records if record["error"] is not None]
        held = [record["covered"] for record in records if record["covered"]]
        found.append(
            {
                "metric": metric,
                "unit": next((record["unit"] for record in records if record["unit"]), None),
                "respondents": len(records),
                "estimated": len(errors),
                "bias": files.rounded(fmean(errors)) if errors else None,
                "intervals": len(held),
                "covered": held.count("yes"),
            }
        )
    return found


def show(block: Block, record: dict[str, Any]) -> dict[str, str]:
    """Return a record of `recovery` as printed."""
    bias = EM_DASH
    if record["bias"] is not None:
        places = 1 if record["unit"] == "month" else 3
        bias = fixed(record["bias"], places, plus=True) + (" months" if places == 1 else "")
    return {
        "Metric": block.table.LABELS[record["metric"]],
        "Respondents": f"{record['respondents']}",
        "Estimated": f"{record['estimated']}",
        "Bias": bias,
        "Intervals that cover the truth": (
            f"{record['covered']} of {record['intervals']}" if record["intervals"] else EM_DASH
        ),
    }
