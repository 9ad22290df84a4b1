"""Commands that turn rows into tables: publish, freeze and check them; bring published records to rows.

Everything heavy is imported inside a command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anachron.errors import AnachronError

ConfigFile = Annotated[Path, typer.Option("--config", help="The run's configuration.")]
Scoring = Annotated[str, typer.Option("--scoring", help="Scoring the tables print.")]
FrozenFolder = Annotated[Path | None, typer.Option("--frozen", help="Folder of the frozen rows.")]
RecordsSuite = Annotated[str, typer.Argument(help="Suite whose published records these are.")]
RecordsFolder = Annotated[Path, typer.Argument(help="Folder of the records.")]
RecordsProtocol = Annotated[Path | None, typer.Option("--protocol", help="The protocol the records follow.")]

DEFAULT_CONFIG = Path("config/config.yaml")


def publish(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the leaderboard.")],
    row_files: Annotated[
        list[Path], typer.Option("--row", help="An audit row; repeat, in the table's order.")
    ],
    scoring: Scoring = "anachron",
) -> None:
    """Write the leaderboard's tables and figures from audit rows."""
    from anachron.publish import browse, figures, tables
    from anachron.publish import row as rows
    from anachron.staging import together

    read = [rows.read(path) for path in row_files]
    tables.check_scoring(read, scoring)
    with together(output) as staged:
        drawn = figures.write(read, staged, scoring)
        tables.write(read, staged, scoring, drawn, browse.found(output, read))


def check(
    config: ConfigFile = DEFAULT_CONFIG,
    frozen: FrozenFolder = None,
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


def freeze(
    row_files: Annotated[
        list[Path] | None, typer.Option("--row", help="An audit row to freeze; repeat.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    frozen: FrozenFolder = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why a frozen row is superseded.")] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Write the frozen tables anew, where a version prints otherwise.")
    ] = False,
) -> None:
    """Freeze audit rows: a changed row becomes a new version with a reason, never an overwrite."""
    import datetime

    from anachron.publish import freeze as frozen_rows

    folder = frozen or Path(_settings(config).frozen)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if not row_files and not tables:
        raise AnachronError("nothing to freeze: give a row with --row, or --tables")
    for path in row_files or []:
        typer.echo(frozen_rows.freeze(path, folder, reason, today))
    if tables:
        typer.echo("\n".join(str(path) for path in frozen_rows.rebuild(folder)))


def import_records(
    suite: RecordsSuite,
    folder: RecordsFolder,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where imported transcripts go.")] = Path(
        "resources/imported"
    ),
    protocol: RecordsProtocol = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier import that differs.")] = False,
) -> None:
    """Import published records as transcripts of models with provider `replay`."""
    from anachron import replay as replays

    typer.echo(replays.import_suite(suite, folder, output, protocol or protocol_of(suite), force=force))


def replay(
    suite: RecordsSuite,
    folder: RecordsFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for rows and leaderboard.")],
    protocol: RecordsProtocol = None,
    scoring: Scoring = "anachron",
) -> None:
    """Go from published records to audit rows and a leaderboard in one command."""
    from anachron import replay as replays

    replays.replay(suite, folder, out, protocol or protocol_of(suite), scoring=scoring)


def _settings(path: Path) -> Any:
    from anachron.config import Config, load

    return load(Config, path)


def protocol_of(suite: str) -> Path:
    """Return the suite's protocol file of the default configuration."""
    from anachron.config import Config, load

    settings = load(Config, DEFAULT_CONFIG) if DEFAULT_CONFIG.is_file() else Config()
    if suite not in settings.protocols:
        from anachron.suites import module

        module(suite, "protocol")
        own = DEFAULT_CONFIG.parent / "protocols" / f"{suite}.yaml"
        if own.is_file():  # a suite that a default run leaves out
            return own
        raise AnachronError(f"{DEFAULT_CONFIG}: `protocols` has no file for {suite!r}; give --protocol FILE")
    return Path(settings.protocols[suite])


def add_to(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    for command in (publish, check, freeze, replay):
        app.command()(command)
    app.command("import")(import_records)
