"""The items of the suite: decision dates, each with what was known then and what followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anachron import frames
from anachron.config import Sources
from anachron.items import panel

if TYPE_CHECKING:
    import pandas as pd

Contract = frames.Panel
ORDER = ["decision_date", "series"]
IMPORTED = ("decision_date", "realised")
"""Columns that published records must bring to be scored."""


def build(protocol: Any, sources: Sources, months: Sequence[str]) -> pd.DataFrame:
    """Return the panel of some decision months (`frames.Panel`); faults as in `items.panel.build`."""
    return panel.build(protocol, sources, [protocol.date(month) for month in months])


def names(known: pd.DataFrame) -> list[str]:
    """Return the decision dates of a panel, in order."""
    return sorted(set(known["decision_date"]))


def lacking(known: pd.DataFrame, months: Sequence[str]) -> list[str]:
    """Return the months of which a panel holds no decision date; every month has one."""
    held = {date[:7] for date in known["decision_date"]}
    return [month for month in months if month not in held]


def memory(known: pd.DataFrame) -> dict[str, int]:
    """Return what a planted respondent may remember: the realised direction of each date that has one."""
    nodes = known.drop_duplicates("decision_date").dropna(subset=["realised"])
    return {date: int(sign) for date, sign in zip(nodes["decision_date"], nodes["realised"], strict=True)}
