"""Sums over resampled facts: one matrix of weights, the same for every model, and products with it.

Each draw takes as many facts as there are, with replacement. A share of a draw is a ratio of two weighted
counts, so a matrix product gives all draws of many shares at once. Row 0 is no draw but the sample itself
(every weight 1): estimate and draws go through the same formulas.

Source: FinDendro §3.4; the suite's specification, "Measures".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from anachron.estimates import Interval
from anachron.stats.bootstrap import date_weights, percentile_interval
from anachron.suites.findendro.protocol_parts import Bootstrap

Floats = NDArray[np.float64]

METHOD = "percentile bootstrap of facts"
MONTH_METHOD = "percentile bootstrap of facts, quarters"


@lru_cache(maxsize=4)
def weights(facts: int, draws: int, seed: int) -> NDArray[np.float32]:
    """Return the weights of the sample (row 0) and of the draws, shape (draws + 1, facts); read-only.

    Whole numbers in single precision: sums of up to 2**24 are exact, in whatever order they are added.
    """
    drawn = date_weights((facts,), draws, seed)
    whole = np.ones((draws + 1, facts), dtype=np.float32)
    whole[1:] = drawn
    whole.flags.writeable = False
    return whole


@dataclass(frozen=True)
class Draws:
    """The weights of one set of facts, and how intervals are read off."""

    facts: int
    rule: Bootstrap

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """The weights; see `weights`."""
        return weights(self.facts, self.rule.draws, self.rule.seed)

    def sums(self, columns: NDArray[np.bool_]) -> Floats:
        """Return the weighted counts of some sets of facts, shape (draws + 1, sets).

        Parameters
        ----------
        columns
            Shape (facts, sets): whether a fact is in a set.
        """
        return product(self.matrix, columns.astype(np.float32))

    def by_cell(self, inside: NDArray[np.bool_], cell: NDArray[np.intp], cells: int) -> Floats:
        """Return the weighted counts of one set of facts by cell, shape (draws + 1, cells).

        Parameters
        ----------
        inside
            Shape (facts,): whether a fact is in the set.
        cell
            Shape (facts,), ascending: which cell a fact belongs to.
        """
        places = np.flatnonzero(inside)
        found = np.zeros((len(self.matrix), cells))
        if len(places):
            here = cell[places]
            starts = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
            found[:, here[starts]] = np.add.reduceat(self.matrix[:, places], starts, axis=1)
        return found

    def interval(self, values: Floats) -> Interval | None:
        """Return the percentile interval of values, row 0 left out; None where too few draws are defined."""
        found = percentile_interval(values[1:], self.rule.level, self.rule.min_valid_share)
        if found is None:
            return None
        low, high, valid = found
        return Interval(low, high, METHOD, self.rule.level, self.rule.draws, valid, self.rule.seed)

    def whole_interval(self, values: Floats) -> tuple[int, int, int] | None:
        """Return the interval of whole numbers (quarters), each end one that occurred, and how many were defined."""
        defined = np.sort(values[1:][~np.isnan(values[1:])])
        if len(defined) == 0 or len(defined) < self.rule.min_valid_share * self.rule.draws:
            return None
        tail = (1 - self.rule.level) / 2
        low = int(np.ceil(tail * len(defined))) - 1
        high = int(np.ceil((1 - tail) * len(defined))) - 1
        return int(defined[max(low, 0)]), int(defined[high]), len(defined)


PIECE = 250_000
"""Multiplications that a linear-algebra library still does without starting threads."""
COLUMNS = 16


def product(tall: NDArray[np.float32], small: NDArray[np.float32]) -> Floats:
    """Return `tall @ small`, in pieces too small for threads that would wait for one another."""
    found = np.empty((len(tall), small.shape[1]))
    for left in range(0, small.shape[1], COLUMNS):
        part = np.ascontiguousarray(small[:, left : left + COLUMNS])
        rows = max(1, PIECE // max(1, part.size))
        for top in range(0, len(tall), rows):
            found[top : top + rows, left : left + COLUMNS] = tall[top : top + rows] @ part
    return found


def ratio(above: Floats, below: Floats) -> Floats:
    """Return `above / below`, NaN where nothing stands below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)
