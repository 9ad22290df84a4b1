"""Requests: one prompt for each series and month, pair, question or suffix.

Requests do not depend on the model. A defence goes into the system role; placing `prefix` puts it before the prompt.
Source: NumLeak §2, §5, appendix P; the suite's specification, "Items and probes".
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from anachron.blocks import in_words
from anachron.errors import ContractError
from anachron.suites.asking import Request, known_arm, table
from anachron.suites.numleak import likelihood, naming
from anachron.suites.numleak.items import memory, of_arm, reps_of, shown_month
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.protocols import TIERS


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    """Return arm and item of the requests to read before a run: an item of every arm, and a late value."""
    asked = [
        (arm, items[len(items) // 2]) for arm in protocol.known_arms() if (items := of_arm(protocol, arm))
    ]
    return [*asked, (naming.VALUE, of_arm(protocol, naming.VALUE)[-1])]


def build(protocol: Protocol, known: pd.DataFrame, arm: str, items: Sequence[str]) -> pd.DataFrame:
    """Return the requests of one arm.

    Parameters
    ----------
    protocol
        The protocol.
    known
        A frame that fulfils `items.Contract` and holds every item.
    arm
        One of the protocol's `known_arms`.
    items
        Items, in any order; those that the arm does not ask are passed over.

    Returns
    -------
    DataFrame
        Fulfils `frames.Requests`, sorted by item and rep.

    Raises
    ------
    ContractError
        An item that the arm asks is not among the items built.
    """
    known_arm(arm, protocol.known_arms())
    at_hand = set(known["item"])
    wanted = sorted(set(items) & set(of_arm(protocol, arm)))
    rows: list[Request] = []
    truth = memory(known) if arm == naming.CANDIDATES else {}
    for item in wanted:
        if item not in at_hand:
            raise ContractError(f"item {item}, arm {arm}: is not among the items; build them again")
        for rep in reps_of(protocol, arm, item):
            system, prompt = texts(protocol, arm, item, rep)
            if arm == naming.CANDIDATES:
                whole = candidate(protocol, truth, item)
                if whole is None:
                    continue
                prompt += whole
            month = shown_month(protocol, arm, item)
            dated = None if arm.startswith(naming.UTILITY) else f"{month}-01"
            rows.append((item, rep, system, prompt, dated, tiers(protocol, arm, item, rep)))
    rule = protocol.arms[arm]
    return table(protocol.suite, arm, rule.temperature, rule.max_tokens, rows)


def candidate(protocol: Protocol, truth: dict[str, float | None], item: str) -> str | None:
    """Return what follows the question of a candidate's item; None in months that lack one of the five."""
    month, kind = naming.month_of(item), naming.series_of(item).rsplit(" ", 1)[1]
    if any(likelihood.value(protocol, truth, month, one) is None for one in naming.KINDS):
        return None
    number = likelihood.value(protocol, truth, month, kind) or 0.0
    return protocol.task.candidate + likelihood.written(protocol, number)


def tiers(protocol: Protocol, arm: str, item: str, rep: int) -> list[str]:
    """Return the tiers that ask a request: `full-1rep` asks one draw, `reduced` the first months of one too."""
    found = ["full"]
    if arm == naming.SAMPLE and rep > 0:
        return found
    found.append("full-1rep")
    few = set(protocol.main_months()[:: max(1, protocol.panels.size // protocol.panels.reduced)])
    if naming.month_of(item) in few and not arm.startswith(naming.UTILITY):
        found.append("reduced")
    return [tier for tier in TIERS if tier in found]


def texts(protocol: Protocol, arm: str, item: str, rep: int) -> tuple[str, str]:
    """Return system text and prompt of one request."""
    task, system = protocol.task, protocol.task.system
    if arm.startswith(naming.UTILITY):
        group, number = naming.series_of(item).rsplit(" ", 1)
        question = getattr(protocol.utility, group)[int(number) - 1]
        return placed(protocol, protocol.defences[arm.removeprefix(naming.UTILITY)], system, question)
    pair = naming.pair_of(item)
    if pair is not None:
        wording = task.rank if arm == naming.RANK else task.rank_forced
        first, second = map(in_words, pair)
        label = protocol.entry(naming.series_of(item)).label
        return system, wording.format(label=label, first=first, second=second)
    month = in_words(shown_month(protocol, arm, item))
    if arm in (naming.SIGNAL, naming.SIGNAL_SHIFTED):
        return system, task.signal.format(month=month)
    label, unit = named(protocol, arm, naming.MARKET if arm == naming.CANDIDATES else naming.series_of(item))
    wording = {naming.DESCRIBE: task.describe, naming.REASON: task.reason}.get(arm, task.value)
    prompt = wording.format(label=label, month=month, unit=task.units[unit])
    if not arm.startswith(naming.DEFENCE):
        return system, prompt
    if rep > 0:
        prompt = f"{prompt} {protocol.suffixes[rep - 1].text}"
    return placed(protocol, protocol.defences[arm.removeprefix(naming.DEFENCE)], system, prompt)


def placed(protocol: Protocol, defence: str, system: str, prompt: str) -> tuple[str, str]:
    """Return system text and prompt with a defence where the protocol puts it."""
    if not defence:
        return system, prompt
    if protocol.placing == "system":
        return "\n\n".join(part for part in (system, defence) if part), prompt
    return system, f"{defence}\n\n{prompt}"


def named(protocol: Protocol, arm: str, series: str) -> tuple[str, str]:
    """Return how a prompt names a series, and its unit: another label, an invented factor, or its own."""
    if arm.startswith(naming.LABEL):
        label = protocol.labels[arm.removeprefix(naming.LABEL)]
        return label.label, protocol.entry(label.series).unit
    if series in protocol.fabricated:
        return series, "percent"
    entry = protocol.entry(series)
    return entry.label, entry.unit
