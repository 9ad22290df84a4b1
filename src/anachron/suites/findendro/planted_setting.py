"""What a planted respondent does with every fact, in expectation and drawn: arrays in the order of `cells.Grid`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.suites.findendro.cells import Arm, Bools, Grid, Ints, grid_of
from anachron.suites.findendro.layout import in_order, layout
from anachron.suites.findendro.planted import Memory
from anachron.suites.findendro.planted_parameters import Parameters, at
from anachron.suites.findendro.protocol import Protocol, Tier
from anachron.suites.findendro.protocol_parts import OUTCOMES, PROMPTS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The facts a respondent is asked about, shape (facts,) each.

    Attributes
    ----------
    grid
        The facts.
    count, near
        How many candidates each has; place of the persistence candidate, −1 for none.
    first
        Per arm, the candidate of the first option, and whether that option claims to know (arm value: false).
    place
        Per arm, the place of the option of each (candidate, claim), shape (facts, 4, 2); −1 where there is none.
    """

    grid: Grid
    count: Ints
    near: Ints
    first: dict[str, tuple[Ints, Bools]]
    place: dict[str, Ints]


def setting(protocol: Protocol, memory: Memory, tier: Tier = "full", *, listed: bool = True) -> Setting:
    """Return the facts of a tier, and how their options lie: as prompts list them, or in order."""
    rows = [(item, item[:7], item[8:], *fact, None) for item, fact in memory.items()]
    names = ["item", "month", "name", "family", "count", "truth", "nearest", "missing"]
    frame = pd.DataFrame(rows, columns=names)
    grid = grid_of(frame, protocol, tier)
    count, near = (np.array([memory[item][part] for item in grid.items]) for part in (1, 3))
    first: dict[str, tuple[Ints, Bools]] = {}
    place: dict[str, Ints] = {}
    for arm in PROMPTS:
        options = [
            layout(protocol.seed, item, arm, int(number)) if listed else tuple(in_order(arm, int(number)))
            for item, number in zip(grid.items, count, strict=True)
        ]
        first[arm] = (
            np.array([one[0][0] for one in options]),
            np.array([bool(one[0][1]) for one in options]),
        )
        table = np.full((len(options), 4, 2), -1)
        for fact, one in enumerate(options):
            for number, (candidate, claim) in enumerate(one):
                table[fact, candidate, int(bool(claim))] = number
        place[arm] = table
    return Setting(grid, count, near, first, place)


@dataclass(frozen=True)
class Behaviour:
    """A respondent's chances by fact, shape (facts,) each, apart from position bias and form.

    Attributes
    ----------
    knows
        Of knowing the fact.
    guess
        Of each candidate when guessing, shape (facts, 4).
    claims
        Per arm, of a claim for a known and for an unknown fact.
    forgets
        Per arm, of answering a known fact like an unknown one.
    """

    knows: Floats
    guess: Floats
    claims: dict[str, tuple[Floats, Floats]]
    forgets: dict[str, float]


def behaviour(who: Parameters, here: Setting) -> Behaviour:
    """Return a respondent's chances (see `Behaviour`)."""
    grid, months = here.grid, [item[:7] for item in here.grid.items]
    shares = {month: month for month in months}
    knows, known, unknown = (
        np.array([{month: at(table, month) for month in shares}[month] for month in months])
        for table in (who.knowledge, who.claims_known, who.claims_unknown)
    )
    policy = grid.klass >= 2
    uniform = (np.arange(4)[None, :] < here.count[:, None]) / here.count[:, None]
    persistent = np.where(here.near[:, None] >= 0, np.arange(4)[None, :] == here.near[:, None], uniform)
    unchanged = np.broadcast_to(np.arange(4) == OUTCOMES.index("unchanged"), uniform.shape)
    ways = {"uniform": uniform, "persistence": persistent, "unchanged": unchanged.astype(float)}
    guess = np.where(policy[:, None], ways[who.policy_guess], ways[who.numeric_guess])
    nothing = np.zeros(len(grid))
    kept = {"value": 0.0, "recall": 1.0, "predict": who.predict_claims}
    kept["dated"] = who.predict_claims * (1 - who.date_obedience)
    return Behaviour(
        knows,
        guess,
        {
            arm: (known * share, unknown * share) if share else (nothing, nothing)
            for arm, share in kept.items()
        },
        {arm: who.date_forgets if arm == "dated" else 0.0 for arm in PROMPTS},
    )


def drawn(who: Parameters, here: Setting, acts: Behaviour, generator: np.random.Generator) -> dict[str, Arm]:
    """Return the answers of one respondent drawn anew, as `cells.arms_of` gives them."""
    grid, size = here.grid, len(here.grid)
    known = generator.random(size) < acts.knows
    claim, kept, dropped = (generator.random(size) for _ in range(3))
    asked = np.ones(size, dtype=bool)
    share = np.where(known, acts.claims["recall"][0], acts.claims["recall"][1])
    says = {"recall": claim < share}
    says["predict"] = says["recall"] & (kept < who.predict_claims)
    says["dated"] = says["predict"] & (dropped >= who.date_obedience)
    cumulated = np.cumsum(acts.guess, axis=1)
    found: dict[str, Arm] = {}
    for arm in PROMPTS:
        guess = (generator.random(size)[:, None] >= cumulated[:, :3]).sum(axis=1)
        remembered = known & (generator.random(size) >= acts.forgets[arm])
        candidate = np.where(remembered, grid.truth, guess)
        claims = says.get(arm, np.zeros(size, dtype=bool))
        biased = generator.random(size) < who.position_bias
        candidate = np.where(biased, here.first[arm][0], candidate)
        claims = np.where(biased, here.first[arm][1], claims)
        read = generator.random(size) >= who.form.unread
        letter = np.where(read, here.place[arm][np.arange(size), candidate, claims.astype(int)], -1)
        told = read & (arm != "value")
        found[arm] = Arm(
            asked,
            read & (candidate == grid.truth),
            told & claims,
            told & ~claims,
            letter,
            4 if arm == "value" else 8,
        )
    return found
