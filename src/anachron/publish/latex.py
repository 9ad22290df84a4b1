r"""The leaderboard as a LaTeX document that compiles as it is, with tables to be taken over into a paper.

It needs `booktabs`, `geometry` and `iftex`, and any of pdfLaTeX, XeLaTeX and LuaLaTeX. A letter that
pdfLaTeX has no glyph for prints as its code point there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from anachron.publish import tables
from anachron.publish.sections import Section, sections

Row = dict[str, Any]

SYMBOLS = {
    "−": "$-$", "—": "---", "–": "--", "…": r"\dots{}", "→": r"$\to$", "δ": r"$\delta$", "κ": r"$\kappa$",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "ρ": r"$\rho$", "σ": r"$\sigma$", "Δ": r"$\Delta$",
    "≤": r"$\le$", "≥": r"$\ge$", "×": r"$\times$", "·": r"$\cdot$", "±": r"$\pm$", "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "§": r"\S{}", "’": "'", "‘": "`", "“": "``", "”": "''",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
"""What is written for a sign that LaTeX would read otherwise, or that some engine has no glyph for."""
LAST_LATIN = 0x17F
"""Letters up to this one print in pdfLaTeX with the encoding T1."""
PAGE = 60
"""Lines of a table after which another one begins, so that it stays on its page."""
LONG = 40
"""Signs above which a column wraps."""

HEAD = r"""\documentclass[10pt]{article}
\usepackage{iftex}
\ifPDFTeX\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\else\usepackage{fontspec}\fi
\usepackage[a3paper,landscape,margin=15mm]{geometry}
\usepackage{booktabs}
\setlength{\tabcolsep}{4pt}
\setlength{\parindent}{0pt}
"""


def text(rows: list[Row], scoring: str | None = None) -> str:
    """Return the leaderboard as LaTeX; marks are superscripts, every scoring has its own tables.

    Parameters
    ----------
    rows
        Audit rows, in registry order.
    scoring
        Scoring that stands first; a suite's own first one when None.
    """
    body = "\n".join(line for section in sections(rows, scoring) for line in _section(section))
    strange = sorted({sign for sign in body if ord(sign) > LAST_LATIN})
    declared = "".join(
        rf"\ifPDFTeX\DeclareUnicodeCharacter{{{ord(sign):04X}}}{{[U+{ord(sign):04X}]}}\fi" + "\n"
        for sign in strange
    )
    opening = r"\begin{document}\footnotesize" + "\n" + r"\section*{Leaderboard}"
    return f"{HEAD}{declared}{opening}\n\n{body}\n\\end{{document}}\n"


def escape(value: str) -> str:
    """Return text that LaTeX prints as it stands, on one line; signs that no engine prints are left out."""
    return _signs(_flat(value))


def _flat(value: str) -> str:
    return "".join(sign for sign in " ".join(value.split()) if sign.isprintable())


def _signs(flat: str) -> str:
    # Two hyphens, commas or quotes in a row would print as another sign.
    apart = re.sub(r"([-,'`?!])(?=[-,'`])", "\\1\0", flat)
    return "".join("{}" if sign == "\0" else SYMBOLS.get(sign, sign) for sign in apart)


def _section(section: Section) -> Iterator[str]:
    command = r"\subsection*" if section.level == 2 else r"\subsubsection*"
    yield f"{command}{{{escape(section.title.replace('`', ''))}}}\n"
    if section.said:
        yield escape(section.said.replace("`", "")) + "\n"
    for title, lines in section.printed:
        if title:
            yield f"\\textit{{{escape(title)}}}\n"
        yield from _table(lines, section.block)
    if section.legend or section.notes:
        yield r"\begin{itemize}"
        for mark, meaning in section.legend.items():
            yield f"\\item[\\textsuperscript{{{mark}}}] {escape(meaning)}"
        for model, note in section.notes:
            yield f"\\item {escape(model)}: {escape(note)}"
        yield "\\end{itemize}\n"


def _table(lines: list[dict[str, str]], block: tables.Block | None) -> Iterator[str]:
    columns = list(dict.fromkeys(column for line in lines for column in line))
    pattern = tables.mark_pattern(block) if block else None
    forms = "".join(_form(column, lines) for column in columns)
    for start in range(0, len(lines), PAGE):
        yield f"\\begin{{tabular}}{{@{{}}{forms}@{{}}}}\n\\toprule"
        yield " & ".join(escape(column) for column in columns) + r" \\"
        yield r"\midrule"
        for line in lines[start : start + PAGE]:
            yield " & ".join(_cell(column, line.get(column, "—"), pattern) for column in columns) + r" \\"
        yield "\\bottomrule\n\\end{tabular}\n\n\\medskip\n"


def _form(column: str, lines: list[dict[str, str]]) -> str:
    longest = max((len(line.get(column, "")) for line in lines), default=0)
    return r"p{75mm}" if longest > 2 * LONG else r"p{45mm}" if longest > LONG else "l"


def _cell(column: str, value: str, pattern: re.Pattern[str] | None) -> str:
    flat, parts, at = _flat(value), [], 0
    for found in pattern.finditer(flat) if pattern is not None and column not in tables.WORDS else ():
        parts += [_signs(flat[at : found.start()]), f"\\textsuperscript{{{found[1]}}}"]
        at = found.end()
    return _guarded("".join([*parts, _signs(flat[at:])]))


def _guarded(cell: str) -> str:
    """Keep a cell that begins with a bracket or star from being read as an argument of the line before."""
    return "{}" + cell if cell[:1] in "[*" else cell
