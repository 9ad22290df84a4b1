"""Perturbation ablation: whether E2 or E3 changes its sign when the contrasted dates are chosen otherwise.

Source: HindsightBench §3.1 (leave one event out, drop one date, other calm years, balanced counts).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anachron.stats.intervals import linearised_t
from anachron.suites.hindsightbench.cells import Cells, Places
from anachron.suites.hindsightbench.metrics import Side, gap_contrast, keyed_sides, restrict, side, side_gap
from anachron.suites.hindsightbench.protocol import Protocol


def perturbations(cells: Cells, protocol: Protocol) -> dict[str, tuple[Places, Places]]:
    """Return the perturbed (crisis, calm) dates by name, `drop` and a date for the jackknife's.

    Balanced counts take as many calm dates as there are crisis dates, evenly spaced over the calm set,
    so that nothing is drawn.
    """
    grid = cells.grid
    place = {date: index for index, date in enumerate(grid.dates)}
    found: dict[str, tuple[Places, Places]] = {}
    for event, months in sorted(protocol.sets.events.items()):
        out = [place[protocol.date(month)] for month in months]
        found[f"without {event}"] = (grid.crisis[~np.isin(grid.crisis, out)], grid.calm)
    for years in protocol.sets.alternative_calm_years:
        calm = [index for date, index in place.items() if int(date[:4]) in years]
        found[f"calm {', '.join(map(str, years))}"] = (grid.crisis, np.array(calm, dtype=np.intp))
    size = min(len(grid.crisis), len(grid.calm))
    spaced = np.linspace(0, len(grid.calm) - 1, size).round().astype(np.intp)
    found["balanced counts"] = (grid.crisis[:size], grid.calm[spaced])
    for index in grid.contrasted:
        found[f"drop {grid.dates[index]}"] = (
            grid.crisis[grid.crisis != index],
            grid.calm[grid.calm != index],
        )
    return found


def ablate(cells: Cells, protocol: Protocol) -> dict[str, Any]:
    """Return for E2 and E3 the perturbed values, and how many of them have the other sign.

    The jackknife is given as its range. `excludes_zero` says whether the interval from linearised date
    contributions excludes zero. Perturbations that leave a side empty are counted as undefined.
    """
    pairs: dict[str, tuple[Side, Side]] = {}
    left, right = side(cells, "D", "D"), side(cells, "M", "M")
    if left is not None and right is not None:
        pairs["E2"] = (left, right)
    keyed = keyed_sides(cells, "W")
    if keyed is not None:
        pairs["E3"] = keyed
    sets = perturbations(cells, protocol)
    return {metric: _ablate_one(cells, *pair, sets, protocol) for metric, pair in pairs.items()}


def _ablate_one(
    cells: Cells, left: Side, right: Side, sets: dict[str, tuple[Places, Places]], protocol: Protocol
) -> dict[str, Any]:
    shared = cells.scoring == "anachron"

    def value(crisis: Places, calm: Places) -> float:
        crisis, calm = restrict(left, right, crisis, shared), restrict(left, right, calm, shared)
        return side_gap(left, crisis, calm) - side_gap(right, crisis, calm)

    base = value(cells.grid.crisis, cells.grid.calm)
    named: dict[str, Any] = {}
    dropped: list[float] = []
    flips = undefined = 0
    for name, (crisis, calm) in sets.items():
        here = value(crisis, calm)
        undefined += bool(np.isnan(here))
        flips += bool(here * base < 0)
        if name.startswith("drop "):
            dropped.append(here)
            continue
        entry: dict[str, Any] = {"value": _plain(here)}
        if name.startswith("without "):
            ends = linearised_t(gap_contrast(left, right, crisis, calm), protocol.bootstrap.level)
            entry["excludes_zero"] = None if ends is None else bool(ends[0] > 0 or ends[1] < 0)
        named[name] = entry
    known = [one for one in dropped if not np.isnan(one)]
    return {
        "base": _plain(base),
        "perturbed": named,
        "drop_one_date": {"low": min(known), "high": max(known)} if known else None,
        "cells": len(sets),
        "sign_flips": flips,
        "undefined": undefined,
    }


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
