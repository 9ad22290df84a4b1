"""Figures: the house style, deterministic files, and the way from a suite's rows to its figures.

A figure is written as SVG and PNG with the same bytes every time, and a text beside it that holds the
alternative text and the caption. Colours are those of Okabe and Ito, which colour-blind readers tell apart;
no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import files, suites
from anachron.publish import tables
from anachron.publish.cells import Cell
from anachron.publish.row_blocks import Block

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a8a8a", "#222222"
WIDTH = 5.2
"""Inches: text of 8 points stays readable when a page shrinks the figure to a column."""
OF_ALL = ("", "")
"""What a figure of all rows has in place of a suite and a protocol."""
NAME_LENGTH = 26
"""Most characters of a model's name in a figure."""


@dataclass(frozen=True)
class Written:
    """A figure on disk; `block` is the suite and protocol it belongs to, `OF_ALL` for one of all rows."""

    name: str
    block: tuple[str, str]
    alt: str
    caption: str
    svg: Path
    png: Path


@contextmanager
def style() -> Iterator[None]:
    """Fix all in Matplotlib that could make two runs differ; names are never read as formulas."""
    import matplotlib

    fixed: Any = {
        "font.family": "DejaVu Sans",
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.linewidth": 0.6,
        "axes.edgecolor": INK,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "svg.hashsalt": "anachron",
        "svg.fonttype": "path",
        "text.usetex": False,
        "text.parse_math": False,
        "figure.dpi": 100,
        "savefig.dpi": 200,
    }
    matplotlib.rcdefaults()
    with matplotlib.rc_context(fixed):
        yield


def new(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure, sizes in inches; call it inside `style`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def label(row: dict[str, Any]) -> str:
    """Return a row's model as figures name it; a long name is cut, and ends in an ellipsis."""
    name = str(row["model"])
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def number_of(cells: Iterable[Cell | None]) -> str:
    """Return what drawn estimates rest on, for a caption: ``n = 40`` or ``n = 12 to 40``."""
    found = sorted({cell["n"] for cell in cells if cell is not None and cell.get("n") is not None})
    ends = list(dict.fromkeys((found[0], found[-1]))) if found else []
    return f"n = {' to '.join(f'{end:,}' for end in ends)}" if ends else "n not recorded"


def methods_of(cells: Iterable[Cell | None]) -> str:
    """Return how the intervals of drawn estimates were made, for a caption: ``95% percentile bootstrap``."""
    known = {f"{cell['level']:.0%} {cell['method']}" for cell in cells if cell and cell.get("method")}
    return "; ".join(sorted(known)) or "no interval"


def save(figure: Figure, out: Path, block: Block | None, name: str, alt: str, caption: str) -> Written:
    """Write a figure of a block, or of all rows, as SVG, PNG and text, atomically; call it inside `style`."""
    name = f"{block.protocol}_{name}" if block else name
    paths = {}
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        path = out / f"{name}.{kind}"
        with files.atomic_path(path) as part:
            figure.savefig(part, format=kind, metadata=metadata)
        paths[kind] = path
    files.write_text(out / f"{name}.txt", f"Alternative text: {alt}\n\nCaption: {caption}\n")
    belongs = (block.suite, block.protocol) if block else OF_ALL
    return Written(name, belongs, alt, caption, paths["svg"], paths["png"])


def write(rows: list[dict[str, Any]], out: Path, scoring: str | None = None) -> list[Written]:
    """Write the figures of every suite and protocol that rows hold, and that of what each row cost.

    The names of a suite's figures begin with the protocol's.

    Parameters
    ----------
    rows
        Rows in registry order.
    out
        Folder.
    scoring
        Scoring to draw; the suite's first one when None or when the suite does not have it.
    """
    from anachron.publish import cost_figure

    written: list[Written] = []
    for block in tables.blocks(rows):
        with style():
            drawn = suites.module(block.suite, "figures").figures(block, out, block.scorings(scoring)[0])
        written += drawn
    with style():
        written.append(cost_figure.draw(rows, out))
    return written
