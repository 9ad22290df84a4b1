"""Reading the files of the Kenneth French data library: a zip with one CSV of prose, months, years and a footer.

Pure: bytes in, a frame out. Fetching is in `french`.
"""

from __future__ import annotations

import io
import itertools
import lzma
import re
import struct
import zipfile
import zlib
from pathlib import PurePath
from typing import TYPE_CHECKING

from anachron.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

MISSING = frozenset({-99.99, -999.0})
"""What the library writes for a month without a value."""

LARGEST_PERCENT = 60.0
"""A monthly factor beyond this is an error of unit: the largest on record is the momentum of August 1932, −52 %."""

SMALLEST_SPREAD = 1.0
MONTHS_FOR_SPREAD = 60
"""Sixty months of a factor (the riskless rate apart) that never leave ±1 are decimals, not percent."""

LARGEST_MEMBER = 20_000_000

ZIP_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
)
"""What Python raises over a zip, depending on which of its bytes is wrong."""

_STAMP = re.compile(r"\b(\d{4}(?:0[1-9]|1[0-2]))\s+CRSP\b")
_MONTH_ROW = re.compile(r"^\s*(\d{6})\s*,")


def parse(content: bytes, where: str) -> pd.DataFrame:
    """Read one zip of the library.

    Parameters
    ----------
    content
        The zip, as downloaded.
    where
        Source and file, for the error text.

    Returns
    -------
    pandas.DataFrame
        Columns factor, month (``YYYY-MM``), value_pct (percent a month, missing where the library says so),
        crsp_stamp (``YYYYMM`` of the CRSP build) and source_file (the CSV's name), by factor in the order of the
        file, then by month.

    Raises
    ------
    SourceError
        When it is not a zip of one CSV, has no stamp or no monthly block, or the block is cut, has a month twice
        or out of order, ends before the stamp or after it, or holds what cannot be percent. Names the file and,
        where there is one, the line.
    """
    import pandas as pd

    name, text = _member(content, where)
    where = f"{where}, {name}"
    lines = text.splitlines()
    found = _STAMP.search(text)
    if found is None:
        raise SourceError(f"{where}: the prose at its head does not say from which CRSP build it was made")
    stamp = found.group(1)
    factors, rows = _monthly_block(lines, where)
    _check_months(rows, stamp, where)
    months = [f"{month[:4]}-{month[4:]}" for _, month, _ in rows]
    parts = []
    for place, factor in enumerate(factors):
        values = [None if value[place] in MISSING else value[place] for _, _, value in rows]
        _check_unit(factor, [(line, month) for line, month, _ in rows], values, where)
        parts.append(
            pd.DataFrame(
                {
                    "factor": factor,
                    "month": months,
                    "value_pct": pd.Series(values, dtype="float64"),
                    "crsp_stamp": stamp,
                    "source_file": name,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _member(content: bytes, where: str) -> tuple[str, str]:
    """Return name and text of the one CSV in a zip."""
    if not content.startswith(b"PK"):
        kind = "a web page" if content.lstrip()[:1] == b"<" else "not a zip"
        raise SourceError(
            f"{where}: {kind}, {len(content)} bytes that begin with {content[:40]!r}; "
            "the address may have moved, or something between here and the library answered in its place"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) != 1 or not members[0].filename.lower().endswith(".csv"):
                names = ", ".join(info.filename for info in members) or "nothing"
                raise SourceError(f"{where}: should hold one CSV file; holds {names}")
            if members[0].file_size > LARGEST_MEMBER:
                raise SourceError(
                    f"{where}: {members[0].filename} would unpack to {members[0].file_size:,} bytes"
                )
            return PurePath(members[0].filename).name, archive.read(members[0]).decode("latin-1")
    except ZIP_FAULTS as error:
        raise SourceError(
            f"{where}: the zip is damaged or cut short ({len(content)} bytes; {error}); fetch it again"
        ) from None


def _monthly_block(lines: list[str], where: str) -> tuple[list[str], list[tuple[int, str, list[float]]]]:
    """Return the factors' names and (line number, YYYYMM, values) up to the first blank line after the months."""
    first = next((place for place, line in enumerate(lines) if _MONTH_ROW.match(line)), None)
    if first is None:
        raise SourceError(f"{where}: no monthly block (no line that opens with YYYYMM and a comma)")
    header = [cell.strip() for cell in lines[first - 1].split(",")] if first else []
    factors = header[1:]
    if len(header) < 2 or header[0] or not all(factors) or len(set(factors)) < len(factors):
        raise SourceError(
            f"{where}: line {first} above the first month should name the columns (',Mkt-RF,SMB,…'); "
            f"found {lines[first - 1][:80]!r}"
        )
    rows: list[tuple[int, str, list[float]]] = []
    for number, line in enumerate(lines[first:], start=first + 1):
        if not line.strip():
            return factors, rows
        cells = [cell.strip() for cell in line.split(",")]
        try:
            values = [float(cell) for cell in cells[1:]]
        except ValueError:
            values = []
        if not re.fullmatch(r"\d{4}(0[1-9]|1[0-2])", cells[0]) or len(values) != len(factors):
            raise SourceError(
                f"{where}: line {number} should be YYYYMM and {len(factors)} numbers; found {line[:80]!r}"
            )
        rows.append((number, cells[0], values))
    raise SourceError(
        f"{where}: ends at line {len(lines)} inside the monthly block, with no blank line after it: cut short"
    )


def _check_months(rows: list[tuple[int, str, list[float]]], stamp: str, where: str) -> None:
    for (_, before, _), (line, month, _) in itertools.pairwise(rows):
        if month == before:
            raise SourceError(f"{where}: line {line}: month {month} stands twice")
        if _ordinal(month) != _ordinal(before) + 1:
            raise SourceError(f"{where}: line {line}: month {month} follows {before}")
    line, last, _ = rows[-1]
    if last > stamp:
        raise SourceError(f"{where}: line {line}: month {last} is later than the CRSP build {stamp}")
    if last < stamp:
        raise SourceError(
            f"{where}: the monthly block ends early, at {last} (line {line}), though made from CRSP {stamp}"
        )


def _ordinal(month: str) -> int:
    return 12 * int(month[:4]) + int(month[4:])


def _check_unit(factor: str, places: list[tuple[int, str]], values: list[float | None], where: str) -> None:
    known = [value for value in values if value is not None]
    for (line, month), value in zip(places, values, strict=True):
        # `not <=` so that a NaN in the file is caught too.
        if value is not None and not abs(value) <= LARGEST_PERCENT:
            raise SourceError(
                f"{where}: line {line}: {factor} of {month} is {value:g} % a month; beyond ±{LARGEST_PERCENT:g} % "
                "the unit is wrong"
            )
    if factor != "RF" and len(known) >= MONTHS_FOR_SPREAD and max(map(abs, known)) < SMALLEST_SPREAD:
        raise SourceError(
            f"{where}: no month of {factor} leaves ±{SMALLEST_SPREAD:g}: these are decimals, not percent"
        )


def revisions(older: pd.DataFrame, newer: pd.DataFrame, factors: tuple[str, ...]) -> tuple[int, int]:
    """Count the months in which two builds of the same file differ.

    Parameters
    ----------
    older, newer
        As returned by `parse`, of one file each.
    factors
        Factors to compare.

    Returns
    -------
    tuple[int, int]
        Months in which at least one of the factors differs, and months that both builds have.
    """
    sides = [
        frame[frame["factor"].isin(factors)].pivot(index="month", columns="factor", values="value_pct")
        for frame in (older, newer)
    ]
    common = sides[0].index.intersection(sides[1].index)
    left, right = (side.loc[common] for side in sides)
    different = ~(left.eq(right) | (left.isna() & right.isna()))
    return int(different.any(axis=1).sum()), len(common)
