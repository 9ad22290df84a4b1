"""The leaderboard from rows: one CSV for machines, Markdown and one self-contained page for people.

A table holds one block of rows (`row_blocks`). Each suite's `table` module says how its estimates print and
what the marks mean; nothing here knows a suite by name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anachron import files, suites
from anachron.blocks import ordinal
from anachron.errors import ConfigError
from anachron.publish.cells import metrics
from anachron.publish.row_blocks import Block, Row, blocks, is_planted, ordered
from anachron.publish.text import fixed

__all__ = [
    "WORDS",
    "Block",
    "Row",
    "blocks",
    "check_scoring",
    "csv_text",
    "cutoffs",
    "further",
    "is_planted",
    "leaderboard",
    "legend",
    "machine",
    "mark_pattern",
    "months",
    "ordered",
    "parquet",
    "show_truth",
    "truth",
    "write",
]


WORDS = ("Model", "Generation", "Metric")
"""Columns of printed tables that hold names, in which a letter is no mark."""


def leaderboard(block: Block, scoring: str) -> list[dict[str, str]]:
    """Return the printed table of a block: one mapping of column to text per row."""
    return [
        {
            "Model": row["model"],
            "Generation": row["identity"]["generation"],
            **block.table.cells(metrics(row, block.suite, scoring)),
        }
        for row in block.rows
    ]


def further(block: Block, scoring: str) -> list[tuple[str, list[dict[str, str]]]]:
    """Return the further tables of a block, each with its title; only suites whose `table` has `further` have any."""
    made = getattr(block.table, "further", None)
    return list(made(block.printed(), scoring)) if made else []


# --- machine-readable ---------------------------------------------------------------------------------


def machine(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return one record per model, suite and scoring: numbers, gates, marks, and the cells as printed."""
    found = []
    for block in blocks(rows):
        for row in block.rows:
            for scoring in block.scorings():
                found.append(_record(block, row, scoring))
    return found


def _record(block: Block, row: Row, scoring: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "model": row["model"],
        "generation": row["identity"]["generation"],
        "vendor": row["identity"]["vendor"],
        "planted": "yes" if is_planted(row, block.suite) else "no",
        "suite": block.suite,
        "protocol": block.protocol,
        "scoring": scoring,
        "safe_from": row["safe_from"]["month"],
    }
    estimates = metrics(row, block.suite, scoring)
    for column, metric in block.table.MACHINE.items():
        cell = estimates.get(metric, {"value": None})
        month = cell.get("value_month")
        record[column] = month if month is not None else cell["value"]
        record[f"{column}_low"] = cell.get("low_month", cell.get("low"))
        record[f"{column}_high"] = cell.get("high_month", cell.get("high"))
        record[f"{column}_n"] = cell.get("n")
        record[f"{column}_gate"] = cell.get("gate") if cell.get("gate_passed") is False else None
        record[f"{column}_marks"] = cell.get("marks") or None
    for column, text in block.table.cells(estimates).items():
        record[f"printed {column}"] = text
    return record


def csv_text(records: list[dict[str, Any]]) -> str:
    """Return records as CSV: the union of their columns, empty where missing, whole-number floats as such."""
    columns = list(dict.fromkeys(column for record in records for column in record))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow(["" if record.get(column) is None else record[column] for column in columns])
    return buffer.getvalue()


def parquet(records: list[dict[str, Any]], path: Path) -> None:
    """Write records as Parquet, the columns those of `csv_text`: counts whole, other numbers as floats, else text."""
    import pyarrow as arrow
    import pyarrow.parquet

    columns = dict.fromkeys(column for record in records for column in record)
    kinds = {name: _kind(name, [record.get(name) for record in records]) for name in columns}
    held = {
        name: arrow.array([record.get(name) for record in records], getattr(arrow, kind)())
        for name, kind in kinds.items()
    }
    with files.atomic_path(path) as part:
        pyarrow.parquet.write_table(arrow.table(held), part, compression="zstd")


def _kind(name: str, values: list[Any]) -> str:
    """Return a column's type, the same for all rows there may be: by its name where it has no value."""
    known = [value for value in values if value is not None]
    if name.endswith("_n"):
        return "int64"
    if known:
        return "string" if isinstance(known[0], str) else "float64"
    plain = name.endswith(("_gate", "_marks")) or name.startswith("printed ")
    return "string" if plain or "_" not in name else "null"


# --- planted truth ------------------------------------------------------------------------------------


def truth(block: Block, scoring: str) -> list[dict[str, Any]]:
    """Return truth beside estimate for the planted rows of a block, both by the scoring's definitions.

    Returns
    -------
    list of dict
        model, metric, unit, truth, estimate, low, high, error (estimate minus truth; months for a month), covered
        ("yes", "no", or "" where there is no interval), gate (mark of a failed gate). Only metrics that the
        suite labels (`LABELS`).
    """
    found = []
    for row in block.planted():
        known = (row.get("planted_truth") or {}).get(block.suite, {}).get(scoring, {})
        estimates = metrics(row, block.suite, scoring)
        for metric in block.table.LABELS:
            if metric not in known:
                continue
            cell = estimates.get(metric, {"value": None})
            month = cell.get("value_month")
            value = month if month is not None else cell["value"]
            low = cell.get("low_month", cell.get("low"))
            high = cell.get("high_month", cell.get("high"))
            found.append(
                {
                    "model": row["model"],
                    "scoring": scoring,
                    "metric": metric,
                    "unit": cell.get("unit"),
                    "truth": known[metric],
                    "estimate": value,
                    "low": low,
                    "high": high,
                    "error": files.rounded(_difference(value, known[metric])),
                    "covered": _covered(known[metric], low, high),
                    "gate": cell.get("gate") if cell.get("gate_passed") is False else None,
                }
            )
    return found


def _difference(value: Any, true: Any) -> float | int | None:
    if value is None or true is None:
        return None
    if isinstance(value, str) and isinstance(true, str):
        return ordinal(value) - ordinal(true)
    return float(value) - float(true)


def _covered(true: Any, low: Any, high: Any) -> str:
    if true is None or low is None or high is None:
        return ""
    return "yes" if low <= true <= high else "no"


def show_truth(block: Block, record: dict[str, Any]) -> dict[str, str]:
    """Return a record of `truth` as printed."""
    # A share cannot be negative, so a plus before it would suggest a difference.
    signed = record["unit"] != "share"

    def text(value: Any, plus: bool = signed) -> str:
        if value is None:
            return "—"
        return value if isinstance(value, str) else str(fixed(value, 3, plus=plus))

    estimate = text(record["estimate"])
    if record["estimate"] is None and record["gate"]:
        estimate += record["gate"]
    elif record["low"] is not None and record["high"] is not None:
        low, high = (
            end if isinstance(end, str) else fixed(end, 2) for end in (record["low"], record["high"])
        )
        estimate += f" [{low}, {high}]"
    error = text(record["error"], plus=True)
    if isinstance(record["truth"], str) and record["error"] is not None:
        error = months(record["error"])
    return {
        "Model": record["model"],
        "Metric": block.table.LABELS[record["metric"]],
        "Truth": "none" if record["truth"] is None else text(record["truth"]),
        "Estimate": estimate,
        "Error": error,
        "Interval covers truth": record["covered"] or "—",
    }


def months(number: int) -> str:
    """Return a signed number of months in words."""
    sign = "+" if number > 0 else ""
    return f"{sign}{number} month{'' if abs(number) == 1 else 's'}".replace("-", "−")


# --- what several outputs need ------------------------------------------------------------------------


def legend(block: Block, printed: Iterable[dict[str, str]]) -> dict[str, str]:
    """Return the marks that printed cells carry, with their meaning, in alphabetical order."""
    meaning = block.table.MARKS
    pattern = mark_pattern(block)
    present = {
        mark
        for cells in printed
        for column, text in cells.items()
        if column not in WORDS
        for found in pattern.finditer(text)
        for mark in found.group(1)
    }
    return {mark: str(meaning[mark]) for mark in sorted(present)}


def mark_pattern(block: Block) -> re.Pattern[str]:
    """Match the marks of a cell: letters of the suite's legend straight after a value, at its end."""
    letters = "".join(sorted(block.table.MARKS))
    return re.compile(rf"(?<=[\d%)\]—])([{letters}]+)(?=$|/| \()")


def cutoffs(rows: Iterable[Row]) -> list[dict[str, str]]:
    """Return the cutoffs side by side and the advice, one printed line per model."""
    lines = []
    for row in ordered(rows):
        line = {"Model": row["model"]}
        vendor = "—"
        for end in row["cutoffs"]:
            month = end["month"] or "—"
            if end["kind"] == "vendor-stated":
                vendor = month
                continue
            if end["kind"] == "self-reported":
                line["Self-reported"] = month
                continue
            if end.get("low") and end.get("high"):
                month += f" [{end['low']}, {end['high']}]"
            line[f"Measured {end['label']}"] = month
            apart = end.get("months_from_vendor")
            line[f"{end['label'].capitalize()} minus vendor"] = "—" if apart is None else months(apart)
        line["Vendor-stated"] = vendor
        line["Safe from"] = row["safe_from"]["month"] or "—"
        line["What this rests on"] = row["safe_from"]["text"]
        lines.append(line)
    return lines


def check_scoring(rows: list[Row], scoring: str) -> None:
    """Raise `ConfigError` when no suite of the rows knows a scoring of this name."""
    known = dict.fromkeys(
        name for row in rows for suite in row["estimates"] for name in suites.module(suite, "table").SCORINGS
    )
    if scoring not in known:
        raise ConfigError(f"scoring {scoring!r} is not known; known scorings: {', '.join(known)}")


def write(
    rows: list[Row],
    out: Path,
    scoring: str | None = None,
    figures: list[Any] | None = None,
    browsable: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Write the tables `leaderboard.csv`, `.parquet`, `.md` and `.tex` and the page `index.html` into `out`.

    Parameters
    ----------
    rows
        Rows in registry order.
    out
        Folder.
    scoring
        Scoring that is printed first; a suite's own first one when None.
    figures
        What `figures.write` returned; shown in the page.
    browsable
        What `browse.found` returned: whose transcripts lie beside the page.

    Returns
    -------
    list of Path
        The files written.
    """
    from anachron.publish import latex, markdown, page

    records = machine(rows)
    made = {  # all, before any is written
        out / "leaderboard.csv": csv_text(records),
        out / "leaderboard.md": markdown.text(rows, scoring),
        out / "leaderboard.tex": latex.text(rows, scoring),
        out / page.NAME: page.text(rows, scoring, figures or [], browsable),
    }
    for path, text in made.items():
        files.write_text(path, text)
    table = out / "leaderboard.parquet"
    parquet(records, table)
    return [*made, table]
