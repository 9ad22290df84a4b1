"""Published records of this suite as transcripts: for import and replay.

A folder holds Parquet tables of several models; every table but ``truth.parquet`` may be absent. What a record
says of itself decides its arm (`artifact_tables`); nothing depends on a model's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from anachron import frames
from anachron.errors import ImportFailure
from anachron.files import canonical_json, sha256_text, slug
from anachron.suites.numleak import artifact_tables as tables
from anachron.suites.numleak.protocol import Protocol, Tier

SUITE = "numleak"
ORDER = ["arm", "item", "rep", "duplicate"]


class Model(NamedTuple):
    """The records of one model: name as recorded, `frames.Transcripts`, and what a reader should know of them."""

    name: str
    transcripts: pd.DataFrame
    notes: list[str]


def each(folder: Path, protocol: Protocol) -> Iterator[Model]:
    """Yield the models of a folder, by name.

    Raises
    ------
    ImportFailure
        When the folder holds no records, a table lacks a column, or two models' names differ only by case.
    """
    rows = tables.rows(folder)
    spellings: dict[str, str] = {}
    for name, part in sorted(rows.groupby("model"), key=lambda one: str(one[0])):
        spelling = slug(str(name)).casefold()
        if spelling in spellings:
            raise ImportFailure(
                f"{folder}: the models {spellings[spelling]!r} and {name!r} differ only by case, which file "
                "names may not tell apart; rename one of them"
            )
        spellings[spelling] = str(name)
        yield Model(str(name), _transcripts(part, str(name)), _notes(part))


def panel(folder: Path, protocol: Protocol) -> pd.DataFrame | None:
    """Return the true values that come with a folder (`items.IMPORTED`)."""
    return tables.truth(folder)


def tier(transcripts: pd.DataFrame, protocol: Protocol) -> Tier:
    """Return the tier of records: they are what they are, so `full`."""
    return "full"


def _transcripts(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    rows = rows.sort_values(["arm", "item", "rep", "place"], kind="stable", ignore_index=True)
    rows["duplicate"] = rows.groupby(["arm", "item", "rep"], sort=False).cumcount()
    rows["suite"], rows["provenance"] = SUITE, "imported"
    said = rows["text"].fillna("").str.strip()
    rows["outcome"] = "answer"
    rows.loc[said == "", "outcome"] = "empty"
    rows.loc[rows["failed"].astype(bool), "outcome"] = "error"
    rows["key"] = [
        sha256_text(canonical_json(["replay", model, *map(str, place)]))
        for place in rows[[*ORDER, "place"]].itertuples(index=False)
    ]
    rows["finish_reason"] = rows["cut"].map({True: "length", False: "stop"})
    rows["request_id"] = rows["place"]
    columns = list(frames.Transcripts.to_schema().columns)
    missing = pd.Series([None] * len(rows), dtype="str")
    rows = rows.assign(**{name: missing for name in columns if name not in rows})
    return frames.check(rows[columns], frames.Transcripts, f"records of {model!r}")


def _notes(rows: pd.DataFrame) -> list[str]:
    notes = []
    repeats = int(rows.duplicated(["arm", "item", "rep"]).sum())
    if repeats:
        notes.append(f"{repeats} records repeat an item and rep already recorded; all are kept")
    cut = int(rows["cut"].astype(bool).sum())
    if cut:
        notes.append(f"{cut} records ended at their token limit")
    return notes
