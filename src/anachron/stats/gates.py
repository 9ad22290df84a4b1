"""Agreement beyond chance, for gates that ask whether a probe measures recall or guessing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def agreement_table(answer: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the 2 x 2 counts of answers (+1, -1 down the rows) against the truth (+1, -1 across)."""
    answer, truth = np.asarray(answer), np.asarray(truth)
    return np.array(
        [[int(((answer == row) & (truth == column)).sum()) for column in (1, -1)] for row in (1, -1)]
    )


def cohens_kappa(table: NDArray[np.int64]) -> float:
    """Return Cohen's kappa of a 2 x 2 table; NaN when chance alone would agree everywhere or it is empty.

    Source: Cohen (1960), Educational and Psychological Measurement 20:37.
    """
    whole = float(table.sum())
    if whole == 0:
        return math.nan
    observed = float(np.trace(table)) / whole
    chance = float(table.sum(axis=1) @ table.sum(axis=0)) / whole**2
    return math.nan if chance == 1 else (observed - chance) / (1 - chance)


def fisher_p(table: NDArray[np.int64]) -> float:
    """Return the two-sided p of Fisher's exact test: the chance of all tables, margins fixed, no likelier.

    NaN for an empty table. The relative tolerance for ties, 1e-7, is that of the usual software.
    """
    (a, b), (c, d) = table.tolist()
    up, down, first = a + b, c + d, a + c
    if up + down == 0:
        return math.nan
    whole = math.comb(up + down, first)
    chances = [
        math.comb(up, cell) * math.comb(down, first - cell) / whole
        for cell in range(max(0, first - down), min(up, first) + 1)
    ]
    here = math.comb(up, a) * math.comb(down, first - a) / whole
    return min(1.0, sum(chance for chance in chances if chance <= here * (1 + 1e-7)))
