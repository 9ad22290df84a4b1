"""Published records as a tree of cells: ``outputs/bench/<model>/<ARM>/rep<N>/<YYYY-MM-DD>/``.

A cell is a folder with at least one of the files below. Its answer is ``04_raw_response.txt``; where that was
not kept, the published list of valid sketches stands in for it (noted), and where there is neither, the cell
is a record without an answer. The probes lie beside the arms, one JSON object a line.
`artifact_folders` finds the models.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from anachron.errors import ImportFailure
from anachron.suites.hindsightbench.artifact_folders import LAP_FILE, REC_FILE, REP, folders, follow, models
from anachron.suites.hindsightbench.artifact_records import (
    REC_REP,
    RECORD_COLUMNS,
    decoded,
    encodable,
    listed,
    sampling_text,
)
from anachron.suites.hindsightbench.protocol import ARMS

RAW = "04_raw_response.txt"
SKETCHES = "01_sketches_valid.json"
META = "03_run_meta.json"
FAULT = "99_parse_error.txt"
CELL_FILES = (RAW, SKETCHES, META, FAULT)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

Record = dict[str, Any]


def records(folder: Path) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Yield (model, records, notes) for every model in or below `folder`.

    Raises
    ------
    ImportFailure
        When no model is found, a link leads nowhere, or a file cannot be understood; the text names it.
    """
    for name, place in models(folder):
        notes: list[str] = []
        rows = _cells(place, notes)
        for probe in (LAP_FILE, REC_FILE):
            rows += _probe_lines(place, probe, notes)
        if not rows:
            continue
        yield name, pd.DataFrame(rows, columns=RECORD_COLUMNS, dtype=object), notes


def _cells(model: Path, notes: list[str]) -> list[Record]:
    rows: list[Record] = []
    strange = []
    for arm in folders(model):
        if arm.name not in ARMS:
            strange.append(arm.name)
            continue
        for rep in folders(arm):
            number = REP.fullmatch(rep.name)
            if number is None:
                strange.append(f"{arm.name}/{rep.name}")
                continue
            for cell in folders(rep):
                if DATE.fullmatch(cell.name):
                    rows += _cell(model, cell, arm.name, int(number.group(1)), notes)
                else:
                    strange.append(f"{arm.name}/{rep.name}/{cell.name}")
    if strange:
        notes.append(f"folders that are no part of the layout were left out: {listed(strange)}")
    _merge_counts(notes)
    return rows


def _cell(model: Path, cell: Path, arm: str, rep: int, notes: list[str]) -> list[Record]:
    where = cell.relative_to(model).as_posix()
    present = set()
    with os.scandir(cell) as entries:
        for entry in entries:
            if entry.name in CELL_FILES:
                if entry.is_symlink():
                    follow(cell / entry.name)
                present.add(entry.name)
    if not present:
        notes.append(f"{EMPTY_CELL}{where}")
        return []
    meta = _meta(cell / META) if META in present else {}
    stated = meta.get("decision_date")
    if stated is not None and stated != cell.name:
        raise ImportFailure(
            f"{cell / META}: is the record of {stated}, but lies under {cell.name}; mend one of them"
        )
    text = None
    if RAW in present:
        text = _read(cell / RAW, where, notes)
    elif SKETCHES in present:
        text = _read(cell / SKETCHES, where, notes)
        notes.append(f"{STAND_IN}{where}")
    return [_record(arm, cell.name, rep, text, None, meta, str(cell))]


EMPTY_CELL = "cells without any file, left out: "
STAND_IN = "cells whose raw answer was not kept, read from the published valid sketches: "
NOT_UTF8 = "files that are not UTF-8 (such bytes read as U+FFFD): "


def _merge_counts(notes: list[str]) -> None:
    """Make one note of all that name a cell for the same reason."""
    for reason in (EMPTY_CELL, STAND_IN, NOT_UTF8):
        named = [note.removeprefix(reason) for note in notes if note.startswith(reason)]
        if named:
            notes[:] = [note for note in notes if not note.startswith(reason)]
            notes.append(f"{reason}{listed(named)}")


def _read(path: Path, where: str, notes: list[str]) -> str:
    text, broken = decoded(_bytes(path))
    if broken:
        notes.append(f"{NOT_UTF8}{where}/{path.name}")
    return text


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ImportFailure(f"{path}: cannot be read ({error.strerror})") from None


def _meta(path: Path) -> Record:
    return _json_object(decoded(_bytes(path))[0], str(path))


def _json_object(text: str, where: str) -> Record:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ImportFailure(f"{where}: not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ImportFailure(f"{where}: JSON nested too deeply to read") from None
    except ValueError as error:
        raise ImportFailure(f"{where}: not JSON that can be read: {error}") from None
    if not isinstance(value, dict):
        raise ImportFailure(f"{where}: must be a JSON object, found {type(value).__name__}")
    return value


def _probe_lines(model: Path, name: str, notes: list[str]) -> list[Record]:
    path = model / name
    if path.is_symlink():
        follow(path)
    if not path.is_file():
        notes.append(f"{name} is not there")
        return []
    whole = _read(path, ".", notes)
    rows = []
    # Not splitlines: an answer may hold a line separator of Unicode.
    for number, line in enumerate(whole.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        value = _json_object(line, where)
        if name == LAP_FILE:
            arm, rep, recorded = "LAP", value.get("rep"), _text(value, "answer", where)
            if isinstance(rep, bool | str) or rep is None:
                raise ImportFailure(f"{where}: `rep` is {rep!r}; it must be a whole number of 0 or more")
        else:
            arm, rep, recorded = "REC", REC_REP, _text(value, "estimated_date", where)
        if (date := _text(value, "decision_date", where)) is None:
            raise ImportFailure(f"{where}: `decision_date` is missing")
        rows.append(_record(arm, date, rep, _text(value, "raw", where), recorded, value, where))
    _merge_counts(notes)
    return rows


def _record(
    arm: str, item: str, rep: Any, text: str | None, recorded: str | None, said: Record, place: str
) -> Record:
    served = _text(said, "model_reported", place) or _text(said, "model_version_reported", place)
    return {
        "arm": arm,
        "item": item,
        "rep": rep,
        "text": text,
        "recorded": recorded,
        "fake_date": _text(said, "fake_date", place),
        "served_model": served,
        "upstream": _text(said, "provider", place),
        "sampling": sampling_text(_sampling(said)),
        "prompt_sha256": _text(said, "user_sha256", place),
        "place": place,
    }


def _sampling(said: Record) -> Record:
    keys = {"sampling": "sampling", "arm_max_tokens": "max_tokens", "temp": "temperature"}
    found = {name: said.get(key) for key, name in keys.items()}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}


def _text(value: Record, key: str, where: str) -> str | None:
    """Return a text of a record; None where it is missing, null or NaN."""
    found = value.get(key)
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return None
    if not isinstance(found, str):
        raise ImportFailure(
            f"{where}: `{key}` is {str(found)[:60]!r}, a {type(found).__name__}; it must be text"
        )
    return encodable(found)[0]
