"""The files of the frozen rows: which there are, which of them stand, and what took the place of the others.

Per folder of protocols, ``<model>@<n>.json`` and a ``manifest.json`` that lists them; `freeze` says how they come
about.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from anachron import files
from anachron.config import StrictModel
from anachron.errors import ContractError
from anachron.publish import row as rows_of


class FrozenRow(StrictModel):
    """One version of a frozen row."""

    file: str
    model: str
    version: int = Field(ge=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reason: str
    superseded_by: str | None = None
    """File of the version that took its place, with its folder where that is another."""


class Manifest(StrictModel):
    """`manifest.json` of a protocol's frozen rows."""

    schema_version: Literal[1] = 1
    rows: list[FrozenRow] = Field(default_factory=list)


def protocols(row: dict[str, Any]) -> set[tuple[str, str]]:
    """Return suite and protocol name of each part of a row."""
    return {(suite, part["protocol"]["name"]) for suite, part in row["provenance"].items()}


def protocol_of(row: dict[str, Any]) -> str:
    """Return the folder of a row's frozen copies: its protocols' names, joined by ``+``."""
    return "+".join(sorted({part["protocol"]["name"] for part in row["provenance"].values()}))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time freeze; the lock is on the folder itself and leaves no file."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def folders(frozen_dir: Path) -> list[Path]:
    """Return the folders of frozen rows, one per set of protocols, by name."""
    if not frozen_dir.is_dir():
        return []
    return sorted(path for path in frozen_dir.iterdir() if path.is_dir())


def manifest_of(folder: Path) -> Manifest:
    """Read a folder's manifest, an empty one where there is none; `ContractError` when it is damaged."""
    path = folder / "manifest.json"
    if not path.exists():
        return Manifest()
    try:
        return Manifest.model_validate(files.read_json(path))
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(step) for step in fault["loc"])
        raise ContractError(f"{path}: `{key}`: {fault['msg']}; restore the file") from None


def list_rows(folder: Path, rows: list[FrozenRow]) -> None:
    """Write a folder's manifest, by model and version."""
    listed = sorted(rows, key=lambda item: (item.model.casefold(), item.version))
    files.write_json(folder / "manifest.json", Manifest(rows=listed).model_dump(mode="json"))


def standing(frozen_dir: Path, row: dict[str, Any]) -> list[Path]:
    """Return the frozen rows of a row's model that nothing superseded and that share a protocol with it."""
    found = [
        folder / entry.file
        for folder in folders(frozen_dir)
        for entry in manifest_of(folder).rows
        if entry.model == row["model"] and entry.superseded_by is None
    ]
    return [path for path in found if protocols(rows_of.read(path)) & protocols(row)]


def supersede(old: Path, new: Path) -> None:
    """Note in the manifest of a frozen row that a new one took its place."""
    name = named(new, old.parent)
    list_rows(
        old.parent,
        [
            entry.model_copy(update={"superseded_by": name}) if entry.file == old.name else entry
            for entry in manifest_of(old.parent).rows
        ],
    )


def newest(manifest: Manifest, model: str) -> FrozenRow | None:
    """Return a model's newest version in a manifest, superseded or not."""
    return max(
        (row for row in manifest.rows if row.model == model), key=lambda row: row.version, default=None
    )


def against_manifest(folder: Path, manifest: Manifest) -> list[str]:
    """Return what in a folder is not as its manifest says."""
    faults = []
    listed = {row.file for row in manifest.rows}
    for row in manifest.rows:
        path = folder / row.file
        if row.file != f"{files.slug(row.model)}@{row.version}.json":
            faults.append(
                f"{folder / 'manifest.json'}: version {row.version} of {row.model!r} is listed as {row.file!r}; "
                "restore the manifest"
            )
        elif not path.exists():
            faults.append(f"{path}: listed in {folder / 'manifest.json'} but missing; restore it")
        elif files.sha256_file(path) != row.sha256:
            faults.append(f"{path}: its bytes are not those that were frozen (SHA-256 differs); restore it")
    for path in sorted(folder.glob("*.json")):
        if path.name != "manifest.json" and path.name not in listed:
            faults.append(
                f"{path}: not listed in {folder / 'manifest.json'}; remove it or freeze the row properly"
            )
    return faults


def current(frozen_dir: Path) -> list[dict[str, Any]]:
    """Return the newest version of every frozen row, in the order of protocol and model name."""
    return [
        rows_of.read(folder / entry.file)
        for folder in folders(frozen_dir)
        for entry in manifest_of(folder).rows
        if entry.superseded_by is None
    ]


def named(old: Path, folder: Path) -> str:
    """Return how a frozen file is named from `folder`: with its own folder where that is another."""
    return old.name if old.parent == folder else f"{old.parent.name}/{old.name}"
