"""The leaderboard as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from anachron.publish import tables

Row = dict[str, Any]


def text(rows: list[Row], scoring: str | None = None) -> str:
    """Return the leaderboard as Markdown; marks are superscripts, every scoring has its own table."""
    parts = ["# Leaderboard", ""]
    for block in tables.blocks(rows):
        parts += [f"## {escape(block.title)}", "", f"Suite `{block.suite}`, protocol `{block.protocol}`.", ""]
        for name in block.scorings(scoring):
            printed = tables.leaderboard(block, name)
            parts += [f"### Scoring `{name}`", ""]
            planted = {row["model"] for row in block.planted()}
            measured = [line for line in printed if line["Model"] not in planted]
            if measured:
                parts += [*_table(measured, block), ""]
            if planted:
                truth = [tables.show_truth(block, record) for record in tables.truth(block, name)]
                parts += ["Planted respondents (their hindsight is a known parameter):", ""]
                parts += [*_table([line for line in printed if line["Model"] in planted], block), ""]
                if truth:
                    parts += ["Truth beside estimate:", "", *_table(truth, block), ""]
            else:
                truth = []
            for mark, meaning in tables.legend(block, [*printed, *truth]).items():
                parts.append(f"- <sup>{mark}</sup> {escape(meaning)}")
            parts += [""] if parts[-1].startswith("- ") else []
    ends = tables.cutoffs(rows)
    if ends:
        parts += ["## Cutoffs side by side", "", *_table(ends), ""]
    notes = [(row["model"], note) for row in tables.ordered(rows) for note in row["disclosures"]]
    if notes:
        parts += ["## Disclosures", "", *(f"- {escape(model)}: {escape(note)}" for model, note in notes), ""]
    return "\n".join(parts)


def escape(value: str) -> str:
    """Return text that Markdown and HTML both print as it stands, on one line."""
    flat = " ".join(value.split())
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(flat, quote=False))


def _table(lines: list[dict[str, str]], block: tables.Block | None = None) -> Iterable[str]:
    columns = list(dict.fromkeys(column for line in lines for column in line))
    pattern = tables.mark_pattern(block) if block else None
    yield "| " + " | ".join(escape(column) for column in columns) + " |"
    yield "|" + " --- |" * len(columns)
    for line in lines:
        cells = []
        for column in columns:
            cell = escape(line.get(column, "—"))
            if pattern and column not in ("Model", "Generation", "Metric"):
                cell = pattern.sub(r"<sup>\1</sup>", cell)
            cells.append(cell)
        yield "| " + " | ".join(cells) + " |"
