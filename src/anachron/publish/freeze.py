"""Frozen rows: published results that nothing overwrites, and the check that tables still follow from them.

A frozen folder holds, per protocol, `<model>@<n>.json` (byte copies of rows) and `manifest.json` (each file's
SHA-256, the reason it was frozen, what superseded it), and at its top `leaderboard.csv`, `.md`, `.tex` and
`CHANGELOG.md`. A new row supersedes those of its model that share a protocol with it. Tables are made from the rows
that nothing superseded; the others stay and are listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anachron import files
from anachron.errors import ContractError, DriftError
from anachron.publish import frozen_files as stored
from anachron.publish import latex, markdown, tables
from anachron.publish import row as rows_of
from anachron.publish.differences import (
    csv_differences,
    differences,
    line_differences,
    printed_differences,
    unequal,
)

TABLES = ("leaderboard.csv", "leaderboard.md", "leaderboard.tex")


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
    folder = frozen_dir / stored.protocol_of(row)
    folder.mkdir(parents=True, exist_ok=True)
    with stored.locked(frozen_dir):
        manifest = stored.manifest_of(folder)
        faults = stored.against_manifest(folder, manifest)
        if faults:
            raise DriftError("\n".join(faults) + "\nRestore these files before freezing another row.")
        data = row_path.read_bytes()
        standing = stored.standing(frozen_dir, row)
        if any(old.read_bytes() == data for old in standing):
            return next(old for old in standing if old.read_bytes() == data)
        why = " ".join((reason or "").split())
        if standing and not why:
            parts = differences(*in_common(rows_of.read(standing[0]), row))[:6]
            raise DriftError(
                f"{row_path}: differs from the frozen {standing[0]} "
                f"({'; '.join(parts) or _besides(standing[0].parent, folder)}); give a reason to freeze a new version"
            )
        newest = stored.newest(manifest, row["model"])
        version = newest.version + 1 if newest else 1
        target = folder / f"{files.slug(row['model'])}@{version}.json"
        if target.exists():
            raise DriftError(
                f"{target}: exists but is not in {folder / 'manifest.json'}; nothing was overwritten"
            )
        entry = stored.FrozenRow(
            file=target.name,
            model=row["model"],
            version=version,
            sha256=files.sha256_text(data.decode("utf-8")),
            reason=why or "first version",
        )
        with files.atomic_path(target) as part:
            part.write_bytes(data)
        for old in standing:
            stored.supersede(old, target)
        listed = [*stored.manifest_of(folder).rows, entry]
        stored.list_rows(folder, listed)
        superseded = ", ".join(f"`{stored.named(old, folder)}`" for old in standing)
        _log(
            frozen_dir / "CHANGELOG.md",
            f"- {date} `{folder.name}/{target.name}`: {entry.reason}"
            + (f" (supersedes {superseded})" if superseded else ""),
        )
        _write_tables(frozen_dir)
    return target


def rebuild(frozen_dir: Path) -> list[Path]:
    """Write the frozen tables anew from the frozen rows, as a version that prints them otherwise needs.

    Raises
    ------
    DriftError
        When a frozen row was altered or is missing; no table is written then.
    """
    with stored.locked(frozen_dir):
        faults = [
            fault
            for folder in stored.folders(frozen_dir)
            for fault in stored.against_manifest(folder, stored.manifest_of(folder))
        ]
        if faults:
            raise DriftError("\n".join(faults) + "\nRestore these files before tables are made from them.")
        return _write_tables(frozen_dir)


def _write_tables(frozen_dir: Path) -> list[Path]:
    made = {frozen_dir / name: text for name, text in _texts(stored.current(frozen_dir)).items()}
    for path, text in made.items():
        files.write_text(path, text)
    return list(made)


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
    for folder in stored.folders(frozen_dir):
        try:
            problems += stored.against_manifest(folder, stored.manifest_of(folder))
        except (ContractError, DriftError) as error:
            problems.append(str(error))
    if problems:
        return Drift(problems, notes)
    try:
        current = stored.current(frozen_dir)
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
        if not stored.protocols(fresh) & stored.protocols(frozen):
            continue
        where = f"{path} against the frozen row of {frozen['model']!r}"
        if stored.protocol_of(fresh) != stored.protocol_of(frozen):
            both = f"{stored.protocol_of(fresh)} against {stored.protocol_of(frozen)}"
            notes.append(f"{where}: protocols {both}; what both have is compared")
        frozen, fresh = in_common(frozen, fresh)
        problems += [f"{where}: {fault}" for fault in printed_differences(frozen, fresh)]
        problems += [f"{where}: {fault}" for fault in differences(frozen, fresh)]
        for key in unequal(frozen["provenance"], fresh["provenance"], "provenance"):
            notes.append(f"{where}: {key}")
    return Drift(problems, notes)


def in_common(one: dict[str, Any], other: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two rows of a model as they are if their protocols are the same, else the suites that both have.

    What sums up all suites (`safe_from`, `ledger`, `marks`, `disclosures`, how often each was sampled) cannot then
    be held against each other and is taken from the first row.
    """
    if stored.protocols(one) == stored.protocols(other):
        return one, other
    both = {suite for suite, _ in stored.protocols(one) & stored.protocols(other)}

    def part(row: dict[str, Any]) -> dict[str, Any]:
        kept = {
            key: {suite: value for suite, value in row[key].items() if suite in both}
            for key in ("provenance", "counts", "estimates", "side")
        }
        truth = {suite: value for suite, value in (row["planted_truth"] or {}).items() if suite in both}
        ends = [end for end in row["cutoffs"] if end.get("suite") in both or end["kind"] == "vendor-stated"]
        summed = {key: one[key] for key in ("identity", "safe_from", "ledger", "marks", "disclosures")}
        return {**row, **kept, **summed, "planted_truth": truth or None, "cutoffs": ends}

    return part(one), part(other)


def _log(path: Path, line: str) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else "# Frozen rows\n\n"
    files.write_text(path, before + line + "\n")


def _besides(old: Path, new: Path) -> str:
    if old == new:
        return "only in its provenance"
    return f"protocols {new.name} in place of {old.name}, and what both have is equal"


# --- comparing ----------------------------------------------------------------------------------------


def _texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    made = (tables.csv_text(tables.machine(rows)), markdown.text(rows), latex.text(rows))
    return dict(zip(TABLES, made, strict=True))


def _tables_against_rows(frozen_dir: Path, rows: list[dict[str, Any]]) -> list[str]:
    """Make every published table again from the frozen rows, and name the cells that differ."""
    faults = []
    for name, text in _texts(rows).items():
        path = frozen_dir / name
        if not path.exists():
            faults += [f"{path}: missing; `anachron freeze --tables` writes it again"] if rows else []
            continue
        published = path.read_bytes().decode("utf-8", "replace")
        if published == text:
            continue
        found = (
            csv_differences(published, text) if name.endswith(".csv") else line_differences(published, text)
        )
        faults += [f"{path}: {fault}" for fault in found]
    return faults
