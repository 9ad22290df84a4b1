"""Figures of this suite: what models know against what they say, and both over time with all cutoffs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anachron.blocks import ordinal
from anachron.publish import figures as house
from anachron.publish.cells import defined, metrics, undefined
from anachron.publish.row_blocks import Block, is_planted, vendor_stated
from anachron.suites.findendro.table import in_quarters

SUITE = "findendro"
KNOWLEDGE, CLAIMS = house.PURPLE, house.ORANGE
Row = dict[str, Any]


def figures(block: Block, out: Path, scoring: str) -> list[house.Written]:
    """Write both figures.

    Parameters
    ----------
    block
        Rows of this suite under one protocol, in printing order.
    out
        Folder.
    scoring
        Scoring whose estimates are drawn.
    """
    return [knows_says(block, out, scoring), over_time(block, out, scoring)]


def knows_says(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw *Knows* against *Says* of every model, with intervals, chance and the line on which both agree."""
    rows = block.printed()
    figure = house.new(4.2)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=house.GREY, lw=0.8, zorder=1)
    axes.text(
        0.985,
        0.955,
        "says as much as it knows",
        fontsize=7,
        color=house.GREY,
        ha="right",
        va="top",
        rotation=45,
    )
    said, left_out, chances = [], [], []
    for row in rows:
        found = metrics(row, SUITE, scoring)
        knows, says = found.get("knows"), found.get("says")
        if not (defined(knows) and defined(says)) or knows is None or says is None:
            left_out.append(f"{row['model']} ({undefined(knows if not defined(knows) else says)})")
            said.append(f"{row['model']}: undefined.")
            continue
        x, y = knows["value"], says["value"]
        planted = is_planted(row, block.suite)
        colour = house.GREEN if planted else house.BLUE
        axes.plot([x, x], [x, y], color=colour, lw=0.8, ls=(0, (1.5, 1.5)), zorder=2)
        for cell, across in ((knows, True), (says, False)):
            if cell.get("low") is not None:
                ends, still = [cell["low"], cell["high"]], [y, y] if across else [x, x]
                axes.plot(*((ends, still) if across else (still, ends)), color=colour, lw=1.2, zorder=3)
        axes.plot(x, y, marker="D" if planted else "o", ms=5, color=colour, mec="white", mew=0.6, zorder=4)
        side = -1 if x > 0.7 else 1
        axes.annotate(
            house.label(row), (x, y), xytext=(6 * side, 5), textcoords="offset points", fontsize=7,
            ha="right" if side < 0 else "left",
        )  # fmt: skip
        said.append(f"{row['model']}: knows {x:.2f}, says {y:.2f}.")
        if "chance" in found:
            chances.append(found["chance"]["value"])
    if chances:
        axes.axvline(chances[0], color=house.INK, lw=0.7, ls=(0, (4, 2)), zorder=1)
        axes.text(chances[0] - 0.008, 0.985, "chance", fontsize=7, rotation=90, ha="right", va="top")
    axes.set_xlim(0, 1.01)
    axes.set_ylim(-0.02, 1.01)
    axes.set_xlabel("knows: share of controlled facts answered rightly")
    axes.set_ylabel("says: share of facts it claims to know")
    for name in ("top", "right"):
        axes.spines[name].set_visible(False)
    drawn = len(rows) - len(left_out)
    cells = [metrics(row, SUITE, scoring).get("knows") for row in rows]
    caption = (
        f"What {drawn} models know against what they say they know, scoring {scoring}, protocol {block.protocol}. "
        f"Facts: {house.number_of(cells)}. Bars: {house.methods_of(cells)}. Below the line a model says less than it "
        "knows. Diamonds: planted respondents."
        + (f" Not drawn, since a gate failed: {', '.join(left_out)}." if left_out else "")
    )
    return house.save(
        figure, out, block, "knows_says", "Scatter of what models know and say. " + " ".join(said), caption
    )


def over_time(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw knowledge and claims of every model over time, a band each, with the four kinds of cutoff.

    Years before the dense sample are compressed: one point a year there, one a quarter after it.
    """
    from matplotlib.lines import Line2D

    rows = block.printed()
    figure = house.new(0.95 + 1.15 * max(1, len(rows)))
    bands = figure.subplots(max(1, len(rows)), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    said = []
    for axes, row in zip(bands, rows, strict=False):
        points = row["side"].get(block.suite, {}).get(scoring, {}).get("over_time", [])
        _band(axes, row, points, scoring)
        said.append(_say(row, scoring))
    for axes in bands:
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
        axes.tick_params(axis="x", length=2)
        for name in ("top", "right"):
            axes.spines[name].set_visible(False)
    handles = [
        Line2D([], [], color=KNOWLEDGE, lw=1.6, label="knows"),
        Line2D([], [], color=CLAIMS, lw=1.6, ls=(0, (3, 1)), label="says"),
        Line2D([], [], color=KNOWLEDGE, marker="D", ls="none", ms=5, label="knowledge ends"),
        Line2D([], [], color=CLAIMS, marker="o", ls="none", ms=5, label="claims end"),
        Line2D([], [], color=house.GREEN, marker="^", ls="none", ms=5, label="self-reported"),
        Line2D([], [], color=house.INK, marker="|", ls="none", ms=8, label="vendor-stated"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=6, frameon=False, fontsize=6.6, handlelength=1.6,
                  columnspacing=0.9, handletextpad=0.4)  # fmt: skip
    cells = [metrics(row, SUITE, scoring).get("says") for row in rows]
    caption = (
        f"Share of controlled facts answered rightly and share of facts claimed as known, {len(rows)} models, scoring "
        f"{scoring}, protocol {block.protocol}: by year up to 2020, by quarter after. Shaded: the difference. Markers: "
        "ends measured here, the cutoff that the model states, the one that the vendor states; one whose gate failed "
        f"is not drawn. Facts: {house.number_of(cells)}, without intervals."
    )
    return house.save(
        figure, out, block, "over_time", "Knowledge and claims over time. " + " ".join(said), caption
    )


def _band(axes: Any, row: Row, points: list[dict[str, Any]], scoring: str) -> None:
    import numpy as np

    axes.set_title(house.label(row), loc="left", fontsize=7.5, pad=2)
    if not points:
        axes.text(
            0.5, 0.5, "no shares over time in this row", transform=axes.transAxes, ha="center", va="center"
        )
        return
    xs = np.arange(len(points), dtype=float)
    knows, says = (
        np.array([np.nan if point.get(name) is None else point[name] for point in points], dtype=float)
        for name in ("knowledge", "claims")
    )
    axes.fill_between(xs, knows, says, color="#e6e6e6", lw=0, zorder=1)
    axes.plot(xs, knows, color=KNOWLEDGE, lw=1.4, zorder=3)
    axes.plot(xs, says, color=CLAIMS, lw=1.4, ls=(0, (3, 1)), zorder=3)
    found = metrics(row, SUITE, scoring)
    if "chance" in found and found["chance"]["value"] is not None:
        axes.axhline(found["chance"]["value"], color=house.GREY, lw=0.6, ls=(0, (4, 2)), zorder=1)
    for metric, colour, marker, height in (
        ("knowledge_end", KNOWLEDGE, "D", 0.0),
        ("claims_end", CLAIMS, "o", 0.09),
        ("self_report", house.GREEN, "^", 0.18),
    ):
        cell = found.get(metric)
        if cell is not None and cell.get("value_month"):
            x = _place(points, cell["value_month"])
            axes.plot(
                x, height, marker=marker, ms=5, color=colour, mec="white", mew=0.5, zorder=5, clip_on=False
            )
    vendor = vendor_stated(row)
    if vendor:
        axes.plot(_place(points, vendor), 0.3, marker="|", ms=10, mew=1.6, color=house.INK, zorder=5)
    # A tick stands at a year's own point, and among quarters at the first of the year.
    ticks = [
        at
        for at, point in enumerate(points)
        if (int(point["month"][:4]) % 5 == 0 if point["quarters"] > 1 else point["month"][5:7] == "03")
    ]
    # Where years become quarters two ticks may stand side by side: the earlier one gives way.
    ticks = [at for at, later in zip(ticks, [*ticks[1:], len(points)], strict=True) if later - at > 1]
    axes.set_xticks(ticks, [points[at]["month"][:4] for at in ticks])
    axes.set_xlim(-0.5, len(points) - 0.5)


def _place(points: list[dict[str, Any]], month: str) -> float:
    """Return where a month lies on the axis, whose points end at months of their own."""
    before = -1.0
    last = ordinal(points[0]["month"]) - 3 * points[0]["quarters"]
    for at, point in enumerate(points):
        here = ordinal(point["month"])
        if ordinal(month) <= here:
            return float(before + (ordinal(month) - last) / (here - last))
        before, last = float(at), here
    return before


def _say(row: Row, scoring: str) -> str:
    found, words = metrics(row, SUITE, scoring), []
    for title, metric in (("knowledge ends", "knowledge_end"), ("claims end", "claims_end")):
        month = (found.get(metric) or {}).get("value_month")
        words.append(f"{title} {in_quarters(month) if month else 'undefined'}")
    return f"{row['model']}: {', '.join(words)}."
