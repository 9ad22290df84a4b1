"""Draws that depend on names alone: the same on every machine, whatever else is drawn before or after."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import shake_256
from typing import TypeVar

T = TypeVar("T")


def words(count: int, *what: object) -> tuple[int, ...]:
    """Return `count` whole numbers below 2**64 that belong to `what`."""
    raw = shake_256("\x1f".join(map(str, what)).encode()).digest(8 * count)
    return struct.unpack(f"<{count}Q", raw)


def uniforms(count: int, *what: object) -> tuple[float, ...]:
    """Return `count` numbers in [0, 1) that belong to `what`."""
    return tuple((word >> 11) * 2.0**-53 for word in words(count, *what))


def below(bound: int, *what: object) -> int:
    """Return a whole number in 0..`bound` − 1; 64 bits make the bias of the remainder negligible."""
    return words(1, *what)[0] % bound


def first(names: Sequence[T], count: int, *what: object) -> list[T]:
    """Return `count` of `names`, drawn without replacement, in the order given.

    Each name draws a ticket of its own, so that a name added to the list displaces at most one other.
    """
    ranked = sorted(range(len(names)), key=lambda place: (words(1, *what, names[place]), place))
    return [names[place] for place in sorted(ranked[:count])]


def shuffled(count: int, *what: object) -> tuple[int, ...]:
    """Return the numbers 0..`count` − 1 in an order that belongs to `what`."""
    drawn = words(count, *what)
    return tuple(sorted(range(count), key=lambda place: (drawn[place], place)))
