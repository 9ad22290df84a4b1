"""Figures of this suite: recalled against true values by series, and the joint signature with nulls beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anachron.publish import figures as house
from anachron.publish.cells import metrics
from anachron.publish.row_blocks import Block, is_planted
from anachron.suites.numleak import naming
from anachron.suites.numleak.table import main_series


def figures(block: Block, out: Path, scoring: str) -> list[house.Written]:
    """Write the figures of the joint signature and of recalled against true values."""
    return [signature(block, out, scoring), recall_scatter(block, out, scoring)]


def signature(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw r against the share within 25 basis points of every model, with the same answers dealt out anew."""
    figure = house.new(4.2)
    axes = figure.add_subplot()
    said = []
    for row in block.printed():
        found = metrics(row, block.suite, scoring)
        base = main_series(found)
        r, band = (found.get(f"{base}.{name}") for name in ("r", "w25"))
        if r is None or band is None or r["value"] is None or band["value"] is None:
            said.append(f"{row['model']}: undefined.")
            continue
        planted = is_planted(row, block.suite)
        colour = house.GREEN if planted else house.BLUE
        axes.plot([band["value"]], [r["value"]], "D" if planted else "o", color=colour, ms=4, zorder=3)
        if r.get("low") is not None:
            axes.plot([band["value"]] * 2, [r["low"], r["high"]], color=colour, lw=0.8, zorder=2)
        null = found.get(f"{base}.null.shuffle.w25")
        if null is not None and null["value"] is not None:
            axes.plot([null["value"]], [0.0], "x", color=house.GREY, ms=4, zorder=1)
        axes.annotate(
            house.label(row),
            (band["value"], r["value"]),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7,
        )
        said.append(f"{row['model']}: r {r['value']:.2f}, within 25 basis points {band['value']:.2f}.")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-1.03, 1.03)
    axes.axhline(0, color=house.GREY, lw=0.6)
    axes.set_xlabel("share of answers within 25 basis points")
    axes.set_ylabel("correlation with the truth")
    drawn = [metrics(row, block.suite, scoring) for row in block.printed()]
    cells = [cell for held in drawn if (cell := held.get(f"{main_series(held)}.r")) is not None]
    counts = sorted({cell["n"] for cell in cells if cell.get("n")})
    answered = " to ".join(f"{count:,}" for count in dict.fromkeys((*counts[:1], *counts[-1:])))
    methods = sorted({f"{cell['level']:.0%} {cell['method']}" for cell in cells if cell.get("method")})
    caption = (
        f"Correlation of given with true values of the market against the share within 25 basis points, "
        f"{len(drawn)} models, n = {answered or 'no'} months each, scoring {scoring}, protocol {block.protocol}. Bars: "
        f"{'; '.join(methods) or 'no interval'}. Crosses: the same answers dealt out anew among the months. Diamonds: "
        "planted respondents."
    )
    return house.save(figure, out, block, "signature", " ".join(said), caption)


MOST_SERIES = 6
"""Series drawn side by side; more would be too narrow to read."""


def recall_scatter(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw the values that a model gives against the true ones, a line of panels per model, a panel per series.

    The answers are those of the arm that asks a series by its own name. The line is perfect recall; given values
    reach twice as far as true ones, and those beyond lie at the edge.
    """
    rows = block.printed()
    points = [row["side"].get(block.suite, {}).get("scatter", {}) for row in rows]
    every = sorted({name for held in points for name, pairs in held.items() if pairs}, key=_order)
    series = every[:MOST_SERIES]
    figure = house.new(0.75 + 0.95 * max(1, len(rows)))
    panels = figure.subplots(max(1, len(rows)), max(1, len(series)), squeeze=False)
    said = []
    for place, row in enumerate(rows):
        colour = house.GREEN if is_planted(row, block.suite) else house.BLUE
        words = []
        for column, name in enumerate(series):
            pairs = points[place].get(name, [])
            reach = _reach([held.get(name, []) for held in points])
            _panel(panels[place][column], pairs, reach, colour)
            r = metrics(row, block.suite, scoring).get(f"{_main(row, block, scoring, name)}.r")
            known = r is not None and r["value"] is not None
            text = f"r {r['value']:.2f}" if r is not None and known else "no r"
            panels[place][column].text(
                0.04,
                0.96,
                f"{text}, n {len(pairs)}",
                transform=panels[place][column].transAxes,
                fontsize=6,
                va="top",
            )
            words.append(f"{name} {text} of {len(pairs)}")
            if place == 0:
                panels[place][column].set_title(name)
        if series:
            panels[place][0].set_ylabel(house.label(row), rotation=0, ha="right", va="center")
        said.append(f"{row['model']}: {'; '.join(words) or 'no values'}.")
    if not series:
        panels[0][0].set_axis_off()
        panels[0][0].text(0.5, 0.5, "no series was asked by its name", ha="center", va="center")
    figure.supxlabel("true value, against the value given", fontsize=8)
    left_out = f" Not drawn: {', '.join(every[MOST_SERIES:])}." if len(every) > MOST_SERIES else ""
    caption = (
        f"Values that {len(rows)} models give for months of {len(series)} series against the true ones, protocol "
        f"{block.protocol}, scoring {scoring}. n: answers with a value; r: Pearson's correlation. The diagonal is "
        f"perfect recall; points at an edge lie beyond twice the range of the true values.{left_out}"
    )
    return house.save(figure, out, block, "recall_scatter", "Scatter by series. " + " ".join(said), caption)


def _order(name: str) -> tuple[int, str]:
    """Order series as the protocol's family of factors does, others after them by name."""
    factors = list(naming.FACTORS)
    return (factors.index(name) if name in factors else len(factors), name)


def _main(row: dict[str, Any], block: Block, scoring: str, series: str) -> str:
    """Return where a row's estimates of a series begin: the first arm that asks it by name and has any."""
    found = metrics(row, block.suite, scoring)
    return next((f"{arm}.{series}" for arm in MAIN_ARMS if f"{arm}.{series}.r" in found), "")


MAIN_ARMS = (naming.VALUE, f"{naming.LABEL}mktrf")
"""Arms that ask a series by its own name, the first one first; see `estimate.main_sheet`."""


def _reach(held: list[list[list[float]]]) -> float:
    true = [abs(pair[0]) for pairs in held for pair in pairs]
    return 1.1 * max(true) if true and max(true) > 0 else 1.0


def _panel(axes: Any, pairs: list[list[float]], reach: float, colour: str) -> None:
    edge = 2 * reach
    axes.plot([-edge, edge], [-edge, edge], color=house.GREY, lw=0.6, zorder=1)
    axes.plot(
        [pair[0] for pair in pairs],
        [min(max(pair[1], -0.98 * edge), 0.98 * edge) for pair in pairs],
        "o", ms=1.6, color=colour, mec="none", alpha=0.55, zorder=2,
    )  # fmt: skip
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-edge, edge)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_linewidth(0.5)
