"""Reading facts from the configured sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anachron.sources import facts as sources_facts
from anachron.suites.findendro.facts import Facts, Value, months_needed
from anachron.suites.findendro.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd

    from anachron.config import Sources


def read(protocol: Protocol, sources: Sources, months: Sequence[str]) -> Facts:
    """Return the facts that some months' questions rest on.

    Raises
    ------
    SourceError
        When a table cannot be read, or the policy table is not at hand.
    """
    wanted, synthetic = months_needed(protocol, months), protocol.facts == "synthetic"
    changes = {entry.id: entry.change for entry in protocol.series if entry.change}
    macro = sources_facts.macro_first_releases(
        sources, [entry.id for entry in protocol.series], wanted, changes=changes, synthetic=synthetic
    )
    closes = sources_facts.closes(
        sources, [one.ticker for one in protocol.companies], wanted, synthetic=synthetic
    )
    policy = sources_facts.policy(sources, wanted, synthetic=synthetic)
    values: dict[tuple[str, str], Value] = {}
    for frame in (macro, closes, policy):
        values |= as_values(frame)
    return Facts(protocol, values)


def as_values(frame: pd.DataFrame) -> dict[tuple[str, str], Value]:
    """Return rows of `sources.facts.FACT_COLUMNS` by month and name; a fact that may not be asked keeps its reason."""
    found: dict[tuple[str, str], Value] = {}
    for family, name, month, number, outcome, published, first, made, why in zip(
        *(frame[column].tolist() for column in sources_facts.FACT_COLUMNS), strict=True
    ):
        missing = why if isinstance(why, str) else None
        value: str | None = outcome if isinstance(outcome, str) else None
        if family != "policy":
            value = None if math.isnan(number) else repr(float(number))
        day = published if isinstance(published, str) else None
        found[month, name] = Value(value, day, bool(first), bool(made), missing)
    return found
