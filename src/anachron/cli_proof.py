"""Commands of proof: a plan registered before it is asked, a row recomputed from what it rests on.

Everything heavy is imported inside a command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anachron.errors import ConfigError, DriftError

Protocols = Annotated[
    list[Path] | None,
    typer.Option("--protocol", help="A protocol file in place of the configuration's for its suite; repeat."),
]
DEFAULT_CONFIG = Path("config/config.yaml")
MOST = 40
"""Differences that are printed; a transcript that is gone moves hundreds of fields."""


def verify(
    row_file: Annotated[
        Path, typer.Argument(metavar="ROW", help="The row: of a run, frozen, or of a replay.")
    ],
    config: Annotated[Path, typer.Option("--config", help="The run's configuration.")] = DEFAULT_CONFIG,
    protocol: Protocols = None,
    records: Annotated[
        Path | None, typer.Option("--records", help="Folder of the published records a replayed row is from.")
    ] = None,
    other_processor: Annotated[
        bool,
        typer.Option("--other-processor", help="Accept a difference of one unit in the tenth digit."),
    ] = False,
    other_code: Annotated[
        bool,
        typer.Option("--other-code", help="Accept other source code that gives the same numbers."),
    ] = False,
) -> None:
    """Recompute a row from sealed transcripts and say which field differs."""
    from anachron import verify as proof
    from anachron.publish import row as rows

    row = rows.read(row_file)
    made = _recomputed(row, row_file, config, protocol or [], records)
    found = proof.compare(row_file, row, made, digits=not other_processor, code=not other_code)
    for note in found.notes:
        typer.echo(f"accepted: {note}", err=True)
    if found.differences:
        more = len(found.differences) - MOST
        number = len(found.differences)
        lines = [f"{row_file}: {number:,} field{'s differ' if number > 1 else ' differs'}"]
        lines += [f"- {cause}" for cause in found.causes]
        lines += [f"  {said}" for said in found.differences[:MOST]]
        lines += [f"  … and {more:,} more"] if more > 0 else []
        raise DriftError("\n".join(lines))
    calls = f"{made['ledger']['calls']:,} transcripts"
    typer.echo(f"{row_file}: follows from {calls} of {', '.join(sorted(row['estimates']))}, field by field")


def prereg(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of the registry.")],
    config: Annotated[Path, typer.Option("--config", help="The run's configuration.")] = DEFAULT_CONFIG,
    protocol: Protocols = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why a plan that was registered is changed.")
    ] = None,
) -> None:
    """Register what a model will be asked, with hashes and the time, before it is asked."""
    import datetime

    from anachron import prereg as plans
    from anachron.cli_cost import plan_of

    plan = plan_of(config, model, protocols=_by_suite(protocol or []))
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    path, held = plans.register(plan, Path(plan.config.preregistered), now, reason)
    typer.echo(f"{path}: version {held['version']}, {held['registered_at']}, {held['reason']}")
    for suite, part in sorted(held["suites"].items()):
        asked = sorted(part["requests"].items())
        calls = {arm: sum(block["calls"] for block in blocks.values()) for arm, blocks in asked}
        listed = ", ".join(f"{arm} {number:,}" for arm, number in calls.items())
        typer.echo(f"  {suite}, protocol {part['protocol']['name']}: {part['calls']:,} calls ({listed})")
    if held["answers_in_store"]:
        typer.echo(f"  {held['answers_in_store']:,} answers of this model were in the store already")
    typer.echo(f"  sha256 {held['sha256']}; publish it, or commit the file, before you collect")


def _recomputed(
    row: dict[str, Any], row_file: Path, config: Path, protocols: list[Path], records: Path | None
) -> dict[str, Any]:
    from anachron import verify as proof

    if records is not None:
        from anachron import replay
        from anachron.cli_publish import protocol_of

        suite = proof.only_suite(row, row_file)
        return replay.recomputed(suite, records, row["model"], (protocols or [protocol_of(suite)])[0])
    from anachron.cli_cost import plan_of

    try:
        plan = plan_of(config, row["model"], protocols=_by_suite(protocols))
    except ConfigError as error:
        if row["identity"]["provider"] != "replay":
            raise
        raise ConfigError(
            f"{error}\n{row_file} was made of published records; if `anachron replay` wrote it, give their folder "
            "with --records"
        ) from None
    return proof.from_run(row, plan)


def _by_suite(protocols: list[Path]) -> dict[str, str]:
    """Return protocol files by the suite that each names."""
    from anachron.config import read_yaml

    found = {}
    for path in protocols:
        read = read_yaml(path)
        suite = read.get("suite") if isinstance(read, dict) else None
        if not isinstance(suite, str):
            raise ConfigError(f"{path}: names no `suite`; give a protocol file")
        found[suite] = str(path)
    return found


def add_to(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(verify)
    app.command()(prereg)
