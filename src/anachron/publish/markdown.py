"""The leaderboard as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from anachron.publish import tables
from anachron.publish.sections import sections

Row = dict[str, Any]


def text(rows: list[Row], scoring: str | None = None) -> str:
    """Return the leaderboard as Markdown; marks are superscripts, every scoring has its own table."""
    parts = ["# Leaderboard", ""]
    for section in sections(rows, scoring):
        parts += ["#" * section.level + " " + _heading(section.title), ""]
        parts += [section.said, ""] if section.said else []
        for title, lines in section.printed:
            parts += [f"{escape(title)}:", ""] if title else []
            parts += [*_table(lines, section.block), ""]
        legend = [f"- <sup>{mark}</sup> {escape(meaning)}" for mark, meaning in section.legend.items()]
        parts += [*legend, ""] if legend else []
        notes = [f"- {escape(model)}: {escape(note)}" for model, note in section.notes]
        parts += [*notes, ""] if notes else []
    return "\n".join(parts)


def _heading(title: str) -> str:
    """Escape a heading, but for the code that a scoring's name is set in."""
    code = re.fullmatch(r"(Scoring )`([^`]*)`", title)
    return title if code else escape(title)


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
            if pattern and column not in tables.WORDS:
                cell = pattern.sub(r"<sup>\1</sup>", cell)
            cells.append(cell)
        yield "| " + " | ".join(cells) + " |"
