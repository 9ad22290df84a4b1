"""Figures: the house style, deterministic files, and the way from a suite's rows to its figures.

A figure is written as SVG and PNG with the same bytes every time, and a text beside it that holds the
alternative text and the caption. Colours are those of Okabe and Ito, which colour-blind readers tell apart;
no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import files, suites
from anachron.publish import tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a8a8a", "#222222"
WIDTH = 5.2
"""Inches: text of 8 points stays readable when a page shrinks the figure to a column."""


@dataclass(frozen=True)
class Written:
    """A figure on disk; `block` is the suite and protocol it belongs to."""

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


def save(figure: Figure, out: Path, name: str, block: tuple[str, str], alt: str, caption: str) -> Written:
    """Write `<name>.svg`, `<name>.png` and `<name>.txt` atomically; call it inside `style`."""
    paths = {}
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        path = out / f"{name}.{kind}"
        with files.atomic_path(path) as part:
            figure.savefig(part, format=kind, metadata=metadata)
        paths[kind] = path
    files.write_text(out / f"{name}.txt", f"Alternative text: {alt}\n\nCaption: {caption}\n")
    return Written(name, block, alt, caption, paths["svg"], paths["png"])


def write(rows: list[dict[str, Any]], out: Path, scoring: str | None = None) -> list[Written]:
    """Write the figures of every suite and protocol that rows hold; names begin with the protocol's.

    Parameters
    ----------
    rows
        Rows in registry order.
    out
        Folder.
    scoring
        Scoring to draw; the suite's first one when None or when the suite does not have it.
    """
    written: list[Written] = []
    for block in tables.blocks(rows):
        with style():
            drawn = suites.module(block.suite, "figures").figures(block, out, block.scorings(scoring)[0])
        written += drawn
    return written
