"""Text that is safe to stand in the page, and tables whose printed cells carry a drawing and a sort key."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anachron import files
from anachron.publish import tables
from anachron.publish.page_draw import Scale, interval, read_cell
from anachron.publish.text import EM_DASH
from anachron.publish.text import escaped as esc

LONG = ("What this rests on",)
TEXT_COLUMNS = ("Model", "Generation", "Metric", *LONG)
BRACKET = re.compile(r" (?=[\[(])")
"""Where a number's cell may break: before an interval or a bracket, never inside one."""


def model_link(name: str) -> str:
    """Return a link to a model's own view, on the same page."""
    return f'<a href="#model/{esc(files.slug(name))}">{esc(name)}</a>'


def legend(entries: Mapping[str, str], kind: str = "legend") -> str:
    """Return names and what they mean as a list of definitions."""
    items = "".join(f"<dt>{esc(name)}</dt><dd>{esc(said)}</dd>" for name, said in entries.items())
    return f'<dl class="{kind}">{items}</dl>'


def fold(title: str, inside: str, kind: str = "") -> str:
    """Return what a reader may unfold."""
    named = f' class="{kind}"' if kind else ""
    return f"<details{named}><summary>{esc(title)}</summary>{inside}</details>"


def region(label: str, table: str) -> str:
    """Return a table that scrolls sideways within its own frame, by mouse and by keyboard."""
    return f'<div class="scroll" role="region" aria-label="{esc(label)}" tabindex="0">{table}</div>'


def marked(cell: str, pattern: re.Pattern[str] | None) -> str:
    """Return a printed cell as HTML: marks raised, broken only before a bracket."""
    text = esc(cell)
    if pattern:
        text = pattern.sub(r"<sup>\1</sup>", text)
    return f"<span>{BRACKET.sub('</span> <span>', text)}</span>"


def printed_table(
    lines: Sequence[Mapping[str, str]],
    label: str,
    block: tables.Block | None = None,
    sortable: bool = True,
    named: Callable[[str], str] = model_link,
) -> str:
    """Return printed lines as a table; the first column heads its rows.

    Parameters
    ----------
    lines
        One mapping of column to printed text per row.
    label
        What the table is, for readers that do not see it.
    block
        The block whose marks its cells carry.
    sortable
        Whether its rows may be sorted and filtered: not where a name stands once for many lines.
    named
        Writes the first column.
    """
    columns = list(dict.fromkeys(column for line in lines for column in line))
    pattern = tables.mark_pattern(block) if block else None
    scales = {column: Scale.of(line.get(column, "") for line in lines) for column in columns[1:]}
    first = [line.get(columns[0], EM_DASH) for line in lines]
    grouped = any(one == other for one, other in itertools.pairwise(first))
    head = "".join(f'<th scope="col">{esc(column)}</th>' for column in columns)
    body = []
    for row, line in enumerate(lines):
        cells = []
        if row == 0 or first[row] != first[row - 1]:
            # A name that many lines share stands once, beside all of them.
            end = next((at for at in range(row, len(lines)) if first[at] != first[row]), len(lines))
            span = f' scope="rowgroup" rowspan="{end - row}"' if end - row > 1 else ' scope="row"'
            last = ' class="last"' if end == len(lines) else ""
            cells.append(f"<th{span}{last}>{named(first[row])}</th>")
        cells += [_cell(column, line.get(column, EM_DASH), pattern, scales[column]) for column in columns[1:]]
        key = f' data-name="{esc(first[row])}"' if columns[0] == "Model" else ""
        body.append(f"<tr{key}>{''.join(cells)}</tr>")
    kind = ' class="sorts"' if sortable and not grouped and len(lines) > 1 else ""
    return region(label, f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>")


def _cell(column: str, text: str, pattern: re.Pattern[str] | None, scale: Scale | None) -> str:
    if column in LONG:
        return f'<td class="long">{esc(text)}</td>'
    if column in TEXT_COLUMNS:
        return f'<td class="words">{esc(text)}</td>' if " " in text else f"<td>{esc(text)}</td>"
    found = read_cell(text)
    key = f' data-sort="{found.value:g}"' if found else ""
    return f"<td{key}>{marked(text, pattern)}{interval(text, scale)}</td>"


def plain_table(
    columns: Sequence[str], lines: Sequence[Sequence[Any]], label: str, kind: str = "plain"
) -> str:
    """Return a table of plain values; the first column heads its rows, numbers stand to the right."""
    whole = [all(isinstance(line[at], int | None) for line in lines) for at in range(len(columns))]
    head = "".join(
        f'<th scope="col"{" class=right" if right else ""}>{esc(column)}</th>'
        for column, right in zip(columns, whole, strict=True)
    )
    body = []
    for line in lines:
        cells = [f'<th scope="row">{esc(line[0])}</th>']
        for value, numbers in zip(line[1:], whole[1:], strict=True):
            right = ' class="right"' if numbers else ""
            shown = EM_DASH if value is None else f"{value:,}" if isinstance(value, int) else esc(value)
            cells.append(f"<td{right}>{shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return region(label, table)
