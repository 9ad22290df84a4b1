"""A user's own table in place of a source's: CSV or Parquet with the same columns, checked cell by cell.

Every fault names file, line, column, what was found and what is allowed; the first dozen are told at once.
"""

from __future__ import annotations

import csv
import datetime as dt
import difflib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError
from anachron.sources import own_checks, raw
from anachron.sources.own_checks import Tell

if TYPE_CHECKING:
    import pandas as pd

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""What a cell may hold where a value may be missing; letter case does not matter."""

TRUTHS = {"true": True, "1": True, "false": False, "0": False}
MOST_FAULTS = 12
LARGEST_CELL = 60


def read(path: Path, source: str, *, today: dt.date | None = None) -> pd.DataFrame:
    """Read a user's table.

    Parameters
    ----------
    path
        ``.csv`` (UTF-8, comma, a header) or ``.parquet``. Columns may stand in any order, rows too.
    source
        Whose place it takes: a key of `contracts.CONTRACTS`.
    today
        Dates after this day are refused; the present day when None.

    Returns
    -------
    pandas.DataFrame
        As the source's contract has it, sorted by the columns that make a row unique.

    Raises
    ------
    SourceError
        When the file cannot be read, or breaks the contract; names file, line (row of a Parquet file, from 1),
        column, what was found and what is allowed.
    """
    from anachron import frames
    from anachron.sources.contracts import CONTRACTS

    if source not in CONTRACTS:
        raise SourceError(f"{source!r} is no source with a table; these are: {', '.join(sorted(CONTRACTS))}")
    contract = CONTRACTS[source]
    schema = contract.to_schema()
    columns, keys = schema.columns, list(schema.unique)
    unit, frame, places = _load(path, list(columns))
    faults: list[str] = []
    cells: set[tuple[int, str]] = set()

    def tell(row: int, column: str, found: Any, allowed: str) -> None:
        if (row, column) in cells:
            return
        cells.add((row, column))
        shown = "nothing" if _is_missing(found) else repr(str(found)[:LARGEST_CELL])
        faults.append(f"{path}: {unit} {places[row]}, column {column!r}: found {shown}; allowed is {allowed}")

    for name, column in columns.items():
        frame[name] = _cast(frame[name], name, column, tell)
    if not faults:
        own_checks.check_values(frame, columns, tell)
        own_checks.check_dates(frame, columns, today or dt.datetime.now(dt.UTC).date(), tell)
    if not faults:
        own_checks.check_unique(frame, keys, tell, lambda row: f"{unit} {places[row]}")
        own_checks.SPECIFIC[source](frame, tell)
    if faults:
        more = f"\n… and {len(faults) - MOST_FAULTS:,} more" if len(faults) > MOST_FAULTS else ""
        raise SourceError("\n".join(faults[:MOST_FAULTS]) + more)
    whole = frames.check(frame, contract, str(path))
    return whole.sort_values(keys, ignore_index=True)


def bring(path: Path, source: str, out: Path, *, today: dt.date | None = None) -> int:
    """Check a user's table and write it to `out` as the source's Parquet; returns the number of rows.

    Raises
    ------
    SourceError
        As `read`; `out` then stands as it was.
    """
    from anachron import frames
    from anachron.sources.contracts import CONTRACTS

    table = read(path, source, today=today)
    with raw.turn(out.parent):
        frames.write(table, out, CONTRACTS[source])
        # What was noted of a fetched table is not true of this one.
        out.with_suffix(".json").unlink(missing_ok=True)
    return len(table)


def _load(path: Path, columns: Sequence[str]) -> tuple[str, pd.DataFrame, Sequence[int]]:
    """Return what a row is called, the cells (text, or Parquet's own types), and each row's number."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    kind = path.suffix.lower()
    if kind == ".csv":
        return "line", *_load_csv(path, columns)
    if kind in (".parquet", ".pq"):
        from anachron import frames

        frame = frames.read_parquet(path)
        _check_header(path, [str(name) for name in frame.columns], columns)
        _check_filled(path, len(frame))
        return "row", frame[list(columns)].reset_index(drop=True).astype(object), range(1, len(frame) + 1)
    raise SourceError(f"{path}: the name ends in {kind or 'nothing'!r}; allowed is .csv or .parquet")


def _load_csv(path: Path, columns: Sequence[str]) -> tuple[pd.DataFrame, list[int]]:
    import pandas as pd

    rows: list[list[str]] = []
    lines: list[int] = []
    table = None
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            table = csv.reader(handle, strict=True)
            header = [name.strip() for name in next(filter(None, table), [])]
            _check_header(path, header, columns)
            for row in table:
                if not row:
                    continue
                if len(row) != len(header):
                    raise SourceError(
                        f"{path}: line {table.line_num}: found {len(row)} cells; allowed is {len(header)}, as many as "
                        "columns (a decimal comma makes two cells of one)"
                    )
                rows.append(row)
                lines.append(table.line_num)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise SourceError(f"{path}: line {table.line_num if table else 1}: {error}") from None
    _check_filled(path, len(rows))
    frame = pd.DataFrame(rows, columns=pd.Index(header), dtype=object)
    return frame[list(columns)], lines


def _check_header(path: Path, found: Sequence[str], wanted: Sequence[str]) -> None:
    if not found:
        raise SourceError(f"{path}: is empty; allowed is a header with {', '.join(wanted)}")
    marks = [mark for mark in (";", "\t", "|") if len(found) == 1 and mark in found[0]]
    if marks:
        raise SourceError(f"{path}: line 1: cells are separated by {marks[0]!r}; allowed are commas")
    told = []
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, [other for other in found if other not in wanted], 1)
            told.append(f"no column {name!r}" + (f" (found {near[0]!r}: rename it)" if near else ""))
    told += [f"a column {name!r} too many" for name in found if name not in wanted]
    told += [
        f"column {name!r} stands twice" for name in sorted({name for name in found if found.count(name) > 1})
    ]
    if told:
        raise SourceError(f"{path}: line 1: {'; '.join(told)}; allowed is {', '.join(wanted)}")


def _check_filled(path: Path, rows: int) -> None:
    if not rows:
        raise SourceError(f"{path}: holds no row below its header")


def _cast(cells: pd.Series, name: str, column: Any, tell: Tell) -> pd.Series:
    """Return a column in its type; a cell that cannot be had in it is told and missing."""
    import pandas as pd

    dtype = str(column.dtype)
    convert: Callable[[Any], Any]
    if dtype.startswith("float"):
        convert, allowed, missing = _number, "a number with a decimal point", math.nan
    elif dtype == "bool":
        convert, allowed, missing = _truth, "true or false", False
    else:
        convert, allowed, missing = _text, "text on one line", None
    values: list[Any] = []
    for row, cell in enumerate(cells):
        value = None
        if _is_missing(cell):
            if not column.nullable:
                tell(row, name, cell, own_checks.allowed(column) or allowed)
        else:
            value = convert(cell)
            if value is None:
                tell(row, name, cell, allowed)
        values.append(missing if value is None else value)
    kind = "float64" if dtype.startswith("float") else "bool" if dtype == "bool" else "str"
    return pd.Series(values, dtype=kind, index=cells.index)


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell != cell


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and "_" not in str(cell) else None


def _truth(cell: Any) -> bool | None:
    return TRUTHS.get(str(cell).strip().lower())


def _text(cell: Any) -> str | None:
    if isinstance(cell, dt.datetime | dt.date):
        # A Parquet file may hold days as such; a time of day is not to be dropped in silence.
        at = dt.time.min if not isinstance(cell, dt.datetime) else cell.time()
        return None if at != dt.time.min else f"{cell:%Y-%m-%d}"
    return cell.strip() if isinstance(cell, str) and cell.strip().isprintable() else None
