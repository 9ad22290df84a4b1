"""Pooled bearish shares and the contrasts made of them.

A share is a ratio of pooled counts, "-" sketches over all valid sketches of the dates and reps it covers, and
never a mean of dates. A contrast is a signed sum of shares: the crisis-calm gap of an arm has two, the date
trigger four. Source: HindsightBench §3.1, §3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contrast:
    """A signed sum of pooled shares over clusters that are independent of each other (decision dates).

    Attributes
    ----------
    signs
        Shape (shares,): +1 or -1.
    bearish, total
        Shape (shares, clusters): counts of "-" and of all valid sketches; zero where a cluster does not
        enter a share. A cluster may enter several shares, and is then one cluster all the same.
    """

    signs: Floats
    bearish: Floats
    total: Floats

    @property
    def shares(self) -> Floats:
        """Pooled share of each row; NaN where the row has no valid sketch."""
        return pooled_share(self.bearish.sum(axis=1), self.total.sum(axis=1))

    @property
    def value(self) -> float:
        """The signed sum of the shares (a difference of fractions); NaN when any of them is undefined."""
        return float(self.signs @ self.shares)


def pooled_share(bearish: ArrayLike, total: ArrayLike) -> Floats:
    """Return `bearish / total` elementwise, NaN where `total` is zero."""
    above, below = np.asarray(bearish, dtype=float), np.asarray(total, dtype=float)
    share = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=share, where=below > 0)
    return share


def gap(bearish: Floats, total: Floats, crisis: NDArray[np.intp], calm: NDArray[np.intp]) -> float:
    """Return the pooled bearish share over `crisis` minus that over `calm` (fraction).

    Parameters
    ----------
    bearish, total
        Shape (dates,).
    crisis, calm
        Places of the dates in either set.

    Returns
    -------
    float
        NaN when either set holds no valid sketch.
    """
    shares = pooled_share(
        np.array([bearish[crisis].sum(), bearish[calm].sum()]),
        np.array([total[crisis].sum(), total[calm].sum()]),
    )
    return float(shares[0] - shares[1])


def contrast(rows: list[tuple[float, NDArray[np.intp], Floats, Floats]], clusters: int) -> Contrast:
    """Build a contrast from rows of (sign, places of the clusters, bearish, total over these places)."""
    signs = np.array([row[0] for row in rows])
    bearish, total = np.zeros((len(rows), clusters)), np.zeros((len(rows), clusters))
    for place, (_, where, minus, everything) in enumerate(rows):
        np.add.at(bearish[place], where, minus)
        np.add.at(total[place], where, everything)
    return Contrast(signs, bearish, total)
