"""The items of the suite: the sampled facts, each with its candidates, the truth, and what was known before.

A sampled fact that cannot be asked stays in the table with the reason. Real and synthetic facts never stand in
one table. Source: FinDendro §3.1, §3.3, appendix A; the suite's specification, "Facts".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.findendro.facts import Fact, Facts
from anachron.suites.findendro.options import Candidates, nearest, numeric, text
from anachron.suites.findendro.protocol import Protocol, previous
from anachron.suites.findendro.protocol_parts import OUTCOMES

if TYPE_CHECKING:
    from anachron.config import Sources

ORDER = ["month", "item"]
IMPORTED = ("item", "month", "name", "family", "candidates", "truth", "nearest", "missing")
"""Columns that published records must bring to be scored."""

CUTOFF = "cutoff"
"""Family of the item that stands for the request for the model's own cutoff."""


class Contract(frames.Contract):
    """One row per sampled fact, and one for the cutoff request."""

    item: Series[str] = pa.Field(unique=True)
    month: Series[str] = pa.Field(str_matches=r"^\d{4}-(0[1-9]|1[0-2])$")
    name: Series[str]
    """Series id, ticker or policy id."""
    family: Series[str] = pa.Field(isin=["macro", "stock", "policy", CUTOFF])
    candidates: Series[str]
    """JSON list of the candidates as printed, ascending; of outcome names for policy; empty where not asked."""
    truth: Series[pd.Int64Dtype] = pa.Field(ge=0, le=3, nullable=True)
    """Place of the truth among the candidates."""
    nearest: Series[pd.Int64Dtype] = pa.Field(ge=0, le=3, nullable=True)
    """Place of the candidate nearest the value published a month earlier; missing where unknown or tied."""
    previous: Series[str] = pa.Field(nullable=True)
    """That value as printed, or that outcome."""
    step: Series[str] = pa.Field(nullable=True)
    """Distance of neighbouring candidates as printed."""
    published: Series[str] = pa.Field(nullable=True, str_matches=frames.DATE)
    """Date of first publication, where it is known."""
    vintage_kind: Series[str] = pa.Field(isin=["real time", "synthetic"], nullable=True)
    missing: Series[str] = pa.Field(nullable=True)
    """Why the fact cannot be asked; missing where it is asked."""


def build(protocol: Protocol, sources: Sources, months: Sequence[str]) -> pd.DataFrame:
    """Return the sampled facts of some months (`Contract`).

    Raises
    ------
    SourceError
        As the readers of the sources do.
    """
    from anachron.suites.findendro.sourced import read

    return assemble(protocol, read(protocol, sources, months), months)


def assemble(protocol: Protocol, facts: Facts, months: Sequence[str]) -> pd.DataFrame:
    """Return the sampled facts of some months from facts that are at hand (see `build`)."""
    rows = [row(protocol, facts, month, name) for month in months for name in protocol.sample_of(month)]
    if protocol.dates.start in months:
        empty = dict.fromkeys(Contract.to_schema().columns)
        rows.append(
            empty
            | {"item": protocol.cutoff_item, "month": protocol.dates.start, "name": CUTOFF}
            | {"family": CUTOFF, "candidates": "[]"}
        )
    if not rows:
        return frames.empty(Contract)
    frame = pd.DataFrame(rows, columns=list(Contract.to_schema().columns))
    return frames.check(frame.sort_values(ORDER, ignore_index=True), Contract, "facts")


def row(protocol: Protocol, facts: Facts, month: str, name: str) -> dict[str, Any]:
    """Return one sampled fact as a row."""
    item, fact = protocol.item(month, name), facts.get(month, name)
    before = facts.get(previous(month), name)
    family = protocol.families()[name]
    found: dict[str, Any] = dict.fromkeys(Contract.to_schema().columns)
    found |= {"item": item, "month": month, "name": name, "family": family, "candidates": "[]"}
    step = 0 if family == "policy" else facts.step(name, fact.units)
    missing = fact.missing or (None if step is not None else "too few changes to space candidates by")
    if missing:
        return found | {"missing": missing}
    made = candidates(protocol, item, fact, before, int(step or 0))
    if family == "policy":
        shown, prior = list(OUTCOMES), None if before.units is None else OUTCOMES[before.units]
    else:
        shown = [text(value, fact.decimals) for value in made.values]
        prior = None if before.units is None else text(before.units, fact.decimals)
    return found | {
        "candidates": json.dumps(shown),
        "truth": made.truth,
        "nearest": made.nearest,
        "previous": prior,
        "step": text(made.step, fact.decimals) if made.step else None,
        "published": fact.published,
        "vintage_kind": "synthetic" if fact.synthetic else "real time",
    }


def candidates(protocol: Protocol, item: str, fact: Fact, before: Fact, step: int) -> Candidates:
    """Return the candidates of a fact that can be asked."""
    assert fact.units is not None  # a fact without a value is missing
    if protocol.families()[fact.name] == "policy":
        values = tuple(range(len(OUTCOMES)))
        return Candidates(values, fact.units, nearest(values, before.units), 0)
    return numeric(
        item, fact.units, before.units, step, fact.floor, protocol.spacing.multiples, protocol.seed
    )


def names(known: pd.DataFrame) -> list[str]:
    """Return the items that are asked, in order."""
    return sorted(known.loc[known["missing"].isna(), "item"].tolist())


def memory(known: pd.DataFrame) -> dict[str, tuple[str, int, int, int]]:
    """Return what a planted respondent may know of each item that is asked.

    That is: its family, how many candidates it has, the place of the truth, and the place of the candidate
    nearest the value of the month before (−1 for none).
    """
    asked = known[known["missing"].isna()]
    counts = [len(json.loads(text)) for text in asked["candidates"]]
    truth, near = (asked[name].fillna(-1).astype(int).tolist() for name in ("truth", "nearest"))
    return dict(zip(asked["item"], zip(asked["family"], counts, truth, near, strict=True), strict=True))


def missing(known: pd.DataFrame) -> Mapping[str, int]:
    """Return how many sampled facts are not asked, by family and reason."""
    gone = known[known["missing"].notna()]
    counted = Counter(zip(gone["family"], gone["missing"], strict=True))
    return {f"{family}: {reason}": number for (family, reason), number in sorted(counted.items())}
