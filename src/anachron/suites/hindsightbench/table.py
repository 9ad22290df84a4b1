"""How this suite's estimates are printed: the columns of the published table, one cell of text per column.

Estimates print with sign and three decimals, interval ends with two, shares as whole percent, no zero before
the point. Rounding is half to even on the row's decimal digits. A gated cell is an em dash and the mark of
the gate that failed; a mark after a value qualifies it (`marks.MARKS` says how).
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from anachron.suites.hindsightbench import marks

MARKS = marks.MARKS
"""Marks and their meaning, for legends."""

SCORINGS = ("anachron", "bm1")
"""The first one is printed unless the other is asked for."""

COLUMNS = ("E1", "E2", "E3", "P1", "REC pre/post", "LAP pre/post (hit)", "Cutoff", "δ (t)", "VALID")

MACHINE = {
    "E1": "E1",
    "E2": "E2",
    "E3": "E3",
    "P1": "P1",
    "REC_pre": "REC.pre.year",
    "REC_post": "REC.post.year",
    "LAP_pre": "LAP.pre",
    "LAP_post": "LAP.post",
    "cutoff": "cutoff",
    "hit": "hit_rate",
    "kappa": "kappa",
    "delta": "delta",
    "t": "delta.t",
    "VALID": "VALID",
}
"""Columns of the machine-readable table and the metric each holds."""

LABELS = {
    "E1": "E1, what the shown facts add to the date",
    "E2": "E2, date trigger",
    "E3": "E3, a story that follows a false date",
    "P1": "P1, placebo after the cutoff",
    "LAP.pre": "LAP, recall before",
    "LAP.post": "LAP, recall after",
    "cutoff": "Cutoff, end of recall",
    "hit_rate": "Hit rate of recall",
    "delta": "δ, recall against accuracy",
    "VALID": "VALID, usable sketches",
}
"""Metrics in words, for tables that name them in a row."""

EM_DASH = "—"
MINUS = "−"

Cell = dict[str, Any]


def fixed(value: float, places: int, plus: bool = False) -> str:
    """Return a number with `places` decimals, half to even, no leading zero, a true minus sign.

    >>> fixed(-0.0625, 3, plus=True), fixed(0.30, 2), fixed(1.0, 3)
    ('−.062', '.30', '1.000')
    """
    exact = Decimal(f"{value:.10g}")
    text = str(abs(exact).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN))
    if text.startswith("0."):
        text = text[1:]
    return (MINUS if exact < 0 else "+" if plus else "") + text


def percent(share: float) -> str:
    """Return a share as whole percent, half to even."""
    exact = Decimal(f"{share:.10g}") * 100
    return f"{exact.quantize(Decimal(1), rounding=ROUND_HALF_EVEN):f}%"


def cells(row: dict[str, Any], scoring: str) -> dict[str, str]:
    """Return the printed cells of a row, one per column of `COLUMNS`.

    Parameters
    ----------
    row
        An audit row that holds this suite.
    scoring
        One of `SCORINGS`; a scoring the row lacks prints em dashes.
    """
    metrics: dict[str, Cell] = row["estimates"].get("hindsightbench", {}).get(scoring, {})
    return {
        "E1": _estimate(metrics.get("E1")),
        "E2": _estimate(metrics.get("E2")),
        "E3": _estimate(metrics.get("E3")),
        "P1": _estimate(metrics.get("P1")),
        "REC pre/post": _recovery(metrics),
        "LAP pre/post (hit)": _recall(metrics),
        "Cutoff": _cutoff(metrics.get("cutoff")),
        "δ (t)": _dissociation(metrics),
        "VALID": _share(metrics.get("VALID")),
    }


def _defined(cell: Cell | None) -> bool:
    return cell is not None and (cell["value"] is not None or cell.get("value_month") is not None)


def undefined(cell: Cell | None) -> str:
    """Return the em dash of a cell without a value, with the mark of the gate that failed."""
    failed = cell is not None and cell.get("gate_passed") is False
    return EM_DASH + (str(cell.get("gate", "")) if cell is not None and failed else "")


def _estimate(cell: Cell | None) -> str:
    if cell is None or not _defined(cell):
        return undefined(cell)
    interval = ""
    if cell.get("low") is not None and cell.get("high") is not None:
        interval = f" [{fixed(cell['low'], 2)}, {fixed(cell['high'], 2)}]"
    return fixed(cell["value"], 3, plus=True) + interval + str(cell.get("marks", ""))


def _share(cell: Cell | None) -> str:
    if cell is None or not _defined(cell):
        return undefined(cell)
    return percent(cell["value"]) + str(cell.get("marks", ""))


def _recovery(metrics: dict[str, Cell]) -> str:
    windows = [_share(metrics.get(f"REC.{window}.year")) for window in ("pre", "post")]
    if windows[0] == windows[1] and windows[0].startswith(EM_DASH):
        return windows[0]
    return "/".join(windows)


def _recall(metrics: dict[str, Cell]) -> str:
    pre, post, hit = (metrics.get(name) for name in ("LAP.pre", "LAP.post", "hit_rate"))
    if not _defined(pre) and not _defined(post):
        return undefined(pre)
    shares = [
        fixed(cell["value"], 3) if cell is not None and _defined(cell) else undefined(cell)
        for cell in (pre, post)
    ]
    hits = percent(hit["value"]) if hit is not None and _defined(hit) else EM_DASH
    guessing = any("g" in str((metrics.get(name) or {}).get("marks", "")) for name in ("hit_rate", "cutoff"))
    return f"{'/'.join(shares)} ({hits})" + ("g" if guessing else "")


def _cutoff(cell: Cell | None) -> str:
    if cell is None or not _defined(cell):
        return undefined(cell)
    interval = ""
    if cell.get("low_month") and cell.get("high_month"):
        interval = f" [{cell['low_month']}, {cell['high_month']}]"
    return f"{cell['value_month']}{interval}{cell.get('marks', '')}"


def _dissociation(metrics: dict[str, Cell]) -> str:
    slope, t = metrics.get("delta"), metrics.get("delta.t")
    if slope is None or not _defined(slope):
        return undefined(slope)
    ratio = fixed(t["value"], 2) if t is not None and _defined(t) else EM_DASH
    return f"{fixed(slope['value'], 3, plus=True)} ({ratio}){slope.get('marks', '')}"


def measured_ends(scorings: dict[str, dict[str, Cell]], side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return this suite's measured ends of knowledge, for the row's cutoffs side by side.

    An end, or an upper bound, that is the last month asked is `open_ended`: recall had not stopped by then.
    """
    scoring = next((name for name in SCORINGS if "cutoff" in scorings.get(name, {})), None)
    if scoring is None:
        return []
    cell = scorings[scoring]["cutoff"]
    asked = side.get("lap_by_month", {}).get(scoring, {})
    month = cell.get("value_month")
    high = cell.get("high_month")
    note = None
    if month is None:
        failed = cell.get("gate_passed") is False
        note = cell.get("gate_text") if failed else "no month is recalled above the threshold"
    return [
        {
            "label": "recall end",
            "scoring": scoring,
            "month": month,
            "low": cell.get("low_month"),
            "high": high,
            "open_ended": bool(month and asked and (high or month) >= max(asked)),
            "note": note,
        }
    ]
