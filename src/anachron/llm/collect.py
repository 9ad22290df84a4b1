"""One block: every request looked up, the missing ones asked, each answer stored, all of them sealed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from anachron import frames
from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.files import canonical_json, sha256_text
from anachron.llm import providers, store
from anachron.llm.keys import body_text, key
from anachron.llm.progress import showing
from anachron.llm.providers import Provider, Reply, well_formed

REQUEST = ("suite", "arm", "item", "rep", "system", "prompt", "shown_date", "temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class Ask:
    """A neutral request of one model, with the call it makes."""

    request: dict[str, Any]
    body: dict[str, Any]
    call: store.Call


Respondent = Callable[[Mapping[str, Any]], str]


def _nothing_more(request: Mapping[str, Any]) -> str:
    return ""


def collect(
    entry: ModelEntry,
    suite: str,
    requests: pd.DataFrame,
    store_dir: Path,
    respond: Any = None,
    *,
    respondent: Respondent = _nothing_more,
    budget_usd: float = 0.0,
    progress: bool = True,
    report: store.Report = store.to_stderr,
) -> pd.DataFrame:
    """Return the sealed transcripts of one block, asking only what was never answered.

    Parameters
    ----------
    entry
        The model. Its tier chooses the rows; its temperature and token cap for the suite replace theirs.
    suite
        The suite that all of `requests` belong to.
    requests
        `frames.Requests`.
    store_dir
        Folder of the stores.
    respond
        Provider planted: ``respond(request, parameters)``, see `providers.planted`.
    respondent
        Provider planted: a function of the request that names whatever else its answer depends on (a version,
        what the respondent remembers of the item); it is part of the key.
    budget_usd
        Budget of the run in US dollars; at 0 no provider that costs is asked.
    progress
        Whether to show progress on standard error.
    report
        Takes what the user should know of the store.

    Returns
    -------
    DataFrame
        `frames.Transcripts`, sorted by arm, item and rep; the same store gives the same frame.

    Raises
    ------
    CollectError
        When asking must stop: no budget, two collectors on one store, conflicting requests, no disk space.
        Every answer received before is in the store.
    """
    provider = providers.get(entry.provider)
    asks = plan(entry, provider, suite, requests, respondent)
    if not asks:
        return frames.empty(frames.Transcripts)
    raws = _fetch(entry, provider, asks, store_dir, respond, budget_usd, progress, report)
    return _seal(entry, provider, asks, raws)


def plan(
    entry: ModelEntry,
    provider: Provider,
    suite: str,
    requests: pd.DataFrame,
    respondent: Respondent = _nothing_more,
) -> list[Ask]:
    """Return what a model is asked of a table of requests, sorted by arm, item and rep.

    Raises
    ------
    CollectError
        When a column or value is missing, a row belongs to another suite, or two rows ask for one (arm, item,
        rep).
    """
    missing = [name for name in (*REQUEST, "tiers") if name not in requests.columns]
    if missing:
        raise CollectError(f"model {entry.name!r}, suite {suite}: the requests have no column {missing[0]!r}")
    columns = [requests[name].astype(object).where(requests[name].notna(), None).tolist() for name in REQUEST]
    asks: dict[tuple[str, str, int], Ask] = {}
    for tiers, *values in zip(requests["tiers"].tolist(), *columns, strict=True):
        request = dict(zip(REQUEST, values, strict=True))
        place = (request["arm"], request["item"], request["rep"])
        where = f"model {entry.name!r}, arm {place[0]}, item {place[1]}, rep {place[2]}"
        empty = [name for name in REQUEST if request[name] is None and name != "shown_date"]
        if empty:
            raise CollectError(f"{where}: the request has no {empty[0]}; build the requests again")
        if request["suite"] != suite:
            raise CollectError(
                f"{where}: a request of suite {request['suite']!r} stands among those of {suite!r}"
            )
        if entry.tier not in tiers.split(","):
            continue
        ask = _ask(entry, provider, request, respondent)
        if place in asks:
            same = "the same" if asks[place].call.key == ask.call.key else "conflicting"
            raise CollectError(
                f"{where}: requested twice, with {same} prompts or settings; build the requests again"
            )
        asks[place] = ask
    return [asks[place] for place in sorted(asks)]


def _ask(entry: ModelEntry, provider: Provider, request: dict[str, Any], respondent: Respondent) -> Ask:
    suite = request["suite"]
    request["model"] = entry.model_id or entry.name
    request["respondent"] = respondent(request)
    request["temperature"] = float(entry.temperature.get(suite, request["temperature"]))
    request["max_tokens"] = int(entry.max_output_tokens.get(suite, request["max_tokens"]))
    body = provider.body(request, entry)
    arm, item, rep = request["arm"], request["item"], request["rep"]
    text = body_text(body, f"model {entry.name!r}, arm {arm}, item {item}")
    request["key"] = key(provider.kind, entry.endpoint, text, rep)
    return Ask(request, body, store.Call(request["key"], suite, arm, item, rep, text))


def _fetch(
    entry: ModelEntry,
    provider: Provider,
    asks: list[Ask],
    store_dir: Path,
    respond: Any,
    budget_usd: float,
    progress: bool,
    report: store.Report,
) -> dict[str, bytes]:
    """Return the raw answer of every key, asking for those that the store lacks."""
    by_key = {ask.call.key: ask for ask in asks}
    label = f"{entry.name}: {asks[0].call.suite}, {', '.join(sorted({ask.call.arm for ask in asks}))}"
    with store.open_store(store_dir, entry.slug, durable=not provider.free, report=report) as opened:
        try:
            raws = store.lookup(opened, list(by_key))
        except store.DamagedStoreError as error:
            store.mend(opened, error.damage, report)
            raws = store.lookup(opened, list(by_key))
        missing = [ask for name, ask in by_key.items() if name not in raws]
        _may_ask(entry, provider, missing, respond, budget_usd)
        with showing(label, len(by_key), len(raws), progress) as advance:
            for ask in missing:
                store.require_room(opened)
                raws[ask.call.key] = _answer(opened, provider, ask, respond)
                advance()
    return raws


def _may_ask(
    entry: ModelEntry, provider: Provider, missing: list[Ask], respond: Any, budget_usd: float
) -> None:
    if not missing:
        return
    if not provider.free and budget_usd <= 0:
        raise CollectError(
            f"model {entry.name!r}: {len(missing):,} requests to provider {provider.kind} are not in the "
            "store and would cost money, and `budget_usd` is 0; set `budget_usd` in config/config.yaml to "
            "what the run may spend"
        )
    if provider.kind == "planted" and respond is None:
        raise CollectError(
            f"model {entry.name!r}: provider planted needs a respondent, and none was handed in"
        )


def _answer(opened: store.Store, provider: Provider, ask: Ask, respond: Any) -> bytes:
    started, clock = time.time(), time.monotonic()
    raw = provider.ask(ask.request, ask.body, respond)
    latency_s = time.monotonic() - clock
    reply: Reply | None = None
    # The answer is paid for: a fault of the reader may stop the run at sealing, but not the storing.
    with suppress(Exception):
        reply = provider.read(raw)
    store.put(
        opened,
        ask.call,
        raw,
        reply,
        providers.outcome(reply),
        started=started,
        latency_s=latency_s,
        cost_usd=0.0 if provider.free else None,
    )
    return raw


def _seal(entry: ModelEntry, provider: Provider, asks: list[Ask], raws: Mapping[str, bytes]) -> pd.DataFrame:
    rows = [_transcript(entry, provider, ask, provider.read(raws[ask.call.key])) for ask in asks]
    where = f"transcripts of model {entry.name!r}"
    return frames.check(pd.DataFrame(rows), frames.Transcripts, where)


def _transcript(entry: ModelEntry, provider: Provider, ask: Ask, reply: Reply | None) -> dict[str, Any]:
    request, said = ask.request, reply or Reply()
    return {
        "model": entry.name,
        "suite": request["suite"],
        "arm": request["arm"],
        "item": request["item"],
        "rep": request["rep"],
        "duplicate": 0,
        "key": ask.call.key,
        "outcome": providers.outcome(reply),
        "text": well_formed(said.text),
        "reasoning": well_formed(said.reasoning),
        "finish_reason": well_formed(said.finish_reason),
        "shown_date": request["shown_date"],
        "input_tokens": said.input_tokens,
        "cached_tokens": said.cached_tokens,
        "output_tokens": said.output_tokens,
        "reasoning_tokens": said.reasoning_tokens,
        "served_model": well_formed(said.served_model),
        "fingerprint": well_formed(said.fingerprint),
        "upstream": well_formed(said.upstream),
        "request_id": well_formed(said.request_id),
        "sampling": _sampling(request["temperature"], request["max_tokens"]),
        "prompt_sha256": sha256_text(request["prompt"]),
        "recorded": None,
        "provenance": provider.provenance,
    }


@lru_cache(maxsize=64)
def _sampling(temperature: float, max_tokens: int) -> str:
    return canonical_json({"max_tokens": max_tokens, "temperature": temperature})
