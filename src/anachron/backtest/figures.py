"""The figures of an audit, drawn from its result alone; the same result gives the same bytes."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import files
from anachron.backtest.convert import told
from anachron.backtest.result import Audit, Curve, Finding, Number
from anachron.publish import figures as house

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CONTROLS = 3
"""Controls that are drawn by name beside the target over time."""
LABEL_LENGTH = 44
"""Most characters of a label beside a forest."""


@dataclass(frozen=True)
class Drawn:
    """A figure on disk with the text that stands for it."""

    name: str
    title: str
    alt: str
    caption: str
    svg: Path
    png: Path


def draw(audit: Audit, out: Path) -> list[Drawn]:
    """Draw every figure that a result has the numbers for; return them in the report's order.

    Parameters
    ----------
    audit
        The result.
    out
        Folder; files are named ``<name>.svg`` and ``<name>.png`` and are written atomically.
    """
    curves = {(curve.name, curve.model): curve for curve in audit.curves}
    drawn = []
    with house.style():
        drawn.append(_placebos(audit, out))
        if ("by month", audit.target) in curves:
            drawn.append(_by_month(audit, out))
        for name, plot in (("boundary", _boundary), ("bandwidths", _steps), ("placebo dates", _steps)):
            if (name, audit.target) in curves:
                drawn.append(plot(audit, curves[name, audit.target], out))
        if ("sweep", audit.target) in curves:
            drawn.append(_steps(audit, curves["sweep", audit.target], out))
        if len(audit.findings) > 1:
            drawn.append(_estimates(audit, out))
    return drawn


def _placebos(audit: Audit, out: Path) -> Drawn:
    opening = audit.opening
    lines: list[tuple[str, Number, str, str]] = []
    for placebo in (opening.target, *opening.placebos):
        is_target = placebo is opening.target
        colour = house.BLUE if is_target else house.GREY
        lines.append((placebo.label, placebo.raw, colour, "o"))
        if placebo.standardised is not None:
            lines.append((f"{placebo.label}, same mix", placebo.standardised, colour, "D"))
    figure = house.new(0.9 + 0.21 * len(lines))
    axes = figure.add_subplot()
    _forest(axes, lines)
    axes.set_xlabel(f"mean score before {opening.split} minus after")
    said = [f"{label}: {told(number)}." for label, number, _, _ in lines]
    caption = (
        "The naive gap of the target beside forecasters that know nothing (grey). Circles: as the questions are; "
        "diamonds: weighted to the mix of questions before the split. Bars: 95 % intervals."
    )
    return _save(figure, out, "placebos", "What forecasters that know nothing show", " ".join(said), caption)


def _estimates(audit: Audit, out: Path) -> Drawn:
    shown = [one for one in audit.findings if one.number.estimate is not None]
    lines = [(one.label, one.number, _colour(one), "o") for one in shown]
    figure = house.new(0.9 + 0.24 * len(lines))
    axes = figure.add_subplot()
    _forest(axes, lines)
    axes.set_xlabel("score units; positive is what leakage would give")
    said = [f"{one.label}: {told(one.number)}." for one in shown]
    caption = "Orange where the interval leaves out zero; grey for naive gaps, which are uninformative alone."
    return _save(figure, out, "estimates", "Estimates side by side", " ".join(said), caption)


def _colour(held: Finding) -> str:
    if held.name.startswith("naive"):
        return house.GREY
    return house.INK if held.null else house.ORANGE


def _forest(axes: Axes, lines: list[tuple[str, Number, str, str]]) -> None:
    for place, (_, number, colour, marker) in enumerate(lines):
        if number.estimate is None:
            axes.annotate("undefined", (0, place), fontsize=7, color=house.GREY, va="center", ha="center")
            continue
        if number.low is not None and number.high is not None:
            axes.plot([number.low, number.high], [place, place], color=colour, lw=1.0)
        axes.plot([number.estimate], [place], marker, color=colour, ms=4)
    axes.set_yticks(range(len(lines)), [_short(label) for label, *_ in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.axvline(0, color=house.GREY, lw=0.6, zorder=0)


def _by_month(audit: Audit, out: Path) -> Drawn:
    figure = house.new(2.8)
    axes = figure.add_subplot()
    said = []
    palette = iter((house.ORANGE, house.GREEN, house.PURPLE, house.GREY))
    every = [curve for curve in audit.curves if curve.name == "by month"]
    every.sort(key=lambda one: one.model != audit.target)
    shown = every[: MOST_CONTROLS + 1]
    for curve in shown:
        is_target = curve.model == audit.target
        colour = house.BLUE if is_target else next(palette, house.GREY)
        points = [point for point in curve.points if point.y is not None]
        days: list[Any] = [_day(point.x) for point in points]
        heights = [float(point.y) for point in points if point.y is not None]
        axes.plot(days, heights, "o-", color=colour, ms=3, lw=0.9, label=_short(curve.label), zorder=3)
        if is_target:
            for day, point in zip(days, points, strict=True):
                if point.low is not None and point.high is not None:
                    axes.plot([day, day], [point.low, point.high], color=colour, lw=0.6, zorder=2)
        if points:
            said.append(
                f"{curve.label}: from {heights[0]:+.3f} in {points[0].x} to {heights[-1]:+.3f} in {points[-1].x}."
            )
    axes.axhline(0, color=house.GREY, lw=0.6, zorder=0)
    date: Any
    for date, text, dashes in _dates(audit):
        axes.axvline(date, color=house.INK, lw=0.8, ls=dashes, zorder=1)
        axes.annotate(
            text,
            (date, 1),
            xycoords=("data", "axes fraction"),
            fontsize=7,
            xytext=(2, -8),
            textcoords="offset points",
        )
    _calendar(axes)
    axes.set_ylabel("mean score (higher is better)")
    axes.legend(
        frameon=False, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2
    )
    caption = "Mean score by month of resolution, with 95 % intervals for the target."
    if len(every) > len(shown):
        caption += f" {MOST_CONTROLS} of {len(every) - 1} controls are drawn; audit.json has all."
    return _save(figure, out, "by_month", "Score over time", " ".join(said), caption)


def _boundary(audit: Audit, curve: Curve, out: Path) -> Drawn:
    figure = house.new(2.8)
    axes = figure.add_subplot()
    for point in curve.points:
        if point.y is None:
            continue
        x = float(point.x)
        if point.low is not None and point.high is not None:
            axes.plot([x, x], [point.low, point.high], color=house.BLUE, lw=0.6)
        axes.plot([x], [point.y], "o", color=house.BLUE, ms=3)
    for line in (one for one in audit.curves if one.name == "boundary fit" and one.model == curve.model):
        drawn = [(float(point.x), point.y) for point in line.points if point.y is not None]
        axes.plot([x for x, _ in drawn], [y for _, y in drawn], color=house.ORANGE, lw=1.2)
    axes.axvline(0, color=house.INK, lw=0.8, ls="--")
    axes.axhline(0, color=house.GREY, lw=0.6, zorder=0)
    axes.set_xlabel(f"days from the cutoff, {audit.cutoff}, to resolution")
    axes.set_ylabel("mean score")
    said = "Binned means: " + "; ".join(
        f"{float(point.x):+.0f} days {point.y:+.3f}" for point in curve.points if point.y is not None
    )
    caption = "Scores around the cutoff in bins, with the local linear fit on each side. Leakage would be a step down."
    return _save(figure, out, "boundary", "The boundary", said + ".", caption)


_STEPS = {
    "bandwidths": ("half-width of the window, days", "The jump by width of the window.", "Jump by bandwidth"),
    "placebo dates": (
        "days from the cutoff to the pretended one",
        "The same estimator at dates where there is no cutoff: it should find nothing.",
        "Placebo dates",
    ),
    "sweep": (
        "date of the split",
        "Difference in differences by where the split is put.",
        "Sweep of the split",
    ),
}


def _steps(audit: Audit, curve: Curve, out: Path) -> Drawn:
    axis, caption, title = _STEPS[curve.name]
    figure = house.new(2.2)
    axes = figure.add_subplot()
    said = []
    dated = any(isinstance(point.x, str) for point in curve.points)
    for point in curve.points:
        if point.y is None:
            continue
        x: Any = _day(point.x) if dated else float(point.x)
        if point.low is not None and point.high is not None:
            axes.plot([x, x], [point.low, point.high], color=house.BLUE, lw=0.9)
        axes.plot([x], [point.y], "o", color=house.BLUE, ms=3.5)
        where = point.x if dated else f"{float(point.x):+.0f}"
        said.append(f"{where}: {told(Number(estimate=point.y, low=point.low, high=point.high))}.")
    axes.axhline(0, color=house.GREY, lw=0.6, zorder=0)
    if dated:
        _calendar(axes)
    axes.set_xlabel(axis)
    axes.set_ylabel("estimate")
    return _save(figure, out, curve.name.replace(" ", "_"), title, " ".join(said), caption)


def _dates(audit: Audit) -> list[tuple[datetime.date, str, str]]:
    split = audit.opening.split
    found = [(datetime.date.fromisoformat(audit.cutoff), "cutoff", "--")] if audit.cutoff else []
    if split != audit.cutoff:
        found.append((datetime.date.fromisoformat(split), "split", ":"))
    return found


def _calendar(axes: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator: Any = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _day(written: float | str) -> datetime.date:
    text = str(written)
    return datetime.date.fromisoformat(f"{text}-15" if len(text) == 7 else text)


def _short(label: str) -> str:
    return label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"


def _save(figure: Any, out: Path, name: str, title: str, alt: str, caption: str) -> Drawn:
    places = {}
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        places[kind] = out / f"{name}.{kind}"
        with files.atomic_path(places[kind]) as part:
            figure.savefig(part, format=kind, metadata=metadata)
    return Drawn(name, title, alt, caption, places["svg"], places["png"])
