"""What a model is asked of a table of requests: the rows of its tier, in order, and the key of each.

Bodies are written when they are needed and not kept: a block's memory is its table and its keys.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.files import canonical_json
from anachron.llm.keys import body_text, key
from anachron.llm.providers import Provider
from anachron.llm.providers.wire_common import settings_text
from anachron.llm.records import Call

REQUEST = ("suite", "arm", "item", "rep", "system", "prompt", "shown_date", "temperature", "max_tokens")
PLACE = ["arm", "item", "rep"]

STEP = 512
"""Rows taken out of the table at a time: enough to be quick, few enough not to hold up an event loop."""

Respondent = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Ask:
    """A neutral request of one model, with its wire body and the call it makes."""

    request: dict[str, Any]
    body: dict[str, Any]
    call: Call


@dataclass(frozen=True, slots=True)
class Plan:
    """What one model is asked of one table, sorted by arm, item and rep; lists run along the rows of `table`."""

    entry: ModelEntry
    provider: Provider
    respondent: Respondent
    table: pd.DataFrame
    keys: list[str]
    sampling: list[str]


def nothing_more(request: Mapping[str, Any]) -> str:
    """Say that a respondent's answer depends on nothing but the request."""
    return ""


def plan(
    entry: ModelEntry,
    provider: Provider,
    suite: str,
    requests: pd.DataFrame,
    respondent: Respondent = nothing_more,
) -> Plan:
    """Return what a model is asked of a table of requests.

    Parameters
    ----------
    entry, provider
        The model and its provider. Its tier chooses the rows; its temperature and token cap replace theirs.
    suite
        The suite that every row must belong to.
    requests
        `frames.Requests`.
    respondent
        Names whatever else an answer depends on; see `collect.collect`.

    Raises
    ------
    CollectError
        When a column or value is missing, a row belongs to another suite, or two rows ask for one (arm, item,
        rep).
    """
    missing = [name for name in (*REQUEST, "tiers") if name not in requests.columns]
    if missing:
        raise CollectError(f"model {entry.name!r}, suite {suite}: the requests have no column {missing[0]!r}")
    for name in REQUEST:
        if name != "shown_date" and requests[name].isna().any():
            row = requests[requests[name].isna()].iloc[0]
            raise CollectError(f"{_where(entry, row)}: the request has no {name}; build the requests again")
    strangers = requests[requests["suite"] != suite]
    if len(strangers):
        row = strangers.iloc[0]
        raise CollectError(
            f"{_where(entry, row)}: a request of suite {row['suite']!r} stands among those of {suite!r}"
        )
    mine = [entry.tier in tiers.split(",") for tiers in requests["tiers"].tolist()]
    table = requests.loc[mine, list(REQUEST)].sort_values(PLACE, kind="stable", ignore_index=True)
    made = Plan(entry, provider, respondent, table, [], [])
    for ask in each(made, range(len(table))):
        made.keys.append(ask.call.key)
        made.sampling.append(
            sys.intern(_sampled(made, ask))
        )  # few differ, and hundreds of thousands are kept
    twice = table.duplicated(PLACE, keep=False)
    if twice.any():
        first, second = table.index[twice][:2]
        same = "the same" if made.keys[first] == made.keys[second] else "conflicting"
        raise CollectError(
            f"{_where(entry, table.iloc[first])}: requested twice, with {same} prompts or settings; "
            "build the requests again"
        )
    return made


def each(made: Plan, positions: Sequence[int]) -> Iterator[Ask]:
    """Write the requests at `positions` of a plan, one after the other."""
    for start in range(0, len(positions), STEP):
        part = made.table.iloc[list(positions[start : start + STEP])]
        columns = [part[name].astype(object).where(part[name].notna(), None).tolist() for name in REQUEST]
        for values in zip(*columns, strict=True):
            yield _ask(made, dict(zip(REQUEST, values, strict=True)))


def _ask(made: Plan, request: dict[str, Any]) -> Ask:
    entry, provider, suite, arm = made.entry, made.provider, request["suite"], request["arm"]
    request["model"] = entry.model_id or entry.name
    request["respondent"] = made.respondent(request)
    request["temperature"] = float(entry.temperature.get(suite, request["temperature"]))
    if request["max_tokens"] > 0:  # a cap of 0 asks for no answer, whatever caps the entry names
        request["max_tokens"] = int(entry.cap(suite, arm, request["max_tokens"]))
    body = provider.body(request, entry)
    item, rep = request["item"], request["rep"]
    text = body_text(body, f"model {entry.name!r}, arm {arm}, item {item}")
    request["key"] = key(provider.kind, entry.base_url, text, rep)
    return Ask(request, body, Call(request["key"], suite, arm, item, rep, text))


def _where(entry: ModelEntry, row: pd.Series) -> str:
    return f"model {entry.name!r}, arm {row['arm']}, item {row['item']}, rep {row['rep']}"


def _sampled(made: Plan, ask: Ask) -> str:
    """Return the sampling settings as they are sent: a locked temperature is not among them, tools are off."""
    if made.provider.wire is not None:
        return settings_text(ask.body)
    return _sampling(ask.request["temperature"], ask.request["max_tokens"])


@lru_cache(maxsize=64)
def _sampling(temperature: float, max_tokens: int) -> str:
    return canonical_json({"max_tokens": max_tokens, "temperature": temperature})
