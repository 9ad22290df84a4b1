"""`anachron backtest`: audit a table of forecasts that exists; `anachron forecasts`: make one of a run's answers.

Everything heavy is imported inside.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from anachron.errors import ConfigError

Table = Annotated[Path, typer.Argument(help="The forecasts: .csv or .parquet, one row per forecast.")]


def backtest(
    table: Table,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the report; results/backtest/<name> if left out."),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="The model to audit.")] = None,
    control: Annotated[
        list[str] | None, typer.Option("--control", help="A model to compare with; repeat for several.")
    ] = None,
    clean_control: Annotated[
        list[str] | None,
        typer.Option(
            "--clean-control", help="A control that you declare to know none of the answers; repeat."
        ),
    ] = None,
    cutoff: Annotated[
        list[str] | None, typer.Option("--cutoff", help="MODEL=YYYY-MM-DD, before the table's; repeat.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="First day of the later side where no cutoff is known.")
    ] = None,
    window_days: Annotated[
        int, typer.Option("--window-days", min=1, help="Half-width of the window around a cutoff.")
    ] = 90,
    clean_days: Annotated[
        int,
        typer.Option("--clean-days", min=0, help="Days after a cutoff before a question counts as clean."),
    ] = 30,
    extrapolate: Annotated[
        int | None,
        typer.Option(
            "--extrapolate",
            min=0,
            max=3,
            help="You accept that honest performance goes on before the cutoff as a polynomial of this degree.",
        ),
    ] = None,
    anchor: Annotated[
        str, typer.Option("--anchor", help="Score against the crowd: auto, crowd or none.")
    ] = "auto",
    draws: Annotated[int, typer.Option("--draws", min=100, help="Draws of the cluster bootstrap.")] = 4000,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of all draws.")] = None,
) -> None:
    """Audit a backtest: what its score owes to leakage, under which assumptions, or why that cannot be told."""
    from anachron.backtest import reader, render
    from anachron.backtest.audit import audit
    from anachron.backtest.options import Options

    if anchor not in ("auto", "crowd", "none"):
        raise ConfigError(f"--anchor: found {anchor!r}; allowed: auto, crowd, none")
    cutoffs = cutoffs_of(cutoff or [])
    controls, clean = tuple(control or ()), tuple(clean_control or ())
    read = reader.read(
        table,
        target=target,
        controls=list(dict.fromkeys([*controls, *clean])),
        cutoffs={model: day.isoformat() for model, day in cutoffs.items()},
    )
    options = Options(
        target=target,
        controls=controls,
        clean_controls=clean,
        cutoffs=cutoffs,
        split=None if split is None else _day("--split", split),
        window_days=window_days,
        clean_days=clean_days,
        extrapolate=extrapolate,
        anchor=anchor,  # type: ignore[arg-type]
        draws=draws,
    )
    if seed is not None:
        options = dataclasses.replace(options, seed=seed)
    result = audit(read, options)
    out = output or Path("results/backtest") / table.stem
    render.write(result, out)
    for line in result.summary:
        typer.echo(f"- {line}")
    typer.echo(f"{out / 'report.html'}: the report (also report.md, and audit.json for programs)")


def forecasts(
    suite: Annotated[str, typer.Option("--suite", help="A suite that asks for forecasts: leakage.")],
    registry: Annotated[Path, typer.Option("--registry", help="The model registry.")],
    answers: Annotated[list[Path], typer.Option("--answers", help="Parsed answers of a model; repeat.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write; replaced atomically.")],
    panel: Annotated[list[Path] | None, typer.Option("--panel", help="A panel file; repeat.")] = None,
) -> None:
    """Write the forecasts of all models of a run as one table that `backtest` audits."""
    from anachron import stages_forecasts

    stages_forecasts.forecasts(suite, registry, answers, panel or [], output)


def cutoffs_of(given: Iterable[str]) -> dict[str, datetime.date]:
    """Return cutoffs by model from texts of the form ``MODEL=YYYY-MM-DD``.

    Raises
    ------
    ConfigError
        When one has another form, or a model has two.
    """
    found: dict[str, datetime.date] = {}
    for text in given:
        model, _, day = text.rpartition("=")
        if not model:
            raise ConfigError(f"--cutoff: found {text!r}; allowed is MODEL=YYYY-MM-DD")
        if model in found:
            raise ConfigError(f"--cutoff: the model {model!r} is given two")
        found[model] = _day(f"--cutoff of {model}", day)
    return found


def _day(where: str, text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{where}: found {text!r}; allowed is a day, YYYY-MM-DD") from None


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(backtest)
    app.command()(forecasts)
