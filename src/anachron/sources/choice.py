"""Which table facts are read from: the embedded snapshot, a fetched table, or a user's own.

Light: it is asked when Snakemake parses the workflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from anachron.errors import ConfigError
from anachron.files import digest, sha256_file
from anachron.sources.raw import MANIFEST

if TYPE_CHECKING:
    import pandas as pd

    from anachron.config import Sources

AUTO = "auto"
KEY = "FRED_API_KEY"

FETCHED: Mapping[str, str] = MappingProxyType(
    {source: f"resources/{source}.parquet" for source in ("alfred", "fed", "french", "yahoo")}
)
"""The table that `anachron fetch` and the rules `fetch_*` write, by source."""

RAW_VINTAGES = "resources/raw/alfred"


def decide(sources: Sources, environment: Mapping[str, str], *, paid: bool) -> tuple[Sources, str]:
    """Settle `sources.alfred: auto` for one run.

    Parameters
    ----------
    sources
        The section `sources` of the configuration.
    environment
        Where `FRED_API_KEY` is looked up.
    paid
        Whether the store holds answers that were paid for: those rest on the panel that was there then, and a key
        that appears later is no wish to ask again.

    Returns
    -------
    tuple
        The section with a file or None in place of `auto`, and the decision in a sentence.

    Raises
    ------
    ConfigError
        When answers were paid for and the table is gone, though raw answers of ALFRED are there: which panel was paid
        for cannot be told, and the wrong guess would pay again.
    """
    if sources.alfred is None:
        return sources, f"panels show the latest values of {sources.snapshot} (sources.alfred is null)"
    if sources.alfred != AUTO:
        return sources, f"panels show the vintages of {sources.alfred} (sources.alfred)"
    fetched = FETCHED["alfred"]
    if Path(fetched).is_file():
        return sources.model_copy(update={"alfred": fetched}), f"panels show the vintages of {fetched}"
    if paid and (Path(RAW_VINTAGES) / MANIFEST).is_file():
        raise ConfigError(
            f"`sources.alfred` is auto and {fetched} is not there, but raw answers of ALFRED are ({RAW_VINTAGES}), and "
            "the store holds answers that were paid for. If they were given on vintages, make the table again "
            "(`anachron fetch alfred --offline`); if on the snapshot, set sources.alfred to null"
        )
    latest = sources.model_copy(update={"alfred": None})
    if not environment.get(KEY, "").strip():
        return latest, f"panels show the latest values of {sources.snapshot} ({KEY} is not set)"
    if paid:
        return latest, (
            f"panels show the latest values of {sources.snapshot}: {KEY} is set, but the store holds answers that "
            f"were paid for on this panel. To ask again on true vintages, set sources.alfred to {fetched}"
        )
    return sources.model_copy(
        update={"alfred": fetched}
    ), f"panels show the vintages of {fetched}, fetched first"


def alfred_table(sources: Sources) -> Path | None:
    """Return the table of vintages that is used, None for the snapshot's latest values.

    `auto` takes the fetched table where it is there. A run settles it for all its jobs (`decide`).
    """
    if sources.alfred is None:
        return None
    if sources.alfred == AUTO:
        fetched = Path(FETCHED["alfred"])
        return fetched if fetched.is_file() else None
    return Path(sources.alfred)


def read_vintages(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table of vintages, and the day up to which each series is known.

    One with a ``.json`` beside it was fetched (`asof.read`); another is a user's own, and is checked cell by cell
    (`own.read`). That vouches for itself up to the newest day on which anything in it was published.
    """
    from anachron.sources import asof, own

    if path.suffix.lower() == ".parquet" and path.with_suffix(".json").is_file():
        return asof.read(path)
    table = own.read(path, "alfred")
    return table, dict.fromkeys(sorted(set(table["series_id"])), str(table["published"].max()))


def read_own(path: Path, source: str) -> pd.DataFrame:
    """Read a table that `sources.<source>` names, fetched or a user's own; faults as in `own.read`."""
    from anachron.sources import own

    return own.read(path, source)


def digest_of(sources: Sources, names: tuple[str, ...] = ("alfred", "fed", "yahoo")) -> str:
    """Return one SHA-256 over the tables that `facts` reads: what a suite that asks about them depends on.

    A table that is still to be fetched counts as such; a job's dependencies are read again before it runs.

    Raises
    ------
    SourceError
        When the snapshot has no such table.
    """
    from anachron.sources import snapshot

    parts = {}
    for source in names:
        path = alfred_table(sources) if source == "alfred" else getattr(sources, source)
        if path is None:
            parts[source] = snapshot.file_digest(Path(sources.snapshot), f"{source}.parquet")
        else:
            parts[source] = sha256_file(Path(path)) if Path(path).is_file() else "not fetched"
    return digest(parts)
