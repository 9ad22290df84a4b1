"""How this suite's estimates are printed: the columns of the published table, one cell of text per column.

Estimates print with sign and three decimals, interval ends with two, shares as whole percent, no zero before
the point. Rounding is half to even on the row's decimal digits. A gated cell is an em dash and the mark of
the gate that failed; a mark after a value qualifies it (`marks.MARKS` says how).
"""

from __future__ import annotations

from typing import Any

from anachron.publish.cells import Cell, Metrics, defined, measured_end, month, number, scored, undefined
from anachron.publish.text import EM_DASH, fixed, percent
from anachron.suites.hindsightbench import marks

MARKS = marks.MARKS
"""Marks and their meaning, for legends."""

SCORINGS = ("anachron", "bm1")
"""The first one is printed unless the other is asked for."""

COLUMNS = ("E1", "E2", "E3", "P1", "REC pre/post", "LAP pre/post (hit)", "Cutoff", "δ (t)", "VALID")

QUESTION = (
    "Does a date set off hindsight, does a remembered story follow a false date, and where does recall end?"
)
"""What the suite asks, for readers who do not know it."""

ARMS = {
    "R": "hypotheses from the figures known then, beside their values of today, with the date",
    "D": "hypotheses from the figures known then, with the date",
    "M": "the same figures without any date",
    "W": "the same figures under a false date",
    "W72": "the same figures under another false date",
    "LAP": "no figures: did the target rise or fall after this date?",
    "REC": "the figures without a date: which month is it?",
}
"""What each arm asks."""

QUESTIONS = {
    "E1": "What do the figures as later revised add to the date? The crisis-calm gap (share of bearish calls in crisis "
    "months minus that in calm ones) with them (arm R) minus that without (arm D).",
    "E2": "Does the date itself set off hindsight? The crisis-calm gap with the date (arm D) minus the gap without "
    "(arm M); 0 is clean.",
    "E3": "Does a remembered story follow a false date? The gap of arm W with months told by the false date minus told "
    "by the true one; 0 or less is clean.",
    "P1": "Is there an effect of the date where no memory can exist? Bearish share of D minus that of M in the last "
    "months; near 0.",
    "REC pre/post": "Can the model date data without a date? Share of years named right, in the protocol's early "
    "months and in its last ones (post), of which few models can have read.",
    "LAP pre/post (hit)": "Does it recall outcomes, and rightly? Share of answers up or down in the early months and "
    "in the last ones; share of months recalled in the direction that came true (half is chance).",
    "Cutoff": "Where does recall end? The last month with more recall than the threshold.",
    "δ (t)": "Does recall make one direction of its calls more often right than the other?",
    "VALID": "Did it do the task? Share of well-formed sketches.",
}
"""What each column asks, for readers of the table alone."""

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
    "REC.pre.year": "REC, year named right before",
    "REC.post.year": "REC, year named right after",
    "LAP.pre": "LAP, recall before",
    "LAP.post": "LAP, recall after",
    "cutoff": "Cutoff, end of recall",
    "hit_rate": "Hit rate of recall",
    "delta": "δ, recall against accuracy",
    "VALID": "VALID, usable sketches",
}
"""Metrics in words, for tables that name them in a row."""


def cells(found: Metrics) -> dict[str, str]:
    """Return a row's estimates under one scoring as printed, one cell per column of `COLUMNS`."""
    return {
        "E1": number(found.get("E1"), 3, plus=True, interval=True),
        "E2": number(found.get("E2"), 3, plus=True, interval=True),
        "E3": number(found.get("E3"), 3, plus=True, interval=True),
        "P1": number(found.get("P1"), 3, plus=True, interval=True),
        "REC pre/post": _recovery(found),
        "LAP pre/post (hit)": _recall(found),
        "Cutoff": month(found.get("cutoff")),
        "δ (t)": _dissociation(found),
        "VALID": _share(found.get("VALID")),
    }


def _share(cell: Cell | None) -> str:
    if cell is None or not defined(cell):
        return undefined(cell)
    return percent(cell["value"]) + str(cell.get("marks", ""))


def _recovery(found: Metrics) -> str:
    windows = [_share(found.get(f"REC.{window}.year")) for window in ("pre", "post")]
    if windows[0] == windows[1] and windows[0].startswith(EM_DASH):
        return windows[0]
    return "/".join(windows)


def _recall(found: Metrics) -> str:
    pre, post, hit = (found.get(name) for name in ("LAP.pre", "LAP.post", "hit_rate"))
    if not defined(pre) and not defined(post):
        return undefined(pre)
    shares = [
        fixed(cell["value"], 3) if cell is not None and defined(cell) else undefined(cell)
        for cell in (pre, post)
    ]
    hits = percent(hit["value"]) if hit is not None and defined(hit) else EM_DASH
    guessing = any("g" in str((found.get(name) or {}).get("marks", "")) for name in ("hit_rate", "cutoff"))
    return f"{'/'.join(shares)} ({hits})" + ("g" if guessing else "")


def _dissociation(found: Metrics) -> str:
    slope, t = found.get("delta"), found.get("delta.t")
    if slope is None or not defined(slope):
        return undefined(slope)
    ratio = fixed(t["value"], 2) if t is not None and defined(t) else EM_DASH
    return f"{fixed(slope['value'], 3, plus=True)} ({ratio}){slope.get('marks', '')}"


def measured_ends(scorings: dict[str, Metrics], side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return this suite's measured ends of knowledge, for the row's cutoffs side by side.

    An end, or an upper bound, that is the last month asked is `open_ended`: recall had not stopped by then.
    """
    scoring = scored(scorings, SCORINGS, "cutoff")
    if scoring is None:
        return []
    cell = scorings[scoring]["cutoff"]
    asked = side.get("lap_by_month", {}).get(scoring, {})
    failed = cell.get("gate_passed") is False
    note = cell.get("gate_text") if failed else "no month is recalled above the threshold"
    return [measured_end("recall end", scoring, cell, max(asked) if asked else None, note)]
