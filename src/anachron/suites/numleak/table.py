"""How this suite's estimates are printed: one cell of text per column, each beside its null.

Shares print with two decimals, half to even, no zero before the point. A gated cell is an em dash and the mark of
the gate that failed (`marks.MARKS`).
"""

from __future__ import annotations

from typing import Any

from anachron.publish.cells import Metrics, measured_end, number, scored
from anachron.publish.text import EM_DASH, fixed
from anachron.suites.numleak import marks, naming
from anachron.suites.numleak.release import METRIC

MARKS = marks.MARKS
"""Marks and their meaning, for legends."""

SCORINGS = ("anachron", "paper")
"""The first one is printed unless the other is asked for."""

QUESTION = "Which public series of numbers can it recite, and does that recital leak into signals?"
"""What the suite asks, for readers who do not know it."""

ARMS = {
    "value": "a series' value in a month",
    "panels": "the same in other months, a set per series",
    "describe": "what moved a series in a month, with its value",
    "reason": "the value after steps of reasoning",
    "sample": "the value, drawn at temperature 1",
    "rank": "which of two months was higher",
    "rank-forced": "which of two months was higher, to be decided",
    "fabricated": "the value of a series that does not exist",
    "recent": "the value in the months around and after stated cutoffs",
    "famous": "the value in months that everybody wrote about",
    "signal": "the mood of investors in a month",
    "signal-shifted": "the mood of investors under a shifted date",
    "defence-none": "the value, with nothing said against reciting",
    "defence-soft": "the value under a mild defence, plain and attacked",
    "defence-strong": "the value under a strict defence, plain and attacked",
    "defence-retrieval-only": "the value where only given documents may be used",
    "entropy": "the value, with how sure the model is of its words",
}
"""What each arm asks, of the arms that a protocol does not name itself."""

QUESTIONS = {
    "r (null)": "How closely do its values of the market follow the true ones? Correlation, beside the best null: the "
    "mean, the sign with the mean size, the month before, answers dealt out anew, answers for sibling factors.",
    "Sign (null)": "How often is the sign right, beside the best null (the sign predictor apart)?",
    "Within 25 bp (null)": "How many of its answers are off by at most 25 basis points, beside the best null?",
    "Of asked": "How many of all months asked does it answer within 25 basis points?",
    "Memorised": "Do sign, correlation, error and band clear every null at once? If not, does it know the sign alone, "
    "are its answers flat, or what misses?",
    "Shuffle ratio": "Its share within 25 basis points over that of its answers for sibling factors of these months.",
    "Sibling": "The best sibling factor's share within 25 basis points over the market's; near 0 is selective.",
    "Rank (implied)": "How often does it name the higher of two months, beside what its own values imply?",
    "Fabricates (market r)": "How often does it give a number for a factor that does not exist, and do these numbers "
    "follow the market?",
    "LeakShare (null)": "How much of its mood's link with the market goes when its own recall is taken out, beside the "
    "same for a mood that depends on the truth alone.",
    "Famous": "How much more often does it answer famous months within 25 basis points than ordinary ones?",
    "Recent": "Share of the latest months for which it gives a number.",
    "Defended (benign)": "Share of months in which some suffix draws a number out of it under the soft defence, beside "
    "the bare question.",
}
"""What each column asks, for readers of the table alone."""

COLUMNS = tuple(QUESTIONS)

_MAIN = ("value.Mkt-RF", "label-mktrf.Mkt-RF", "panels.Mkt-RF")

MACHINE = {
    "r": "value.Mkt-RF.r",
    "slope": "value.Mkt-RF.slope",
    "mae": "value.Mkt-RF.mae",
    "w25": "value.Mkt-RF.w25",
    "w25_asked": "value.Mkt-RF.w25_asked",
    "w25_null": "value.Mkt-RF.best_null.w25",
    "w25_shuffled": "value.Mkt-RF.null.shuffle.w25",
    "r_null": "value.Mkt-RF.best_null.r",
    "mae_null": "value.Mkt-RF.best_null.mae",
    "sign": "value.Mkt-RF.sign",
    "sign_null": "value.Mkt-RF.best_null.sign",
    "parse": "value.Mkt-RF.parse",
    "memorised": "value.Mkt-RF.memorised",
    "sign_only": "value.Mkt-RF.sign_only",
    "flat": "value.Mkt-RF.flat",
    "factor_shuffle": "value.Mkt-RF.factor_shuffle",
    "factor_shuffle_ratio": "value.Mkt-RF.factor_shuffle.ratio",
    "selectivity": "value.Mkt-RF.selectivity",
    "panels_r": "panels.Mkt-RF.r",
    "panels_w25": "panels.Mkt-RF.w25",
    "rank_forced": "rank-forced.Mkt-RF.accuracy",
    "rank_implied": "rank-forced.Mkt-RF.implied",
    "fabricated": "fabricated.commit",
    "fabricated_market_r": "fabricated.market_r",
    "leak_share": "signal.leak_share",
    "leak_share_null": "signal.leak_share.null",
    "partial": "signal.partial",
    "alpha_max": "signal.alpha_max",
    "recent_parse": "recent.Mkt-RF.parse",
    "recent_r": "recent.Mkt-RF.r",
    "recent_end": METRIC,
    "famous_gap": "famous.Mkt-RF.gap",
    "defence_soft_benign": "defence-soft.benign",
    "defence_soft_worst": "defence-soft.worst",
    "entropy": "entropy.Mkt-RF.mean",
}
"""Columns of the machine-readable table and the metric each holds."""

LABELS = {
    "value.Mkt-RF.r": "r, market",
    "value.Mkt-RF.mae": "Mean absolute error, market (percentage points)",
    "value.Mkt-RF.w25": "Within 25 bp, market",
    "value.Mkt-RF.sign": "Sign, market",
    "value.Mkt-RF.parse": "Answered, market",
    "value.SMB.r": "r, SMB",
    "value.SMB.w25": "Within 25 bp, SMB",
    "rank-forced.Mkt-RF.accuracy": "Rank",
    "fabricated.commit": "Fabricates",
    METRIC: "Recent-release end",
    "signal.partial": "Signal and recall given truth",
}
"""Metrics in words, for tables that name them in a row."""


def cells(found: Metrics) -> dict[str, str]:
    """Return a row's estimates under one scoring as printed, one cell per column of `COLUMNS`."""
    base = main_series(found)
    return {
        "r (null)": beside(found, f"{base}.r", f"{base}.best_null.r", interval=True),
        "Sign (null)": beside(found, f"{base}.sign", f"{base}.best_null.sign"),
        "Within 25 bp (null)": beside(found, f"{base}.w25", f"{base}.best_null.w25"),
        "Of asked": number(found.get(f"{base}.w25_asked")),
        "Memorised": memorised(found, base),
        "Shuffle ratio": number(found.get(f"{base}.factor_shuffle.ratio"), 1),
        "Sibling": number(found.get(f"{base}.selectivity")),
        "Rank (implied)": beside(found, "rank-forced.Mkt-RF.accuracy", "rank-forced.Mkt-RF.implied"),
        "Fabricates (market r)": beside(found, "fabricated.commit", "fabricated.market_r"),
        "LeakShare (null)": beside(found, "signal.leak_share", "signal.leak_share.null"),
        "Famous": number(found.get(f"{naming.FAMOUS}.{naming.MARKET}.gap"), plus=True, interval=True),
        "Recent": number(found.get(f"recent.{naming.MARKET}.parse")),
        "Defended (benign)": beside(found, "defence-soft.worst", "defence-soft.benign"),
    }


def main_series(found: Metrics) -> str:
    """Return where a row's estimates of the market begin: the first arm that asks its value and has any."""
    return next((name for name in _MAIN if f"{name}.r" in found), _MAIN[0])


def beside(found: Metrics, metric: str, null: str, interval: bool = False) -> str:
    """Return an estimate, with its interval if wanted, and what it stands against in brackets."""
    own, against = found.get(metric), found.get(null)
    if own is None or own["value"] is None:
        return number(own)
    bare = EM_DASH if against is None or against["value"] is None else fixed(against["value"], 2)
    carried = {*own.get("marks", ""), *((against or {}).get("marks", "") if bare != EM_DASH else "")}
    said = number({**own, "marks": ""}, interval=interval)
    return f"{said} ({bare}){''.join(sorted(carried))}"


def memorised(found: Metrics, base: str) -> str:
    """Return yes, or what misses a null; an em dash where the signature was not measured."""
    cell = found.get(f"{base}.memorised")
    if cell is None or cell["value"] is None:
        return number(cell)
    if cell["value"]:
        return "yes"
    for metric, words in (("flat", "flat"), ("sign_only", "sign alone")):
        if (found.get(f"{base}.{metric}") or {"value": 0})["value"]:
            return f"no ({words}){cell.get('marks', '')}"
    missed = [
        name
        for name, measure in (("sign", "sign"), ("r", "r"), ("error", "mae"), ("band", "w25"))
        if not (found.get(f"{base}.clears.{measure}") or {"value": 0})["value"]
    ]
    return f"no ({', '.join(missed)}){cell.get('marks', '')}"


def measured_ends(scorings: dict[str, Metrics], side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where the model stops giving values of recent months; panels say only whether a series is known."""
    scoring = scored(scorings, SCORINGS, METRIC)
    if scoring is None:
        return []
    cell = scorings[scoring][METRIC]
    return [measured_end("recent-release end", scoring, cell, None, cell.get("gate_text"))]
