"""Preregistration: what will be asked of a model, fixed with hashes and a time before any of it is asked.

A registration is a file, `<model>@<n>.json`, that holds the protocol of every suite, what the registry says of the
model, and the number and hash of the planned requests of every arm and block. Nothing overwrites one: a changed plan
is a new version with a reason. Collecting for a registered model is refused while the plan is another one.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anachron
from anachron import files, stages, suites
from anachron.config import ModelEntry
from anachron.errors import CollectError, ConfigError, ContractError
from anachron.llm.keys import PROTOCOL_TOKEN
from anachron.publish.differences import ABSENT, pairs, short

if TYPE_CHECKING:
    import pandas as pd

    from anachron.pipeline import Plan

SCHEMA_VERSION = 1
FOLDER_VARIABLE = "ANACHRON_PREREGISTERED"
DEFAULT_FOLDER = "resources/preregistered"
NO_PARAMETERS = {"limits", "api_key_env", "default_run", "price", "disclosures"}
"""What the registry says of a model that decides no answer and no estimate."""


def register(plan: Plan, folder: Path, time: str, reason: str | None = None) -> tuple[Path, dict[str, Any]]:
    """Write the registration of a run's one model; the one that stands when nothing differs from it.

    Parameters
    ----------
    plan
        The run, of one model.
    folder
        Where registrations are kept.
    time
        Time of registering (UTC, ISO 8601), given by the caller.
    reason
        Why a plan that was registered is changed.

    Returns
    -------
    tuple
        The file, and what it holds.

    Raises
    ------
    ConfigError
        When the model is replayed, or a registration that differs stands and no reason is given.
    """
    (entry,) = plan.models.values()
    if entry.provider == "replay":
        raise ConfigError(f"model {entry.name!r} is replayed from records; there is nothing to register")
    parameters = {
        "model": entry.name,
        "protocol_token": PROTOCOL_TOKEN,
        "registry": parameters_of(entry),
        "suites": {suite: _planned(plan, suite, entry) for suite in plan.suites_of(entry.slug)},
    }
    last = newest(folder, entry)
    if last is not None:
        path, before = last
        changed = list(_worded(pairs({key: before[key] for key in parameters}, parameters, "", 0.0)))
        if not changed:
            return path, before
        if not (reason or "").split():
            raise ConfigError(
                f"{path}: another plan is registered for {entry.name!r} ({'; '.join(changed[:6])}); give a --reason to "
                "register this one as a new version"
            )
    version = 1 if last is None else int(last[1]["version"]) + 1
    whole = {
        "schema_version": SCHEMA_VERSION,
        "version": version,
        "reason": " ".join((reason or "first version").split()),
        "registered_at": time,
        "package_version": anachron.__version__,
        "answers_in_store": _answered(plan, entry),
        **parameters,
        "registry_sha256": files.digest(parameters["registry"]),
    }
    whole["sha256"] = files.digest(whole)
    target = folder / f"{entry.slug}@{version}.json"
    files.write_json(target, whole)
    return target, whole


def parameters_of(entry: ModelEntry) -> dict[str, Any]:
    """Return what the registry says of a model that may decide an answer or an estimate."""
    return entry.model_dump(mode="json", exclude=NO_PARAMETERS)


def _planned(plan: Plan, suite: str, entry: ModelEntry) -> dict[str, Any]:
    """Return a suite's protocol and its planned requests, built anew in a folder of their own."""
    from anachron import frames

    path, protocol = Path(plan.config.protocols[suite]), plan.protocols[suite]
    requests: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        panels = {span: Path(place) / f"panel-{span}.parquet" for span in plan.spans(suite)}
        for span, out in panels.items():
            stages.panel(suite, path, plan.sources_json(), span, out)
        for arm in plan.arms_of(entry.slug, suite):
            for block in plan.blocks_of(entry.slug, suite):
                out = Path(place) / "requests.parquet"
                stages.ask(
                    suite, path, [panels[span] for span in plan.spans_of(suite, block)], arm, block, out
                )
                table = frames.read(out, frames.Requests)
                requests.setdefault(arm, {})[block] = planned(entry, table)
    return {
        "protocol": protocol.model_dump(mode="json"),
        "protocol_sha256": protocol.sha256,
        "parser": suites.module(suite, "parse").VERSION,
        "estimator": suites.module(suite, "estimate").VERSION,
        "calls": sum(block["calls"] for blocks in requests.values() for block in blocks.values()),
        "requests": requests,
    }


def planned(entry: ModelEntry, requests: pd.DataFrame) -> dict[str, Any]:
    """Return how many of a table's requests a model is asked, and their hash."""
    from anachron.stages_estimate import frame_sha256

    mine = requests[[entry.tier in tiers.split(",") for tiers in requests["tiers"]]].drop(columns="tiers")
    return {
        "calls": len(mine),
        "sha256": frame_sha256(mine.sort_values(["arm", "item", "rep"], ignore_index=True)),
    }


def _answered(plan: Plan, entry: ModelEntry) -> int:
    """Return how many answers of a model the store holds: a plan that was made before any has none."""
    from anachron.llm import ledger

    tries = ledger.attempts(Path(plan.config.store) / f"{entry.slug}.sqlite")
    return int((tries["status"] == "answered").sum())


def newest(folder: Path, entry: ModelEntry) -> tuple[Path, dict[str, Any]] | None:
    """Return a model's newest registration, file and content; None where it has none.

    Raises
    ------
    ContractError
        When the file is no registration, or was altered after it was written.
    """
    name = re.compile(rf"{re.escape(entry.slug)}@(\d+)\.json")
    there = folder.iterdir() if folder.is_dir() else ()
    found = [(int(match[1]), path) for path in there if (match := name.fullmatch(path.name))]
    if not found:
        return None
    path = max(found)[1]
    read = files.read_json(path)
    whole = dict(read) if isinstance(read, dict) else {}
    stated = whole.pop("sha256", None)
    if stated is None or stated != files.digest(whole):
        raise ContractError(
            f"{path}: is not as it was written (`sha256` does not fit its content); restore the file"
        )
    if whole.get("schema_version") != SCHEMA_VERSION or whole.get("model") != entry.name:
        raise ContractError(
            f"{path}: is no registration of {entry.name!r} that this version reads; restore the file"
        )
    return path, read


def refuse_changes(
    entry: ModelEntry,
    suite: str,
    protocol: Any,
    arm: str | None = None,
    block: str | None = None,
    requests: pd.DataFrame | None = None,
    folder: Path | None = None,
) -> None:
    """Refuse to collect for a registered model under another plan; a model that was never registered may be asked.

    Parameters
    ----------
    entry, suite, protocol
        The model as the registry has it now, the suite and its protocol.
    arm, block, requests
        A block that is to be collected, with its requests; None for a few requests of a suite.
    folder
        Where registrations are kept; the run's own when None.

    Raises
    ------
    CollectError
        When a parameter, or the requests, are not those registered; it names each with its old and new value.
    """
    last = newest(folder or Path(os.environ.get(FOLDER_VARIABLE, DEFAULT_FOLDER)), entry)
    if last is None:
        return
    path, registered = last
    changed = list(_changes(registered, entry, suite, protocol))
    if not changed and arm is not None and requests is not None:
        changed = list(_other_requests(registered["suites"][suite]["requests"], entry, arm, block, requests))
    if changed:
        more = [f"… and {len(changed) - 20:,} more"] if len(changed) > 20 else []
        raise CollectError(
            f"model {entry.name!r} is preregistered ({path}, {registered['registered_at']}), and this is not the "
            "plan that was registered:\n  "
            + "\n  ".join([*changed[:20], *more])
            + "\nGo back to the registered plan, or register this one with `anachron prereg "
            + f"{entry.name!r} --reason …`; nothing was asked"
        )


def _changes(registered: Mapping[str, Any], entry: ModelEntry, suite: str, protocol: Any) -> Iterator[str]:
    if registered["protocol_token"] != PROTOCOL_TOKEN:
        yield f"`protocol_token`: registered {registered['protocol_token']!r}, now {PROTOCOL_TOKEN!r}"
    before = _filled(ModelEntry, registered["registry"], NO_PARAMETERS)
    yield from _worded(pairs(before, parameters_of(entry), "registry", 0.0))
    if suite not in registered["suites"]:
        yield f"`suites`: registered {', '.join(sorted(registered['suites']))}; {suite} is not among them"
        return
    asked = _filled(type(protocol), registered["suites"][suite]["protocol"])
    yield from _worded(pairs(asked, protocol.model_dump(mode="json"), f"protocol {protocol.name}", 0.0))


def _filled(model: Any, registered: Any, without: set[str] | None = None) -> Any:
    """Return registered parameters with those that a later version of the package added, at their defaults."""
    from pydantic import ValidationError

    try:
        return model.model_validate(registered).model_dump(mode="json", exclude=without)
    except ValidationError:
        return registered


def _other_requests(
    registered: Mapping[str, Any], entry: ModelEntry, arm: str, block: str | None, requests: pd.DataFrame
) -> Iterator[str]:
    before = registered.get(arm, {}).get(block)
    if before is None:
        yield f"`requests.{arm}.{block}`: not among the arms and blocks that were registered"
        return
    now = planned(entry, requests)
    for key in ("calls", "sha256"):
        if before[key] != now[key]:
            why = (
                "" if key == "calls" else " (other prompts: the facts behind them, or their wording, changed)"
            )
            yield f"`requests.{arm}.{block}.{key}`: registered {before[key]}, now {now[key]}{why}"


def _worded(found: Iterator[tuple[str, Any, Any]]) -> Iterator[str]:
    for key, was, now in found:
        old, new = ("nothing" if value is ABSENT else short(value) for value in (was, now))
        yield f"`{key}`: registered {old}, now {new}"
