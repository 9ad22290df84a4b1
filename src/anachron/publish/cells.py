"""Printed cells: how a suite's table reads its estimates in a row and writes them, the same in every suite.

A cell that has no value is an em dash with the mark of the gate that failed; marks after a value qualify it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anachron.publish.text import EM_DASH, fixed

Cell = dict[str, Any]
"""An estimate as a row holds it; `row_model.EstimateCell` describes it."""

Metrics = dict[str, Cell]


def metrics(row: dict[str, Any], suite: str, scoring: str) -> Metrics:
    """Return a row's estimates of a suite under a scoring, by metric; none where the row lacks either."""
    found: Metrics = row["estimates"].get(suite, {}).get(scoring, {})
    return found


def defined(cell: Cell | None) -> bool:
    """Whether a cell has a value, a number or a month."""
    return cell is not None and (cell["value"] is not None or cell.get("value_month") is not None)


def undefined(cell: Cell | None) -> str:
    """Return the em dash of a cell without a value, with the mark of the gate that failed."""
    failed = cell is not None and cell.get("gate_passed") is False
    return EM_DASH + (str(cell.get("gate", "")) if cell is not None and failed else "")


def number(cell: Cell | None, places: int = 2, plus: bool = False, interval: bool = False) -> str:
    """Return a number with its marks.

    Parameters
    ----------
    cell
        The estimate; None where the row has none.
    places
        Decimals of the value.
    plus
        Whether a value that is not negative gets a sign.
    interval
        Whether the interval follows; its ends have two decimals.

    >>> number({"value": -0.0625, "low": -0.125, "high": 0.5, "marks": "k"}, 3, interval=True)
    '−.062 [−.12, .50]k'
    """
    if cell is None or not defined(cell):
        return undefined(cell)
    ends = ""
    if interval and cell.get("low") is not None and cell.get("high") is not None:
        ends = f" [{fixed(cell['low'], 2)}, {fixed(cell['high'], 2)}]"
    return fixed(cell["value"], places, plus=plus) + ends + str(cell.get("marks", ""))


def month(cell: Cell | None, written: Callable[[str], str] = str) -> str:
    """Return a month with its interval and its marks; `written` says how a month is written.

    >>> month({"value": None, "value_month": "2024-09", "low_month": "2024-06", "high_month": "2024-11"})
    '2024-09 [2024-06, 2024-11]'
    """
    if cell is None or not defined(cell):
        return undefined(cell)
    ends = ""
    if cell.get("low_month") and cell.get("high_month"):
        ends = f" [{written(cell['low_month'])}, {written(cell['high_month'])}]"
    return written(cell["value_month"]) + ends + str(cell.get("marks", ""))


def scored(scorings: Mapping[str, Metrics], order: Sequence[str], metric: str) -> str | None:
    """Return the first scoring of `order` that has a metric; None where none has."""
    return next((name for name in order if metric in scorings.get(name, {})), None)


def measured_end(label: str, scoring: str, cell: Cell, last: str | None, note: str | None) -> dict[str, Any]:
    """Return an end that a suite measured, for the row's cutoffs side by side.

    Parameters
    ----------
    label
        What ends there, in words.
    scoring
        The scoring it is read from.
    cell
        The estimate: a month with its interval.
    last
        Last month asked. An end, or an upper bound, that is no earlier is `open_ended`: it has not been seen.
    note
        Why there is no month, where there is none.
    """
    value, high = cell.get("value_month"), cell.get("high_month")
    return {
        "label": label,
        "scoring": scoring,
        "month": value,
        "low": cell.get("low_month"),
        "high": high,
        "open_ended": bool(value and last and (high or value) >= last),
        "note": note if value is None else None,
    }
