"""What a table of forecasts must hold beyond its types, and the words in which a fault is told."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from anachron.backtest.contract import OF_A_MODEL, OF_A_QUESTION, ROLES
from anachron.errors import BacktestError

MOST = 12
LARGEST_CELL = 60
MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?(Z|\+00:00)?$")


class Faults:
    """The faults of one table, gathered so that the first dozen are told at once."""

    def __init__(self, path: Path, unit: str, places: Sequence[int]) -> None:
        self.path, self.unit, self.places = path, unit, places
        self.told: list[str] = []

    def add(self, row: int, column: str, found: Any, allowed: str) -> None:
        """Note a fault of the row at place `row` (from 0)."""
        shown = (
            "nothing" if found is None or found != found or found == "" else repr(str(found)[:LARGEST_CELL])
        )
        self.told.append(
            f"{self.path}: {self.unit} {self.places[row]}, column {column!r}: found {shown}; allowed is {allowed}"
        )

    def place(self, row: int) -> str:
        """Return the name of a row."""
        return f"{self.unit} {self.places[row]}"

    def stop(self) -> None:
        """Raise what was told, if anything was."""
        if self.told:
            more = f"\n… and {len(self.told) - MOST:,} more" if len(self.told) > MOST else ""
            raise BacktestError("\n".join(self.told[:MOST]) + more)


def number(cell: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(cell, bool | dt.date) or "_" in str(cell):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def whole(cell: Any) -> int | None:
    """Return a whole number from 0 on, or None."""
    value = number(cell)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def text(cell: Any) -> str | None:
    """Return a text without surrounding blanks; a whole number is written as one."""
    if isinstance(cell, str):
        return cell.strip()
    value = number(cell)
    if value is None:
        return None
    return str(int(value)) if value == int(value) else repr(value)


def role(cell: Any) -> str | None:
    """Return a role, or None."""
    found = str(cell).strip().lower()
    return found if found in ROLES else None


def day(cell: Any) -> str | None:
    """Return a day as YYYY-MM-DD, or None; a time of day other than midnight is not dropped in silence."""
    if isinstance(cell, dt.date):
        at = cell.time() if isinstance(cell, dt.datetime) else dt.time.min
        return f"{cell:%Y-%m-%d}" if at == dt.time.min else None
    if not isinstance(cell, str):
        return None
    found = MIDNIGHT.sub("", cell.strip())
    try:
        return dt.date.fromisoformat(found).isoformat() if len(found) == len("YYYY-MM-DD") else None
    except ValueError:
        return None


def tell_shares(column: str, cells: Sequence[Any], numbers: Sequence[float | None], told: Faults) -> None:
    """Tell cells that are no number from 0 to 1; a column in percent is told once, with how many cells it is."""
    percent = [row for row, one in enumerate(numbers) if one is not None and 1 < one <= 100]
    if percent:
        between = sum(1 for one in numbers if one is not None and 0 < one < 1)
        row = percent[0]
        mixed = (
            f", while {between:,} others lie between 0 and 1: the column mixes percent and fractions"
            if between
            else ""
        )
        told.add(
            row,
            column,
            cells[row],
            f"a fraction from 0 to 1; {len(percent):,} cells lie above 1 like percent{mixed}; divide percent by 100",
        )
    for row, (cell, one) in enumerate(zip(cells, numbers, strict=True)):
        if one is None:
            told.add(
                row, column, cell, "a number from 0 to 1 with a decimal point" + _hint(str(cell), column)
            )
        elif one < 0 or one > 100:
            told.add(row, column, cell, "a number from 0 to 1")
        elif column == "outcome" and 0 < one < 1:
            told.add(
                row,
                column,
                cell,
                "0 or 1; a bounded score such as pass@1 belongs into a column 'score', without 'forecast'",
            )


def _hint(cell: str, column: str) -> str:
    if "%" in cell:
        return "; write percent as a fraction, 0.63 for 63 %"
    if re.fullmatch(r"\s*-?\d+,\d+\s*", cell):
        return ", not a decimal comma"
    return "; leave the cell empty where the model gave no probability" if column == "forecast" else ""


def hint_of_missing(column: str) -> str:
    """Return what to do about a missing cell of a column."""
    if column == "outcome":
        return "; leave out questions that are not resolved"
    return (
        "; or leave the whole column out"
        if column in ("source", "cluster", "difficulty", "paraphrase")
        else ""
    )


def check_dates(frame: pd.DataFrame, today: dt.date, file_date: dt.date, told: Faults) -> None:
    """Tell days that are still to come, outcomes that the file cannot have known, crowds asked too late."""
    limit, written = today.isoformat(), file_date.isoformat()
    for column in ("resolved_on", "frozen_on", "cutoff"):
        for row in _rows(frame[column] > limit):
            told.add(row, column, frame[column].iloc[row], f"up to today, {limit}")
    for row in _rows((frame["resolved_on"] > written) & (frame["resolved_on"] <= limit)):
        told.add(
            row,
            "resolved_on",
            frame["resolved_on"].iloc[row],
            f"up to the day the file was written, {written}: no outcome was known before it came about "
            "(give the file's date if this one is wrong)",
        )
    for row in _rows(frame["frozen_on"] > frame["resolved_on"]):
        told.add(
            row,
            "frozen_on",
            frame["frozen_on"].iloc[row],
            f"up to {frame['resolved_on'].iloc[row]}, when the question was resolved",
        )


def settle_days(frame: pd.DataFrame) -> tuple[pd.Series, list[str]]:
    """Return resolution days on which all rows of a question agree, and what was settled.

    Records of one event differ by a day where time zones do. Then the day that most rows give stands, the earlier
    of two that stand equally often. Days further apart are left as they are, to be told as a fault.
    """
    days = frame["resolved_on"]
    owner = frame["question"]
    several = days.groupby(owner).transform("nunique") > 1
    settled = days.copy()
    changed = 0
    for question, part in days[several].groupby(owner[several]):
        ends = dt.date.fromisoformat(part.min()), dt.date.fromisoformat(part.max())
        if (ends[1] - ends[0]).days == 1:
            settled[owner == question] = part.mode().min()
            changed += 1
    if not changed:
        return settled, []
    return settled, [
        f"{changed:,} questions have resolution days a day apart in different rows, as time zones make them; "
        "the day of most rows stands, else the earlier"
    ]


def check_repeats(frame: pd.DataFrame, told: Faults) -> None:
    """Tell forecasts that stand twice, and rows that contradict another of their question or model."""
    keys = ["model", "question", "paraphrase"]
    first = _first(frame, keys)
    for row in _rows(first != pd.Series(range(len(frame)))):
        values = ", ".join(str(frame[key].iloc[row]) for key in keys)
        told.add(
            row, "+".join(keys), values, f"each once; it stands on {told.place(int(first.iloc[row]))} too"
        )
    for owner, columns in (("question", OF_A_QUESTION), ("model", OF_A_MODEL)):
        first = _first(frame, [owner])
        for column in columns:
            before = frame[column].iloc[first].reset_index(drop=True)
            here = frame[column].reset_index(drop=True)
            for row in _rows((before != here) & ~(before.isna() & here.isna())):
                stands = before.iloc[row] if pd.notna(before.iloc[row]) else "nothing"
                told.add(
                    row,
                    column,
                    here.iloc[row],
                    f"one value for all rows of {owner} {frame[owner].iloc[row]!r}; "
                    f"{told.place(int(first.iloc[row]))} has {stands}",
                )


def _first(frame: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return the place of the first row with the same keys, for each row."""
    places = pd.Series(range(len(frame)), index=frame.index)
    found: pd.Series = places.groupby([frame[key] for key in keys], sort=False).transform("first")
    return found.reset_index(drop=True)


def _rows(flags: pd.Series) -> list[int]:
    return [place for place, flag in enumerate(flags.fillna(False).astype(bool)) if flag]


def warnings(frame: pd.DataFrame) -> list[str]:
    """Return what is allowed and should be known: certain forecasts, missing ones, wordings without an original."""
    told = []
    certain = int(frame["forecast"].isin([0.0, 1.0]).sum())
    if certain:
        told.append(
            f"{certain:,} of {int(frame['forecast'].notna().sum()):,} forecasts are exactly 0 or 1; such certainty "
            "is often a parser's default, and no calibration by log-odds can use it as it is"
        )
    if frame["outcome"].notna().any():
        silent = frame[frame["forecast"].isna()].groupby("model").size()
        if len(silent):
            counts = ", ".join(f"{model} {count:,}" for model, count in silent.items())
            told.append(
                f"forecasts that are missing, by model: {counts}; their questions count for the others"
            )
    wordings = frame.groupby(["model", "question"])["paraphrase"].min()
    orphans = int((wordings > 0).sum())
    if orphans:
        told.append(
            f"{orphans:,} questions have paraphrases and no original wording (0); they are not scored"
        )
    return told
