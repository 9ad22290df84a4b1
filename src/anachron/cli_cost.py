"""`anachron cost` and `anachron status`: money and progress of a run. Everything heavy is imported inside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anachron.errors import ConfigError

if TYPE_CHECKING:
    from anachron.pipeline import Plan

ConfigFile = Annotated[Path, typer.Option("--config", help="The run's configuration.")]
OneModel = Annotated[str | None, typer.Option("--model", help="Only this model of the registry.")]
Settings = Annotated[
    str | None, typer.Option("--settings", help="The whole configuration as JSON, in place of the file.")
]

DEFAULT_CONFIG = Path("config/config.yaml")


def cost(
    config: ConfigFile = DEFAULT_CONFIG,
    model: OneModel = None,
    settings: Settings = None,
    actual: Annotated[
        bool, typer.Option("--actual", help="What was spent, by the stores, against the estimate.")
    ] = False,
) -> None:
    """Say what a run will cost, before anything is spent; or, with --actual, what it has cost."""
    from anachron import stages_cost

    plan = plan_of(config, model, settings)
    for line in stages_cost.actual(plan) if actual else stages_cost.cost(plan):
        typer.echo(line)


def status(config: ConfigFile = DEFAULT_CONFIG, model: OneModel = None, settings: Settings = None) -> None:
    """Say how far a run is; it may be at work in another terminal."""
    from anachron import stages_cost

    for line in stages_cost.status(plan_of(config, model, settings)):
        typer.echo(line)


def plan_of(
    config: Path,
    model: str | None,
    settings: str | None = None,
    protocols: Mapping[str, str] | None = None,
) -> Plan:
    """Return the run that a configuration describes.

    Parameters
    ----------
    config, settings
        The file, or its content as JSON in its place.
    model
        Only this model of the registry.
    protocols
        Protocol files that take the place of the configuration's, by suite.
    """
    import json

    from anachron.config import read_yaml
    from anachron.pipeline import Plan

    where = str(config)
    if settings is None:
        read = read_yaml(config) or {}
    else:
        where = "--settings"
        try:
            read = json.loads(settings)
        except ValueError as error:
            raise ConfigError(f"--settings: not JSON ({error})") from None
    if not isinstance(read, dict):
        raise ConfigError(f"{where}: holds no keys; found {type(read).__name__}")
    if protocols:
        read = read | {"protocols": (read.get("protocols") or {}) | dict(protocols)}
    return Plan(read | ({"model": model} if model is not None else {}), where)


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(cost)
    app.command()(status)
