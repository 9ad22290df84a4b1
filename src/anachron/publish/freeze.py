"""Frozen rows: published results that nothing overwrites, and the check that tables still follow from them.

A frozen folder holds, per protocol, `<model>@<n>.json` (byte copies of rows) and `manifest.json` (each file's
SHA-256, the reason it was frozen, what superseded it), and at its top `leaderboard.csv`, `leaderboard.md` and
`CHANGELOG.md`. Tables are made from the newest version of every row; the older ones stay and are listed.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from anachron import files
from anachron.config import StrictModel
from anachron.errors import ContractError, DriftError
from anachron.publish import markdown, tables
from anachron.publish import row as rows_of

TABLES = ("leaderboard.csv", "leaderboard.md")
CLOSE = 2e-9
"""Relative difference of two ten-digit numbers that rounding on another processor can make."""


class FrozenRow(StrictModel):
    """One version of a frozen row."""

    file: str
    model: str
    version: int = Field(ge=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reason: str
    superseded_by: str | None = None


class Manifest(StrictModel):
    """`manifest.json` of a protocol's frozen rows."""

    schema_version: int = 1
    rows: list[FrozenRow] = Field(default_factory=list)


@dataclass(frozen=True)
class Drift:
    """What `compare` found: problems fail the check, notes do not."""

    problems: list[str]
    notes: list[str]


def freeze(row_path: Path, frozen_dir: Path, reason: str | None, date: str) -> Path:
    """Freeze a row: copy its bytes as the next version, list it, and rebuild the frozen tables.

    Parameters
    ----------
    row_path
        The row.
    frozen_dir
        Folder of the frozen rows.
    reason
        Why; required when a different row of the model is frozen already.
    date
        Day written to the change log (YYYY-MM-DD), given by the caller.

    Returns
    -------
    Path
        The frozen file: the existing one when the row is byte for byte the newest version.

    Raises
    ------
    ContractError
        When the row is missing or breaks its contract.
    DriftError
        When the row differs from the newest frozen version and no reason is given, or when a frozen file was
        altered or is missing.
    """
    row = rows_of.read(row_path)
    folder = frozen_dir / protocol_of(row)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(frozen_dir):
        manifest = _manifest(folder)
        faults = _files_against_manifest(folder, manifest)
        if faults:
            raise DriftError("\n".join(faults) + "\nRestore these files before freezing another row.")
        newest = _newest(manifest, row["model"])
        data = row_path.read_bytes()
        if newest and (folder / newest.file).read_bytes() == data:
            return folder / newest.file
        why = " ".join((reason or "").split())
        if newest and not why:
            parts = _differences(rows_of.read(folder / newest.file), row)[:6]
            raise DriftError(
                f"{row_path}: differs from the frozen {folder / newest.file} "
                f"({'; '.join(parts) or 'only in its provenance'}); give a reason to freeze a new version"
            )
        version = newest.version + 1 if newest else 1
        target = folder / f"{files.slug(row['model'])}@{version}.json"
        if target.exists():
            raise DriftError(
                f"{target}: exists but is not in {folder / 'manifest.json'}; nothing was overwritten"
            )
        entry = FrozenRow(
            file=target.name,
            model=row["model"],
            version=version,
            sha256=files.sha256_text(data.decode("utf-8")),
            reason=why or "first version",
        )
        kept = [
            old.model_copy(update={"superseded_by": target.name})
            if newest and old.file == newest.file
            else old
            for old in manifest.rows
        ]
        listed = sorted([*kept, entry], key=lambda item: (item.model.casefold(), item.version))
        with files.atomic_path(target) as part:
            part.write_bytes(data)
        files.write_json(folder / "manifest.json", Manifest(rows=listed).model_dump(mode="json"))
        _log(frozen_dir / "CHANGELOG.md", f"- {date} `{folder.name}/{target.name}`: {entry.reason}" + (
            f" (supersedes `{newest.file}`)" if newest else ""
        ))  # fmt: skip
        for name, text in _texts(_current(frozen_dir)).items():
            files.write_text(frozen_dir / name, text)
    return target


def check(frozen_dir: Path, rows_dir: Path | None) -> list[str]:
    """Return what no longer follows from the frozen rows; an empty list means that all does.

    See `compare`, which also gives the notes.
    """
    return compare(frozen_dir, rows_dir).problems


def compare(frozen_dir: Path, rows_dir: Path | None) -> Drift:
    """Hold frozen files against manifests, frozen tables against frozen rows, new rows against frozen.

    Parameters
    ----------
    frozen_dir
        Folder of the frozen rows; one that holds none gives no problem.
    rows_dir
        Folder of freshly computed rows (`<model>.json`), or None. Rows of models without a frozen version
        are passed over.

    Returns
    -------
    Drift
        Problems name the file and the cell or key. Notes name provenance that differs though the results
        agree (another version of the package, say).
    """
    problems: list[str] = []
    notes: list[str] = []
    for folder in _folders(frozen_dir):
        try:
            problems += _files_against_manifest(folder, _manifest(folder))
        except (ContractError, DriftError) as error:
            problems.append(str(error))
    if problems:
        return Drift(problems, notes)
    try:
        current = _current(frozen_dir)
    except ContractError as error:
        return Drift([str(error)], notes)
    problems += _tables_against_rows(frozen_dir, current)
    for frozen in current:
        path = rows_dir / f"{files.slug(frozen['model'])}.json" if rows_dir else None
        if path is None or not path.exists():
            continue
        try:
            fresh = rows_of.read(path)
        except ContractError as error:
            problems.append(str(error))
            continue
        if protocol_of(fresh) != protocol_of(frozen):
            continue
        where = f"{path} against the frozen row of {frozen['model']!r}"
        problems += [f"{where}: {fault}" for fault in _printed_differences(frozen, fresh)]
        problems += [f"{where}: {fault}" for fault in _differences(frozen, fresh)]
        for key in _unequal(frozen["provenance"], fresh["provenance"], "provenance"):
            notes.append(f"{where}: {key}")
    return Drift(problems, notes)


def protocol_of(row: dict[str, Any]) -> str:
    """Return the folder of a row's frozen copies: its protocols' names, joined by ``+``."""
    return "+".join(sorted({part["protocol"]["name"] for part in row["provenance"].values()}))


# --- files and manifests ------------------------------------------------------------------------------


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time freeze; the lock is on the folder itself and leaves no file."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _folders(frozen_dir: Path) -> list[Path]:
    if not frozen_dir.is_dir():
        return []
    return sorted(path for path in frozen_dir.iterdir() if path.is_dir())


def _manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    if not path.exists():
        return Manifest()
    try:
        return Manifest.model_validate(files.read_json(path))
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(step) for step in fault["loc"])
        raise ContractError(f"{path}: `{key}`: {fault['msg']}; restore the file") from None


def _newest(manifest: Manifest, model: str) -> FrozenRow | None:
    return max(
        (row for row in manifest.rows if row.model == model), key=lambda row: row.version, default=None
    )


def _files_against_manifest(folder: Path, manifest: Manifest) -> list[str]:
    faults = []
    listed = {row.file for row in manifest.rows}
    for row in manifest.rows:
        path = folder / row.file
        if not path.exists():
            faults.append(f"{path}: listed in {folder / 'manifest.json'} but missing; restore it")
        elif files.sha256_file(path) != row.sha256:
            faults.append(f"{path}: its bytes are not those that were frozen (SHA-256 differs); restore it")
    for path in sorted(folder.glob("*.json")):
        if path.name != "manifest.json" and path.name not in listed:
            faults.append(
                f"{path}: not listed in {folder / 'manifest.json'}; remove it or freeze the row properly"
            )
    return faults


def _current(frozen_dir: Path) -> list[dict[str, Any]]:
    """Return the newest version of every frozen row, in the order of protocol and model name."""
    return [
        rows_of.read(folder / entry.file)
        for folder in _folders(frozen_dir)
        for entry in _manifest(folder).rows
        if entry.superseded_by is None
    ]


def _log(path: Path, line: str) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else "# Frozen rows\n\n"
    files.write_text(path, before + line + "\n")


# --- comparing ----------------------------------------------------------------------------------------


def _texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {"leaderboard.csv": tables.csv_text(tables.machine(rows)), "leaderboard.md": markdown.text(rows)}


def _tables_against_rows(frozen_dir: Path, rows: list[dict[str, Any]]) -> list[str]:
    """Make every published table again from the frozen rows, and name the cells that differ."""
    faults = []
    for name, text in _texts(rows).items():
        path = frozen_dir / name
        if not path.exists():
            faults += [f"{path}: missing; freeze a row to write it again"] if rows else []
            continue
        published = path.read_bytes().decode("utf-8", "replace")
        if published == text:
            continue
        found = (
            _csv_differences(published, text) if name.endswith(".csv") else _line_differences(published, text)
        )
        faults += [f"{path}: {fault}" for fault in found]
    return faults


def _csv_differences(published: str, made: str) -> list[str]:
    key = ("model", "suite", "protocol", "scoring")
    old, new = (
        {tuple(line.get(part) or "" for part in key): line for line in csv.DictReader(io.StringIO(text))}
        for text in (published, made)
    )
    faults = [f"{' / '.join(name)}: line is missing" for name in new if name not in old]
    faults += [f"{' / '.join(name)}: line follows from no frozen row" for name in old if name not in new]
    for name in new:
        if name not in old:
            continue
        for column in dict.fromkeys([*old[name], *new[name]]):
            was, now = old[name].get(column), new[name].get(column)
            if was != now:
                faults.append(f"{' / '.join(name)}: `{column}` reads {was!r}, the frozen row gives {now!r}")
    return faults or ["the order of lines or columns differs from what the frozen rows give"]


def _line_differences(published: str, made: str) -> list[str]:
    old, new = published.split("\n"), made.split("\n")
    faults = []
    for number in range(max(len(old), len(new))):
        was = old[number] if number < len(old) else None
        now = new[number] if number < len(new) else None
        if was == now:
            continue
        cells = list(zip(was.split(" | "), now.split(" | "), strict=False)) if was and now else []
        unequal = [(before, after) for before, after in cells if before != after]
        before, after = unequal[0] if unequal else (was, now)
        faults.append(f"line {number + 1}: reads {before!r}, the frozen rows give {after!r}")
    return faults


def _printed_differences(frozen: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    old, new = (
        {(line["suite"], line["scoring"]): line for line in tables.machine([row])} for row in (frozen, fresh)
    )
    faults = []
    for key in sorted(set(old) | set(new)):
        was, now = old.get(key, {}), new.get(key, {})
        for column in (column for column in {**was, **now} if column.startswith("printed ")):
            if was.get(column) != now.get(column):
                cell = f"{' / '.join(key)}: cell {column.removeprefix('printed ')!r}"
                faults.append(f"{cell} was {was.get(column)!r}, is {now.get(column)!r}")
    return faults


def _differences(frozen: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Name the keys in which two rows differ, provenance apart."""
    old, new = ({key: value for key, value in row.items() if key != "provenance"} for row in (frozen, fresh))
    return list(_unequal(old, new, ""))


def _unequal(old: Any, new: Any, key: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(set(old) | set(new)):
            inner = f"{key}.{name}" if key else str(name)
            if name not in old:
                yield f"`{inner}` is new: {_short(new[name])}"
            elif name not in new:
                yield f"`{inner}` is gone; it was {_short(old[name])}"
            else:
                yield from _unequal(old[name], new[name], inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _unequal(before, after, f"{key}[{place}]")
    elif not _same(old, new):
        yield f"`{key}` was {_short(old)}, is {_short(new)}"


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=CLOSE, abs_tol=1e-12)
    return type(old) is type(new) and bool(old == new)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
