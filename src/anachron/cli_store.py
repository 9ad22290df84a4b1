"""`anachron store …` and `anachron explain`: looking into the paid answers. All but `merge` only read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anachron.errors import CollectError, ConfigError

if TYPE_CHECKING:
    from anachron.config import Config, Registry

store_app = typer.Typer(
    no_args_is_help=True, help="The paid answers: check them, sum them up, export them, merge two stores."
)

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Model names, or files of stores. Every store of the folder when absent."),
]
Name = Annotated[str, typer.Argument(help="A model's name, or the file of its store.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="Folder of the stores; the configuration's when absent.")
]
ConfigFile = Annotated[Path, typer.Option("--config", help="The run's configuration.")]
OneSuite = Annotated[str | None, typer.Option("--suite", help="Only this suite.")]
OneArm = Annotated[str | None, typer.Option("--arm", help="Only this arm.")]
AskedAt = Annotated[
    list[str] | None,
    typer.Option(
        "--asked-at", help="PROVIDER=URL that the registry no longer names and requests were sent to; repeat."
    ),
]

DEFAULT_CONFIG = Path("config/config.yaml")


@store_app.command()
def verify(
    names: Names = None,
    store: StoreFolder = None,
    config: ConfigFile = DEFAULT_CONFIG,
    asked_at: AskedAt = None,
) -> None:
    """Check every page, body and key; end with code 1 and what is wrong when something is."""
    from anachron.files import unslug
    from anachron.llm.store_tools import verify as check
    from anachron.stages_explain import endpoints

    settings = _settings(config)
    registry = _registry(settings)
    named = [_endpoint(text) for text in asked_at or []]
    wrong = []
    for path in _chosen(names, _folder(store, settings)):
        try:
            found = check(path, [*named, *endpoints(registry, unslug(path.stem))])
        except CollectError as error:
            wrong.append(str(error))
            continue
        counts = ", ".join(f"{number:,} {table}" for table, number in found.counts.items())
        _say(f"{path}: {counts}: {'DAMAGED' if found.faults else 'whole'}")
        _say(*(f"  {number:,} keys recomputed for {at}" for at, number in sorted(found.asked_at.items())))
        _say(*(f"  note: {note}" for note in found.notes))
        wrong += [f"{path}: {fault}" for fault in found.faults]
    if wrong:
        raise CollectError("\nanachron: ".join(_printable(line) for line in wrong))


@store_app.command()
def stats(
    names: Names = None,
    store: StoreFolder = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """Sum up per suite and arm: requests, answers, outcomes, attempts, tokens, dollars, size."""
    import json

    from anachron.llm.store_tools import stats as sums

    for path in _chosen(names, _folder(store, _settings(config))):
        found = sums(path)
        if as_json:
            typer.echo(json.dumps(found))
        else:
            _say(*_stats_lines(found))


@store_app.command()
def export(
    name: Name,
    output: Annotated[
        str, typer.Option("--output", "-o", help="FILE.parquet or FILE.jsonl; - prints JSON lines.")
    ],
    suite: OneSuite = None,
    arm: OneArm = None,
    store: StoreFolder = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Write a row per request, with its answer and its attempts, every body as text."""
    from anachron.llm import store_export, store_read

    path = store_read.locate(_folder(store, _settings(config)), name)
    if output == "-":
        store_export.lines(path, sys.stdout, suite, arm)
        return
    number = store_export.export(path, Path(output), suite, arm)
    _say(f"{output}: {number:,} requests of {path}")


@store_app.command()
def merge(
    name: Name,
    second: Annotated[Path, typer.Argument(help="The other store: a file of the same name elsewhere.")],
    store: StoreFolder = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Add to a model's store what only a second one holds; name what they disagree about, replace nothing."""
    from anachron.llm import store_merge, store_read

    path = store_read.locate(_folder(store, _settings(config)), name)
    merged = store_merge.merge(path, second)
    _say(
        f"{path}: {merged.requests:,} requests, {merged.responses:,} answers and {merged.attempts:,} attempts "
        f"added from {second}; {merged.already:,} answers were there already"
    )
    wrong = [f"conflict: {one}; the answer in {path} stays" for one in merged.conflicts]
    wrong += [f"not taken, its body cannot be read: {one}" for one in merged.unreadable]
    if wrong:
        raise CollectError("\nanachron: ".join(_printable(line) for line in wrong))


def explain(
    model: Annotated[str, typer.Argument(help="The model's name in the registry.")],
    suite: Annotated[str, typer.Argument(help="Suite, for instance hindsightbench.")],
    item: Annotated[str, typer.Argument(help="The item, for instance 2008-10-15.")],
    arm: OneArm = None,
    rep: Annotated[int | None, typer.Option("--rep", help="Only this repeated sample.")] = None,
    store: StoreFolder = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Say whether the store answers a request of the run, and if not, which field of it is not as stored."""
    from anachron.config import read_yaml
    from anachron.pipeline import Plan
    from anachron.stages_explain import explain as explain_item

    settings = read_yaml(config) if config != DEFAULT_CONFIG or config.exists() else {}
    if not isinstance(settings, dict):
        raise ConfigError(f"{config}: holds {type(settings).__name__}, not keys and values")
    one_model = {**settings, "model": model, **({"store": str(store)} if store else {})}
    for found in explain_item(Plan(one_model, str(config)), model, suite, item, arm, rep):
        state = {"answered": "answered", "unanswered": "asked, not answered", "missing": "not in the store"}
        _say(f"{found.arm}, {found.item}, rep {found.rep}, key {found.key[:12]}…: {state[found.state]}")
        _say(*(f"  {line}" for line in found.lines))


def _stats_lines(found: Mapping[str, Any]) -> Iterable[str]:
    yield (
        f"{found['model']} ({found['file']}): {found['file_bytes'] / 2**20:,.1f} MB"
        + (f" and {found['log_bytes'] / 2**20:,.1f} MB of log" if found["log_bytes"] else "")
        + f", version {found['schema_version']}, attempts from {found['first_attempt'] or '-'} "
        f"to {found['last_attempt'] or '-'} UTC"
    )
    for arm in found["arms"]:
        yield (
            f"  {arm['suite'] or '(request lost)'} {arm['arm']}: {arm['requests']:,} requests, "
            f"{arm['answers']:,} answers ({_counted(arm['outcomes'])})"
        )
        yield f"    attempts: {_counted(arm['attempts'])}"
        tokens = ", ".join(
            f"{arm[f'{kind}_tokens']:,} {kind}" for kind in ("input", "cached", "output", "reasoning")
        )
        silent = arm["answers_without_usage"]
        yield f"    tokens: {tokens}" + (f" ({silent:,} answers do not say)" if silent else "")
        yield f"    dollars: {_dollars(arm)}"
        yield (
            f"    bodies: {arm['request_bytes'] / 2**20:,.1f} MB asked, {arm['answer_bytes'] / 2**20:,.1f} MB "
            "answered, compressed"
        )


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(numbers.items())) or "none"


def _dollars(arm: Mapping[str, Any]) -> str:
    known = f"${arm['cost_usd']:,.4f} known"
    if not arm["unknown_costs"]:
        return known
    most = arm["unknown_at_most_usd"]
    limit = "without a known limit" if most is None else f"up to ${most:,.4f}"
    return f"{known}, and {arm['unknown_costs']:,} attempts whose cost is unknown, {limit}"


def _chosen(names: list[str] | None, folder: Path) -> list[Path]:
    from anachron.llm.store_read import locate, stores

    if names:
        return [locate(folder, name) for name in names]
    found = stores(folder)
    if not found:
        raise CollectError(f"{folder}: holds no store; name another folder with --store")
    return found


def _settings(path: Path) -> Config:
    from anachron.config import Config, load

    return load(Config, path) if path != DEFAULT_CONFIG or path.exists() else Config()


def _registry(settings: Config) -> Registry | None:
    from anachron.config import Registry, load

    path = Path(settings.registry)
    return load(Registry, path) if path.exists() else None


def _folder(store: Path | None, settings: Config) -> Path:
    return store or Path(settings.store)


def _endpoint(text: str) -> tuple[str, str | None]:
    from anachron.registry import PROVIDER_KINDS

    kind, mark, url = text.partition("=")
    if kind not in PROVIDER_KINDS or not mark:
        raise ConfigError(
            f"--asked-at {text!r}: write PROVIDER=URL, with one of {', '.join(PROVIDER_KINDS)} as the provider"
        )
    return kind, url.rstrip("/") or None


def _say(*lines: str) -> None:
    for line in lines:
        typer.echo(_printable(line))


def _printable(text: str) -> str:
    from anachron.stages_smoke import printable

    return printable(text)


def add_to(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(store_app, name="store")
    app.command()(explain)
