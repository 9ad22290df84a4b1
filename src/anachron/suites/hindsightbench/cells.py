"""From answers to counts: for each arm, bearish and valid sketches by decision date and rep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.stats.gaps import Floats
from anachron.suites.hindsightbench.protocol import ARMS, Protocol

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
    arms: dict[str, Arm] = field(default_factory=dict)

    def has(self, arm: str, where: Places) -> bool:
        """Whether an arm has a record on any of the dates."""
        return arm in self.arms and bool(self.arms[arm].cells[where].sum())


def count_cells(answers: pd.DataFrame, grid: Grid, protocol: Protocol, scoring: Scoring) -> Cells:
    """Count the arms' sketches.

    `bm1` reads every record of the published parser's columns; `anachron` counts each (date, rep) once and
    reads the columns with object-wise recovery. A call that failed is no record. Answers about dates
    outside the protocol are left out here and counted by `estimate`.
    """
    place = {date: index for index, date in enumerate(grid.dates)}
    column = "directions" if scoring == "bm1" else "directions_recovered"
    found: dict[str, Arm] = {}
    for arm in ARMS:
        part = answers[(answers["arm"] == arm) & (answers["outcome"] != "error")]
        if scoring == "anachron":
            part = part[part["duplicate"] == 0]
        if len(part) == 0:
            continue
        where = np.array([place.get(item, -1) for item in part["item"].tolist()], dtype=np.intp)
        inside = where >= 0
        texts = [text if isinstance(text, str) else "" for text in part[column].tolist()]
        rep = part["rep"].to_numpy(dtype=np.intp)
        shape = (len(grid.dates), int(rep.max(initial=0)) + 1)
        counts = np.zeros((3, *shape))
        bearish = np.array([text.count("-") for text in texts], dtype=float)
        valid = np.array([len(text) for text in texts], dtype=float)
        for layer, values in enumerate((bearish, valid, np.ones(len(part)))):
            np.add.at(counts[layer], (where[inside], rep[inside]), values[inside])
        found[arm] = Arm(counts[0], counts[1], counts[2], _shown(part, where, place, protocol, arm))
    return Cells(scoring, grid, found)


def _shown(part: pd.DataFrame, where: Places, place: dict[str, int], protocol: Protocol, arm: str) -> Places:
    """Return where each date's prompt said it was: as recorded, else as the protocol's shift says."""
    shown = np.full(len(place), -1, dtype=np.intp)
    shift = {"W": protocol.shift.months, "W72": protocol.shift.alternative_months}.get(arm)
    if shift is None:
        return shown
    for date, fake in protocol.fake_dates(shift).items():
        shown[place[date]] = place.get(fake, -1)
    for index, date in zip(where.tolist(), part["shown_date"].tolist(), strict=True):
        if index >= 0 and isinstance(date, str):
            shown[index] = place.get(date, -1)
    return shown


def valid_share(cells: Cells, protocol: Protocol, tier: Any, arms: list[str]) -> tuple[float, int]:
    """Return VALID and the cells it rests on.

    `bm1` divides by the cells that have a record. `anachron` divides by the cells asked: the tier's dates
    times the highest rep an arm has a record of, so that a call that failed counts against the model.
    """
    known = [cells.arms[arm] for arm in arms if arm in cells.arms]
    valid = sum(float(arm.valid.sum()) for arm in known)
    if cells.scoring == "bm1":
        number = int(sum(arm.cells.sum() for arm in known))
    else:
        number = len(protocol.tier_dates(tier)) * sum(max(arm.reps, default=0) for arm in known)
    return (valid / (protocol.sketches * number) if number else float("nan")), number
