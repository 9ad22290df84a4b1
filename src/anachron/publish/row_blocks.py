"""Rows in the order and the groups they are printed in.

A *block* of the leaderboard is one suite under one protocol: rows of different protocols never share a table.
Models with planted hindsight stand in a block of their own, with the truth beside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from anachron import suites
from anachron.errors import ContractError

Row = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """The rows of one suite under one protocol, in the order they are printed."""

    suite: str
    protocol: str
    title: str
    rows: tuple[Row, ...]

    @property
    def table(self) -> Any:
        """The suite's `table` module."""
        return suites.module(self.suite, "table")

    def scorings(self, preferred: str | None = None) -> list[str]:
        """Scorings that some row holds, the preferred one first."""
        held = {name for row in self.rows for name in row["estimates"][self.suite]}
        names = [name for name in self.table.SCORINGS if name in held]
        return sorted(names, key=lambda name: name != preferred) if preferred in names else names

    def measured(self) -> list[Row]:
        """Rows of models whose hindsight is not known beforehand."""
        return [row for row in self.rows if not is_planted(row, self.suite)]

    def printed(self) -> list[Row]:
        """All rows, planted respondents last."""
        return [*self.measured(), *self.planted()]

    def planted(self) -> list[Row]:
        """Rows of planted respondents."""
        return [row for row in self.rows if is_planted(row, self.suite)]


def is_planted(row: Row, suite: str) -> bool:
    """Whether the truth behind a row's suite is known."""
    return suite in (row.get("planted_truth") or {}) or row["identity"]["provider"] == "planted"


def vendor_stated(row: Row) -> str | None:
    """Return the month that the vendor states as the end of a model's training data."""
    month: str | None = next((one["month"] for one in row["cutoffs"] if one["kind"] == "vendor-stated"), None)
    return month


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Sort rows by generation, the newest first and unstated ones last; within one, the order given stays."""
    known: list[Row] = []
    other: list[Row] = []
    for row in rows:
        (known if row["identity"]["generation"][:1].isdigit() else other).append(row)
    known.sort(key=lambda row: _natural(row["identity"]["generation"]), reverse=True)
    # A reversed stable sort keeps the order of equals, so registry order survives inside a generation.
    return known + sorted(other, key=lambda row: row["identity"]["generation"])


def _natural(text: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d+|\D+", text)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def blocks(rows: Iterable[Row]) -> list[Block]:
    """Group rows into the leaderboard's blocks, suites in registry order, protocols by name.

    Raises
    ------
    ContractError
        When one model has two rows in the same block.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    titles: dict[tuple[str, str], str] = {}
    for row in ordered(rows):
        for suite in row["estimates"]:
            protocol = row["provenance"][suite]["protocol"]
            key = (suite, protocol["name"])
            if any(other["model"] == row["model"] for other in groups.get(key, [])):
                raise ContractError(
                    f"two rows of model {row['model']!r} under protocol {protocol['name']!r}; give one"
                )
            groups.setdefault(key, []).append(row)
            titles.setdefault(key, protocol["title"])
    order = list(suites.SUITES)
    keys = sorted(groups, key=lambda key: (order.index(key[0]) if key[0] in order else len(order), key))
    return [Block(suite, name, titles[suite, name], tuple(groups[suite, name])) for suite, name in keys]
