"""One block: every request looked up, the missing ones asked, each answer stored, all of them sealed."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from anachron import frames
from anachron.config import ModelEntry
from anachron.errors import CollectError
from anachron.files import sha256_text
from anachron.llm import answers, providers, records, store
from anachron.llm.plan import Ask, Plan, Respondent, each, nothing_more, plan
from anachron.llm.progress import Tally, showing
from anachron.llm.providers import Provider, Reply, well_formed

if TYPE_CHECKING:
    from anachron.llm.budget import Price
    from anachron.llm.patience import Patience

MENDS = 3
"""How often a store whose damage shows only on reading is mended before that is an error."""

SEALED_AT_ONCE = 5_000
"""Answers that are Python objects at a time while a block is sealed."""

SAID = (
    "text",
    "reasoning",
    "finish_reason",
    "served_model",
    "fingerprint",
    "upstream",
    "request_id",
    "logprobs",
)
COUNTED = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")

_FIELDS = attrgetter(*SAID, *COUNTED)
_NOTHING = Reply()


def collect(
    entry: ModelEntry,
    suite: str,
    requests: pd.DataFrame,
    store_dir: Path,
    respond: Any = None,
    *,
    respondent: Respondent = nothing_more,
    budget_usd: float = 0.0,
    price: Price | None = None,
    unknown_prices: Literal["refuse", "allow"] = "refuse",
    patience: Patience | None = None,
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
        What all stores in `store_dir` may have cost together, in US dollars; at 0 only what certainly costs
        nothing is asked.
    price
        What calls of the model cost; None when unknown.
    unknown_prices
        Whether requests whose price is unknown may be sent; they need a budget all the same.
    patience
        How failures over HTTP are waited out.
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
        When asking must stop: no budget, no key, two collectors on one store, conflicting requests, no disk
        space, a provider that refuses. Every answer received before is in the store.
    """
    provider = providers.get(entry.provider)
    made = plan(entry, provider, suite, requests, respondent)
    if not made.keys:
        return frames.empty(frames.Transcripts)
    with store.open_store(store_dir, entry.slug, durable=not provider.free, report=report) as opened:
        for mended in range(MENDS + 1):
            try:
                there = answers.present(opened, made.keys)
                missing = [place for place, key in enumerate(made.keys) if key not in there]
                _may_ask(made, missing, respond, budget_usd, price, unknown_prices)
                _ask(opened, made, suite, missing, respond, budget_usd, price, patience, progress)
                return _seal(made, answers.in_order(opened, made.keys))
            except store.DamagedStoreError as error:
                if mended == MENDS:
                    raise
                store.mend(opened, error.damage, report)
    raise AssertionError("the loop returns or raises")


def _may_ask(
    made: Plan,
    missing: list[int],
    respond: Any,
    budget_usd: float,
    price: Price | None,
    unknown_prices: str,
) -> None:
    """Raise `CollectError` when the missing requests may not be sent, before the first of them is."""
    if not missing:
        return
    name, provider = made.entry.name, made.provider
    if provider.kind == "planted" and respond is None:
        raise CollectError(f"model {name!r}: provider planted needs a respondent, and none was handed in")
    if provider.free:
        return
    worst = [price.worst(ask.request) if price else None for ask in each(made, missing)]
    known = [most for most in worst if most is not None]
    unknown = len(worst) - len(known)
    if budget_usd <= 0 and (unknown or sum(known) > 0):
        cost = "at an unknown price" if unknown else f"up to ${sum(known):,.2f}"
        raise CollectError(
            f"model {name!r}: {len(missing):,} requests to provider {provider.kind} are not in the store and would "
            f"cost money ({cost}), and `budget_usd` is 0; set `budget_usd` in config/config.yaml to what the run "
            "may spend; `snakemake cost` says what to expect"
        )
    if unknown and unknown_prices != "allow":
        raise CollectError(
            f"model {name!r}: {unknown:,} requests to provider {provider.kind} are not in the store, and what they "
            "cost is unknown; name a line of config/prices.csv as the model's `price` (of zeros, for a model of "
            "your own), or set `unknown_prices: allow` in config/config.yaml"
        )


def _ask(
    opened: store.Store,
    made: Plan,
    suite: str,
    missing: list[int],
    respond: Any,
    budget_usd: float,
    price: Price | None,
    patience: Patience | None,
    progress: bool,
) -> None:
    total, arms = len(made.keys), sorted(set(made.table["arm"]))
    label = f"{made.entry.name}: {suite}, {', '.join(arms)}"
    tally = Tally(made.entry.name, suite, label, total, total - len(missing))
    beat = opened.path.with_suffix(".status.json") if missing else None
    with showing(tally, progress, beat) as advance:
        if not missing:
            return
        if made.provider.ask is not None:
            for ask in each(made, missing):
                store.require_room(opened)
                tally.tokens += _answer(opened, made.provider, ask, respond)
                tally.done += 1
                advance()
            return
        from anachron.llm import client

        client.ask_all(
            opened,
            made.entry,
            made.provider,
            each(made, missing),
            _largest(made),
            price=price,
            budget_usd=budget_usd,
            tally=tally,
            advance=advance,
            patience=patience,
        )


def _answer(opened: store.Store, provider: Provider, ask: Ask, respond: Any) -> int:
    """Ask in this process, store the answer, and return its tokens."""
    assert provider.ask is not None
    started, clock = time.time(), time.monotonic()
    raw = provider.ask(ask.request, ask.body, respond)
    latency_s = time.monotonic() - clock
    reply: Reply | None = None
    # The answer is paid for: a fault of the reader may stop the run at sealing, but not the storing.
    with suppress(Exception):
        reply = provider.read(raw)
    records.put(
        opened,
        ask.call,
        raw,
        reply,
        providers.outcome(reply),
        started=started,
        latency_s=latency_s,
        cost_usd=0.0 if provider.free else None,
    )
    return ((reply.input_tokens or 0) + (reply.output_tokens or 0)) if reply else 0


def _largest(made: Plan) -> float:
    """Return what the largest request of a plan counts against a cap on tokens a minute."""
    from anachron.llm.limits import tokens_at_most

    text = (made.table["system"].str.len() + made.table["prompt"].str.len()).max()
    suite = made.table["suite"].iloc[0]
    caps = [
        made.entry.cap(suite, str(arm), int(rows["max_tokens"].max()))
        for arm, rows in made.table.groupby("arm")
    ]
    return tokens_at_most(float(text), max(caps))


def _seal(made: Plan, raws: Iterable[bytes]) -> pd.DataFrame:
    """Return the transcripts of a plan from its raw answers, which run along its rows."""
    table, given = made.table, iter(raws)
    parts = []
    with _without_cycles():
        for _ in range(0, len(made.keys), SEALED_AT_ONCE):
            parts.append(_said(made, islice(given, SEALED_AT_ONCE)))
    every: Mapping[str, Any] = {
        **{name: table[name] for name in ("suite", "arm", "item", "rep", "shown_date")},
        **pd.concat(parts, ignore_index=True),
        "model": made.entry.name,
        "duplicate": 0,
        "key": made.keys,
        "sampling": made.sampling,
        "prompt_sha256": [sha256_text(prompt) for prompt in table["prompt"]],
        "recorded": [None] * len(made.keys),
        "provenance": made.provider.provenance,
    }
    frame = pd.DataFrame({name: every[name] for name in frames.Transcripts.to_schema().columns}, copy=False)
    return frames.check(frame, frames.Transcripts, f"transcripts of model {made.entry.name!r}")


def _said(made: Plan, raws: Iterable[bytes]) -> pd.DataFrame:
    """Return what raw answers say: `SAID`, `COUNTED` and the outcome, in columns of no Python objects."""
    said, results = [], []
    for raw in raws:
        reply = made.provider.read(raw)
        said.append(_FIELDS(reply or _NOTHING))
        results.append(providers.outcome(reply))
    columns = dict(zip((*SAID, *COUNTED), zip(*said, strict=True), strict=True))
    return pd.DataFrame(
        {
            # ASCII, known without looking at the text, needs no further care.
            **{
                name: pd.array(
                    [text if text is None or text.isascii() else well_formed(text) for text in columns[name]],
                    dtype="str",
                )
                for name in SAID
            },
            **{name: pd.array(columns[name], dtype="Int64") for name in COUNTED},
            "outcome": pd.array(results, dtype="str"),
        }
    )


@contextmanager
def _without_cycles() -> Iterator[None]:
    """Keep the collector of cycles from walking a growing list of answers, which holds none, again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
