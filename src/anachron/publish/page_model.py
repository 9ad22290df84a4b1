"""A model's own view: when a backtest may start, what was measured, what is undefined and why, what it cost.

Everything is said in words beside the numbers, so that it can be read without knowing the suites. Nothing here knows
a suite by name: questions, labels and marks come from each suite's `table` module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anachron import files
from anachron.publish import tables
from anachron.publish.cells import Cell, defined, metrics
from anachron.publish.page_draw import Axis, Scale, interval, timeline
from anachron.publish.page_facts import asked, cost, made
from anachron.publish.page_html import fold, marked, printed_table, region
from anachron.publish.text import EM_DASH
from anachron.publish.text import escaped as esc

Row = dict[str, Any]

UNSTATED = "unstated"
"""What the registry holds for a vendor or a generation that nobody gave."""


def view(
    row: Row,
    blocks: Sequence[tables.Block],
    axis: Axis | None,
    labels: Sequence[str],
    scoring: str | None,
    browsable: Sequence[str],
) -> str:
    """Return a model's section.

    Parameters
    ----------
    row
        The model's row.
    blocks
        The leaderboard's blocks; those that hold the row are shown.
    axis, labels
        The months and the measured ends that all timelines of the page share.
    scoring
        The scoring shown first.
    browsable
        Suites whose transcripts lie beside the page.
    """
    slug = files.slug(row["model"])
    mine = [block for block in blocks if any(one["model"] == row["model"] for one in block.rows)]
    parts = [
        '<p class="back"><a href="#leaderboard">All models</a></p>',
        f'<h2 tabindex="-1">{esc(row["model"])}</h2>',
        f'<p class="meta">{_who(row)}</p>',
        _start(row, axis, labels),
        _disclosures(row),
    ]
    parts.append(
        '<h3>What was measured</h3><p class="note">Square brackets hold an interval; the bar draws it, on the axis '
        "that all models share in that line, and its thin line marks zero. A letter is explained beside it.</p>"
    )
    parts += [_measured(block, row, scoring) for block in mine]
    parts.append("<h3>What is undefined, and why</h3>")
    parts += [_undefined(block, row, block.scorings(scoring)[0]) for block in mine]
    parts.append(f"<h3>What it cost</h3>{cost(row)}")
    parts.append(f"<h3>What was asked, and what came back</h3>{asked(row, mine, browsable)}")
    parts.append(_planted(mine, row, scoring))
    parts.append('<div class="figures" hidden><h3>Figures in which it stands</h3></div>')
    parts.append('<div class="estimates" hidden></div>')
    parts.append(fold("How this row was made", made(row)))
    named = f'id="model/{esc(slug)}" data-model="{esc(row["model"])}" data-slug="{esc(slug)}"'
    blocks_of = " ".join(f"{block.suite}/{block.protocol}" for block in mine)
    return (
        f'<section class="model" {named} data-blocks="{esc(blocks_of)}" aria-label="{esc(row["model"])}">'
        f"{''.join(parts)}</section>"
    )


def _who(row: Row) -> str:
    identity = row["identity"]
    said = [
        "vendor not stated" if identity["vendor"] == UNSTATED else identity["vendor"],
        "generation not stated"
        if identity["generation"] == UNSTATED
        else f"generation {identity['generation']}",
    ]
    if identity["provider"] == "planted":
        said.append(
            "a planted respondent: its hindsight is a known parameter, and the instruments are tried on it"
        )
    else:
        said.append(
            "read from published records"
            if identity["provider"] == "replay"
            else f"asked as {identity['model_id']} over {identity['provider']}"
        )
    served = [name for name in identity["served_models"] if name != identity["model_id"]]
    said += [f"served as {', '.join(served)}"] if served else []
    return esc(" · ".join(text for text in said if text))


# --- when a backtest may start ------------------------------------------------------------------------


def _start(row: Row, axis: Axis | None, labels: Sequence[str]) -> str:
    safe = row["safe_from"]
    month = safe["month"]
    big = f"From {esc(month)} on" if month else "No month can be named"
    drawn = timeline(row, axis, labels) if axis else ""
    # Where no month is named, the text says so of every end.
    missing = [end for end in row["cutoffs"] if month and end["kind"] == "measured" and not end["month"]]
    why = "".join(
        f"<li>The {esc(end['label'])} is undefined: {esc(end.get('note') or 'no reason is recorded')}.</li>"
        for end in missing
    )
    text = safe["text"]
    lead = "No month can be named: "
    if not month and text.startswith(lead):
        text = text[len(lead)].upper() + text[len(lead) + 1 :]
    return (
        f'<div class="start"><h3>When may a backtest start?</h3><p class="big">{big}</p>'
        f"<p>{esc(text)}</p>{drawn}"
        + (f"<ul>{why}</ul>" if why else "")
        + f'<p class="note">The month after the latest upper bound of the measured ends, plus a margin of '
        f"{safe['margin_months']} months. What the vendor states, and what the model says of itself, are shown "
        "for comparison and never enter.</p></div>"
    )


def _disclosures(row: Row) -> str:
    items = "".join(f"<li>{esc(note)}</li>" for note in row["disclosures"])
    return f'<div class="disclosed"><h3>Disclosed</h3><ul>{items}</ul></div>' if items else ""


# --- estimates ----------------------------------------------------------------------------------------


def _measured(block: tables.Block, row: Row, scoring: str | None) -> str:
    parts = [f"<h4>{esc(block.title)}</h4>"]
    question = getattr(block.table, "QUESTION", None)
    parts.append(
        f'<p class="note">{esc(question) + " " if question else ""}Suite {esc(block.suite)}, protocol '
        f"{esc(block.protocol)}.</p>"
    )
    for place, name in enumerate(block.scorings(scoring)):
        if name not in row["estimates"][block.suite]:
            continue
        inside = _columns(block, row, name) + _further(block, row, name)
        parts.append(inside if place == 0 else fold(f"The same under scoring {name}", inside))
    return "".join(parts)


def _columns(block: tables.Block, row: Row, scoring: str) -> str:
    printed = next(line for line in tables.leaderboard(block, scoring) if line["Model"] == row["model"])
    every = tables.leaderboard(block, scoring)
    pattern = tables.mark_pattern(block)
    lines = []
    for column, question in block.table.QUESTIONS.items():
        text = printed.get(column, EM_DASH)
        scale = Scale.of(line.get(column, "") for line in every)
        marks = [mark for found in pattern.finditer(text) for mark in found.group(1)]
        said = "".join(
            f'<span class="mark">{esc(mark)}: {esc(block.table.MARKS[mark])}</span>' for mark in marks
        )
        if text == EM_DASH:
            said = '<span class="none">Not asked of this model, or nothing to estimate it from.</span>'
        lines.append(
            f'<tr><th scope="row">{esc(column)}<span class="asks">{esc(question)}</span></th>'
            f'<td class="value">{marked(text, pattern)}{interval(text, scale)}{said}</td></tr>'
        )
    head = '<th scope="col">What it asks</th><th scope="col">Result</th>'
    return region(
        f"{block.title}, scoring {scoring}",
        f'<table class="own"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>',
    )


def _further(block: tables.Block, row: Row, scoring: str) -> str:
    parts = []
    for title, lines in tables.further(block, scoring):
        own = [
            {key: value for key, value in line.items() if key != "Model"}
            for line in lines
            if line.get("Model") == row["model"]
        ]
        if not own:
            continue
        # One line reads better downwards; several (a series each, say) stay a table.
        turned = [{"": key, "Result": value} for key, value in own[0].items()] if len(own) == 1 else own
        parts.append(fold(title, printed_table(turned, title, block, sortable=False, named=esc)))
    return "".join(parts)


def _undefined(block: tables.Block, row: Row, scoring: str) -> str:
    """Say which labelled estimates have no value, together where one reason holds for several."""
    found = metrics(row, block.suite, scoring)
    reasons: dict[str, list[str]] = {}
    for metric, cell in found.items():
        if defined(cell):
            continue
        name = block.table.LABELS.get(metric) or _spelt(metric, row["counts"][block.suite])
        reasons.setdefault(_reason(block, cell), []).append(name)
    if not reasons:
        said = f"Nothing: all {len(found)} estimates have a value."
        return f"<h4>{esc(block.title)}</h4><p>{said}</p>"
    items = "".join(
        f"<dt>{esc(_named(names))}</dt><dd>{esc(reason)}</dd>" for reason, names in reasons.items()
    )
    count = sum(map(len, reasons.values()))
    have = "has" if count == 1 else "have"
    return (
        f'<h4>{esc(block.title)}</h4><p class="note">{count} of {len(found)} estimates {have} no value under scoring '
        f'{esc(scoring)}.</p><dl class="why">{items}</dl>'
    )


def _spelt(metric: str, counts: Mapping[str, Any]) -> str:
    """Return a metric without a label as text: the arm that it is of, then the rest of its name."""
    arm, _, rest = metric.partition(".")
    return (
        f"{rest.replace('.', ', ')} (arm {arm})"
        if rest and arm in (counts.get("asked") or counts)
        else metric
    )


def _named(names: Sequence[str], most: int = 6) -> str:
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def _reason(block: tables.Block, cell: Cell) -> str:
    if cell.get("gate_passed") is not False:
        n = cell.get("n")
        return "No gate failed; there is nothing to estimate it from" + (
            f" (n = {n:,})." if n is not None else "."
        )
    mark = str(cell.get("gate", ""))
    meaning = block.table.MARKS.get(mark)
    needed = cell.get("gate_text") or "the gate's condition does not hold"
    return (f"{meaning} " if meaning else "") + f"The gate asks: {needed}."


def _planted(mine: Sequence[tables.Block], row: Row, scoring: str | None) -> str:
    parts = []
    for block in mine:
        name = block.scorings(scoring)[0]
        lines = [
            tables.show_truth(block, record)
            for record in tables.truth(block, name)
            if record["model"] == row["model"]
        ]
        own = [{key: value for key, value in line.items() if key != "Model"} for line in lines]
        if own:
            parts.append(f"<h4>{esc(block.title)}</h4>")
            parts.append(printed_table(own, f"Truth beside estimate, {block.title}", block, False, esc))
    return f"<h3>Planted truth beside the estimates</h3>{''.join(parts)}" if parts else ""
