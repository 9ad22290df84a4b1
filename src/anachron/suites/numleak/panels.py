"""Months and pairs by rule: the same seed gives the same months on every machine.

Source: NumLeak appendices E and O; the published records.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache


def main_panel(pool: Sequence[str], seed: int, size: int) -> list[str]:
    """Return `size` months of a pool, drawn with a seed, sorted.

    `pool` is in calendar order; the order is part of the rule.
    """
    return list(_drawn(tuple(pool), seed, size))


@lru_cache(maxsize=256)
def _drawn(pool: tuple[str, ...], seed: int, size: int) -> tuple[str, ...]:
    return tuple(sorted(random.Random(seed).sample(pool, min(size, len(pool)))))


def seeded_panel(pool: Sequence[str], series: str, seed: int, size: int) -> list[str]:
    """Return one of the panels that are drawn for each series and seed on its own, sorted.

    The generator's seed is the first four bytes, big-endian, of SHA-1 of ``camera_ready|<series>|<seed>``.
    """
    digest = hashlib.sha1(f"camera_ready|{series}|{seed}".encode(), usedforsecurity=False).digest()
    return main_panel(pool, int.from_bytes(digest[:4], "big"), size)


def pairs(months: Sequence[str], seed: int, size: int) -> list[tuple[str, str]]:
    """Return `size` unequal pairs of a panel's months without repetition, in the order drawn.

    Which month comes first is part of the draw. Fewer where the panel has fewer pairs.
    """
    known = sorted(set(months))
    every = [(one, other) for place, one in enumerate(known) for other in known[place + 1 :]]
    chance = random.Random(seed)
    drawn = chance.sample(every, min(size, len(every)))
    return [pair if chance.random() < 0.5 else (pair[1], pair[0]) for pair in drawn]
