"""Perturbation ablation: whether E2 or E3 changes its sign when the contrasted dates are chosen otherwise.

Source: HindsightBench §3.1 (leave one event out, drop one date, other calm years, balanced counts).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anachron.stats.gaps import pooled_share
from anachron.stats.intervals import linearised_t
from anachron.suites.hindsightbench.cells import Cells, Places
from anachron.suites.hindsightbench.metrics import Side, gap_contrast, keyed_sides, side
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
    base, *values = perturbed_values(
        left, right, [(cells.grid.crisis, cells.grid.calm), *sets.values()], cells.scoring == "anachron"
    )
    named: dict[str, Any] = {}
    dropped: list[float] = []
    for (name, (crisis, calm)), here in zip(sets.items(), values, strict=True):
        if name.startswith("drop "):
            dropped.append(here)
            continue
        entry: dict[str, Any] = {"value": _plain(here)}
        if name.startswith("without "):
            ends = linearised_t(gap_contrast(left, right, crisis, calm), protocol.bootstrap.level)
            entry["excludes_zero"] = None if ends is None else bool(ends[0] > 0 or ends[1] < 0)
        named[name] = entry
    flips = sum(here * base < 0 for here in values)
    undefined = sum(bool(np.isnan(here)) for here in values)
    known = [one for one in dropped if not np.isnan(one)]
    return {
        "base": _plain(base),
        "perturbed": named,
        "drop_one_date": {"low": min(known), "high": max(known)} if known else None,
        "cells": len(sets),
        "sign_flips": flips,
        "undefined": undefined,
    }


def perturbed_values(left: Side, right: Side, sets: list[tuple[Places, Places]], shared: bool) -> list[float]:
    """Return Gap(left) - Gap(right) for many choices of dates, NaN where undefined; `shared` as in `restrict`."""
    chosen = np.zeros((2, len(sets), len(left.valid)))
    for row, pair in enumerate(sets):
        for layer, places in enumerate(pair):
            chosen[layer, row, places] = 1
    if shared:
        chosen *= (left.valid > 0) & (right.valid > 0)
    gaps = []
    for one in (left, right):
        crisis, calm = (pooled_share(layer @ one.bearish, layer @ one.valid) for layer in chosen)
        gaps.append(crisis - calm)
    return [float(value) for value in gaps[0] - gaps[1]]


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
