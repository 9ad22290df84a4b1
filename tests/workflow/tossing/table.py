"""One printed column."""

from __future__ import annotations

from typing import Any

from anachron.publish.cells import Metrics, number

MARKS: dict[str, str] = {"z": "No toss was named."}
SCORINGS = ("anachron",)
QUESTIONS = {"Right": "How many tosses does it name right?"}
COLUMNS = ("Right",)
MACHINE = {"right": "right"}
LABELS = {"right": "Tosses named right"}


def cells(found: Metrics) -> dict[str, str]:
    return {"Right": number(found.get("right"), 2)}


def measured_ends(scorings: dict[str, Metrics], side: dict[str, Any]) -> list[dict[str, Any]]:
    return []
