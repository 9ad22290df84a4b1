"""From answers to counts: for each arm, bearish and valid sketches by decision date and rep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.stats.gaps import Floats
from anachron.suites.hindsightbench.protocol import ARMS, Protocol

Part = dict[str, NDArray[Any]]
"""Columns of one arm's answers by name; `place` is the item's place among the protocol's dates, -1 for none."""

Scoring = Literal["bm1", "anachron"]
SCORINGS: tuple[Scoring, ...] = ("bm1", "anachron")
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Grid:
    """The protocol's dates as places in one array, and the sets that contrasts are made of."""

    dates: tuple[str, ...]
    pre: Places
    placebo: Places
    crisis: Places
    calm: Places

    @property
    def contrasted(self) -> Places:
        """Crisis dates, then calm dates: the order of the bootstrap's weights."""
        return np.concatenate([self.crisis, self.calm])


def grid_of(protocol: Protocol) -> Grid:
    """Return the grid of a protocol."""
    dates = protocol.decision_dates
    place = {date: index for index, date in enumerate(dates)}

    def places(some: list[str]) -> Places:
        return np.array([place[date] for date in some], dtype=np.intp)

    return Grid(
        tuple(dates),
        places(protocol.pre_dates),
        places(protocol.placebo_dates),
        places(protocol.crisis_dates),
        places(protocol.calm_dates),
    )


@dataclass(frozen=True)
class Arm:
    """Counts of one arm under one scoring, shape (dates, reps + 1); column `rep` holds rep `rep`.

    `shown` holds the place of the date the prompt stated (-1 where that is no decision date), shape (dates,).
    """

    bearish: Floats
    valid: Floats
    cells: Floats
    shown: Places

    def pooled(self, reps: list[int] | None = None) -> tuple[Floats, Floats]:
        """Return bearish and valid sketches by date, over all reps or some."""
        if reps is None:
            return self.bearish.sum(axis=1), self.valid.sum(axis=1)
        return self.bearish[:, reps].sum(axis=1), self.valid[:, reps].sum(axis=1)

    @property
    def reps(self) -> list[int]:
        """The reps that have a record."""
        return [int(rep) for rep in np.flatnonzero(self.cells.sum(axis=0))]


@dataclass(frozen=True)
class Cells:
    """The arms of one model under one scoring; an arm that was not asked is absent."""

    scoring: Scoring
    grid: Grid
    arms: dict[str, Arm]
    asked_reps: dict[str, int]
    """The highest rep that an arm has a row of, a failed call included."""

    def has(self, arm: str, where: Places) -> bool:
        """Whether an arm has a record on any of the dates."""
        return arm in self.arms and bool(self.arms[arm].cells[where].sum())


def split(answers: pd.DataFrame, grid: Grid) -> dict[str, Part]:
    """Return the answers by arm as plain arrays, missing values None: a frame is slow to cut into small pieces."""
    columns: Part = {name: _plain(answers[name]) for name in answers.columns if name not in NOT_COUNTED}
    place = {date: index for index, date in enumerate(grid.dates)}
    columns["place"] = np.array([place.get(item, -1) for item in columns["item"]], dtype=np.intp)
    arms = columns.pop("arm")
    found: dict[str, Part] = {}
    for arm in sorted(set(arms)):
        where = np.flatnonzero(arms == arm)
        found[arm] = {name: values[where] for name, values in columns.items()}
    return found


NOT_COUNTED = ("model", "suite", "key", "parser")


def _plain(column: pd.Series) -> NDArray[Any]:
    if column.name in ("rep", "duplicate"):
        return column.to_numpy(dtype=np.intp)
    missing: Any = None
    return column.to_numpy(dtype=object, na_value=missing)


def counted(part: Part, scoring: Scoring) -> Part:
    """Return the rows a scoring counts: no failed call, and in `anachron` each (item, rep) once."""
    keep = part["outcome"] != "error"
    if scoring == "anachron":
        keep = keep & (part["duplicate"] == 0)
    return part if keep.all() else {name: values[keep] for name, values in part.items()}


def count_cells(parts: dict[str, Part], grid: Grid, protocol: Protocol, scoring: Scoring) -> Cells:
    """Count the arms' sketches.

    `bm1` reads every record of the published parser's columns; `anachron` counts each (date, rep) once and
    reads the columns with object-wise recovery. A call that failed is no record. Answers about dates
    outside the protocol are left out here and counted by `answer_counts`.
    """
    column = "directions" if scoring == "bm1" else "directions_recovered"
    found: dict[str, Arm] = {}
    for arm in (name for name in ARMS if name in parts):
        part = counted(parts[arm], scoring)
        inside = part["place"] >= 0
        where, rep, texts = part["place"][inside], part["rep"][inside], part[column][inside]
        if len(where) == 0:
            continue
        width = int(rep.max()) + 1
        shape = (len(grid.dates), width)
        cell = where * width + rep
        bearish = np.array([text.count("-") if text else 0 for text in texts], dtype=float)
        valid = np.array([len(text) if text else 0 for text in texts], dtype=float)
        shown = _shown(where, part["shown_date"][inside], grid, protocol, arm)
        found[arm] = Arm(
            np.bincount(cell, bearish, minlength=shape[0] * width).reshape(shape).astype(float),
            np.bincount(cell, valid, minlength=shape[0] * width).reshape(shape).astype(float),
            np.bincount(cell, minlength=shape[0] * width).reshape(shape).astype(float),
            shown,
        )
    reps = {arm: int(part["rep"].max()) for arm, part in parts.items()}
    return Cells(scoring, grid, found, reps)


def _shown(where: Places, shown: NDArray[Any], grid: Grid, protocol: Protocol, arm: str) -> Places:
    """Return where each date's prompt said it was: as recorded, else as the protocol's shift says."""
    found = np.full(len(grid.dates), -1, dtype=np.intp)
    shift = {"W": protocol.shift.months, "W72": protocol.shift.alternative_months}.get(arm)
    if shift is None:
        return found
    place = {date: index for index, date in enumerate(grid.dates)}
    for date, fake in protocol.fake_dates(shift).items():
        found[place[date]] = place.get(fake, -1)
    for index, date in zip(where.tolist(), shown.tolist(), strict=True):
        if date is not None:
            found[index] = place.get(date, -1)
    return found


def valid_share(cells: Cells, protocol: Protocol, tier: Any, arms: list[str]) -> tuple[float, int]:
    """Return VALID and the cells it rests on.

    `bm1` divides by the cells that have a record. `anachron` divides by the cells asked: the tier's dates
    times the highest rep an arm has a row of, so that a call that failed counts against the model.
    """
    known = [cells.arms[arm] for arm in arms if arm in cells.arms]
    valid = sum(float(arm.valid.sum()) for arm in known)
    if cells.scoring == "bm1":
        number = int(sum(arm.cells.sum() for arm in known))
    else:
        number = len(protocol.tier_dates(tier)) * sum(cells.asked_reps.get(arm, 0) for arm in arms)
    return (valid / (protocol.sketches * number) if number else float("nan")), number
