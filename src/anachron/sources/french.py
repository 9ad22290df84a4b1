"""The Kenneth French data library: fetch what changed, keep it raw, write `resources/french.parquet`.

The library has no vintages and revises its history with every release, so the CRSP build is part of the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anachron.errors import SourceError
from anachron.sources import french_parse, raw
from anachron.sources.download import RETRIES, TIMEOUT_S, get

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "french"
BASE_URL = "https://mba.tuck.dartmouth.edu/pages/faculty/ken.french/ftp"

THREE_FACTORS = "F-F_Research_Data_Factors"
FIVE_FACTORS = "F-F_Research_Data_5_Factors_2x3"
MOMENTUM = "F-F_Momentum_Factor"

FACTORS = {
    THREE_FACTORS: ("Mkt-RF", "SMB", "HML", "RF"),
    FIVE_FACTORS: ("Mkt-RF", "SMB", "HML", "RMW", "CMA", "RF"),
    MOMENTUM: ("Mom",),
}
"""The files that are read and the factors each should hold."""

HOME_FILE = {
    **dict.fromkeys(("Mkt-RF", "SMB", "HML", "RF"), f"{THREE_FACTORS}.csv"),
    **dict.fromkeys(("RMW", "CMA"), f"{FIVE_FACTORS}.csv"),
    "Mom": f"{MOMENTUM}.csv",
}
"""The file a factor is taken from where none is named. SMB of the three- and of the five-factor file differ."""


def fetch(
    raw_folder: Path,
    out: Path,
    *,
    base_url: str = BASE_URL,
    retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Download the files that changed, keep them raw, and write all factors to `out` (`contracts.French`).

    A file is parsed before it is kept: what cannot be read replaces nothing.

    Returns
    -------
    list[str]
        One line per file: what was found.

    Raises
    ------
    SourceError
        When a file cannot be had or read, or is older than what is kept. `out` then stands as it was, and so does
        the raw file; files fetched before it are kept.
    """
    root = base_url.rstrip("/")
    report: list[str] = []
    for name in FACTORS:
        try:
            report.append(_refresh(raw_folder, name, root, retries, timeout_s, sleep))
        except SourceError as error:
            raise SourceError(
                f"{error}\nKenneth French: {len(report)} of {len(FACTORS)} files are fetched and kept; {out} was "
                "not touched"
            ) from None
    build(raw_folder, out)
    return report


def build(raw_folder: Path, out: Path) -> None:
    """Write `out` from the newest raw file of each name; no network. The same raw files give the same bytes."""
    with raw.turn(raw_folder / SOURCE, out.parent):
        _build(raw_folder, out)


def _build(raw_folder: Path, out: Path) -> None:
    import pandas as pd

    from anachron import frames
    from anachron.sources.contracts import French

    parts = []
    for name in FACTORS:
        kept = raw.latest(raw_folder, SOURCE, _zip(name))
        if kept is None:
            raise SourceError(
                f"Kenneth French: no {_zip(name)} in {raw_folder / SOURCE}; run `anachron fetch french`"
            )
        parts.append(_parse(raw.read(kept), name, kept.file))
    whole = pd.concat(parts, ignore_index=True)
    frames.write(whole.sort_values(["source_file", "factor", "month"], ignore_index=True), out, French)


def series(table: pd.DataFrame, factor: str, source_file: str | None = None) -> pd.Series:
    """Return one factor by month, in percent.

    Parameters
    ----------
    table
        `resources/french.parquet` (`contracts.French`).
    factor
        For instance ``SMB``.
    source_file
        The CSV to take it from; `HOME_FILE` says which one otherwise.

    Raises
    ------
    SourceError
        When the table has no such factor.
    """
    wanted = source_file or HOME_FILE.get(factor)
    found = table[(table["factor"] == factor) & (table["source_file"] == wanted)]
    if found.empty:
        known = ", ".join(sorted(set(table["factor"])))
        raise SourceError(
            f"Kenneth French: no factor {factor!r} of {wanted or 'any file'}; the table holds {known}"
        )
    return found.set_index("month")["value_pct"].rename(factor)


def _refresh(
    raw_folder: Path,
    name: str,
    base_url: str,
    retries: int,
    timeout_s: float,
    sleep: Callable[[float], None],
) -> str:
    url = f"{base_url}/{_zip(name)}"
    before = raw.intact(raw.latest(raw_folder, SOURCE, _zip(name)))
    answer = get(
        url,
        f"Kenneth French, {_zip(name)}",
        headers=raw.conditional_headers(before),
        retries=retries,
        timeout_s=timeout_s,
        sleep=sleep,
    )
    if answer is None:
        if before is None:
            raise SourceError(
                f"Kenneth French, {_zip(name)}: {url} says nothing changed, but nothing is kept yet"
            )
        return f"{name}: not changed since {before.fetched_at}"
    fresh = _parse(answer.content, name, _zip(name))
    stamp = fresh["crsp_stamp"].iloc[0]
    if stamp > answer.fetched_at.strftime("%Y%m"):
        raise SourceError(
            f"Kenneth French, {_zip(name)}: made from CRSP {stamp}, a month that is still to come"
        )
    old = None if before is None else _parse(raw.read(before), name, before.file)
    if old is not None and old["crsp_stamp"].iloc[0] > stamp:
        raise SourceError(
            f"Kenneth French, {_zip(name)}: {url} offers CRSP {stamp}, older than the {old['crsp_stamp'].iloc[0]} "
            f"that is kept; nothing was replaced"
        )
    kept = raw.keep(raw_folder, SOURCE, _zip(name), url, answer.content, answer.headers, answer.fetched_at)
    if old is None or not kept.changed:
        return f"{name}: CRSP {stamp}, {fresh['month'].nunique():,} months"
    changed, common = french_parse.revisions(old, fresh, FACTORS[name])
    return f"{name}: CRSP {old['crsp_stamp'].iloc[0]} → {stamp}, {changed:,} of {common:,} months revised"


def _parse(content: bytes, name: str, file: str) -> pd.DataFrame:
    where = f"Kenneth French, {file}"
    frame = french_parse.parse(content, where)
    found: Sequence[str] = list(dict.fromkeys(frame["factor"]))
    if tuple(found) != FACTORS[name]:
        raise SourceError(
            f"{where}: should hold the factors {', '.join(FACTORS[name])}; holds {', '.join(found)}"
        )
    return frame


def _zip(name: str) -> str:
    return f"{name}_CSV.zip"
