"""The leaderboard from rows: one CSV for machines, Markdown and one self-contained page for people.

A *block* of the leaderboard is one suite under one protocol: rows of different protocols never share a table.
Each suite's `table` module says how its estimates print and what the marks mean; nothing here knows a suite
by name. Models with planted hindsight stand in a block of their own, with the truth beside.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anachron import files, suites
from anachron.blocks import ordinal
from anachron.errors import ContractError

Row = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """The rows of one suite under one protocol, in the order they are printed."""

    suite: str
    protocol: str
    title: str
    rows: tuple[Row, ...]

    @property
    def table(self) -> Any:
        """The suite's `table` module."""
        return suites.module(self.suite, "table")

    def scorings(self, preferred: str | None = None) -> list[str]:
        """Scorings that some row holds, the preferred one first."""
        held = {name for row in self.rows for name in row["estimates"][self.suite]}
        names = [name for name in self.table.SCORINGS if name in held]
        return sorted(names, key=lambda name: name != preferred) if preferred in names else names

    def measured(self) -> list[Row]:
        """Rows of models whose hindsight is not known beforehand."""
        return [row for row in self.rows if not is_planted(row, self.suite)]

    def planted(self) -> list[Row]:
        """Rows of planted respondents."""
        return [row for row in self.rows if is_planted(row, self.suite)]


def is_planted(row: Row, suite: str) -> bool:
    """Whether the truth behind a row's suite is known."""
    return suite in (row.get("planted_truth") or {}) or row["identity"]["provider"] == "planted"


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Sort rows by generation, the newest first and unstated ones last; within one, the order given stays."""
    known: list[Row] = []
    other: list[Row] = []
    for row in rows:
        (known if row["identity"]["generation"][:1].isdigit() else other).append(row)
    known.sort(key=lambda row: _natural(row["identity"]["generation"]), reverse=True)
    # A reversed stable sort keeps the order of equals, so registry order survives inside a generation.
    return known + sorted(other, key=lambda row: row["identity"]["generation"])


def _natural(text: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d+|\D+", text)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def blocks(rows: Iterable[Row]) -> list[Block]:
    """Group rows into the leaderboard's blocks, suites in registry order, protocols by name.

    Raises
    ------
    ContractError
        When one model has two rows in the same block.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    titles: dict[tuple[str, str], str] = {}
    for row in ordered(rows):
        for suite in row["estimates"]:
            protocol = row["provenance"][suite]["protocol"]
            key = (suite, protocol["name"])
            if any(other["model"] == row["model"] for other in groups.get(key, [])):
                raise ContractError(
                    f"two rows of model {row['model']!r} under protocol {protocol['name']!r}; give one"
                )
            groups.setdefault(key, []).append(row)
            titles.setdefault(key, protocol["title"])
    order = list(suites.SUITES)
    keys = sorted(groups, key=lambda key: (order.index(key[0]) if key[0] in order else len(order), key))
    return [Block(suite, name, titles[suite, name], tuple(groups[suite, name])) for suite, name in keys]


def leaderboard(block: Block, scoring: str) -> list[dict[str, str]]:
    """Return the printed table of a block: one mapping of column to text per row."""
    return [
        {
            "Model": row["model"],
            "Generation": row["identity"]["generation"],
            **block.table.cells(row, scoring),
        }
        for row in block.rows
    ]


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
    metrics = row["estimates"][block.suite].get(scoring, {})
    for column, metric in block.table.MACHINE.items():
        cell = metrics.get(metric, {"value": None})
        month = cell.get("value_month")
        record[column] = month if month is not None else cell["value"]
        record[f"{column}_low"] = cell.get("low_month", cell.get("low"))
        record[f"{column}_high"] = cell.get("high_month", cell.get("high"))
        record[f"{column}_n"] = cell.get("n")
        record[f"{column}_gate"] = cell.get("gate") if cell.get("gate_passed") is False else None
        record[f"{column}_marks"] = cell.get("marks") or None
    for column, text in block.table.cells(row, scoring).items():
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


# --- planted truth ------------------------------------------------------------------------------------


def truth(block: Block, scoring: str) -> list[dict[str, Any]]:
    """Return truth beside estimate for the planted rows of a block.

    Returns
    -------
    list of dict
        model, metric, truth, estimate, low, high, error (estimate minus truth; months for a month), covered
        ("yes", "no", or "" where there is no interval), gate (mark of a failed gate). Only metrics that the
        suite labels (`LABELS`).
    """
    found = []
    for row in block.planted():
        known = (row.get("planted_truth") or {}).get(block.suite, {})
        metrics = row["estimates"][block.suite].get(scoring, {})
        for metric in block.table.LABELS:
            if metric not in known:
                continue
            cell = metrics.get(metric, {"value": None})
            month = cell.get("value_month")
            value = month if month is not None else cell["value"]
            low = cell.get("low_month", cell.get("low"))
            high = cell.get("high_month", cell.get("high"))
            found.append(
                {
                    "model": row["model"],
                    "scoring": scoring,
                    "metric": metric,
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
    fixed = block.table.fixed

    def text(value: Any, places: int = 3) -> str:
        if value is None:
            return "—"
        return value if isinstance(value, str) else fixed(value, places, plus=True)

    estimate = text(record["estimate"])
    if record["estimate"] is None and record["gate"]:
        estimate += record["gate"]
    elif record["low"] is not None and record["high"] is not None:
        low, high = (
            end if isinstance(end, str) else fixed(end, 2) for end in (record["low"], record["high"])
        )
        estimate += f" [{low}, {high}]"
    error = text(record["error"])
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
    return f"{number:+d} month{'' if abs(number) == 1 else 's'}".replace("-", "−")


# --- what several outputs need ------------------------------------------------------------------------


def legend(block: Block, printed: Iterable[dict[str, str]]) -> dict[str, str]:
    """Return the marks that printed cells carry, with their meaning, in alphabetical order."""
    meaning = block.table.MARKS
    pattern = mark_pattern(block)
    present = {
        mark
        for cells in printed
        for column, text in cells.items()
        if column not in ("Model", "Generation", "Metric")
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


def write(
    rows: list[Row],
    out: Path,
    scoring: str | None = None,
    figures: list[Any] | None = None,
    names: Iterable[str] = ("csv", "md", "html"),
) -> list[Path]:
    """Write `leaderboard.csv`, `.md` and `.html` into `out`.

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
    names
        Which of the three.

    Returns
    -------
    list of Path
        The files written.
    """
    from anachron.publish import markdown, page

    texts = {
        "csv": lambda: csv_text(machine(rows)),
        "md": lambda: markdown.text(rows, scoring),
        "html": lambda: page.text(rows, scoring, figures or []),
    }
    written = []
    for name in names:
        path = out / f"leaderboard.{name}"
        files.write_text(path, texts[name]())
        written.append(path)
    return written
