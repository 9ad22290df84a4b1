"""Reading a user's table of forecasts: CSV or Parquet, every fault told with row, column, value and what is allowed."""

from __future__ import annotations

import csv
import datetime as dt
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd

from anachron import frames
from anachron.backtest import faults
from anachron.backtest.contract import OPTIONAL, REQUIRED, REQUIRED_OF_SCORES, Forecasts
from anachron.backtest.faults import Faults
from anachron.errors import BacktestError

Kind = Literal["forecast", "score"]
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
DATES = ("resolved_on", "frozen_on", "cutoff")
SHARES = ("outcome", "forecast", "score", "crowd")
NOTHING: Mapping[str, Any] = MappingProxyType({**dict.fromkeys(SHARES, math.nan), "paraphrase": 0})
"""What stands for an empty cell; None in all other columns."""
EMPTY = object()
MAY_BE_MISSING = frozenset({"forecast", "crowd", "frozen_on", "cutoff", "role"})
OLDEST_FILE = 1990
"""Archives give files they know no date of a date of 1970 or 1980; such a date says nothing."""


@dataclass(frozen=True)
class Backtest:
    """A table of forecasts that keeps its contract."""

    frame: pd.DataFrame
    """See `contract.Forecasts`; sorted by model, question and paraphrase."""
    kind: Kind
    given: frozenset[str]
    """Optional columns that the file has, with a value in one row at least."""
    warnings: tuple[str, ...]
    path: Path


def read(
    path: Path,
    *,
    target: str | None = None,
    controls: Sequence[str] = (),
    cutoffs: Mapping[str, str] | None = None,
    today: dt.date | None = None,
    file_date: dt.date | None = None,
) -> Backtest:
    """Read and check a table of forecasts.

    Parameters
    ----------
    path
        ``.csv`` (UTF-8, commas, a header) or ``.parquet``; columns in any order, others than the contract's are
        left out with a warning.
    target, controls
        Roles that take the place of the file's; all other models then have none.
    cutoffs
        Cutoff days by model, in place of the file's.
    today
        No date may lie after it; the present day when None.
    file_date
        Day the table was written, after which no outcome can have been known; the file's own date when None.

    Raises
    ------
    BacktestError
        When the file cannot be read or breaks the contract; tells line (row of a Parquet file, from 1), column,
        what was found and what is allowed.
    """
    unit, table, places = load(path)
    warnings: list[str] = []
    kind = _kind(path, table, warnings)
    told = Faults(path, unit, places)
    frame = _cast(table, kind, told)
    told.stop()
    frame = _assigned(path, frame, target, controls, cutoffs or {})
    now = today or dt.datetime.now(dt.UTC).date()
    faults.check_dates(frame, now, file_date or _date_of(path, now), told)
    frame["resolved_on"], settled = faults.settle_days(frame)
    faults.check_repeats(frame, told)
    told.stop()
    warnings += settled + faults.warnings(frame)
    given = frozenset(name for name in OPTIONAL if name in table.columns and frame[name].notna().any())
    frame["cluster"] = _clusters(frame)
    whole = frames.check(frame[list(Forecasts.to_schema().columns)], Forecasts, str(path))
    whole = whole.sort_values(["model", "question", "paraphrase"], ignore_index=True)
    return Backtest(whole, kind, given, tuple(warnings), path)


def load(path: Path) -> tuple[str, pd.DataFrame, Sequence[int]]:
    """Return what a row is called, the cells as they are, and each row's number."""
    if not path.is_file():
        raise BacktestError(f"{path}: no such file")
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq"):
        table = frames.read_parquet(path).reset_index(drop=True).astype(object)
        unit, places = "row", list(range(1, len(table) + 1))
    elif kind == ".csv":
        table, places = _load_csv(path)
        unit = "line"
    else:
        raise BacktestError(f"{path}: the name ends in {kind or 'nothing'!r}; allowed is .csv or .parquet")
    if table.empty:
        raise BacktestError(f"{path}: holds no row below its header")
    return unit, table, places


def _load_csv(path: Path) -> tuple[pd.DataFrame, list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            table = csv.reader(handle, strict=True)
            header = [name.strip() for name in next(table, [])]
            _check_header(path, header)
            for row in table:
                line = table.line_num
                if not row:
                    continue
                if len(row) != len(header):
                    raise BacktestError(
                        f"{path}: line {line}: found {len(row)} cells; allowed is {len(header)}, as many as columns "
                        "(a decimal comma, or a comma in an unquoted text, makes two cells of one)"
                    )
                rows.append(row)
                lines.append(line)
    except UnicodeDecodeError as error:
        raise BacktestError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise BacktestError(f"{path}: line {line}: {error}") from None
    return pd.DataFrame(rows, columns=pd.Index(header), dtype=object), lines


def _check_header(path: Path, header: Sequence[str]) -> None:
    if not header:
        raise BacktestError(f"{path}: is empty; allowed is a header with {', '.join(REQUIRED)}")
    marks = [mark for mark in (";", "\t", "|") if len(header) == 1 and mark in header[0]]
    if marks:
        raise BacktestError(f"{path}: line 1: cells are separated by {marks[0]!r}; allowed are commas")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise BacktestError(f"{path}: line 1: column {twice[0]!r} stands twice; allowed is once")


def _kind(path: Path, table: pd.DataFrame, warnings: list[str]) -> Kind:
    """Return what the table holds; columns it should not have are told or warned of."""
    found = [str(name) for name in table.columns]
    kind: Kind = "score" if "score" in found and "forecast" not in found else "forecast"
    wanted = REQUIRED_OF_SCORES if kind == "score" else REQUIRED
    known = {*REQUIRED, *REQUIRED_OF_SCORES, *OPTIONAL}
    others = [name for name in found if name not in known]
    told = []
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, others, 1)
            told.append(f"no column {name!r}" + (f" (found {near[0]!r}: rename it)" if near else ""))
    if kind == "forecast" and "score" in found:
        told.append("both a column 'forecast' and a column 'score'")
    for name in others:
        near = difflib.get_close_matches(name, [one for one in OPTIONAL if one not in found], 1, cutoff=0.8)
        if near:
            told.append(f"column {name!r} is none that is read (for {near[0]!r}? rename it, or drop it)")
    if told:
        raise BacktestError(
            f"{path}: {'; '.join(told)}; allowed is {', '.join(REQUIRED)} (or, for a bounded score such as pass@1, "
            f"{', '.join(REQUIRED_OF_SCORES)}), and any of {', '.join(OPTIONAL)}"
        )
    unread = sorted(others) + (["outcome"] if kind == "score" and "outcome" in found else [])
    if unread:
        warnings.append(f"columns that are not read: {', '.join(unread)}")
    return kind


def _cast(table: pd.DataFrame, kind: Kind, told: Faults) -> pd.DataFrame:
    """Return the contract's columns in their types; cells that cannot be had in them are told."""
    frame = pd.DataFrame(index=table.index)
    unread = {"outcome", "forecast"} if kind == "score" else {"score"}
    for name in Forecasts.to_schema().columns:
        if name in unread or name not in table.columns:
            values: list[Any] = [NOTHING.get(name)] * len(table)
        else:
            values = read_column(name, list(table[name]), told)
        frame[name] = pd.Series(values, index=table.index, dtype=_dtype(name))
    return frame


def _dtype(name: str) -> str:
    return "float64" if name in SHARES else "int64" if name == "paraphrase" else "str"


def read_column(name: str, cells: list[Any], told: Faults) -> list[Any]:
    """Return a column's values, None or NaN where a cell is empty or wrong."""
    convert: Callable[[Any], Any]
    if name in SHARES:
        convert, allowed = faults.number, ""
    elif name in DATES:
        convert, allowed = faults.day, "a day of the calendar, YYYY-MM-DD"
    elif name == "paraphrase":
        convert, allowed = faults.whole, "a whole number from 0 on; 0 is the original wording"
    elif name == "role":
        convert, allowed = faults.role, "target or control"
    else:
        convert, allowed = faults.text, "text"
    missing = "a value in every row" + faults.hint_of_missing(name)
    read: dict[tuple[type, Any], Any] = {}
    values: list[Any] = []
    for row, cell in enumerate(cells):
        # Cells repeat a great deal. True and 1 are equal keys and are not the same cell: hence the type.
        key = (cell.__class__, cell)
        if key not in read:
            read[key] = EMPTY if is_missing(cell) else convert(cell)
        value = read[key]
        if value is EMPTY and name not in MAY_BE_MISSING:
            told.add(row, name, None, missing)
        elif value is None and name not in SHARES:
            told.add(row, name, cell, allowed)
        values.append(value)
    if name in SHARES:
        faults.tell_shares(name, cells, [math.nan if one is EMPTY else one for one in values], told)
    return [NOTHING.get(name) if one is EMPTY or one is None else one for one in values]


def is_missing(cell: Any) -> bool:
    """Tell whether a cell holds nothing."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell is pd.NaT or cell != cell


def _assigned(
    path: Path, frame: pd.DataFrame, target: str | None, controls: Sequence[str], cutoffs: Mapping[str, str]
) -> pd.DataFrame:
    """Return `frame` with the roles and cutoffs that were given beside the file."""
    models = sorted(frame["model"].unique())
    for name in [*([target] if target else []), *controls, *cutoffs]:
        if name not in models:
            near = difflib.get_close_matches(name, models, 1)
            raise BacktestError(
                f"{path}: no forecast of a model {name!r}"
                + (f" (did you mean {near[0]!r}?)" if near else "")
                + f"; its models are {', '.join(models[:20])}{', …' if len(models) > 20 else ''}"
            )
    if target in controls:
        raise BacktestError(f"model {target!r} is given as target and as control; allowed is one of them")
    if target or controls:
        roles = {**dict.fromkeys(controls, "control"), **({target: "target"} if target else {})}
        frame["role"] = frame["model"].map(roles).astype("str")
    if cutoffs:
        for model, cutoff in cutoffs.items():
            if faults.day(cutoff) is None:
                raise BacktestError(
                    f"cutoff of model {model!r}: found {cutoff!r}; allowed is a day, YYYY-MM-DD"
                )
        given = frame["model"].map(dict(cutoffs))
        frame["cutoff"] = given.fillna(frame["cutoff"]).astype("str")
    return frame


def _date_of(path: Path, today: dt.date) -> dt.date:
    found = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC).date()
    return today if found.year < OLDEST_FILE else found


def _clusters(frame: pd.DataFrame) -> pd.Series:
    month = frame["resolved_on"].str.slice(0, 7)
    default = month.where(frame["source"].isna(), frame["source"].fillna("") + " " + month)
    return frame["cluster"].fillna(default)
