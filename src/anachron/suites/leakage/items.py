"""The items of the suite: resolved yes-or-no questions, each with its crowd and its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.leakage import own, questions
from anachron.suites.leakage.protocol import Protocol

if TYPE_CHECKING:
    from anachron.config import Sources

ORDER = ["month", "item"]
IMPORTED = ("item", "source", "asked_on", "resolved_on", "crowd", "outcome")
"""Columns that published records must bring to be scored."""

Memory = dict[str, tuple[str, str, float, float]]
"""Per item: source, day of resolution, crowd's probability, outcome."""


class Contract(frames.Contract):
    """One row per question."""

    item: Series[str] = pa.Field(unique=True)
    month: Series[str] = pa.Field(str_matches=r"^\d{4}-(0[1-9]|1[0-2])$")
    """Month of resolution."""
    source: Series[str]
    """Series, or where a question of a table is from."""
    reference: Series[str]
    """Month that is asked about; empty for questions of a table."""
    threshold: Series[str]
    text: Series[str]
    """The question of a table; empty for those made by rule, whose wording the protocol has."""
    asked_on: Series[str] = pa.Field(str_matches=frames.DATE)
    resolved_on: Series[str] = pa.Field(str_matches=frames.DATE)
    crowd: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Probability that a crowd, or base rates, gave on that day; missing where a table has none."""
    outcome: Series[float] = pa.Field(isin=[0.0, 1.0])
    vintage_kind: Series[str] = pa.Field(isin=["real time", "pseudo real time", "synthetic"])


def build(protocol: Protocol, sources: Sources, months: Sequence[str]) -> pd.DataFrame:
    """Return the questions that are resolved in some months (`Contract`).

    Raises
    ------
    AnachronError
        As the readers of the sources and of a table of questions do.
    """
    if protocol.questions is not None:
        found, kind = own.read(Path(protocol.questions), months, protocol.months), "real time"
    else:
        found = questions.made(protocol, sources, months)
        kind = "pseudo real time" if sources.alfred in (None, "auto") else "real time"
        kind = "synthetic" if protocol.facts == "synthetic" else kind
    if not found:
        return frames.empty(Contract)
    frame = pd.DataFrame(found, columns=list(questions.Question._fields)).assign(vintage_kind=kind)
    return frames.check(frame.sort_values(ORDER, ignore_index=True), Contract, "items of leakage")


def names(known: pd.DataFrame) -> list[str]:
    """Return the items that are asked, in order."""
    return sorted(known["item"].tolist())


def memory(known: pd.DataFrame) -> Memory:
    """Return what a planted respondent may know of every question."""
    columns = (known[name].tolist() for name in ("item", "source", "resolved_on", "crowd", "outcome"))
    return {
        item: (source, day, float(crowd), float(outcome))
        for item, source, day, crowd, outcome in zip(*columns, strict=True)
    }
