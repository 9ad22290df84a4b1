"""`anachron serve-planted`: from a registry, request tables and panels to a server's models."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import stages, suites
from anachron.config import ModelEntry, Registry, load, read_yaml
from anachron.errors import ConfigError
from anachron.files import digest

if TYPE_CHECKING:
    import pandas as pd

    from anachron.llm.providers import Reply
    from anachron.llm.serve_chat import Model


def serve(
    *,
    registry: Path,
    names: Sequence[str],
    protocols: Sequence[Path],
    requests: Sequence[Path],
    panels: Sequence[Path],
    port: int,
    delay_s: float = 0.0,
    api_key_env: str | None = None,
    faults: Sequence[str] = (),
    fault_after: int = 0,
    fault_for: str | None = None,
    fault_share: float = 1.0,
    hits: Path | None = None,
) -> None:
    """Serve planted models until the process is told to end; the base URL goes to standard output.

    Parameters
    ----------
    registry, names, protocols, requests, panels
        See `models`.
    port
        The port of 127.0.0.1; 0 takes a free one.
    delay_s
        Seconds before every answer.
    api_key_env
        Environment variable with the key that a client must show; None lets every client in.
    faults, fault_after, fault_for, fault_share
        See `serve_faults.parse`.
    hits
        File that gets a line of JSON per request.

    Raises
    ------
    ConfigError
        When an option does not fit, or the variable of the key is not set.
    AnachronError
        When the port is taken.
    """
    from anachron.llm import serve_faults
    from anachron.llm.serve_planted import Server
    from anachron.llm.serve_planted import serve as serve_models

    wanted = serve_faults.parse(faults, fault_after, fault_for, fault_share)
    key = os.environ.get(api_key_env, "") if api_key_env else None
    if key == "":
        raise ConfigError(
            f"--api-key-env: the variable {api_key_env} is not set or empty; set it to any text"
        )
    if hits is not None:
        hits.parent.mkdir(parents=True, exist_ok=True)
    found = models(registry, names, protocols, requests, panels)
    server = Server(
        {model.name: model for model in found},
        delay_s=delay_s,
        api_key=key,
        log=hits,
        active=serve_faults.switch_on(wanted),
    )

    def ready(url: str) -> None:
        print(f"serving {', '.join(server.models)}; counts at {url[:-3]}/hits", file=sys.stderr, flush=True)
        print(url, flush=True)

    serve_models(server, port, ready)


def fault_list() -> str:
    """Return the faults that can be switched on, a line each."""
    from anachron.llm.serve_faults import ERRORS, NAMED

    plain = {str(status): f"HTTP {status}; =SECONDS adds Retry-After" for status in ERRORS}
    return "\n".join(f"{name:<18}{words}" for name, words in (plain | NAMED).items())


def models(
    registry: Path,
    names: Sequence[str],
    protocols: Sequence[Path],
    requests: Sequence[Path],
    panels: Sequence[Path],
) -> list[Model]:
    """Return what the planted entries of a registry answer to the prompts of request tables.

    Parameters
    ----------
    registry
        A model registry; only entries with provider planted are served.
    names
        The entries to serve; all planted ones when empty.
    protocols
        Protocol files, one per suite of the tables.
    requests, panels
        Parquet files, or folders in which every Parquet file counts.

    Raises
    ------
    ConfigError
        When there is nothing to serve, a name is no planted entry, or a suite's protocol is missing.
    """
    listed = load(Registry, registry)
    planted = [entry for entry in listed.models if entry.provider == "planted"]
    chosen = [listed.get(name) for name in names] if names else planted
    for entry in chosen:
        if entry.provider != "planted":
            raise ConfigError(
                f"{registry}: model {entry.name!r} has provider {entry.provider}; served are planted ones: "
                f"{', '.join(one.name for one in planted) or 'none is listed'}"
            )
    if not chosen:
        raise ConfigError(f"{registry}: no entry has provider planted; give another file with --registry")
    by_suite = _protocols(protocols)
    tables = _tables(_files(requests, "--requests"))
    known = _files(panels, "--panel") if panels else []
    return [_model(entry, tables, by_suite, known) for entry in chosen]


def _model(
    entry: ModelEntry, tables: Mapping[str, pd.DataFrame], protocols: Mapping[str, Path], panels: list[Path]
) -> Model:
    from anachron.llm import providers
    from anachron.llm.plan import each, plan
    from anachron.llm.serve_chat import Model

    provider = providers.get("planted")
    found: dict[tuple[str, str], list[tuple[dict[str, Any], Any, Any]]] = {}
    for suite, table in tables.items():
        if suite not in entry.planted:
            continue
        if suite not in protocols:
            raise ConfigError(f"no protocol of suite {suite!r} was given; name its file with --protocol")
        protocol = suites.load_protocol(suite, protocols[suite])
        own = [path for path in panels if suite in path.parts] or panels
        respond, remembers = stages.planted_respondent(entry, suite, protocol, own)
        # A client may ask on another tier than the entry's own: every row can be asked.
        made = plan(entry, provider, suite, table.assign(tiers=entry.tier), remembers)
        for ask in each(made, range(len(made.keys))):
            place = (ask.request["system"], ask.request["prompt"])
            if ask.request["max_tokens"] == 0:  # sent as one text, as `openai_scoring` joins them
                place = ("", "\n\n".join(text for text in place if text))
            found.setdefault(place, []).append((ask.request, ask.body, respond))

    def answer(system: str, prompt: str, before: int) -> Reply | bytes | None:
        asks = found.get((system, prompt))
        if asks is None or provider.ask is None:
            return None
        request, body, respond = asks[before % len(asks)]
        raw = provider.ask(request, body, respond)
        return provider.read(raw) or raw

    return Model(entry.model_id or entry.name, answer, f"planted-{digest(entry.planted)[:12]}")


def _protocols(paths: Iterable[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in paths:
        document = read_yaml(path)
        suite = document.get("suite") if isinstance(document, dict) else None
        if not isinstance(suite, str):
            raise ConfigError(f"{path}: is no protocol, it names no `suite`")
        if suite in found:
            raise ConfigError(f"{path}: is of suite {suite!r}, and so is {found[suite]}; give one of them")
        found[suite] = path
    return found


def _tables(paths: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Return the requests of every suite; the same request in two files (two ways of blocking) counts once."""
    import pandas as pd

    from anachron import frames

    whole = pd.concat([frames.read(path, frames.Requests) for path in paths], ignore_index=True)
    whole = whole.drop_duplicates([name for name in whole.columns if name != "tiers"])
    return {
        str(suite): table.reset_index(drop=True)
        for suite, table in whole.groupby("suite", sort=True)
        if len(table)
    }


def _files(paths: Iterable[Path], option: str) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.parquet")) if path.is_dir() else [path] if path.exists() else []
        if not inside:
            found_there = "the folder holds no Parquet file" if path.is_dir() else "no such file or folder"
            raise ConfigError(
                f"{option} {path}: {found_there}; make a run's first: snakemake --cores 2 leaderboard"
            )
        found += inside
    if not found:
        raise ConfigError(f"{option}: no file was given")
    return found
