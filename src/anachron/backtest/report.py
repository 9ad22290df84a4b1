"""The report of an audit, for people: what it says, in which order. `render` writes it as Markdown and as HTML.

It opens with the forecasters that know nothing, and says whether the gap could be composition; then come the route, its
assumptions, the checks, the number or why there is none, and what a stronger route would need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from anachron.backtest.convert import chance, counts, told
from anachron.backtest.figures import Drawn
from anachron.backtest.result import Audit, BoundaryCell, BoundaryMatrix, Check, Test
from anachron.publish.text import EM_DASH, fixed


@dataclass(frozen=True)
class Table:
    """A table of text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Block:
    """One piece of the report."""

    kind: Literal["title", "heading", "text", "note", "lead", "list", "table", "figure"]
    text: str = ""
    items: Sequence[str] = ()
    table: Table | None = None
    figure: Drawn | None = None


VERDICTS = {True: "passed", False: "failed", None: "cannot be tested here"}


def blocks(audit: Audit, drawn: Sequence[Drawn]) -> list[Block]:
    """Return the report of a result, with its figures in their places."""
    figures = {one.name: one for one in drawn}

    def shown(*names: str) -> Iterable[Block]:
        return (Block("figure", figure=figures[name]) for name in names if name in figures)

    return [
        Block("title", f"Audit of a backtest: {audit.target}"),
        Block("note", _read(audit)),
        Block("list", "lead", items=audit.summary),
        Block("heading", "Could the gap be composition?"),
        Block("text", audit.opening.says),
        Block("table", table=_opening(audit)),
        Block(
            "note",
            f"Mean score of the questions resolved before {audit.opening.split} minus the mean of those resolved later "
            f"({audit.opening.window}). A naive gap is uninformative alone: leakage, recency and the mix of "
            "questions all move it.",
        ),
        *shown("placebos", "by_month"),
        Block("heading", f"The route: {audit.route.title}"),
        Block("text", audit.route.does),
        *_controls(audit),
        Block("text", "It assumes:"),
        Block("list", items=audit.route.assumes or ["Nothing, since nothing is estimated."]),
        Block("heading", "Checks of the assumptions"),
        *_checks(audit.checks),
        *shown("boundary", "bandwidths", "placebo_dates", "sweep"),
        Block("heading", "The number" if audit.adjusted.score else "The number, or why there is none"),
        Block("lead", audit.adjusted.says),
        *([Block("text", f"Assumption: {audit.adjusted.assumption}")] if audit.adjusted.assumption else []),
        Block("table", table=_adjusted(audit)),
        *_findings(audit),
        *shown("estimates"),
        *_matrix(audit.matrix),
        Block("heading", "What a stronger route would need"),
        *_stronger(audit),
        Block("heading", "What was read"),
        *_inputs(audit),
    ]


def _read(audit: Audit) -> str:
    held = audit.read
    what = "forecasts" if held.kind == "forecasts" else "scores"
    return (
        f"{held.file}: {held.forecasts:,} {what} of {len(audit.models)} "
        f"{'model' if len(audit.models) == 1 else 'models'} on {held.questions:,} questions, resolved "
        f"{held.first_resolution} to {held.last_resolution}. Cutoff of {audit.target}: {audit.cutoff or 'not given'}."
    )


def _opening(audit: Audit) -> Table:
    rows = [
        [
            one.label,
            told(one.raw),
            told(one.standardised) if one.standardised else EM_DASH,
            counts(one.raw),
        ]
        for one in (audit.opening.target, *audit.opening.placebos)
    ]
    return Table(["Forecaster", "Gap as the questions are", "Gap at the same mix", "Questions"], rows)


def _controls(audit: Audit) -> list[Block]:
    if not audit.route.controls:
        return []
    said = [Block("text", f"Compared with {', '.join(audit.route.controls)}.")]
    return said + (
        [Block("lead", f"Before the difference is read: {audit.route.warning}.")]
        if audit.route.warning
        else []
    )


def _checks(checks: Sequence[Check]) -> list[Block]:
    if not checks:
        return [Block("text", "This route has no assumption that data could check.")]
    rows = [[one.label, VERDICTS[one.passed], one.says] for one in checks]
    return [Block("table", table=Table(["Check", "Outcome", "What was found"], rows))]


def _adjusted(audit: Audit) -> Table:
    held = audit.adjusted
    rows = [["Score as measured (higher is better)", told(held.measured)]]
    if held.leakage is not None:
        rows.append(["Leakage in it", told(held.leakage)])
    if held.score is not None:
        rows.append(["Score without it", told(held.score)])
    if held.risk_measured is not None:
        rows.append(["Brier score as measured (lower is better)", fixed(held.risk_measured, 3)])
    if held.risk is not None:
        rows.append(["Brier score without leakage", told(held.risk, plus=False)])
    return Table(["", "Estimate with 95 % interval"], rows)


def _findings(audit: Audit) -> list[Block]:
    if not audit.findings:
        return []
    rows = [
        [
            one.label,
            told(one.number),
            counts(one.number),
            EM_DASH if one.mde is None else fixed(one.mde, 3),
            one.says,
        ]
        for one in audit.findings
    ]
    columns = ["Estimate", "Value", "Questions", "Found at 80 %", "What it says"]
    note = (
        "“Found at 80 %” is the smallest effect that this backtest would have found in four of five cases. A null says "
        "no more than that leakage of that size is unlikely; it is no certificate."
    )
    return [Block("table", table=Table(columns, rows)), Block("note", note), *_marks(audit)]


MARKS = {
    "few_clusters": "under 20 clusters on a side, so that the interval is too narrow to be read as stated",
    "overlap": "some kinds of question stand on one side only and were left out",
    "mass_points": "too few distinct days for a line on either side",
    "not_computable": "the estimator gave no finite number",
}
"""What the marks behind numbers mean, by gate."""


def _marks(audit: Audit) -> list[Block]:
    """Return what the marks mean that stand in this report."""
    numbers = [
        *(one.number for one in audit.findings),
        *(
            one
            for held in (audit.opening.target, *audit.opening.placebos)
            for one in (held.raw, held.standardised)
        ),
    ]
    failed = {gate.name for one in numbers if one is not None for gate in one.gates if gate.passed is False}
    told = [f"({name.replace('_', ' ')}) {says}" for name, says in MARKS.items() if name in failed]
    return [Block("note", f"Marks: {'; '.join(told)}.")] if told else []


def _matrix(held: BoundaryMatrix | None) -> list[Block]:
    if held is None:
        return []
    cells = {(one.model, one.boundary): one for one in held.cells}
    rows = [
        [model, *(_cell(cells[model, boundary]) for boundary in held.boundaries)] for model in held.models
    ]
    said = [
        f"Each model’s change within {held.half_width} days of each cutoff, minus that of "
        f"{', '.join(held.controls)}. ● marks a model’s own cutoff: leakage would show there and not elsewhere. p is "
        "that of exchanging the dates of the questions within the window."
    ]
    tests = [f"{_words(one)}." for one in (held.reassigned, held.shuffled)]
    return [
        Block("heading", "Every model at every cutoff"),
        Block("table", table=Table(["Model", *held.boundaries], rows)),
        Block("note", said[0]),
        Block("list", items=tests),
    ]


def _cell(cell: BoundaryCell) -> str:
    p = "" if cell.number.p is None else f", {chance(cell.number.p)}"
    return f"{'● ' if cell.own else ''}{told(cell.number)}{p}"


def _words(test: Test) -> str:
    if test.p is None:
        return f"{test.method.capitalize()}: not possible here, since it takes two cutoffs or more"
    return f"{test.method.capitalize()}: {chance(test.p)} ({test.arrangements:,} arrangements)"


def _stronger(audit: Audit) -> list[Block]:
    if audit.route.identifies == "zero":
        return [Block("text", "No route says more: keep asking questions before they are resolved.")]
    items = [f"{one.title}: {'; '.join(one.lacking)}." for one in audit.route.stronger]
    if not items:
        items = ["Every stronger route was open, or there is none."]
    return [Block("list", items=items)]


def _inputs(audit: Audit) -> list[Block]:
    models = [[one.model, one.role, one.cutoff or EM_DASH, f"{one.forecasts:,}"] for one in audit.models]
    held = audit.read
    optional = {
        "crowd forecast": held.crowd,
        "source": held.source,
        "difficulty": held.difficulty,
        "paraphrases": held.paraphrases > 1,
    }
    given = [name for name, there in optional.items() if there]
    options = ", ".join(
        f"{name.replace('_', ' ')} {_option(value)}"
        for name, value in sorted(audit.options.items())
        if _given(value)
    )
    return [
        Block("table", table=Table(["Model", "Role", "Cutoff", "Forecasts"], models)),
        Block(
            "list",
            items=[
                f"Columns beyond the required ones: {', '.join(given) or 'none'}.",
                f"{held.clusters} clusters (whole clusters are drawn for intervals).",
                *held.warnings,
                f"SHA-256 of the file: {held.sha256}",
                f"Options: {options}.",
                f"Anachron {audit.version}; the same file and options give the same report.",
            ],
        ),
    ]


def _given(value: object) -> bool:
    return value is not None and value not in ([], {})


def _option(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
