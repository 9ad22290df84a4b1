"""The command line: one subcommand per rule, and what people run by hand.

Everything heavy is imported inside a command, so that `--help` and a job's start stay quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from anachron import __version__
from anachron.errors import AnachronError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Measure what a language model already knows about the history a backtest asks it to predict.",
)
snapshot_app = typer.Typer(no_args_is_help=True, help="The embedded snapshot of public data.")
app.add_typer(snapshot_app, name="snapshot")

Suite = Annotated[str, typer.Option("--suite", help="Suite, for instance hindsightbench.")]
ProtocolFile = Annotated[Path, typer.Option("--protocol", help="The suite's protocol file.")]
RegistryFile = Annotated[Path, typer.Option("--registry", help="The model registry.")]
ModelName = Annotated[str, typer.Option("--model", help="Name of the model in the registry.")]
Panels = Annotated[list[Path] | None, typer.Option("--panel", help="A panel file; repeat for several.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write; replaced atomically.")]
ConfigFile = Annotated[Path, typer.Option("--config", help="The run's configuration.")]

DEFAULT_CONFIG = Path("config/config.yaml")


def _version(show: bool) -> None:
    if show:
        typer.echo(f"anachron {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def panel(
    suite: Suite,
    protocol: ProtocolFile,
    span: Annotated[str, typer.Option("--span", help="Span of decision months, for instance 2005-2009.")],
    macro: Annotated[str, typer.Option("--macro", help="The `macro` section of the configuration, as JSON.")],
    output: Output,
) -> None:
    """Build what was true and known on each decision date of one span."""
    from anachron import stages

    stages.panel(suite, protocol, macro, span, output)


@app.command()
def ask(
    suite: Suite,
    protocol: ProtocolFile,
    arm: Annotated[str, typer.Option("--arm", help="Arm or probe, for instance D or LAP.")],
    block: Annotated[str, typer.Option("--block", help="Block of decision months, or all.")],
    output: Output,
    panels: Panels = None,
) -> None:
    """Write the prompts of one arm and block; the same for every model."""
    from anachron import stages

    stages.ask(suite, protocol, panels or [], arm, block, output)


@app.command()
def collect(
    suite: Suite,
    protocol: ProtocolFile,
    registry: RegistryFile,
    model: ModelName,
    arm: Annotated[str, typer.Option("--arm", help="Arm or probe.")],
    block: Annotated[str, typer.Option("--block", help="Block of decision months, or all.")],
    store: Annotated[Path, typer.Option("--store", help="Folder of the paid answers.")],
    output: Output,
    requests: Annotated[Path | None, typer.Option("--requests", help="The block's requests.")] = None,
    panels: Panels = None,
) -> None:
    """Ask one model what its store lacks of one block, and seal the block."""
    from anachron import stages

    stages.collect(suite, protocol, registry, model, arm, block, requests, panels or [], store, output)


@app.command()
def parse(
    suite: Suite,
    protocol: ProtocolFile,
    model: ModelName,
    output: Output,
    transcripts: Annotated[list[Path], typer.Option("--transcripts", help="A sealed block; repeat.")],
) -> None:
    """Parse one model's sealed transcripts."""
    from anachron import stages

    stages.parse(suite, protocol, model, transcripts, output)


@app.command()
def estimate(
    suite: Suite,
    protocol: ProtocolFile,
    registry: RegistryFile,
    model: ModelName,
    answers: Annotated[Path, typer.Option("--answers", help="The model's parsed answers.")],
    transcripts: Annotated[list[Path], typer.Option("--transcripts", help="A sealed block; repeat.")],
    output: Output,
    panels: Panels = None,
) -> None:
    """Estimate one model's metrics, with intervals and gates."""
    from anachron import stages

    stages.estimate(suite, protocol, registry, model, answers, transcripts, panels or [], output)


@app.command()
def row(
    registry: RegistryFile,
    model: ModelName,
    output: Output,
    estimates: Annotated[list[Path], typer.Option("--estimates", help="Estimates of a suite; repeat.")],
    margin: Annotated[int, typer.Option("--safe-margin-months", help="Margin of `safe_from`.")] = 3,
) -> None:
    """Join a model's estimates in one audit row."""
    from anachron.config import Registry, load
    from anachron.files import read_json
    from anachron.publish import row as rows

    documents = [read_json(path) for path in estimates]
    entry = load(Registry, registry).get(model)
    by_suite = {document["suite"]: document for document in documents}
    rows.write(rows.build(entry, by_suite, margin_months=margin), output)


@app.command()
def publish(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the leaderboard.")],
    row_files: Annotated[
        list[Path], typer.Option("--row", help="An audit row; repeat, in the table's order.")
    ],
    scoring: Annotated[str, typer.Option("--scoring", help="Scoring the tables print.")] = "anachron",
) -> None:
    """Write the leaderboard's tables and figures from audit rows."""
    from anachron.publish import figures, tables
    from anachron.publish import row as rows

    read = [rows.read(path) for path in row_files]
    tables.write(read, output, scoring, figures.write(read, output, scoring))


@app.command()
def check(
    config: ConfigFile = DEFAULT_CONFIG,
    frozen: Annotated[Path | None, typer.Option("--frozen", help="Folder of the frozen rows.")] = None,
    rows: Annotated[Path | None, typer.Option("--rows", help="Folder of this run's rows.")] = None,
) -> None:
    """Hold the published tables and this run's rows against the frozen rows; fail on drift."""
    from anachron.errors import DriftError
    from anachron.publish import freeze as frozen_rows

    settings = _settings(config)
    folder = frozen or Path(settings.frozen)
    differences = frozen_rows.check(folder, rows or Path(settings.results) / "rows")
    if differences:
        raise DriftError("\n".join(differences))
    typer.echo(f"{folder}: tables and rows follow from the frozen rows")


@app.command()
def freeze(
    row_files: Annotated[list[Path], typer.Option("--row", help="An audit row to freeze; repeat.")],
    config: ConfigFile = DEFAULT_CONFIG,
    frozen: Annotated[Path | None, typer.Option("--frozen", help="Folder of the frozen rows.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why a frozen row is superseded.")] = None,
) -> None:
    """Freeze audit rows: a changed row becomes a new version with a reason, never an overwrite."""
    import datetime

    from anachron.publish import freeze as frozen_rows

    folder = frozen or Path(_settings(config).frozen)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for path in row_files:
        typer.echo(frozen_rows.freeze(path, folder, reason, today))


@app.command("import")
def import_records(
    suite: Annotated[str, typer.Argument(help="Suite whose published records these are.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the records.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where imported transcripts go.")] = Path(
        "resources/imported"
    ),
    protocol: Annotated[
        Path | None, typer.Option("--protocol", help="The protocol the records follow.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier import that differs.")] = False,
) -> None:
    """Import published records as transcripts of models with provider `replay`."""
    from anachron import replay as replays

    typer.echo(replays.import_suite(suite, folder, output, protocol or _protocol(suite), force=force))


@app.command()
def replay(
    suite: Annotated[str, typer.Argument(help="Suite whose published records these are.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the records.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for rows and leaderboard.")],
    protocol: Annotated[
        Path | None, typer.Option("--protocol", help="The protocol the records follow.")
    ] = None,
    scoring: Annotated[str, typer.Option("--scoring", help="Scoring the tables print.")] = "anachron",
) -> None:
    """Go from published records to audit rows and a leaderboard in one command."""
    from anachron import replay as replays

    replays.replay(suite, folder, out, protocol or _protocol(suite), scoring=scoring)


@app.command()
def schema(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the JSON Schemas.")] = Path(
        "workflow/schemas"
    ),
) -> None:
    """Write the JSON Schemas of the configuration, the protocols and the audit row."""
    from anachron.schemas import write

    for path in write(output):
        typer.echo(str(path))


@snapshot_app.command("build")
def snapshot_build(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the snapshot.")] = Path(
        "resources/snapshot"
    ),
) -> None:
    """Rebuild the embedded snapshot from packages (needs the extra `snapshot`)."""
    from anachron.sources.snapshot import build

    build(output)


def _settings(path: Path) -> Any:
    from anachron.config import Config, load

    return load(Config, path)


def _protocol(suite: str) -> Path:
    """Return the suite's protocol file of the default configuration."""
    from anachron.config import Config, load

    settings = load(Config, DEFAULT_CONFIG) if DEFAULT_CONFIG.is_file() else Config()
    if suite not in settings.protocols:
        from anachron.suites import module

        module(suite, "protocol")
        raise AnachronError(f"{DEFAULT_CONFIG}: `protocols` has no file for {suite!r}; give --protocol FILE")
    return Path(settings.protocols[suite])


def main() -> None:
    """Run the command line; an error the user can mend is one message on stderr and exit code 1."""
    try:
        app()
    except AnachronError as error:
        typer.echo(f"anachron: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)


if __name__ == "__main__":
    main()
