"""`anachron fetch`: the commands that ask a source on the network. Everything heavy is imported inside a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

fetch_app = typer.Typer(
    no_args_is_help=True,
    help="Fetch facts from their sources. What a source sends is kept raw; a source that fails replaces nothing.",
)

RawFolder = Annotated[Path, typer.Option("--raw", help="Where raw answers are kept.")]
Retries = Annotated[int, typer.Option("--retries", min=0, help="Attempts after the first.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for an answer.")]
Offline = Annotated[
    bool, typer.Option("--offline", help="Ask nothing; make the table from the raw answers that are there.")
]
FredUrl = Annotated[
    str | None,
    typer.Option("--base-url", envvar="ANACHRON_FRED_URL", help="Root of the API, if not FRED's own."),
]

RAW = Path("resources/raw")


@fetch_app.command()
def alfred(
    series: Annotated[
        list[str] | None,
        typer.Option("--series", help="FRED's id; repeat. The eight of the default panel when absent."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table of these series; replaced atomically.")
    ] = Path("resources/alfred.parquet"),
    raw: RawFolder = RAW,
    base_url: FredUrl = None,
    retries: Retries = 3,
    timeout: Timeout = 60.0,
    offline: Offline = False,
) -> None:
    """Fetch every vintage of FRED series. The key is read from FRED_API_KEY."""
    from anachron.sources import alfred as source
    from anachron.sources import alfred_client

    wanted = series or list(source.PANEL_SERIES)
    if offline:
        source.build(wanted, raw, output)
        return
    for line in source.fetch(
        wanted, raw, output, base_url=base_url or alfred_client.BASE_URL, retries=retries, timeout_s=timeout
    ):
        typer.echo(line)


@fetch_app.command()
def french(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table of factors; replaced atomically.")
    ] = Path("resources/french.parquet"),
    raw: RawFolder = RAW,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", envvar="ANACHRON_FRENCH_URL", help="Folder of the zips, if not the library's."
        ),
    ] = None,
    retries: Retries = 3,
    timeout: Timeout = 60.0,
    offline: Offline = False,
) -> None:
    """Fetch the factors of the Kenneth French data library that have changed."""
    from anachron.sources import french as source

    if offline:
        source.build(raw, output)
        return
    for line in source.fetch(
        raw, output, base_url=base_url or source.BASE_URL, retries=retries, timeout_s=timeout
    ):
        typer.echo(line)


@fetch_app.command()
def yahoo(
    ticker: Annotated[list[str], typer.Option("--ticker", help="As Yahoo spells it now; repeat.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table of month ends; replaced atomically.")
    ] = Path("resources/yahoo.parquet"),
    raw: RawFolder = RAW,
    start: Annotated[
        str, typer.Option("--start", help="First day, YYYY-MM-DD. There is no last one.")
    ] = "1998-12-01",
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", envvar="ANACHRON_YAHOO_URL", help="A gateway, if Yahoo is not asked itself."
        ),
    ] = None,
    retries: Retries = 3,
    timeout: Timeout = 30.0,
    fresh_hours: Annotated[
        float, typer.Option("--fresh-hours", min=0, help="Charts as young as this are not asked for again.")
    ] = 12.0,
    offline: Offline = False,
) -> None:
    """Fetch daily bars and keep the month ends, as quoted on the day."""
    from anachron.sources import yahoo as source

    if offline:
        source.build(ticker, raw, output, start=start)
        return
    for line in source.fetch(
        ticker,
        raw,
        output,
        start=start,
        session=source.recording_session(base_url),
        retries=retries,
        timeout_s=timeout,
        fresh_hours=fresh_hours,
    ):
        typer.echo(line)


@fetch_app.command()
def fed(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table of months; replaced atomically.")
    ] = Path("resources/fed.parquet"),
    raw: RawFolder = RAW,
    base_url: FredUrl = None,
    retries: Retries = 3,
    timeout: Timeout = 60.0,
    offline: Offline = False,
    embedded: Annotated[
        bool,
        typer.Option("--embedded", help="Ask nothing; take the announced changes that come with anachron."),
    ] = False,
) -> None:
    """Fetch the Federal Reserve's target and what was decided each month. The key is read from FRED_API_KEY."""
    from anachron.sources import fed as source

    if embedded:
        typer.echo(f"announced changes, known through {source.build_embedded(output)}")
        return
    if offline:
        source.build(raw, output)
        return
    for line in source.fetch(raw, output, base_url=base_url, retries=retries, timeout_s=timeout):
        typer.echo(line)


@fetch_app.command()
def own(
    file: Annotated[Path, typer.Argument(help="Your table: CSV or Parquet.")],
    source: Annotated[
        str, typer.Option("--source", help="Whose columns it has: alfred, fed, french or yahoo.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="resources/SOURCE.parquet when absent.")
    ] = None,
) -> None:
    """Check a table of your own and put it in the place of a source's."""
    from anachron.sources import own as own_tables

    out = output or Path("resources") / f"{source}.parquet"
    typer.echo(f"{out}: {own_tables.bring(file, source, out):,} rows of {file}")


def add_to(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(fetch_app, name="fetch")
