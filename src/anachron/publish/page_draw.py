"""Drawings of the page: an interval under its number, and a model's ends of knowledge on one axis of time.

They are empty elements placed by shares of their frame's width, so that they follow any screen and both colour
schemes. What they show stands beside them in text; readers that do not see them miss nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anachron.blocks import from_ordinal, ordinal
from anachron.publish.text import escaped

NUMBER = re.compile(r"[+−-]?(?:\d[\d,]*)?\.?\d+")
MONTH = re.compile(r"(\d{4})-(\d{2})(?!\d)")
QUARTER = re.compile(r"(\d{4})Q([1-4])")
ENDS = re.compile(r"\[([^,\]]+), ([^\]]+)\]")


@dataclass(frozen=True)
class Printed:
    """A printed cell read back: numbers as such, months and quarters as month ordinals."""

    value: float
    low: float | None = None
    high: float | None = None
    dated: bool = False


def read_cell(text: str) -> Printed | None:
    """Return what a printed cell says; None for a dash, an empty cell and words.

    >>> read_cell("+.383 [−.30, .47]k")
    Printed(value=0.383, low=-0.3, high=0.47, dated=False)
    >>> read_cell("2024Q3").value == ordinal("2024-09")
    True
    """
    if not text or text[0] not in "+−-.0123456789$":
        return None
    value, dated = _read(text)
    if value is None:
        return None
    ends = ENDS.search(text)
    low, high = (_read(part)[0] for part in ends.groups()) if ends else (None, None)
    return (
        Printed(value, low, high, dated)
        if low is not None and high is not None
        else Printed(value, dated=dated)
    )


def _read(text: str) -> tuple[float | None, bool]:
    start = text.lstrip("$")
    if found := MONTH.match(start):
        return ordinal(found.group()), True
    if found := QUARTER.match(start):
        return ordinal(f"{found.group(1)}-{int(found.group(2)) * 3:02d}"), True
    if number := NUMBER.match(start):
        return float(number.group().replace("−", "-").replace(",", "")), False
    return None, False


@dataclass(frozen=True)
class Scale:
    """The axis that the intervals of one column share."""

    low: float
    high: float
    zero: bool

    @classmethod
    def of(cls, cells: Iterable[str]) -> Scale | None:
        """Return the axis of a column; None when no cell has an interval. An axis of numbers holds zero."""
        found = [one for one in map(read_cell, cells) if one and one.low is not None and one.high is not None]
        if not found:
            return None
        if len({one.dated for one in found}) > 1:
            return None  # months and numbers share no axis
        zero = not found[0].dated
        ends = [end for one in found for end in (one.value, one.low, one.high) if end is not None]
        low, high = min(ends + [0.0] * zero), max(ends + [0.0] * zero)
        return cls(low, high, zero) if high > low else cls(low - 1, high + 1, zero)

    def at(self, value: float) -> float:
        """Return the place of a value, in percent of the width."""
        return 100 * (value - self.low) / (self.high - self.low)


def interval(text: str, scale: Scale | None) -> str:
    """Return the drawing of a printed cell's interval; empty when it has none."""
    found = read_cell(text) if scale else None
    if scale is None or found is None or found.low is None or found.high is None:
        return ""
    zero = f'<i class="zero" style="left:{scale.at(0):.1f}%"></i>' if scale.zero else ""
    return (
        f'<span class="bar" aria-hidden="true">{zero}{_span(scale.at(found.low), scale.at(found.high))}'
        f'<i class="dot" style="left:{scale.at(found.value):.1f}%"></i></span>'
    )


def _span(left: float, right: float, kind: str = "range") -> str:
    return f'<i class="{kind}" style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'


# --- ends of knowledge on an axis of time -------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """The months that all timelines of a page share, first and last as ordinals."""

    first: int
    last: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Axis | None:
        """Return the axis that holds every cutoff and first month of rows; None when they name no month."""
        months = [
            ordinal(month)
            for row in rows
            for month in (
                row["safe_from"]["month"],
                *(end.get(key) for end in row["cutoffs"] for key in ("month", "low", "high")),
            )
            if month
        ]
        if not months:
            return None
        # Whole years, with some air before the first end and after the last.
        start = ordinal(f"{from_ordinal(min(months) - 2)[:4]}-01")
        end = ordinal(f"{from_ordinal(max(months) + 2)[:4]}-12")
        return cls(start, end)

    def at(self, month: str) -> float:
        """Return the place of a month, in percent of the width."""
        return 100 * (ordinal(month) - self.first) / (self.last - self.first)

    def years(self, most: int) -> list[str]:
        """Return Januaries to label, at most `most` of them, evenly apart."""
        count = (self.last - self.first + 1) // 12
        step = -(-count // most)
        return [from_ordinal(self.first + 12 * year) for year in range(0, count, step)]


def kinds(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the labels of the measured ends of rows, in the order in which they first stand."""
    return list(
        dict.fromkeys(end["label"] for row in rows for end in row["cutoffs"] if end["kind"] == "measured")
    )


def lanes(row: Mapping[str, Any], axis: Axis, labels: Sequence[str]) -> str:
    """Return a row's ends as thin lanes below each other, the vendor's month and the first safe month across."""
    across = [
        f'<i class="{kind}" style="left:{axis.at(month):.1f}%"></i>'
        for kind, month in (("vendor", _stated(row)), ("safe", row["safe_from"]["month"]))
        if month
    ]
    parts = []
    for place, label in enumerate(labels):
        end = next(
            (one for one in row["cutoffs"] if one["label"] == label and one["kind"] == "measured"), None
        )
        parts.append(f'<span class="lane k{place % 5}">{_end(end, axis) if end else ""}</span>')
    return f'<span class="ends" aria-hidden="true">{"".join(across)}{"".join(parts)}</span>'


def _stated(row: Mapping[str, Any]) -> str | None:
    month: str | None = next((end["month"] for end in row["cutoffs"] if end["kind"] == "vendor-stated"), None)
    return month


def _end(end: Mapping[str, Any], axis: Axis) -> str:
    if not end["month"]:
        return ""
    ends = ""
    if end.get("low") and end.get("high"):
        ends = _span(axis.at(end["low"]), axis.at(end["high"]), "range")
    kind = "dot open" if end.get("open_ended") else "dot"
    return f'{ends}<i class="{kind}" style="left:{axis.at(end["month"]):.1f}%"></i>'


def axis_labels(axis: Axis, most: int = 5) -> str:
    """Return the years of an axis, for the head of a column or the foot of a timeline."""
    years = "".join(f'<i style="left:{axis.at(month):.1f}%">{month[:4]}</i>' for month in axis.years(most))
    return f'<span class="years" aria-hidden="true">{years}</span>'


def timeline(row: Mapping[str, Any], axis: Axis, labels: Sequence[str]) -> str:
    """Return a row's ends one below the other with their names and months: text first, the drawing beside."""
    lines = []
    for end in row["cutoffs"]:
        place = labels.index(end["label"]) % 5 if end["label"] in labels else None
        kind = f"k{place}" if place is not None else "said"
        if end["month"]:
            text = end["month"]
            if end.get("low") and end.get("high"):
                text += f' <span class="whole">[{end["low"]}, {end["high"]}]</span>'
            if end.get("open_ended"):
                text += ", still open"
        else:
            text = "undefined" if end["kind"] == "measured" else "not stated"
        lines.append((end["label"], kind, _end(end, axis), text))
    safe = row["safe_from"]["month"]
    mark = f'<i class="safe" style="left:{axis.at(safe):.1f}%"></i>' if safe else ""
    lines.append(("safe from", "first", mark, safe or "no month can be named"))
    ticks = "".join(f'<i class="tick" style="left:{axis.at(month):.1f}%"></i>' for month in axis.years(8))
    rows = "".join(
        f'<li class="{kind}"><span class="what">{escaped(label[:1].upper() + label[1:])}</span>'
        f'<span class="track" aria-hidden="true">{ticks}{drawn}</span><span class="when">{text}</span></li>'
        for label, kind, drawn, text in lines
    )
    return (
        f'<ul class="timeline">{rows}<li class="axis" aria-hidden="true"><span class="what"></span>'
        f'<span class="track">{axis_labels(axis, 8)}</span><span class="when"></span></li></ul>'
    )
