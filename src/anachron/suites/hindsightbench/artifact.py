"""Published records of this suite as transcripts: for import and replay.

Two forms are told apart by what a folder holds: a tree of cells (`artifact_layout`) or Parquet tables
(`artifact_parquet`). Both give the same transcripts for the same records, and both go through the checks of
this module. Nothing is guessed: what a record does not say is missing.

* An answer that is blank has outcome ``empty``, and so has a cell of an arm that holds a record but no
  answer: cells that have a record are counted. A probe's record without any answer has outcome ``error``.
* Repeated probe answers are kept and counted by `duplicate` in the order of the file. A repeated arm answer
  with the same text counts once and is noted; one with another text is a conflict, and nothing is imported.
* The dates that arm W showed follow from the protocol. A record that says otherwise stops the import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as arrow

from anachron import frames
from anachron.errors import ImportFailure
from anachron.files import canonical_json, sha256_text, slug
from anachron.suites.hindsightbench import artifact_layout, artifact_parquet
from anachron.suites.hindsightbench.artifact_records import RECORD_COLUMNS, listed
from anachron.suites.hindsightbench.protocol import ALL_ARMS, PROBES, Protocol, Tier

SUITE = "hindsightbench"
ORDER = ["arm", "item", "rep", "duplicate"]
ROWS_AT_ONCE = 512


class Model(NamedTuple):
    """The records of one model.

    Attributes
    ----------
    name
        Model name as recorded.
    transcripts
        `frames.Transcripts`, sorted by arm, item, rep and duplicate.
    notes
        What a reader of the estimates should know about these records, one sentence each.
    """

    name: str
    transcripts: pd.DataFrame
    notes: list[str]


@dataclass(frozen=True)
class Artifact:
    """A folder of published records.

    Attributes
    ----------
    transcripts
        Per model name, `frames.Transcripts`.
    panel
        Columns decision_date, realised (Int64, +1, -1 or missing) and realised_kind, one row per decision
        date of the protocol; None when the folder brings none.
    notes
        One sentence each, the model named first.
    """

    transcripts: dict[str, pd.DataFrame]
    panel: pd.DataFrame | None
    notes: list[str]


def read(folder: Path, protocol: Protocol) -> Artifact:
    """Read all records of a folder.

    Parameters
    ----------
    folder
        Holds ``arms.parquet`` and its companions, or is (or contains) a tree ``outputs/bench/<model>``; a
        single model's folder will do.
    protocol
        The protocol that the records were asked under: its decision dates and false dates must be theirs.

    Raises
    ------
    ImportFailure
        When the folder holds no records, a file is damaged, or a record contradicts another or the protocol;
        the text names file, row or line, and what was found.
    """
    found = list(each(folder, protocol))
    return Artifact(
        transcripts={model.name: model.transcripts for model in found},
        panel=panel(folder, protocol),
        notes=[f"{model.name}: {note}" for model in found for note in model.notes],
    )


def each(folder: Path, protocol: Protocol) -> Iterator[Model]:
    """Yield the models of a folder one at a time, so that only one model's text need be in memory.

    Raises as `read` does; what is wrong with a later model is only seen when its turn comes.
    """
    form = _form(folder)
    records = artifact_parquet.records(folder) if form == "parquet" else artifact_layout.records(folder)
    spellings: dict[str, str] = {}
    for name, rows, notes in records:
        spelling = slug(name).casefold()
        if spelling in spellings:
            raise ImportFailure(
                f"{folder}: the models {spellings[spelling]!r} and {name!r} differ only by case, which file "
                "names may not tell apart; rename one of them"
            )
        spellings[spelling] = name
        held = [rows]
        del rows  # what a generator names stays in memory while it waits, and these texts are large
        yield Model(name, _transcripts(held.pop(), name, protocol, notes), notes)
    if not spellings:
        raise ImportFailure(f"{folder}: holds no model with records")


def tier(transcripts: pd.DataFrame, protocol: Protocol) -> Tier:
    """Return the smallest tier that holds all the arms' records; `full` where there are none."""
    arms = transcripts.loc[~transcripts["arm"].isin(PROBES), ["arm", "item", "rep"]]
    if arms.empty:
        return "full"
    if set(arms["item"]) <= set(protocol.tier_dates("reduced")):
        return "reduced"
    most = max(protocol.arms[arm].reps["full-1rep"] for arm in arms["arm"].unique())
    return "full-1rep" if int(arms["rep"].max()) <= most else "full"


def panel(folder: Path, protocol: Protocol) -> pd.DataFrame | None:
    """Return the realised directions that come with a folder, or None; see `Artifact.panel`."""
    place = folder / artifact_parquet.PANEL
    # A link that leads nowhere is a panel that got lost, not one that was never there.
    return artifact_parquet.panel(place, protocol) if os.path.lexists(place) else None


def _form(folder: Path) -> str:
    if not folder.is_dir():
        raise ImportFailure(f"{folder}: no such folder; give the folder that holds the records")
    if any((folder / name).exists() for name in artifact_parquet.TABLES):
        return "parquet"
    return "layout"


def _transcripts(rows: pd.DataFrame, model: str, protocol: Protocol, notes: list[str]) -> pd.DataFrame:
    """Check the records of one model and give them the contract's columns."""
    rows = rows[RECORD_COLUMNS].reset_index(drop=True)
    rows = rows.astype({name: "str" for name in RECORD_COLUMNS if name != "rep"})  # missing stays missing
    _check_arms_and_dates(rows, model, protocol)
    rows["rep"] = _whole_reps(rows, model)
    rows["shown_date"] = _shown(rows, model, protocol)
    rows = _once_per_cell(rows, model, notes)
    rows["duplicate"] = rows.groupby(["arm", "item", "rep"], sort=False).cumcount()
    repeats = int((rows["duplicate"] > 0).sum())
    if repeats:
        notes.append(f"{repeats} probe answers repeat a date and rep already answered; all are kept")
    rows["outcome"] = _outcomes(rows)
    for outcome in ("empty", "error"):
        if count := int((rows["outcome"] == outcome).sum()):
            notes.append(f"{count} records hold no answer; their outcome is {outcome}")
    rows = _sorted(rows)
    rows["key"] = _keys(rows, model)
    whole = rows.assign(model=model, suite=SUITE, provenance="imported")
    missing = pd.Series([None] * len(rows), dtype="str")
    columns = list(frames.Transcripts.to_schema().columns)
    whole = whole.assign(**{name: missing for name in columns if name not in whole})
    return frames.check(whole[columns], frames.Transcripts, f"records of {model!r}")


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort records; the texts are large, so that they are taken to their places bit by bit."""
    joined = arrow.array(rows.pop("text"), from_pandas=True)
    if isinstance(joined, arrow.ChunkedArray):  # else every bit would join the chunks anew
        joined = joined.combine_chunks()
    texts = pd.Series(joined.to_pandas(), dtype="str")
    rows = rows.sort_values(ORDER, kind="stable")
    order = rows.index.to_numpy()
    steps = range(0, max(len(rows), 1), ROWS_AT_ONCE)
    pieces = [texts.iloc[order[start : start + ROWS_AT_ONCE]] for start in steps]
    return rows.reset_index(drop=True).assign(text=pd.concat(pieces, ignore_index=True))


def _keys(rows: pd.DataFrame, model: str) -> list[str]:
    """Return a key per record: the hash of what it is a record of, and of its text."""
    head = canonical_json(["replay", model])
    keys = []
    for start in range(0, len(rows), ROWS_AT_ONCE):  # so that not all texts are in memory twice
        part = rows.iloc[start : start + ROWS_AT_ONCE]
        columns = (part[name].tolist() for name in (*ORDER, "text"))
        for *place, text in zip(*columns, strict=True):
            said = f"\n{text}" if isinstance(text, str) else ""
            keys.append(sha256_text("\n".join([head, *map(str, place)]) + said))
    return keys


def _check_arms_and_dates(rows: pd.DataFrame, model: str, protocol: Protocol) -> None:
    strange = ~rows["arm"].isin(ALL_ARMS)
    if strange.any():
        first = rows[strange].iloc[0]
        raise ImportFailure(
            f"{first['place']}: model {model!r}: arm {first['arm']!r} is not known; "
            f"known arms: {', '.join(ALL_ARMS)}"
        )
    strange = ~rows["item"].isin(protocol.decision_dates)
    if strange.any():
        first = rows[strange].iloc[0]
        raise ImportFailure(
            f"{first['place']}: model {model!r}: {first['item']!r} is not a decision date of protocol "
            f"{protocol.name} (day {protocol.dates.day} of {protocol.dates.start}..{protocol.dates.end}); "
            "mend the record, or use the protocol it was asked under"
        )


def _whole_reps(rows: pd.DataFrame, model: str) -> pd.Series:
    reps = pd.to_numeric(rows["rep"], errors="coerce")
    wrong = reps.isna() | (reps < 0) | (reps % 1 != 0)
    if wrong.any():
        first = rows[wrong].iloc[0]
        found = "missing" if pd.isna(first["rep"]) else repr(first["rep"])
        raise ImportFailure(
            f"{first['place']}: model {model!r}: the rep is {found}; it must be a whole number of 0 or more"
        )
    return reps.astype("int64")


def _shown(rows: pd.DataFrame, model: str, protocol: Protocol) -> pd.Series:
    """Return the date each prompt showed: the item's own, a false one, or none (M, REC)."""
    shown = rows["item"].where(~rows["arm"].isin(["M", "REC"]))
    for arm, shift in (("W", protocol.shift.months), ("W72", protocol.shift.alternative_months)):
        here = rows["arm"] == arm
        if here.any():
            shown[here] = rows.loc[here, "item"].map(protocol.fake_dates(shift))
            recorded = rows["fake_date"]
            other = here & recorded.notna() & (recorded != shown)
            if other.any():
                first = rows[other].iloc[0]
                raise ImportFailure(
                    f"{first['place']}: model {model!r}: arm {arm} of {first['item']} is recorded with the "
                    f"false date {first['fake_date']}, but protocol {protocol.name} shows "
                    f"{shown[other].iloc[0]}; use the protocol it was asked under"
                )
    return shown


def _once_per_cell(rows: pd.DataFrame, model: str, notes: list[str]) -> pd.DataFrame:
    """Drop arm records that repeat one with the same text; a different text is a conflict."""
    cell = ["arm", "item", "rep"]
    arms = ~rows["arm"].isin(PROBES)
    again = arms & rows.duplicated(cell)
    if not again.any():
        return rows
    for place in np.flatnonzero(again):
        second = rows.iloc[place]
        first = rows[arms & (rows[cell] == second[cell]).all(axis=1)].iloc[0]
        texts = [None if pd.isna(row["text"]) else row["text"] for row in (first, second)]
        if texts[0] != texts[1]:
            raise ImportFailure(
                f"model {model!r}: arm {second['arm']}, date {second['item']}, rep {second['rep']} is "
                f"recorded twice with different answers: {first['place']} and {second['place']}; "
                "remove the one that does not belong"
            )
    named = [f"{row['arm']} {row['item']} rep {row['rep']}" for _, row in rows[again].iterrows()]
    notes.append(f"records written twice with the same answer count once: {listed(named)}")
    return rows[~again].reset_index(drop=True)


def _outcomes(rows: pd.DataFrame) -> np.ndarray:
    absent = rows["text"].isna()
    probe = rows["arm"].isin(PROBES)
    nothing = absent & rows["recorded"].isna() & probe
    texts = rows["text"]
    blank = (texts == "").fillna(False).astype(bool) | texts.str.isspace().fillna(False).astype(bool)
    blank |= absent & ~probe
    return np.select([nothing, blank], ["error", "empty"], "answer")
