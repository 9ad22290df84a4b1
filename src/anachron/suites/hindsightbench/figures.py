"""Figures of this suite: E2 and E3 with intervals, and recall month by month with both kinds of cutoff."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from anachron.blocks import from_ordinal, ordinal
from anachron.errors import ContractError
from anachron.publish import figures as house
from anachron.publish.cells import Cell, metrics, undefined
from anachron.publish.row_blocks import Block, is_planted, vendor_stated

CONTRASTS = (("E2", house.BLUE, "o", 0.17), ("E3", house.ORANGE, "s", -0.17))


def figures(block: Block, out: Path, scoring: str) -> list[house.Written]:
    """Write the forest of E2 and E3 and the heatmap of monthly recall.

    Parameters
    ----------
    block
        Rows of this suite under one protocol, in printing order.
    out
        Folder.
    scoring
        Scoring whose estimates are drawn.
    """
    return [forest(block, out, scoring), heatmap(block, out, scoring)]


def _metric(block: Block, row: dict[str, Any], scoring: str, metric: str) -> Cell:
    return metrics(row, block.suite, scoring).get(metric, {"value": None})


def _truth(block: Block, row: dict[str, Any], scoring: str, metric: str) -> Any:
    return (row.get("planted_truth") or {}).get(block.suite, {}).get(scoring, {}).get(metric)


def forest(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw E2 and E3 of every model with their intervals; planted truth is a hollow diamond."""
    from matplotlib.lines import Line2D

    rows = block.printed()
    figure = house.new(1.15 + 0.36 * len(rows))
    axes = figure.add_subplot()
    ends: list[float] = [-0.1, 0.1]
    for place, row in enumerate(rows):
        for metric, colour, marker, shift in CONTRASTS:
            cell = _metric(block, row, scoring, metric)
            y = len(rows) - 1 - place + shift
            true = _truth(block, row, scoring, metric)
            if true is not None:
                axes.plot(true, y, marker="D", ms=6.2, mfc="none", mec=house.INK, mew=0.9, zorder=4)
                ends.append(true)
            if cell["value"] is None:
                axes.text(
                    0.008,
                    y,
                    f"{metric} {undefined(cell)}",
                    fontsize=7,
                    color=house.GREY,
                    va="center",
                    zorder=5,
                )
                continue
            if cell.get("low") is not None and cell.get("high") is not None:
                axes.plot(
                    [cell["low"], cell["high"]], [y, y], color=colour, lw=1.6, solid_capstyle="butt", zorder=2
                )
                ends += [cell["low"], cell["high"]]
            axes.plot(cell["value"], y, marker=marker, ms=4.4, color=colour, mec="white", mew=0.5, zorder=3)
            ends.append(cell["value"])
    _rule_off_planted(axes, block, rows)
    axes.axvline(0, color=house.INK, lw=0.7, zorder=1)
    axes.set_yticks([len(rows) - 1 - place for place in range(len(rows))], [house.label(row) for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    pad = 0.05 * (max(ends) - min(ends))
    axes.set_xlim(min(ends) - pad, max(ends) + pad)
    axes.set_xlabel("difference of bearish-share gaps, crisis minus calm (0 = no hindsight)")
    axes.grid(axis="x", color="#e3e3e3", lw=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    handles = [
        Line2D([], [], color=house.BLUE, marker="o", ms=4.4, lw=1.6, label="E2, date trigger"),
        Line2D([], [], color=house.ORANGE, marker="s", ms=4.4, lw=1.6, label="E3, follows a false date"),
    ]
    if any(_truth(block, row, scoring, "E2") is not None for row in rows):
        handles.append(
            Line2D([], [], color="none", marker="D", mfc="none", mec=house.INK, ms=5.5, label="planted truth")
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False, fontsize=7.5)
    methods = sorted(
        {
            str(cell["method"])
            for row in rows
            for cell in [_metric(block, row, scoring, "E2")]
            if cell.get("method")
        }
    )
    dates = sorted(
        {int(cell["n"]) for row in rows for cell in [_metric(block, row, scoring, "E2")] if cell.get("n")}
    )
    caption = (
        f"E2 and E3 of {len(rows)} models, scoring {scoring}, protocol {block.protocol}. "
        f"n of E2: {_several(dates)}. Interval: {'; '.join(methods) or 'none'}. A dash with a letter is an "
        "estimate whose gate failed."
    )
    alt = "Forest plot. " + " ".join(_say(block, row, scoring) for row in rows)
    return house.save(figure, out, block, "e2_e3_forest", alt, caption)


def _say(block: Block, row: dict[str, Any], scoring: str) -> str:
    said = []
    for metric, *_ in CONTRASTS:
        cell = _metric(block, row, scoring, metric)
        if cell["value"] is None:
            said.append(f"{metric} undefined")
        elif cell.get("low") is None or cell.get("high") is None:
            said.append(f"{metric} {cell['value']:+.3f}")
        else:
            said.append(f"{metric} {cell['value']:+.3f} from {cell['low']:+.2f} to {cell['high']:+.2f}")
    return f"{row['model']}: {', '.join(said)}."


def _several(numbers: list[int]) -> str:
    if not numbers:
        return "not stated"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _rule_off_planted(axes: Any, block: Block, rows: list[dict[str, Any]]) -> None:
    planted = sum(is_planted(row, block.suite) for row in rows)
    if 0 < planted < len(rows):
        axes.axhline(planted - 0.5, color=house.GREY, lw=0.7, ls=(0, (2, 2)))


def _lap_by_month(row: dict[str, Any], suite: str, scoring: str) -> dict[str, float]:
    scorings = row["side"].get(suite, {}).get("lap_by_month", {})
    months = scorings.get(scoring, {}) if isinstance(scorings, dict) else scorings
    if not isinstance(months, dict):
        raise ContractError(
            f"row of {row['model']!r}: `side.{suite}.lap_by_month` is not shares by month (found "
            f"{str(months)[:60]!r}); rebuild the row from its estimates"
        )
    return months


def heatmap(block: Block, out: Path, scoring: str) -> house.Written:
    """Draw LAP of every model and month, with ticks at the measured and the vendor-stated end."""
    import numpy as np
    from matplotlib.lines import Line2D

    rows = block.printed()
    series = [_lap_by_month(row, block.suite, scoring) for row in rows]
    asked = sorted({month for months in series for month in months})
    figure = house.new(1.35 + 0.27 * len(rows))
    axes = figure.add_subplot()
    alt, measured_count = "Heatmap. ", 0
    if asked:
        first, last = ordinal(asked[0]), ordinal(asked[-1])
        shares = np.full((len(rows), last - first + 1), np.nan)
        for place, months in enumerate(series):
            for month, share in months.items():
                shares[place, ordinal(month) - first] = math.nan if share is None else share
        axes.set_facecolor("#dddddd")
        image = axes.imshow(
            shares, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest",
            extent=(first - 0.5, last + 0.5, len(rows) - 0.5, -0.5),
        )  # fmt: skip
        bar = figure.colorbar(image, ax=axes, pad=0.015, fraction=0.035, aspect=18)
        bar.set_label("LAP, share recalled")
        bar.outline.set_linewidth(0.6)
        years = [year for year in range(first // 12, last // 12 + 1) if year % 5 == 0]
        axes.set_xticks([year * 12 for year in years], [str(year) for year in years])
        axes.set_xlim(first - 0.5, last + 0.5)
        for place, row in enumerate(rows):
            measured = _metric(block, row, scoring, "cutoff").get("value_month")
            vendor = vendor_stated(row)
            if measured:
                measured_count += 1
                _tick(axes, min(max(ordinal(measured) + 0.5, first), last + 0.5), place, house.ORANGE, "-")
            if vendor:
                _tick(
                    axes, min(max(ordinal(vendor) + 0.5, first), last + 0.5), place, "white", (0, (1.2, 0.9))
                )
            alt += (
                f"{row['model']}: measured end {measured or 'undefined'}, vendor says {vendor or 'nothing'}. "
            )
        span = f"{from_ordinal(first)} to {from_ordinal(last)}, {len(asked)} months"
    else:
        axes.set_xticks([])
        axes.text(
            0.5, 0.5, "no monthly recall in these rows", transform=axes.transAxes, ha="center", va="center"
        )
        span = "no months"
        alt += "No monthly recall in these rows."
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [house.label(row) for row in rows])
    axes.set_yticks([place + 0.5 for place in range(len(rows) - 1)], minor=True)
    axes.grid(which="minor", axis="y", color="white", lw=1.6)
    axes.tick_params(which="both", axis="y", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    handles = [
        Line2D([], [], color=house.ORANGE, lw=2.2, label="measured end of recall"),
        Line2D([], [], color=house.INK, lw=1.6, ls=(0, (1.2, 0.9)), label="vendor-stated cutoff"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, fontsize=7.5)
    caption = (
        "Outcome recall by month (LAP: answers up or down as a share of all answers), "
        f"n = {len(rows)} models, {span}, scoring {scoring}, protocol {block.protocol}. Solid tick: last "
        f"month above the threshold, drawn for the {measured_count} models whose gate passed; dashed tick: "
        "what the vendor states. Grey: not asked."
    )
    return house.save(figure, out, block, "lap_heatmap", alt.strip(), caption)


def _tick(axes: Any, x: float, place: int, colour: str, line: Any) -> None:
    """Draw a tick over one model's band, on a dark ground so that it shows on light and dark months."""
    ends = [place - 0.42, place + 0.42]
    axes.plot([x, x], ends, color="black", lw=3.2, solid_capstyle="butt", zorder=3)
    axes.plot(
        [x, x], ends, color=colour, lw=1.8, ls=line, dash_capstyle="butt", solid_capstyle="butt", zorder=4
    )
