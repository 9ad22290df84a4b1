"""The command line: one subcommand per rule, and what people run by hand.

Everything heavy is imported inside a command, so that `--help` and a job's start stay quick.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from anachron import (
    __version__,
    cli_backtest,
    cli_browse,
    cli_cost,
    cli_fetch,
    cli_judge,
    cli_proof,
    cli_publish,
    cli_serve,
    cli_store,
)
from anachron.cli_help import Grouped
from anachron.errors import AnachronError

app = typer.Typer(
    cls=Grouped,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Measure what a language model already knows about the history a backtest asks it to predict.",
)
snapshot_app = typer.Typer(no_args_is_help=True, help="The embedded snapshot of public data.")
app.add_typer(snapshot_app, name="snapshot")
cli_backtest.add_to(app)
cli_serve.add_to(app)
cli_fetch.add_to(app)
cli_cost.add_to(app)
cli_store.add_to(app)
cli_publish.add_to(app)
cli_judge.add_to(app)
cli_browse.add_to(app)
cli_proof.add_to(app)

Suite = Annotated[str, typer.Option("--suite", help="Suite, for instance hindsightbench.")]
ProtocolFile = Annotated[Path, typer.Option("--protocol", help="The suite's protocol file.")]
RegistryFile = Annotated[Path, typer.Option("--registry", help="The model registry.")]
ModelName = Annotated[str, typer.Option("--model", help="Name of the model in the registry.")]
Panels = Annotated[list[Path] | None, typer.Option("--panel", help="A panel file; repeat for several.")]
Arm = Annotated[str, typer.Option("--arm", help="Arm or probe, for instance D or LAP.")]
Block = Annotated[str, typer.Option("--block", help="Block of decision months, or all.")]
Transcripts = Annotated[list[Path], typer.Option("--transcripts", help="A sealed block; repeat.")]
StoreFolder = Annotated[Path, typer.Option("--store", help="Folder of the paid answers.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write; replaced atomically.")]

DISK_REFUSALS = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.EISDIR, errno.ENOTDIR, errno.EEXIST),
)


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
    sources: Annotated[
        str, typer.Option("--sources", help="The `sources` section of the configuration, as JSON.")
    ],
    output: Output,
) -> None:
    """Build what was true and known on each decision date of one span."""
    from anachron import stages

    stages.panel(suite, protocol, sources, span, output)


@app.command()
def ask(
    suite: Suite,
    protocol: ProtocolFile,
    arm: Arm,
    block: Block,
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
    arm: Arm,
    block: Block,
    store: StoreFolder,
    output: Output,
    requests: Annotated[Path | None, typer.Option("--requests", help="The block's requests.")] = None,
    panels: Panels = None,
) -> None:
    """Ask one model what its store lacks of one block, and seal the block."""
    from anachron import stages

    stages.collect(suite, protocol, registry, model, arm, block, requests, panels or [], store, output)


@app.command()
def smoke(
    suite: Suite,
    protocol: ProtocolFile,
    registry: RegistryFile,
    model: ModelName,
    requests: Annotated[list[Path], typer.Option("--requests", help="A request table; repeat.")],
    store: StoreFolder,
    panels: Panels = None,
) -> None:
    """Ask one model a handful of requests of the real run, and print them with their answers for reading."""
    from anachron import stages_smoke

    stages_smoke.smoke(suite, protocol, registry, model, requests, panels or [], store, typer.echo)


@app.command()
def parse(
    suite: Suite,
    protocol: ProtocolFile,
    model: ModelName,
    output: Output,
    transcripts: Transcripts,
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
    transcripts: Transcripts,
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
    prices: Annotated[Path | None, typer.Option("--prices", help="The price file, for the ledger.")] = None,
) -> None:
    """Join a model's estimates in one audit row."""
    from anachron.config import Registry, load
    from anachron.llm import prices as price_file
    from anachron.publish import row as rows
    from anachron.stages_estimate import read_documents

    entry = load(Registry, registry).get(model)
    by_suite = read_documents(estimates)
    lines = price_file.read(prices) if prices else []
    rows.write(rows.build(entry, by_suite, margin_months=margin, price_lines=lines), output)


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


def main() -> None:
    """Run the command line; an error the user can mend is one message on stderr and exit code 1."""
    try:
        app()
    except AnachronError as error:
        typer.echo(f"anachron: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.errno not in DISK_REFUSALS:
            raise
        place = error.filename2 or error.filename or "the disk"
        typer.echo(
            f"anachron: {place}: {error.strerror or error}; make room, or give a place that can be written to",
            err=True,
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
