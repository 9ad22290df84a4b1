"""`anachron explain`: the requests that a run makes of one item, held against the model's store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anachron import stages
from anachron.errors import CollectError, ConfigError
from anachron.pipeline import Plan
from anachron.registry import DEFAULT_ENDPOINTS, Registry
from anachron.validation import nearest

if TYPE_CHECKING:
    import pandas as pd

    from anachron.llm.explain import Explanation
    from anachron.llm.store_tools import Asked


def explain(
    plan: Plan, model: str, suite: str, item: str, arm: str | None = None, rep: int | None = None
) -> list[Explanation]:
    """Return what a model's store has of a run's requests about one item.

    Parameters
    ----------
    plan
        A run of the model; its request tables must have been made.
    model, suite, item
        The model's name in the registry, the suite, and the item as its requests name it.
    arm, rep
        Only this arm, only this repeated sample.

    Raises
    ------
    ConfigError
        When the run has no such model, suite, arm, item or rep, or asks nothing of the kind.
    CollectError
        When the store is damaged or none.
    """
    from contextlib import nullcontext

    from anachron.llm import providers
    from anachron.llm.explain import explain as explain_requests
    from anachron.llm.plan import nothing_more
    from anachron.llm.store_read import snapshot

    entry = plan.registry.get(model)
    if entry.provider == "replay":
        raise ConfigError(f"model {model!r} is replayed from records; nothing of it is asked or stored")
    if suite not in plan.suites:
        raise ConfigError(
            f"suite {suite!r} is not one of this run; suites: {', '.join(plan.suites)}"
            + nearest(suite, plan.suites)
        )
    requests = _requests(plan, entry.slug, suite, item, arm, rep)
    remembers = nothing_more
    if entry.provider == "planted":
        panels = [_panel(plan, suite, span) for span in plan.spans_of(suite, item[:7])]
        remembers = stages.planted_respondent(entry, suite, plan.protocols[suite], panels)[1]
    path = Path(plan.config.store) / f"{entry.slug}.sqlite"
    with snapshot(path) if path.exists() else nullcontext() as connection:
        return explain_requests(
            connection,
            entry,
            providers.get(entry.provider),
            requests,
            endpoints(plan.registry, model),
            remembers,
        )


def endpoints(registry: Registry | None, model: str | None = None) -> list[Asked]:
    """Return the providers and base URLs that a registry's models are asked at, those of `model` first."""
    entries = list(registry.models) if registry else []
    entries.sort(key=lambda entry: entry.name != model)
    named: list[Asked] = [(entry.provider, entry.base_url) for entry in entries if entry.provider != "replay"]
    return list(dict.fromkeys([*named, ("planted", None), *DEFAULT_ENDPOINTS.items()]))


def _panel(plan: Plan, suite: str, span: str) -> Path:
    return Path(plan.config.results) / "panel" / suite / f"{span}.parquet"


def _requests(plan: Plan, slug: str, suite: str, item: str, arm: str | None, rep: int | None) -> pd.DataFrame:
    """Return the requests about one item that the run asks of a model."""
    import pandas as pd

    entry = plan.models[slug]
    arms = plan.arms_of(slug, suite)
    if arm is not None and arm not in arms:
        raise ConfigError(
            f"model {entry.name!r} is not asked arm {arm!r} of {suite}; its arms: {', '.join(arms)}"
            + nearest(arm, arms)
        )
    tables = [
        _table(plan, suite, each_arm, block)
        for each_arm in ([arm] if arm is not None else arms)
        for block in _blocks(plan, slug, suite, item)
    ]
    whole = pd.concat(tables, ignore_index=True)
    found = whole[whole["item"] == item]
    if found.empty:
        known = sorted(set(whole["item"]))
        raise ConfigError(
            f"no request of {suite} is about item {item!r}; the request tables hold {len(known):,} items, such as "
            f"{', '.join(known[:3])}" + nearest(item, known)
        )
    if rep is not None:
        reps = sorted(set(found["rep"]))
        found = found[found["rep"] == rep]
        if found.empty:
            raise ConfigError(f"item {item!r} has no rep {rep}; its reps: {', '.join(map(str, reps))}")
    mine: pd.DataFrame = found[[entry.tier in tiers.split(",") for tiers in found["tiers"]]]
    if mine.empty:
        raise ConfigError(
            f"model {entry.name!r} is of tier {entry.tier}, and the requests chosen are of "
            f"{', '.join(sorted(set(found['tiers'])))}: they are not asked of it"
        )
    return mine


def _blocks(plan: Plan, slug: str, suite: str, item: str) -> Sequence[str]:
    from anachron import blocks

    known = plan.blocks_of(slug, suite)
    try:
        wanted = blocks.block_of(item, plan.models[slug].block_rule)
    except ValueError:
        wanted = None
    return [wanted] if wanted in known else known


def _table(plan: Plan, suite: str, arm: str, block: str) -> pd.DataFrame:
    from anachron import frames

    path = Path(plan.config.results) / "requests" / suite / arm / f"{block}.parquet"
    if not path.is_file():
        raise CollectError(
            f"{path}: no such file; make the run's request tables first: snakemake --cores 2 {path}"
        )
    return frames.read(path, frames.Requests)
