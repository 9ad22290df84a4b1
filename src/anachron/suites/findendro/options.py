"""Candidate values: four numbers a typical monthly change apart, or the three outcomes of a policy meeting.

All arithmetic is on whole display units (a tenth of a percent, a cent), so that every machine offers the same
candidates. Source: FinDendro §3.2, appendix A.3; the suite's specification, "Options and prompts".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import median

from anachron.suites.findendro import chance

COUNT = 4
"""Candidates of a numerical fact."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of a fact, in ascending order.

    Attributes
    ----------
    values
        In display units; for policy facts 0, 1, 2.
    truth
        Place of the truth.
    nearest
        Place of the candidate nearest the value published a month earlier; None where that value is not known
        or two candidates are equally near.
    step
        Display units between neighbours; 0 for policy facts.
    """

    values: tuple[int, ...]
    truth: int
    nearest: int | None
    step: int


def units(value: Decimal, decimals: int) -> int:
    """Return a value in whole display units, rounded half to even.

    >>> units(Decimal("3.25"), 1), units(Decimal("55.514"), 2)
    (32, 5551)
    """
    return int(value.scaleb(decimals).to_integral_value(rounding=ROUND_HALF_EVEN))


def text(value: int, decimals: int) -> str:
    """Return display units as they are printed.

    >>> text(-5, 2), text(1023, 1), text(7, 0)
    ('-0.05', '102.3', '7')
    """
    return f"{Decimal(value).scaleb(-decimals):.{decimals}f}"


@lru_cache(maxsize=64)
def nice_steps(multiples: tuple[float, ...], digits: int) -> tuple[int, ...]:
    """Return the whole numbers up to ten to the power of `digits` that are a multiple times a power of ten, ascending.

    One display unit is always among them.
    """
    largest, found, power = 10**digits, {1}, Fraction(1)
    while power * Fraction(str(min(multiples))) <= largest:
        sized = [power * Fraction(str(multiple)) for multiple in multiples]
        found |= {int(step) for step in sized if step.denominator == 1 and 1 <= step <= largest}
        power *= 10
    return tuple(sorted(found))


def nice(change: Fraction, multiples: Sequence[float]) -> int:
    """Return the nice step nearest to a change by ratio, at least one display unit.

    >>> nice(Fraction(7), (1, 2, 5)), nice(Fraction(1, 3), (1, 2, 5)), nice(Fraction(130), (1, 1.5, 2))
    (5, 1, 150)
    """
    if change <= 1:
        return 1
    steps = nice_steps(tuple(multiples), len(str(int(change))) + 1)
    place = bisect_left(steps, change)
    return min(
        steps[max(place - 1, 0) : place + 1], key=lambda step: (max(step / change, change / step), step)
    )


def typical(changes: Iterable[Fraction]) -> Fraction:
    """Return the median of absolute changes."""
    return Fraction(median([abs(change) for change in changes]))


def numeric(
    item: str,
    value: int,
    before: int | None,
    step: int,
    floor: int | None,
    multiples: Sequence[float],
    seed: int,
) -> Candidates:
    """Return the candidates of a numerical fact.

    Parameters
    ----------
    item
        Name of the fact; with `seed` it decides the rank of the truth.
    value, before
        The truth and the value published a month earlier, in display units.
    step
        Typical change, a nice number of display units.
    floor
        Lowest possible value; where three steps down from the truth lead below it, the step shrinks. It shrinks
        whatever the rank, so that a small step says nothing of the rank. Where a single unit is too much, only
        the ranks that are possible are drawn from.
    """
    most = COUNT - 1
    if floor is not None and value - most * step < floor:
        room = max(value - floor, 0)
        steps = nice_steps(tuple(multiples), len(str(step)))
        step = max([one for one in steps if one <= step and most * one <= room] or [1])
        most = min(most, room // step)
    rank = chance.below(most + 1, seed, "rank", item)
    values = tuple(value + (place - rank) * step for place in range(COUNT))
    return Candidates(values, rank, nearest(values, before), step)


def nearest(values: Sequence[int], before: int | None) -> int | None:
    """Return the place of the value nearest to `before`; None without one, or for a tie."""
    if before is None:
        return None
    apart = [abs(value - before) for value in values]
    least = min(apart)
    return apart.index(least) if apart.count(least) == 1 else None
