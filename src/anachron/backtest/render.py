"""The report as Markdown and as one HTML file that needs nothing else, and the files of an audit on disk."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from anachron import files
from anachron.backtest import figures
from anachron.backtest.report import Block, Table, blocks
from anachron.backtest.result import Audit
from anachron.publish.markdown import escape
from anachron.staging import together

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;--band:#f6f8fa;--mark:#0969da}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;--paper:#0d1117;--band:#161b22;
  --mark:#4493f8}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:62rem;font:16px/1.55 system-ui,sans-serif;color:var(--ink);
  background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.4rem}
p,li,figcaption{max-width:46rem}p.lead{font-weight:600}
ul.lead{padding:.8rem 1.2rem .8rem 2rem;border-left:4px solid var(--mark);background:var(--band);border-radius:6px}
.note,figcaption{color:var(--soft);font-size:.88rem}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px;margin:1rem 0}
.scroll:focus-visible{outline:2px solid var(--mark)}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .65rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
  min-width:6rem;overflow-wrap:normal}
thead th{background:var(--band)}tbody tr:last-child>*{border-bottom:0}tbody th{font-weight:600;min-width:9rem}
td.number{white-space:nowrap}td.long{min-width:18rem}
figure{margin:1.5rem 0}figure img{max-width:100%;height:auto;background:#fff;border-radius:6px;padding:.4rem}
""".strip()


def write(audit: Audit, out: Path) -> list[Path]:
    """Write ``audit.json``, ``report.md``, ``report.html`` and the figures into a folder; return the paths.

    All files take their places together, or none does.
    """
    with together(out) as staged:
        drawn = figures.draw(audit, staged)
        parts = blocks(audit, drawn)
        files.write_json(staged / "audit.json", audit.model_dump(mode="json"))
        files.write_text(staged / "report.md", markdown(parts))
        files.write_text(staged / "report.html", page(parts, f"Audit of {audit.read.file}: {audit.target}"))
        names = sorted(path.name for path in staged.iterdir())
    return [out / name for name in names]


def markdown(parts: Sequence[Block]) -> str:
    """Return the report as Markdown; figures stand beside it."""
    lines: list[str] = []
    for part in parts:
        lines += [*_MARKDOWN[part.kind](part), ""]
    return "\n".join(lines)


def page(parts: Sequence[Block], title: str) -> str:
    """Return the report as one HTML page; figures are inside, everything that was read is escaped."""
    body = [line for part in parts for line in _HTML[part.kind](part)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>",
            "",
        ]
    )


def _markdown_table(part: Block) -> Iterator[str]:
    held = part.table or Table([], [])
    yield "| " + " | ".join(escape(column) for column in held.columns) + " |"
    yield "|" + " --- |" * len(held.columns)
    for row in held.rows:
        yield "| " + " | ".join(escape(cell) for cell in row) + " |"


def _markdown_figure(part: Block) -> Iterator[str]:
    if part.figure is not None:
        yield f"![{escape(part.figure.alt)}]({part.figure.svg.name})"
        yield ""
        yield f"{escape(part.figure.title)}. {escape(part.figure.caption)}"


def _html_table(part: Block) -> Iterator[str]:
    held = part.table or Table([], [])
    yield '<div class="scroll" tabindex="0"><table><thead><tr>'
    yield "".join(f'<th scope="col">{html.escape(column)}</th>' for column in held.columns)
    yield "</tr></thead><tbody>"
    for row in held.rows:
        first, *rest = row
        cells = "".join(f"<td{_width(cell)}>{html.escape(cell)}</td>" for cell in rest)
        yield f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _width(cell: str) -> str:
    if len(cell) > 60:
        return ' class="long"'
    return ' class="number"' if cell[:1] in "+−.0123456789—" else ""


def _html_figure(part: Block) -> Iterator[str]:
    if part.figure is not None:
        data = base64.b64encode(part.figure.svg.read_bytes()).decode("ascii")
        said = f"<b>{html.escape(part.figure.title)}.</b> {html.escape(part.figure.caption)}"
        yield (
            f'<figure><img alt="{html.escape(part.figure.alt)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{said}</figcaption></figure>"
        )


def _html_list(part: Block) -> Iterator[str]:
    yield f'<ul class="{part.text}">' if part.text else "<ul>"
    yield from (f"<li>{html.escape(item)}</li>" for item in part.items)
    yield "</ul>"


_MARKDOWN: dict[str, Callable[[Block], Iterator[str]]] = {
    "title": lambda part: iter([f"# {escape(part.text)}"]),
    "heading": lambda part: iter([f"## {escape(part.text)}"]),
    "text": lambda part: iter([escape(part.text)]),
    "note": lambda part: iter([escape(part.text)]),
    "lead": lambda part: iter([f"**{escape(part.text)}**"]),
    "list": lambda part: iter([f"- {escape(item)}" for item in part.items]),
    "table": _markdown_table,
    "figure": _markdown_figure,
}

_HTML: dict[str, Callable[[Block], Iterator[str]]] = {
    "title": lambda part: iter([f"<h1>{html.escape(part.text)}</h1>"]),
    "heading": lambda part: iter([f"<h2>{html.escape(part.text)}</h2>"]),
    "text": lambda part: iter([f"<p>{html.escape(part.text)}</p>"]),
    "note": lambda part: iter([f'<p class="note">{html.escape(part.text)}</p>']),
    "lead": lambda part: iter([f'<p class="lead">{html.escape(part.text)}</p>']),
    "list": _html_list,
    "table": _html_table,
    "figure": _html_figure,
}
