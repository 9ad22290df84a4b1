"""What differs between a published table or row and a fresh one, in words a reader can act on."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from anachron.publish import tables

CLOSE = 2e-9
"""Relative difference of two ten-digit numbers that rounding on another processor can make."""


def csv_differences(published: str, made: str) -> list[str]:
    """Name the lines and cells in which a published CSV differs from the one the frozen rows give."""
    key = ("model", "suite", "protocol", "scoring")
    old, new = (
        {tuple(line.get(part) or "" for part in key): line for line in csv.DictReader(io.StringIO(text))}
        for text in (published, made)
    )
    faults = [f"{' / '.join(name)}: line is missing" for name in new if name not in old]
    faults += [f"{' / '.join(name)}: line follows from no frozen row" for name in old if name not in new]
    for name in new:
        if name not in old:
            continue
        for column in dict.fromkeys([*old[name], *new[name]]):
            was, now = old[name].get(column), new[name].get(column)
            if was != now:
                faults.append(f"{' / '.join(name)}: `{column}` reads {was!r}, the frozen row gives {now!r}")
    return faults or ["the order of lines or columns differs from what the frozen rows give"]


def line_differences(published: str, made: str) -> list[str]:
    """Name the lines in which a published text differs, and the first cell of each that does."""
    old, new = published.split("\n"), made.split("\n")
    faults = []
    for number in range(max(len(old), len(new))):
        was = old[number] if number < len(old) else None
        now = new[number] if number < len(new) else None
        if was == now:
            continue
        cells = list(zip(was.split(" | "), now.split(" | "), strict=False)) if was and now else []
        unequal = [(before, after) for before, after in cells if before != after]
        before, after = unequal[0] if unequal else (was, now)
        faults.append(f"line {number + 1}: reads {before!r}, the frozen rows give {after!r}")
    return faults


def printed_differences(frozen: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Name the printed cells in which two rows of a model differ."""
    old, new = (
        {(line["suite"], line["scoring"]): line for line in tables.machine([row])} for row in (frozen, fresh)
    )
    faults = []
    for key in sorted(set(old) | set(new)):
        was, now = old.get(key, {}), new.get(key, {})
        for column in (column for column in {**was, **now} if column.startswith("printed ")):
            if was.get(column) != now.get(column):
                cell = f"{' / '.join(key)}: cell {column.removeprefix('printed ')!r}"
                faults.append(f"{cell} was {was.get(column)!r}, is {now.get(column)!r}")
    return faults


def differences(frozen: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Name the keys in which two rows differ, provenance apart."""
    old, new = ({key: value for key, value in row.items() if key != "provenance"} for row in (frozen, fresh))
    return list(unequal(old, new, ""))


def unequal(old: Any, new: Any, key: str) -> Iterator[str]:
    """Yield what differs between two values, each part named by its path below `key`."""
    for path, was, now in pairs(old, new, key):
        if was is ABSENT:
            yield f"`{path}` is new: {short(now)}"
        elif now is ABSENT:
            yield f"`{path}` is gone; it was {short(was)}"
        else:
            yield f"`{path}` was {short(was)}, is {short(now)}"


ABSENT: Any = object()
"""What one of two values has in place of a part that only the other one has."""


def pairs(old: Any, new: Any, key: str, close: float = CLOSE) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of every part in which two values differ, and the part in each; `ABSENT` where one lacks it.

    Parameters
    ----------
    old, new
        Plain values as JSON has them.
    key
        Path of both.
    close
        Relative difference up to which two numbers are the same; 0 tells every digit apart.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(set(old) | set(new)):
            inner = f"{key}.{name}" if key else str(name)
            if name in old and name in new:
                yield from pairs(old[name], new[name], inner, close)
            else:
                yield inner, old.get(name, ABSENT), new.get(name, ABSENT)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from pairs(before, after, f"{key}[{place}]", close)
    elif not _same(old, new, close):
        yield key, old, new


def _same(old: Any, new: Any, close: float) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return old == new or math.isclose(old, new, rel_tol=close, abs_tol=1e-12 if close else 0.0)
    return type(old) is type(new) and bool(old == new)


def short(value: Any) -> str:
    """Return a value as text, cut to 60 signs."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
