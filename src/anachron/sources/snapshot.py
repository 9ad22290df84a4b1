"""The embedded snapshot: the folder of public data that a fresh clone runs on, read here and nowhere else.

Files (docs/reference/snapshot.md): ``macro.parquet`` and ``realised.parquet`` for the panel, the facts of `embedded`,
``provenance.csv`` and ``digests.json``. Nothing heavy is imported at module level: `digest_until` is called when
Snakemake parses the workflow.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

MACRO, REALISED, PROVENANCE, DIGESTS = "macro.parquet", "realised.parquet", "provenance.csv", "digests.json"
SCHEMA_VERSION = 1

MACRO_COLUMNS = ("series_id", "reference_period", "value", "unit")
REALISED_COLUMNS = ("decision_date", "sessions", "realised", "kind")
PROVENANCE_COLUMNS = (
    "table",
    "series",
    "package",
    "version",
    "licence",
    "source_column",
    "first",
    "last",
    "vintage_kind",
    "source_sha256",
    "note",
)

RESTORE = "restore the folder with `git checkout`, or rebuild it with `anachron snapshot build`"


def build(out: Path) -> None:
    """Build the snapshot from the packages of the extra `snapshot` and write it to the folder `out`.

    The same packages give the same bytes. Index levels never leave this call: only signs are written.

    Raises
    ------
    SourceError
        When a package is not installed, or its data file is missing or lacks a column.
    """
    from anachron.sources import packages, packages_facts

    macro, realised, provenance = packages.tables()
    facts, of_facts = packages_facts.tables()
    write(out, macro, realised, provenance + of_facts, facts)


def write(
    out: Path,
    macro: pd.DataFrame,
    realised: pd.DataFrame,
    provenance: Iterable[dict[str, Any]],
    facts: Mapping[str, pd.DataFrame] | None = None,
) -> None:
    """Write the files of a snapshot; each is atomic, `digests.json` comes last.

    Parameters
    ----------
    out
        The folder.
    macro, realised
        What the panel is built from.
    provenance
        Rows of `PROVENANCE_COLUMNS`.
    facts
        Tables of `embedded.TABLES` by source; a snapshot without them serves panels alone.
    """
    import io

    from anachron import frames
    from anachron.files import atomic_path, sha256_file, write_json, write_text

    macro = macro.sort_values(["series_id", "reference_period"], ignore_index=True)
    realised = realised.sort_values(["sessions", "decision_date"], ignore_index=True)
    for name, frame in ((MACRO, macro), (REALISED, realised)):
        with atomic_path(out / name) as part:
            _write_parquet(frame, part)
    text = io.StringIO()
    table = csv.DictWriter(text, PROVENANCE_COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(provenance)
    write_text(out / PROVENANCE, text.getvalue())
    written = [MACRO, PROVENANCE, REALISED]
    if facts:
        from anachron.sources import embedded

        for source, frame in facts.items():
            contract = embedded.TABLES[source]
            keys = list(contract.to_schema().unique)
            frames.write(frame.sort_values(keys), out / f"{source}.parquet", contract)
            written.append(f"{source}.parquet")
    files = {name: sha256_file(out / name) for name in sorted(written)}
    months = month_digests(macro, realised)
    write_json(out / DIGESTS, {"schema_version": SCHEMA_VERSION, "files": files, "months": months})


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    table = arrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    parquet.write_table(table, path, compression="zstd")


def month_digests(macro: pd.DataFrame, realised: pd.DataFrame) -> dict[str, str]:
    """Return for each month the SHA-256 of what the snapshot says of it.

    That is: the values of the reference periods that open in the month, the direction of each series from
    that period to the next (a monthly series may be the target), and the labels of the month's dates.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for series, group in macro.sort_values(["series_id", "reference_period"]).groupby("series_id"):
        periods, values = group["reference_period"].tolist(), group["value"].tolist()
        for place, (period, value, unit) in enumerate(zip(periods, values, group["unit"], strict=True)):
            after = ""
            if place + 1 < len(values):
                after = f"{periods[place + 1]}{'+' if values[place + 1] >= value else '-'}"
            lines[period[:7]].append(f"value|{series}|{period}|{value!r}|{unit}|{after}")
    for date, *label in zip(*(realised[column].tolist() for column in REALISED_COLUMNS), strict=True):
        lines[date[:7]].append("|".join(map(str, ("label", date, *label))))
    return {
        month: hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()
        for month, found in sorted(lines.items())
    }


def digest_until(folder: Path, month: str) -> str:
    """Return one SHA-256 over everything the snapshot says of the months up to `month` (``YYYY-MM``).

    A later month's data changes no earlier digest, so a block of decision dates reruns only when what it
    rests on has changed.

    Raises
    ------
    SourceError
        When `digests.json` is missing or is not what `build` writes.
    """
    path = folder / DIGESTS
    months = _digests(path)["months"]
    seen = hashlib.sha256()
    for key in sorted(months):
        if key <= month:
            seen.update(f"{key} {months[key]}\n".encode())
    return seen.hexdigest()


def file_digest(folder: Path, name: str) -> str:
    """Return the SHA-256 that the snapshot states of one of its files; `SourceError` when it has no such file."""
    stated = _digests(folder / DIGESTS)["files"]
    if name not in stated:
        raise SourceError(f"{folder}: the snapshot has no {name}: {RESTORE}")
    return str(stated[name])


def _digests(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(
            f"{path}: no such file; `sources.snapshot` in the configuration names the snapshot's folder: {RESTORE}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: cannot be read as JSON ({error}): {RESTORE}") from None
    parts = [found.get(part) for part in ("months", "files")] if isinstance(found, dict) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        raise SourceError(f"{path}: lacks `months` or `files`, objects of digests: {RESTORE}")
    if found.get("schema_version") != SCHEMA_VERSION:
        raise SourceError(
            f"{path}: found schema version {found.get('schema_version')!r}, not {SCHEMA_VERSION}: {RESTORE}"
        )
    return found


def read_macro(folder: Path) -> pd.DataFrame:
    """Read the macro series: series_id, reference_period (``YYYY-MM-01``), value, unit.

    Raises
    ------
    SourceError
        When the file is missing, truncated, altered, lacks a column, or holds a value that is no number, a
        period that is no first of a month, or a period twice; the text names file, row and column.
    """
    frame = read_table(folder, MACRO, MACRO_COLUMNS)
    where = folder / MACRO
    if frame["value"].dtype.kind not in "fi":
        raise SourceError(f"{where}: column 'value' holds {frame['value'].dtype}, not numbers: {RESTORE}")
    for row, value in enumerate(frame["value"]):
        if not math.isfinite(value):
            raise SourceError(f"{where}: row {row}, column 'value': {value!r} is no number: {RESTORE}")
    bad = ~frame["reference_period"].astype(str).str.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-01")
    _refuse_where(bad, frame["reference_period"], where, "is no first of a month")
    _refuse_twice(frame, ["series_id", "reference_period"], where)
    return frame


def read_realised(folder: Path) -> pd.DataFrame:
    """Read the labels: decision_date, sessions, realised (+1 or −1), kind; `SourceError` as `read_macro`."""
    frame = read_table(folder, REALISED, REALISED_COLUMNS)
    where = folder / REALISED
    _refuse_where(~frame["realised"].isin([-1, 1]), frame["realised"], where, "is neither 1 nor -1")
    _refuse_twice(frame, ["decision_date", "sessions"], where)
    return frame


def read_table(folder: Path, name: str, columns: tuple[str, ...]) -> pd.DataFrame:
    """Read some columns of a file of the snapshot.

    Raises
    ------
    SourceError
        When folder or file is missing, cut short, lacks a column, or is not the one `digests.json` was written for.
    """
    from anachron.errors import ContractError
    from anachron.files import sha256_file
    from anachron.frames import read_parquet

    path = folder / name
    if not folder.is_dir():
        raise SourceError(
            f"{folder}: no such folder; set `sources.snapshot` in the configuration to the snapshot's, or {RESTORE}"
        )
    try:
        frame = read_parquet(path)
    except ContractError as error:
        raise SourceError(f"{error}. It belongs to the embedded snapshot: {RESTORE}") from None
    missing = [column for column in columns if column not in frame]
    if missing:
        raise SourceError(
            f"{path}: lacks the column {missing[0]!r}; found {', '.join(map(str, frame.columns))}: {RESTORE}"
        )
    stated = _digests(folder / DIGESTS)["files"].get(name)
    if stated != sha256_file(path):
        raise SourceError(
            f"{path}: its bytes are not those {DIGESTS} was written for, so jobs would not rerun: {RESTORE}"
        )
    return frame[list(columns)]


def _refuse_where(bad: pd.Series, column: pd.Series, where: Path, fault: str) -> None:
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise SourceError(
            f"{where}: row {row}, column {column.name!r}: {column.iloc[row]!r} {fault}: {RESTORE}"
        )


def _refuse_twice(frame: pd.DataFrame, keys: list[str], where: Path) -> None:
    twice = frame.duplicated(keys)
    if twice.any():
        row = int(twice.to_numpy().argmax())
        found = ", ".join(str(frame[key].iloc[row]) for key in keys)
        raise SourceError(
            f"{where}: row {row} repeats {found}; each {' and '.join(keys)} stands once: {RESTORE}"
        )
