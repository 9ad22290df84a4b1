"""Published records as Parquet tables: ``arms``, ``lap``, ``rec`` and, where given, ``panel``.

The table of the arms is read once, in batches, and a model is handed on when its last row has been read: with
rows grouped by model, one model's text is in memory at a time; in any other order the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from anachron.errors import ImportFailure
from anachron.suites.hindsightbench.artifact_records import (
    REC_REP,
    RECORD_COLUMNS,
    decoded,
    sampling_text,
)
from anachron.suites.hindsightbench.protocol import Protocol

PANEL = "panel.parquet"
REALISED_COLUMN = "forward_return_20d_sign"
REALISED_KIND = "published label: sign of the forward return over 20 sessions"
BATCH = 256
BUFFER_BYTES = 1 << 16
"""Without a buffer the whole of a column is fetched and unpacked before its first row is there."""

TABLES: dict[str, dict[str, str]] = {
    "arms.parquet": {
        "model_key": "model",
        "arm": "arm",
        "decision_date": "item",
        "rep": "rep",
        "raw_response": "text",
    },
    "lap.parquet": {
        "model_key": "model",
        "decision_date": "item",
        "rep": "rep",
        "answer": "recorded",
        "raw": "text",
    },
    "rec.parquet": {
        "model_key": "model",
        "decision_date": "item",
        "estimated_date": "recorded",
        "raw": "text",
    },
}
"""Columns a table must have, and what they are of a record."""

OPTIONAL = {
    "fake_date": "fake_date",
    "model_reported": "served_model",
    "provider": "upstream",
    "user_sha256": "prompt_sha256",
    "sampling": "sampling",
    "arm_max_tokens": "max_tokens",
    "temp": "temperature",
    "line_no": "line_no",
}
"""Columns a table may have; others are left alone."""


def records(folder: Path) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Yield (model, records, notes) for every model of the tables in `folder`.

    Raises
    ------
    ImportFailure
        When a table is missing, cut short, or lacks a column, or a row names no model.
    """
    for name in TABLES:
        if not (folder / name).is_file():
            raise ImportFailure(
                f"{folder / name}: no such file; beside {', '.join(TABLES)} nothing is needed "
                "(a table without rows will do where nothing was recorded)"
            )
    names = {name: _models(folder / name) for name in TABLES}
    probes = {name: _whole(folder / name) for name in TABLES if name != "arms.parquet"}
    arm_rows = names["arms.parquet"]
    for model, arms, notes in _arms_by_model(folder / "arms.parquet", arm_rows):
        parts = [arms]
        del arms  # what a generator names stays in memory while it waits, and these texts are large
        yield model, _with_probes(model, parts, probes, notes), notes
    known = set(arm_rows.unique())
    rest = {model for name in probes for model in names[name].unique()} - known
    for model in sorted(rest):
        notes = ["no arm was recorded"]
        yield model, _with_probes(model, [], probes, notes), notes


def panel(path: Path, protocol: Protocol) -> pd.DataFrame:
    """Return the realised direction of every decision date of the protocol; missing where not known.

    A move of zero counts as up. Dates that the protocol does not have are left out.
    """
    own = _schema(path).names
    column = "realised" if "realised" in own else REALISED_COLUMN
    for needed in ("decision_date", column):
        if needed not in own:
            raise ImportFailure(f"{path}: lacks the column {needed!r}; found: {', '.join(own)}")
    kinds = ["realised_kind"] if "realised_kind" in own else []
    with _faults(path):
        table = _table(path, ["decision_date", column, *kinds]).to_pandas()
    known: dict[str, tuple[int | None, str]] = {}
    for row, (date, sign, *kind) in enumerate(table.itertuples(index=False, name=None)):
        value = None if pd.isna(sign) else sign
        if value not in (None, -1, 0, 1):
            raise ImportFailure(f"{path}, row {row}: `{column}` is {value!r}; allowed: -1, 0, 1 or missing")
        entry = (None if value is None else (1 if value >= 0 else -1), kind[0] if kind else REALISED_KIND)
        if known.setdefault(str(date), entry)[0] != entry[0]:
            raise ImportFailure(f"{path}, row {row}: {date} stands there twice with different directions")
    absent = (None, REALISED_KIND)
    found = [known.get(date, absent) for date in protocol.decision_dates]
    return pd.DataFrame(
        {
            "decision_date": pd.array(protocol.decision_dates, dtype="str"),
            "realised": pd.array([sign for sign, _ in found], dtype="Int64"),
            "realised_kind": pd.array([kind for _, kind in found], dtype="str"),
        }
    )


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ImportFailure(
            f"{path}: cannot be read as Parquet ({reason}); it may be cut short: fetch it again"
        ) from None


def _table(path: Path, columns: list[str]) -> arrow.Table:
    # `parquet.read_table` would load the machinery of many-file data sets, 15 MB of it.
    with parquet.ParquetFile(path) as source:
        return source.read(columns, use_threads=False).select(columns)


def _schema(path: Path) -> arrow.Schema:
    with _faults(path):
        return parquet.read_schema(path)


def _columns(path: Path) -> list[str]:
    own = _schema(path).names
    missing = [name for name in TABLES[path.name] if name not in own]
    if missing:
        raise ImportFailure(f"{path}: lacks the column {', '.join(missing)}; found: {', '.join(own)}")
    return [name for name in own if name in TABLES[path.name] or name in OPTIONAL]


def _models(path: Path) -> pd.Series:
    """Return the model of every row, or name the first row that has none."""
    _columns(path)
    with _faults(path):
        column = _table(path, ["model_key"])["model_key"]
        models = _texts(column)[0].astype(object)
    nameless = models.isna() | (models == "")
    if nameless.any():
        raise ImportFailure(f"{path}, row {int(np.flatnonzero(nameless)[0])}: `model_key` is missing")
    return models


def _whole(path: Path) -> tuple[pd.DataFrame, int]:
    with _faults(path):
        return _frame(_table(path, _columns(path)), path)


def _arms_by_model(path: Path, models: pd.Series) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    left = models.value_counts().to_dict()
    pending: dict[str, list[arrow.Table]] = {}
    start = 0
    with _faults(path):
        source = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    with source:
        batches = source.iter_batches(batch_size=BATCH, columns=_columns(path), use_threads=False)
        while True:
            with _faults(path):
                batch = next(batches, None)
            if batch is None:
                return
            here = models.iloc[start : start + len(batch)]
            for model in dict.fromkeys(here):
                mine = np.flatnonzero(here == model)
                pending.setdefault(model, []).append(
                    arrow.Table.from_batches([batch if len(mine) == len(batch) else batch.take(mine)])
                )
                left[model] -= len(mine)
                if left[model] == 0:
                    notes: list[str] = []
                    numbers = np.flatnonzero(models == model)
                    yield model, _arms(pending.pop(model), path, numbers, notes), notes
            start += len(batch)


def _arms(batches: list[arrow.Table], path: Path, numbers: Iterable[int], notes: list[str]) -> pd.DataFrame:
    with _faults(path):
        rows, damaged = _frame(arrow.concat_tables(batches), path, numbers)
    notes += _damage_note(damaged, path)
    return rows


def _with_probes(
    model: str, parts: list[pd.DataFrame], probes: dict[str, tuple[pd.DataFrame, int]], notes: list[str]
) -> pd.DataFrame:
    """Return all records of a model; `parts`, its arms, are emptied."""
    for name, (whole, damaged) in probes.items():
        part = whole[whole["model"] == model]
        if "line_no" in part:
            part = part.sort_values("line_no", kind="stable")
        if damaged:
            broken = int(part["text"].str.contains("\ufffd", regex=False, na=False).sum())
            notes += _damage_note(broken, Path(name))
        if part.empty:
            notes.append(f"{name} holds no row of this model")
        parts.append(part)
    filled = [part for part in parts if len(part)]
    parts.clear()
    return pd.concat(filled, ignore_index=True)[RECORD_COLUMNS]


def _damage_note(count: int, path: Path) -> list[str]:
    return [f"{path.name}: {count} texts were not UTF-8; such bytes read as U+FFFD"] if count else []


def _frame(table: arrow.Table, path: Path, numbers: Iterable[int] | None = None) -> tuple[pd.DataFrame, int]:
    """Return record columns of some rows, and how many texts were not UTF-8."""
    names = {**OPTIONAL, **TABLES[path.name]}
    found: dict[str, pd.Series] = {}
    replaced = 0
    for column in table.column_names:
        if names[column] in ("rep", "line_no", "max_tokens", "temperature"):
            found[names[column]] = table[column].to_pandas().reset_index(drop=True)
        else:
            found[names[column]], broken = _texts(table[column])
            replaced += broken
    rows = pd.DataFrame(found, index=range(len(table)))
    if path.name != "arms.parquet":
        rows["arm"] = "LAP" if path.name == "lap.parquet" else "REC"
    if path.name == "rec.parquet":
        rows["rep"] = REC_REP
    rows["place"] = [
        f"{path.name}, row {number}" for number in (range(len(rows)) if numbers is None else numbers)
    ]
    rows["sampling"] = pd.Series(_sampling(rows), dtype="str")
    for name in RECORD_COLUMNS:
        if name not in rows:
            rows[name] = pd.Series([None] * len(rows), index=rows.index, dtype="str")
    return rows, replaced


def _texts(column: arrow.ChunkedArray) -> tuple[pd.Series, int]:
    """Return a column as text; bytes that are not UTF-8 become U+FFFD, and how many texts had some."""
    kind = column.type
    if arrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if not (arrow.types.is_binary(kind) or arrow.types.is_large_binary(kind)):
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            column = compute.cast(column, arrow.large_string())
        try:
            column.validate(full=True)
            return pd.Series(column.to_pandas(), dtype="str").reset_index(drop=True), 0
        except arrow.ArrowInvalid:
            column = column.cast(arrow.large_binary())
    pairs = [(None, False) if raw is None else decoded(raw) for raw in column.to_pylist()]
    texts = pd.Series([text for text, _ in pairs], dtype="str")
    return texts, sum(broken for _, broken in pairs)


def _sampling(rows: pd.DataFrame) -> list[str | None]:
    """Return what is recorded of the sampling, in one text per row; None where nothing is."""
    names = [name for name in ("sampling", "max_tokens", "temperature") if name in rows]
    names = [name for name in names if rows[name].notna().any()]
    if not names:
        return [None] * len(rows)
    words: dict[tuple[str, ...], str | None] = {}
    found = []
    for values in zip(*(rows[name].tolist() for name in names), strict=True):
        spelled = tuple(map(str, values))
        if spelled not in words:
            words[spelled] = sampling_text(dict(zip(names, values, strict=True)))
        found.append(words[spelled])
    return found
