"""The leaderboard as one HTML file that needs nothing else and no network.

All that rows say stands in the page as text and is there without scripts. `page.js` adds sorting, filtering, a view
per model, every estimate of the rows (which the page carries, compressed), and the browser of the transcripts that
`browse` wrote beside the page. `page.css` and `page.js` are written into the page as they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anachron
from anachron import files
from anachron.publish import page_facts, page_model, recovery, tables
from anachron.publish.page_draw import Axis, axis_labels, kinds, lanes
from anachron.publish.page_html import LONG, fold, legend, model_link, printed_table, region
from anachron.publish.text import EM_DASH
from anachron.publish.text import escaped as esc

Row = dict[str, Any]

NAME = "index.html"
OUTCOMES = {
    "answer": "The model answered.",
    "truncated": "The answer ended at the token limit.",
    "refusal": "The model declined.",
    "content_filter": "A filter of the provider stopped the answer.",
    "empty": "The answer holds no text.",
    "malformed_body": "The provider's reply could not be read as one of its own.",
    "error": "The records say that the call failed for good.",
}
"""`frames.OUTCOMES` in words."""
MOST_SVG = 150_000
"""Bytes of a figure's SVG above which its PNG stands in the page, when that is smaller."""


def text(
    rows: list[Row],
    scoring: str | None = None,
    figures: Sequence[Any] = (),
    browsable: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the page; everything that comes from a row is escaped.

    Parameters
    ----------
    rows
        Audit rows, in registry order.
    scoring
        Scoring shown first; a suite's own first one when None.
    figures
        What `figures.write` returned.
    browsable
        By model, the suites whose transcripts lie beside the page (`browse.found`).
    """
    browsable = browsable or {}
    style, script = (_beside(name) for name in ("page.css", "page.js"))
    axis, labels = Axis.of(rows), kinds(rows)
    blocks = tables.blocks(rows)
    # Planted respondents try the instruments out; who looks for a model finds the models first.
    ordered = sorted(tables.ordered(rows), key=lambda row: row["identity"]["provider"] == "planted")
    board = [_overview(ordered, axis, labels)]
    board += [_block(block, scoring, figures) for block in blocks]
    board += [_cutoffs(rows), _disclosures(ordered)]
    views = [
        page_model.view(row, blocks, axis, labels, scoring, browsable.get(row["model"], ()))
        for row in ordered
    ]
    hashed = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Nothing may load but images that stand in the page and the scripts that `browse` wrote beside it.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"img-src data:; script-src 'self' file: 'sha256-{hashed}'; base-uri 'none'; form-action 'none'\">\n"
        '<link rel="icon" href="data:,">\n<title>Anachron leaderboard</title>\n'
        f"<style>\n{style}</style>\n<noscript><style>.model{{display:block}}</style></noscript>\n</head>\n"
        f'<body>\n{_top(ordered)}\n<main id="main">\n'
        f'<section id="leaderboard">\n{"".join(board)}\n</section>\n'
        + "\n".join(views)
        + f'\n<section id="transcripts" hidden></section>\n</main>\n{_foot(rows)}\n'
        + f'<script type="application/json" id="data">{_data(rows, browsable)}</script>\n'
        + f'<script type="text/plain" id="rows">{_packed(rows)}</script>\n'
        + f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _top(rows: Sequence[Row]) -> str:
    options = "".join(
        f'<option value="{esc(files.slug(row["model"]))}">{esc(row["model"])}</option>' for row in rows
    )
    return (
        '<a class="skip" href="#main">Skip to the content</a>\n<header class="top"><p class="brand">'
        '<a href="#leaderboard">Anachron</a></p><nav aria-label="Views"><a href="#leaderboard">Leaderboard</a> '
        f'<label class="pick" hidden>Model <select id="pick"><option value="">choose …</option>{options}</select>'
        "</label></nav></header>"
    )


READING = {
    "+.383 [.30, .47]": "An estimate with its interval; the bar below shows it, all bars of a column on one axis, and "
    "the thin line marks zero.",
    "—k": "Undefined: the condition named by the letter (its gate) does not hold, so the number would mean nothing. "
    "The legend under the table says what each letter means; a model's own view gives the figure that failed.",
    "—": "A dash without a letter: not asked of this model, or nothing to estimate it from.",
    ".998p": "A letter after a value qualifies it.",
    "scoring": "How answers are read and counted. What is shown first is what this tool stands behind; another scoring "
    "of the same answers, where there is one, follows the published paper.",
    "safe from": "The first month from which a backtest of the model can be defended: advice with its reasons, not a "
    "certificate.",
    "planted": "A respondent whose hindsight is a known parameter. The instruments are tried on it, and its truth is "
    "printed beside what they found.",
}


def _overview(rows: Sequence[Row], axis: Axis | None, labels: Sequence[str]) -> str:
    planted = sum(row["identity"]["provider"] == "planted" for row in rows)
    head = ["Model", "Safe from"]
    head += ["Where its knowledge ends"] if axis else []
    head += ["Vendor-stated", "Generation", "Vendor", "Calls", "Cost"]
    marks = f"<br>{axis_labels(axis, 4)}" if axis else ""
    cells = "".join(
        f'<th scope="col"{" class=time" if name.startswith("Where") else ""}>{esc(name)}'
        f"{marks if name.startswith('Where') else ''}</th>"
        for name in head
    )
    body = "".join(_line(row, axis, labels) for row in rows)
    keys = "".join(
        f'<li><span class="key k{place % 5}"><i class="range"></i><i class="dot"></i></span>{esc(label)}, measured</li>'
        for place, label in enumerate(labels)
    )
    keys += '<li><span class="key"><i class="vendor"></i></span>stated by the vendor</li>'
    keys += '<li><span class="key"><i class="safe"></i></span>safe from</li>'
    check = (
        f'<label><input type="checkbox" id="planted" checked> planted respondents ({planted})</label>'
        if 0 < planted < len(rows)
        else ""
    )
    return (
        '<h1 tabindex="-1">What does a language model already know about the past it is asked to predict?</h1>'
        '<p class="lede">A backtest asks a model to forecast months that it may simply remember. Here every model was '
        "asked in ways that tell remembering from forecasting. For each: where its knowledge ends, from which month on "
        "a backtest of it can be defended, and what that rests on.</p>"
        f"{fold('How to read this page', legend(READING), 'reading')}"
        '<form class="tools" hidden role="search"><label>Filter <input type="search" id="filter" '
        'placeholder="model, vendor, generation" autocomplete="off"></label>'
        f'{check}<span id="count" role="status"></span></form>'
        "<h2>When a backtest may start</h2>"
        + region(
            "When a backtest may start, by model",
            f'<table class="sorts overview"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>',
        )
        + (f'<ul class="keys" aria-hidden="true">{keys}</ul>' if axis else "")
        + fold("What each month rests on, or why there is none", _rests(rows), "rests")
    )


def _rests(rows: Sequence[Row]) -> str:
    items = "".join(
        f'<li data-name="{esc(row["model"])}">{model_link(row["model"])}: {esc(row["safe_from"]["text"])}</li>'
        for row in rows
    )
    return f"<ul>{items}</ul>"


def _line(row: Row, axis: Axis | None, labels: Sequence[str]) -> str:
    identity, ledger, safe = row["identity"], row["ledger"], row["safe_from"]["month"]
    stated = next((end["month"] for end in row["cutoffs"] if end["kind"] == "vendor-stated"), None)
    badge = ' <span class="badge">planted</span>' if identity["provider"] == "planted" else ""
    dollars = ledger["dollars"]
    words = " ".join(
        [row["model"], identity["vendor"], identity["generation"], identity["model_id"], identity["provider"]]
    )
    cells = [
        f'<th scope="row">{model_link(row["model"])}{badge}</th>',
        f'<td class="month"{_key(safe)}>{esc(safe or EM_DASH)}</td>',
        f'<td class="time"{_key(safe)}>{lanes(row, axis, labels)}</td>' if axis else "",
        f"<td{_key(stated)}>{esc(stated or EM_DASH)}</td>",
        *(
            f"<td>{EM_DASH if said == page_model.UNSTATED else esc(said)}</td>"
            for said in (identity["generation"], identity["vendor"])
        ),
        f'<td class="right" data-sort="{ledger["calls"]}">{ledger["calls"]:,}</td>',
        f'<td class="right"{"" if dollars is None else f" data-sort={dollars:g}"}>{page_facts.money(dollars)}</td>',
    ]
    kind = ' data-planted="yes"' if badge else ""
    return (
        f'<tr data-name="{esc(row["model"])}" data-words="{esc(words.lower())}"{kind}>{"".join(cells)}</tr>'
    )


def _key(month: str | None) -> str:
    return f' data-sort="{month.replace("-", "")}"' if month else ""


def _block(block: tables.Block, scoring: str | None, figures: Sequence[Any]) -> str:
    question = getattr(block.table, "QUESTION", None)
    parts = [
        f'<h2>{esc(block.title)}</h2><p class="note">{esc(question) + " " if question else ""}'
        f"Suite {esc(block.suite)}, protocol {esc(block.protocol)}.</p>",
        fold("What the columns ask", legend(block.table.QUESTIONS)),
    ]
    for place, name in enumerate(block.scorings(scoring)):
        inside = _scoring(block, name)
        parts.append(
            f"<h3>Scoring {esc(name)}</h3>{inside}" if place == 0 else fold(f"Scoring {name}", inside)
        )
    parts += [_figure(one) for one in figures if one.block == (block.suite, block.protocol)]
    return f'<section class="block">{"".join(parts)}</section>'


def _scoring(block: tables.Block, scoring: str) -> str:
    printed = tables.leaderboard(block, scoring)
    planted = {row["model"] for row in block.planted()}
    # The first table of the page says the generation.
    printed = [{key: text for key, text in line.items() if key != "Generation"} for line in printed]
    measured = [line for line in printed if line["Model"] not in planted]
    known = [line for line in printed if line["Model"] in planted]
    parts = []
    if measured:
        parts.append(printed_table(measured, f"Models, {block.title}, scoring {scoring}", block))
    if known:
        parts.append(
            '<h4>Planted respondents</h4><p class="note">Their hindsight is a known parameter, so every estimator '
            "can be checked.</p>"
        )
        parts.append(printed_table(known, f"Planted respondents, {block.title}, scoring {scoring}", block))
    truth = [tables.show_truth(block, record) for record in tables.truth(block, scoring)]
    more = tables.further(block, scoring)
    marks = tables.legend(block, [*printed, *truth, *(line for _, lines in more for line in lines)])
    if marks:
        parts.append(legend(marks))
    if truth:
        label = f"Truth beside estimate, {block.title}, scoring {scoring}"
        parts.append(fold("Truth beside estimate", printed_table(truth, label, block, sortable=False)))
        found = [recovery.show(block, record) for record in recovery.recovery(block, scoring)]
        label = f"Bias and coverage over the planted respondents, {block.title}, scoring {scoring}"
        if found:
            said = printed_table(found, label, block, sortable=False, named=esc)
            parts.append(fold("Bias and coverage over the planted respondents", said))
    for title, lines in more:
        label = f"{title}, scoring {scoring}"
        parts.append(fold(title, printed_table(lines, label, block)))
    return "".join(parts)


def _figure(figure: Any) -> str:
    kind, path = "svg+xml", figure.svg
    if path.stat().st_size > max(MOST_SVG, figure.png.stat().st_size):
        kind, path = "png", figure.png
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    where = esc("/".join(figure.block))
    return (
        f'<figure data-block="{where}"><img src="data:image/{kind};base64,{data}" alt="{esc(figure.alt)}">'
        f"<figcaption>{esc(figure.caption)}</figcaption></figure>"
    )


def _cutoffs(rows: list[Row]) -> str:
    ends = tables.cutoffs(rows)
    if not ends:
        return ""
    label = "Cutoffs side by side and the first month a backtest may start"
    # What all look for stands where a narrow screen shows it; sentences stand below the page's first table.
    first = ("Model", "Safe from", "Vendor-stated")
    ends = [
        {key: line[key] for key in dict.fromkeys((*first, *line)) if key in line and key not in LONG}
        for line in ends
    ]
    return f'<section class="block"><h2>Cutoffs side by side</h2>{printed_table(ends, label)}</section>'


def _disclosures(rows: Sequence[Row]) -> str:
    items = "".join(
        f'<li data-name="{esc(row["model"])}">{model_link(row["model"])}: {esc(note)}</li>'
        for row in rows
        for note in row["disclosures"]
    )
    return f'<section class="block"><h2>Disclosures</h2><ul>{items}</ul></section>' if items else ""


def _foot(rows: Sequence[Row]) -> str:
    versions = sorted({made["package_version"] for row in rows for made in row["provenance"].values()})
    return (
        f"<footer><p>Anachron {esc(', '.join(versions) or anachron.__version__)}. Every number follows from the audit "
        "rows, one JSON file per model, which this page carries; a row names the protocols, code and data it was made "
        "by, and can be recomputed from its sealed transcripts.</p></footer>"
    )


def _data(rows: Sequence[Row], browsable: Mapping[str, Sequence[str]]) -> str:
    """Return what the script needs to know, as JSON that no text inside can end."""
    value = {
        "models": {files.slug(row["model"]): row["model"] for row in rows},
        "transcripts": {files.slug(model): list(suites) for model, suites in browsable.items()},
        "outcomes": OUTCOMES,
        "arms": {block.suite: dict(getattr(block.table, "ARMS", {})) for block in tables.blocks(rows)},
        "labels": {block.suite: dict(block.table.LABELS) for block in tables.blocks(rows)},
    }
    shown = json.dumps(value, sort_keys=True, ensure_ascii=True)
    for sign in "<>&":
        shown = shown.replace(sign, f"\\u{ord(sign):04x}")
    return shown


def _packed(rows: Sequence[Row]) -> str:
    kept = {files.slug(row["model"]): row for row in rows}
    return base64.b64encode(zlib.compress(files.canonical_json(kept).encode("utf-8"), 9)).decode("ascii")
