"""Which option of a prompt is which candidate with which claim: decided by the fact's and the prompt's names."""

from __future__ import annotations

from functools import lru_cache

from anachron.suites.findendro import chance
from anachron.suites.findendro.protocol_parts import OUTCOMES

LETTERS = "ABCDEFGH"

Option = tuple[int, bool | None]
"""A candidate's place, and whether the option claims to know it; None in the prompt without claims."""


def candidate_count(item: str, policy: str) -> int:
    """Return how many candidates an item of a fact has; `policy` is the policy fact's name."""
    return len(OUTCOMES) if item[8:] == policy else 4


def in_order(arm: str, candidates: int) -> list[Option]:
    """Return the options of a prompt by candidate, ascending, the claim to know before the denial.

    Where the likelihood of each text is asked there is no list that they stand in: an option's place here is the `rep`
    of its request.
    """
    claims: tuple[bool | None, ...] = (None,) if arm in ("value", "value-text") else (True, False)
    return [(place, claim) for place in range(candidates) for claim in claims]


@lru_cache(maxsize=65536)
def layout(seed: int, item: str, arm: str, candidates: int) -> tuple[Option, ...]:
    """Return the options of a prompt in the order they stand.

    Parameters
    ----------
    seed
        The protocol's.
    item, arm
        The fact and the prompt; each prompt of a fact has an order of its own.
    candidates
        How many candidates the fact has.
    """
    options = in_order(arm, candidates)
    return tuple(options[place] for place in chance.shuffled(len(options), seed, "order", arm, item))


def letters(count: int) -> str:
    """Return the letters of `count` options."""
    return LETTERS[:count]
