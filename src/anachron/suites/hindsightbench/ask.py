"""Requests of the arms R, D, M, W, W72 and of the probes LAP and REC, from the panel and the protocol.

Requests do not depend on the model: a row says which tiers ask it. Source: HindsightBench §3.1, §3.2; the
suite's specification, "Arms".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from anachron.errors import ContractError
from anachron.suites.asking import Request, known_arm, table
from anachron.suites.hindsightbench import masking, prompts
from anachron.suites.hindsightbench.prompts import Fill, Node, Observation, Piece
from anachron.suites.hindsightbench.protocol import ALL_ARMS, TIERS, Protocol

FIRST_REP = {"LAP": 0}
"""Number of an arm's first rep where it is not 1: published records count recall samples from 0."""


SMOKE_ARMS = ("R", "D", "M", "W")


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    """Return arm and item of the requests to read before a run: two dates in four arms, and three probes.

    A crisis date and a calm date; the outcome of that crisis and of the last date, and the recovery of the calm
    date.
    """
    crisis, calm = protocol.crisis_dates[0], protocol.calm_dates[0]
    arms = [(arm, date) for date in (crisis, calm) for arm in SMOKE_ARMS]
    return [*arms, ("LAP", crisis), ("LAP", protocol.decision_dates[-1]), ("REC", calm)]


def build(protocol: Protocol, panel: pd.DataFrame, arm: str, items: Sequence[str]) -> pd.DataFrame:
    """Return the requests of one arm.

    Parameters
    ----------
    protocol
        The protocol.
    panel
        A frame that fulfils `frames.Panel` and holds every item; other dates are ignored.
    arm
        R, D, M, W, W72, LAP or REC.
    items
        Decision dates (``YYYY-MM-DD``), in any order. W72 asks only those of the pre cohort.

    Returns
    -------
    DataFrame
        Fulfils `frames.Requests`, sorted by item and rep. A (date, rep) that no tier asks has no row.

    Raises
    ------
    ContractError
        An item is no decision date; the panel lacks it or one of its series, shows it data from after the
        date, or has another unit than the protocol; or a prompt would show what its arm hides.
    """
    known_arm(arm, ALL_ARMS)
    known = set(protocol.decision_dates)
    for item in items:
        if item not in known:
            raise ContractError(
                f"item {item}, arm {arm}: not a decision date of protocol {protocol.name} "
                f"({protocol.decision_dates[0]}..{protocol.decision_dates[-1]})"
            )
    wanted = sorted(set(items))
    if arm == "W72":
        pre = set(protocol.pre_dates)
        wanted = [item for item in wanted if item in pre]
    nodes = _nodes(protocol, panel, wanted, arm)
    fakes = _fakes(protocol, arm)
    tier_reps = {tier: (set(protocol.tier_dates(tier, arm)), protocol.arms[arm].reps[tier]) for tier in TIERS}  # type: ignore[index]
    rule = protocol.arms[arm]  # type: ignore[index]
    fill = prompts.filler(protocol)
    own_numbers = _own_numbers(protocol)
    rows: list[Request] = []
    for node in nodes:
        shown = None if arm in ("M", "REC") else fakes.get(node.date, node.date)
        system, pieces = _request(protocol, fill, node, arm, shown)
        if arm in masking.MASKED_ARMS:
            masking.check(pieces, system, node, arm, shown, own_numbers)
        prompt = prompts.rendered(pieces)
        for place in range(max(rule.reps.values())):
            tiers = [tier for tier, (dates, reps) in tier_reps.items() if node.date in dates and place < reps]
            if tiers:
                rep = place + FIRST_REP.get(arm, 1)
                rows.append((node.date, rep, system, prompt, shown, tiers))
    return table(protocol.suite, arm, rule.temperature, rule.max_tokens, rows)


def _request(
    protocol: Protocol, fill: Fill, node: Node, arm: str, shown: str | None
) -> tuple[str, list[Piece]]:
    """Return the system prompt and the prompt of one item."""
    task = protocol.task
    if arm == "LAP":
        system, pieces = task.lap_system, prompts.lap_prompt(protocol, fill, node)
    elif arm == "REC":
        system, pieces = task.rec_system, prompts.rec_prompt(protocol, fill, node)
    else:
        system, pieces = task.system, prompts.arm_prompt(protocol, fill, node, shown, revealed=arm == "R")
    return prompts.rendered(fill(system, {})), pieces


def _own_numbers(protocol: Protocol) -> frozenset[str]:
    """Return the whole numbers that the task names on every date (see `masking.find_outcome`)."""
    named = re.findall(r"\d+", protocol.target.name)
    counts = (protocol.sketches, protocol.target.realised.sessions, *protocol.horizons)
    return frozenset([*named, *map(str, counts)])


def _fakes(protocol: Protocol, arm: str) -> dict[str, str]:
    """Return the false date of every decision date for the arms that state one, else nothing."""
    if arm not in ("W", "W72"):
        return {}
    key = "months" if arm == "W" else "alternative_months"
    fakes = protocol.fake_dates(getattr(protocol.shift, key))
    true = next((date for date, fake in fakes.items() if date == fake), None)
    if true is not None:
        raise ContractError(
            f"item {true}, arm {arm}: its false date is the true one; change `shift.{key}` so that it is no "
            f"multiple of the {len(protocol.pre_dates)} pre dates"
        )
    return fakes


def _nodes(protocol: Protocol, panel: pd.DataFrame, items: Sequence[str], arm: str) -> list[Node]:
    """Return the panel's rows of `items` as nodes, series in catalog order, after checking them."""
    found: dict[str, dict[str, Any]] = {}
    for row in panel[panel["decision_date"].isin(set(items))].itertuples(index=False):
        found.setdefault(str(row.decision_date), {})[str(row.series)] = row
    nodes = []
    for item in items:
        here = f"item {item}, arm {arm}"
        if item not in found:
            raise ContractError(f"{here}: the panel has no such decision date; rebuild the panel")
        observations = []
        for entry in protocol.series:
            seen = found[item].get(entry.id)
            if seen is None:
                raise ContractError(f"{here}: the panel lacks series {entry.id}; rebuild the panel")
            _check_row(seen, entry.unit, f"{here}: series {entry.id}")
            observations.append(Observation(entry, seen.reference_period, seen.value, seen.latest_value))
        first = found[item][protocol.series[0].id]
        if first.lap_end <= item:
            raise ContractError(f"{here}: `lap_end` {first.lap_end} is not after the date; rebuild the panel")
        up = None if pd.isna(first.base_rate_up) else float(first.base_rate_up)
        nodes.append(Node(item, first.lap_end, tuple(observations), up, int(first.base_rate_n)))
    return nodes


def _check_row(row: Any, unit: str, here: str) -> None:
    """Refuse data from after the date, values that are no numbers, and a unit that could mark a period."""
    if max(row.published, row.reference_period) > row.decision_date:
        raise ContractError(
            f"{here}: period {row.reference_period}, published {row.published}, was not known on the date; "
            "mend the source and rebuild the panel"
        )
    for column in ("value", "latest_value"):
        if not math.isfinite(getattr(row, column)):
            raise ContractError(f"{here}: `{column}` is {getattr(row, column)}, not a finite number")
    if row.unit != unit:
        raise ContractError(
            f"{here}: the panel's unit is {row.unit!r}, the protocol's {unit!r}; they must be the same on "
            "every date, or the unit marks a period"
        )
