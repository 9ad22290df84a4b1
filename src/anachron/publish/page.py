"""The leaderboard as one HTML file that needs nothing else: no script, no network, figures inside."""

from __future__ import annotations

import base64
import html
from typing import Any

from anachron.publish import tables

Row = dict[str, Any]

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;--band:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;--paper:#0d1117;--band:#161b22}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:80rem;font:16px/1.5 system-ui,sans-serif;
  color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.2rem}h3{font-size:1rem;margin:1.4rem 0 .5rem}
p,li,figcaption{max-width:46rem}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
.scroll:focus-visible,summary:focus-visible{outline:2px solid #0969da;outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .65rem;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line)}
thead th{background:var(--band);font-weight:600}
tbody tr:last-child>*{border-bottom:0}
tbody th{position:sticky;left:0;background:var(--paper);font-weight:600;max-width:11rem;
  white-space:normal;overflow-wrap:anywhere}
thead th:first-child{position:sticky;left:0}
td.long{white-space:normal;min-width:20rem}
.legend,.note,figcaption{color:var(--soft);font-size:.88rem}
dl.legend{display:grid;grid-template-columns:auto 1fr;gap:.15rem .6rem;max-width:46rem}
dl.legend dt{font-weight:600}dl.legend dd{margin:0}
details{margin:1rem 0}summary{cursor:pointer;font-weight:600}
figure{margin:1.5rem 0}figure img{max-width:100%;height:auto;background:#fff;border-radius:6px;padding:.4rem}
@media(max-width:30rem){body{padding:.8rem}tbody th{max-width:7.5rem}}
""".strip()

LONG = ("What this rests on",)
TEXT_COLUMNS = ("Model", "Generation", "Metric", *LONG)


def text(rows: list[Row], scoring: str | None = None, figures: list[Any] | None = None) -> str:
    """Return the page; everything that comes from a row is escaped."""
    body = ["<h1>Leaderboard</h1>"]
    for block in tables.blocks(rows):
        body.append(f"<h2>{html.escape(block.title)}</h2>")
        body.append(
            f'<p class="note">Suite {html.escape(block.suite)}, protocol {html.escape(block.protocol)}. '
            "Square brackets hold intervals; a dash is a number whose gate failed, with the gate's mark.</p>"
        )
        for place, name in enumerate(block.scorings(scoring)):
            inside = _scoring(block, name)
            if place == 0:
                body.append(f"<h3>Scoring {html.escape(name)}</h3>{inside}")
            else:
                body.append(f"<details><summary>Scoring {html.escape(name)}</summary>{inside}</details>")
        body += [_figure(figure) for figure in figures or [] if figure.block == (block.suite, block.protocol)]
    ends = tables.cutoffs(rows)
    if ends:
        body.append("<h2>Cutoffs side by side</h2>")
        body.append(_table(ends, "Cutoffs side by side and the first month a backtest may start"))
    notes = [(row["model"], note) for row in tables.ordered(rows) for note in row["disclosures"]]
    if notes:
        items = "".join(f"<li>{html.escape(model)}: {html.escape(note)}</li>" for model, note in notes)
        body.append(f"<h2>Disclosures</h2><ul>{items}</ul>")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>Anachron leaderboard</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _scoring(block: tables.Block, scoring: str) -> str:
    printed = tables.leaderboard(block, scoring)
    planted = {row["model"] for row in block.planted()}
    measured = [line for line in printed if line["Model"] not in planted]
    parts = []
    if measured:
        parts.append(_table(measured, f"Models, scoring {scoring}", block))
    truth: list[dict[str, str]] = []
    if planted:
        known = [line for line in printed if line["Model"] in planted]
        parts.append("<h3>Planted respondents</h3>")
        parts.append(
            '<p class="note">Their hindsight is a known parameter, so every estimator can be checked.</p>'
        )
        parts.append(_table(known, f"Planted respondents, scoring {scoring}", block))
        truth = [tables.show_truth(block, record) for record in tables.truth(block, scoring)]
        if truth:
            parts.append("<h3>Truth beside estimate</h3>")
            parts.append(_table(truth, f"Truth beside estimate, scoring {scoring}", block))
    legend = tables.legend(block, [*printed, *truth])
    if legend:
        items = "".join(
            f"<dt>{html.escape(mark)}</dt><dd>{html.escape(said)}</dd>" for mark, said in legend.items()
        )
        parts.append(f'<dl class="legend">{items}</dl>')
    return "\n".join(parts)


def _table(lines: list[dict[str, str]], label: str, block: tables.Block | None = None) -> str:
    columns = list(dict.fromkeys(column for line in lines for column in line))
    pattern = tables.mark_pattern(block) if block else None
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = []
    for line in lines:
        cells = []
        for place, column in enumerate(columns):
            cell = html.escape(line.get(column, "—"))
            if pattern and column not in TEXT_COLUMNS:
                cell = pattern.sub(r"<sup>\1</sup>", cell)
            if place == 0:
                cells.append(f'<th scope="row">{cell}</th>')
            else:
                cells.append(f'<td class="long">{cell}</td>' if column in LONG else f"<td>{cell}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" role="region" aria-label="{html.escape(label)}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _figure(figure: Any) -> str:
    data = base64.b64encode(figure.svg.read_bytes()).decode("ascii")
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{html.escape(figure.alt)}">'
        f"<figcaption>{html.escape(figure.caption)}</figcaption></figure>"
    )
