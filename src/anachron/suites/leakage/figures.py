"""The figure of the suite: what each model's score loses with time, beside forecasters that know nothing."""

from __future__ import annotations

from pathlib import Path

from anachron.publish import figures as house
from anachron.publish.cells import metrics
from anachron.publish.row_blocks import Block, is_planted

SHOWN = (
    ("gap", "gap", "o"),
    ("gap.mix", "same mix", "D"),
    ("placebo", "placebo", "x"),
    ("jump", "jump", "s"),
)


def figures(block: Block, out: Path, scoring: str) -> list[house.Written]:
    """Write the figure of gaps and jumps; see `gaps`."""
    return [gaps(block, out, scoring)]


def gaps(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw naive gap, gap at the same mix, largest placebo and jump of every model, with intervals."""
    rows = list(block.printed())
    figure = house.new(0.9 + 0.22 * len(SHOWN) * max(1, len(rows)))
    axes = figure.add_subplot()
    said, labels, place = [], [], 0
    for row in rows:
        found = metrics(row, block.suite, scoring)
        colour = house.GREEN if is_planted(row, block.suite) else house.BLUE
        for metric, words, marker in SHOWN:
            cell = found.get(metric)
            labels.append(f"{house.label(row)}, {words}" if metric == "gap" else words)
            if cell is None or cell["value"] is None:
                axes.annotate(
                    "undefined", (0, place), fontsize=6.5, color=house.GREY, va="center", ha="center"
                )
                said.append(f"{row['model']}, {words}: undefined.")
            else:
                drawn = house.GREY if metric == "placebo" else house.ORANGE if metric == "jump" else colour
                if cell.get("low") is not None:
                    axes.plot([cell["low"], cell["high"]], [place, place], color=drawn, lw=0.9)
                axes.plot([cell["value"]], [place], marker, color=drawn, ms=4)
                said.append(f"{row['model']}, {words}: {cell['value']:+.3f}.")
            place += 1
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.axvline(0, color=house.GREY, lw=0.6, zorder=0)
    axes.set_xlabel("Brier points; positive is what leakage would give")
    cells = [metrics(row, block.suite, scoring).get(metric) for row in rows for metric, _, _ in SHOWN]
    caption = (
        f"Gaps and jumps at the stated cutoff, {len(rows)} models, protocol {block.protocol}. Questions: "
        f"{house.number_of(cells)}. Bars: {house.methods_of(cells)}. A gap that a placebo shows is the "
        "mix of questions."
    )
    return house.save(figure, out, block, "gaps", " ".join(said), caption)
