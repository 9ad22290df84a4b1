"""How this suite's estimates are printed: the paper's tables 4, 6, 7 and 9, one cell of text per column.

Shares print with two decimals, half to even, no zero before the point; ends of knowledge and claims as quarters.
A gated cell is an em dash and the mark of the gate that failed (`marks.MARKS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anachron.publish.cells import Metrics, defined, measured_end, metrics, month, number, scored
from anachron.publish.row_blocks import vendor_stated
from anachron.publish.text import EM_DASH, fixed
from anachron.suites.findendro import marks
from anachron.suites.findendro.protocol import quarter

__all__ = [
    "COLUMNS",
    "EM_DASH",
    "LABELS",
    "MACHINE",
    "MARKS",
    "QUESTIONS",
    "SCORINGS",
    "cells",
    "fixed",
    "further",
    "measured_ends",
]

MARKS = marks.MARKS
"""Marks and their meaning, for legends."""

SCORINGS = ("anachron", "likelihood", "texts", "texts_raw")
"""The first one that a row has is printed unless another is asked for."""

QUESTION = "Which facts does it know, which does it say it knows, and where does each end?"
"""What the suite asks, for readers who do not know it."""

ARMS = {
    "value": "the fact, with candidates to choose from",
    "recall": "the same candidates, each as known or as guessed",
    "predict": "the same, worded as a prediction",
    "dated": "the same as of a day before the fact",
    "value-text": "how likely the text of each candidate is after the question, without a list",
    "recall-text": "the same of each candidate with each claim",
    "predict-text": "the same, worded as a prediction",
    "dated-text": "the same as of a day before the fact",
    "cutoff": "where the model says its own knowledge ends",
}
"""What each arm asks."""

QUESTIONS = {
    "Knows": "How many of the facts that neither persistence nor the usual outcome gives away does it answer rightly? "
    "Blind guessing gets about .27.",
    "Says": "Of how many of all facts does it claim to know the answer?",
    "If it says": "Accuracy on the facts that it claims to know.",
    "If it denies": "Accuracy on the facts that it says it does not know: what a filter by self-report leaves in.",
    "Gap": "Does a claim tell known from unknown facts of the same period? Accuracy claimed minus denied.",
    "Says, predict → dated": "How many claims are left when the wording predicts, and then when a date is stated?",
    "Accuracy, predict → dated": "Does the stated date change what it can answer?",
    "Knowledge ends": "The last quarter in which it knows clearly more than chance.",
    "Claims end": "The last quarter in which it claims at least half as much as in 2015 to 2020.",
    "Position": "The share of its answers to the value question that are one and the same letter.",
}
"""What each column asks, for readers of the table alone."""

COLUMNS = tuple(QUESTIONS)

MACHINE = {
    "knows": "knows",
    "says": "says",
    "acc_says": "acc_says",
    "acc_denies": "acc_denies",
    "gap": "gap",
    "says_predict": "says.predict",
    "says_dated": "says.dated",
    "accuracy_predict": "accuracy.predict",
    "accuracy_dated": "accuracy.dated",
    "knowledge_end": "knowledge_end",
    "claims_end": "claims_end",
    "claims_minus_knowledge": "claims_minus_knowledge",
    "filter_inside_denied": "filter.inside.denied",
    "filter_inside_accuracy": "filter.inside.accuracy",
    "filter_after_denied": "filter.after.denied",
    "filter_after_accuracy": "filter.after.accuracy",
    "backtest_inside_predicted": "backtest.inside.predicted",
    "backtest_inside_accuracy": "backtest.inside.accuracy",
    "backtest_inside_accuracy_predicted": "backtest.inside.accuracy_predicted",
    "backtest_after_predicted": "backtest.after.predicted",
    "backtest_after_accuracy": "backtest.after.accuracy",
    "backtest_after_accuracy_predicted": "backtest.after.accuracy_predicted",
    "difference_macro": "difference.macro",
    "difference_stock": "difference.stock",
    "difference_policy": "difference.policy",
    "self_report": "self_report",
    "position_value": "position.value",
    "position_recall": "position.recall",
}
"""Columns of the machine-readable table and the metric each holds."""

LABELS = {
    "knows": "Knows",
    "says": "Says",
    "acc_says": "Accuracy if it says",
    "acc_denies": "Accuracy if it denies",
    "gap": "Gap within periods",
    "says.change": "Claims, dated minus predict",
    "accuracy.change": "Accuracy, dated minus predict",
    "knowledge_end": "Knowledge ends",
    "claims_end": "Claims end",
    "filter.inside.accuracy": "Filter, accuracy on denied facts inside",
    "filter.after.accuracy": "Filter, accuracy on denied facts after",
    "backtest.inside.accuracy_predicted": "Backtest, accuracy of predictions inside",
    "backtest.after.accuracy_predicted": "Backtest, accuracy of predictions after",
    "difference.macro": "Knows minus says, macro",
    "difference.stock": "Knows minus says, companies",
    "difference.policy": "Knows minus says, policy",
}
"""Metrics in words, for tables that name them in a row."""

ARROW = " → "


def cells(found: Metrics) -> dict[str, str]:
    """Return a row's estimates under one scoring as printed, one cell per column of `COLUMNS` (the paper's Table 4)."""
    return {
        "Knows": number(found.get("knows")),
        "Says": number(found.get("says")),
        "If it says": number(found.get("acc_says")),
        "If it denies": number(found.get("acc_denies")),
        "Gap": number(found.get("gap"), plus=True, interval=True),
        "Says, predict → dated": change(found, "says"),
        "Accuracy, predict → dated": change(found, "accuracy"),
        "Knowledge ends": month(found.get("knowledge_end"), in_quarters),
        "Claims end": month(found.get("claims_end"), in_quarters),
        "Position": number(found.get("position.value")),
    }


def further(rows: Sequence[dict[str, Any]], scoring: str) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the further tables of rows, each with its title: the paper's tables 6, 7, 9 and figure 4.

    A model whose end of knowledge is undefined has dashes inside and after.
    """
    known = [(row, metrics(row, "findendro", scoring)) for row in rows]
    return [
        (
            "Self-report as a filter: facts the model says it does not know, inside and after its knowledge",
            [{"Model": row["model"], **_sides(found, FILTER)} for row, found in known],
        ),
        (
            "A simulated dated backtest: answers labelled as predictions, inside and after its knowledge",
            [{"Model": row["model"], **_sides(found, BACKTEST)} for row, found in known],
        ),
        ("Where knowledge and claims end, by each rule", [_ends(row, found) for row, found in known]),
        (
            "Knows minus says, by family of facts",
            [
                {"Model": row["model"]}
                | {
                    title: number(found.get(f"difference.{family}"), plus=True, interval=True)
                    for title, family in FAMILIES
                }
                for row, found in known
            ],
        ),
    ]


FILTER = (("n", None), ("denied", "filter.{side}.denied"), ("accuracy", "filter.{side}.accuracy"))
BACKTEST = (
    ("n", None),
    ("predictions", "backtest.{side}.predicted"),
    ("accuracy", "backtest.{side}.accuracy"),
    ("accuracy of predictions", "backtest.{side}.accuracy_predicted"),
)
FAMILIES = (("Macro", "macro"), ("Companies", "stock"), ("Policy", "policy"))


def _sides(found: Metrics, columns: tuple[tuple[str, str | None], ...]) -> dict[str, str]:
    sides = {}
    for side in ("inside", "after"):
        counted = found.get(str(columns[1][1]).format(side=side))
        for title, metric in columns:
            name = f"{side.capitalize()}: {title}"
            if metric is None:
                sides[name] = f"{counted['n']:,}" if counted is not None and defined(counted) else EM_DASH
            else:
                sides[name] = number(found.get(metric.format(side=side)))
    return sides


def _ends(row: dict[str, Any], found: Metrics) -> dict[str, str]:
    apart = found.get("claims_minus_knowledge")
    months = EM_DASH
    if apart is not None and apart["value"] is not None:
        months = fixed(apart["value"] / 3, 0, plus=True)
    return {
        "Model": row["model"],
        "Knowledge ends": month(found.get("knowledge_end"), in_quarters),
        "at a third": month(found.get("knowledge_end.alternative"), in_quarters),
        "first fall": month(found.get("knowledge_fall"), in_quarters),
        "Claims end": month(found.get("claims_end"), in_quarters),
        "claims at a third": month(found.get("claims_end.alternative"), in_quarters),
        "first fall of claims": month(found.get("claims_fall"), in_quarters),
        "Claims outlast by, quarters": months,
        "Self-reported": month(found.get("self_report")),
        "Vendor-stated": vendor_stated(row) or EM_DASH,
    }


def change(found: Metrics, name: str) -> str:
    """Return a share in the predictive wording and in the dated one."""
    sides = [number(found.get(f"{name}.{arm}")) for arm in ("predict", "dated")]
    return sides[0] if sides[0] == sides[1] and sides[0].startswith(EM_DASH) else ARROW.join(sides)


def in_quarters(value: str) -> str:
    """Return the quarter of a month.

    >>> in_quarters("2024-09")
    '2024Q3'
    """
    number = quarter(value)
    return f"{number // 4}Q{number % 4 + 1}"


def measured_ends(scorings: dict[str, Metrics], side: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the measured ends of knowledge and of claims, and the cutoff that the model states of itself.

    An end, or an upper bound, in the last quarter asked is `open_ended`: it has not been seen.
    """
    found: list[dict[str, Any]] = []
    for label, metric in (("knowledge end", "knowledge_end"), ("claims end", "claims_end")):
        scoring = scored(scorings, SCORINGS, metric)
        if scoring is None:
            continue
        cell = scorings[scoring][metric]
        last = side.get("last_quarter")
        found.append(measured_end(label, scoring, cell, last, cell.get("gate_text")))
    scoring = scored(scorings, SCORINGS, "self_report")
    if scoring is not None:
        said = scorings[scoring]["self_report"]
        stated = said.get("value_month")
        note = None if stated else said.get("gate_text")
        found.append({"label": "self-reported", "kind": "self-reported", "month": stated, "note": note})
    return found
