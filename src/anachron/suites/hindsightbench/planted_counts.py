"""Counts of many planted respondents at once, drawn straight from the parameters, without any text.

A replicate is another member of the population a respondent belongs to: its departures per date, the months
it knows, the form of its answers and every draw are new. That is the population intervals speak about; the
dates, their regimes and the realised directions stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anachron.suites.hindsightbench.planted import Parameters, bearish_share
from anachron.suites.hindsightbench.planted_chances import Scoring, slot_distribution
from anachron.suites.hindsightbench.planted_truth import stated_date
from anachron.suites.hindsightbench.protocol import Protocol, Tier

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Replicates:
    """Pooled counts per replicate and decision date, each of shape (replicates, dates).

    Attributes
    ----------
    dates
        The decision dates of the columns.
    bearish, total
        Per arm: "-" sketches, and all valid ones, over the date's reps.
    up, down
        Recall answers of either direction.
    asked
        Recall answers per date.
    """

    dates: tuple[str, ...]
    bearish: dict[str, Counts]
    total: dict[str, Counts]
    up: Counts
    down: Counts
    asked: int


def simulate(
    parameters: Parameters,
    protocol: Protocol,
    world: Mapping[str, int],
    replicates: int,
    seed: int,
    arms: Sequence[str] = ("R", "D", "M", "W"),
    tier: Tier = "full",
    scoring: Scoring = "anachron",
) -> Replicates:
    """Draw replicates of a respondent; the same arguments give the same counts (PCG64 from `seed`).

    Parameters
    ----------
    parameters, protocol, world
        The respondent (its own seed is not used), its task, and realised directions per decision date.
    replicates
        How many.
    arms
        Arms to draw, of R, D, M, W, W72.
    tier
        The protocol tier whose dates and reps are asked.
    scoring
        Which answers a parser reads (see `planted_truth.slot_distribution`).
    """
    generator = np.random.default_rng(seed)
    dates = protocol.tier_dates(tier)
    place = {month: number for number, month in enumerate(protocol.months)}
    shape = (replicates, len(place))
    part, recall = parameters.bearish, parameters.recall
    context = part.context_spread * generator.uniform(-1, 1, shape)
    told = part.date_spread * generator.uniform(-1, 1, shape)
    middle, width = np.array([recall.claim_at(month) for month in place]).T
    claim = middle + width * generator.uniform(-1, 1, shape)
    slots = slot_distribution(parameters, protocol, scoring)
    bearish: dict[str, Counts] = {}
    total: dict[str, Counts] = {}
    for arm in arms:
        here = dates if arm != "W72" else [date for date in dates if date in set(protocol.pre_dates)]
        share = np.zeros((replicates, len(dates)))
        for column, date in enumerate(here):
            stated, month = stated_date(protocol, arm, date), place[date[:7]]
            realised = world.get(date, 0)
            none = bearish_share(parameters, protocol, arm, date, stated, 0.0, realised)
            full = bearish_share(parameters, protocol, arm, date, stated, 1.0, realised)
            share[:, column] = none + (full - none) * claim[:, month] + context[:, month]
            if stated is not None:
                share[:, column] += told[:, place[stated[:7]]]
        reps = protocol.arms[arm].reps[tier]  # type: ignore[index]
        reached = generator.choice(len(slots), size=(replicates, len(here), reps), p=slots).sum(axis=2)
        valid = np.zeros((replicates, len(dates)), dtype=np.int64)
        valid[:, : len(here)] = generator.binomial(reached, parameters.form.compliance)
        total[arm] = valid
        bearish[arm] = generator.binomial(valid, np.clip(share, 0, 1))
    columns = [place[date[:7]] for date in dates]
    asked = protocol.arms["LAP"].reps[tier]
    claims = generator.binomial(asked, claim[:, columns] * (1 - parameters.form.lap_invalid))
    realised_up = np.array([world.get(date, 0) for date in dates])
    familiar = np.array([recall.familiar(date) for date in dates]) & (realised_up != 0)
    known = (generator.random((replicates, len(dates))) < recall.knows) & familiar
    right = np.where(realised_up > 0, recall.accuracy, 1 - recall.accuracy)
    up = generator.binomial(claims, np.where(known, right, recall.guess_up))
    return Replicates(tuple(dates), bearish, total, up, claims - up, asked)
