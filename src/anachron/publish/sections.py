"""The leaderboard as sections of printed tables, the same for every form it is written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from anachron.publish import recovery, tables
from anachron.publish.row_blocks import Block

Row = dict[str, Any]
Lines = list[dict[str, str]]


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    level: int
    title: str
    said: str | None = None
    """A sentence below the heading."""
    printed: tuple[tuple[str | None, Lines], ...] = ()
    """Tables, each with its title; the first of a section has none."""
    legend: dict[str, str] = field(default_factory=dict)
    """Marks that the tables carry, with their meaning."""
    notes: tuple[tuple[str, str], ...] = ()
    """Model and what is disclosed of it."""
    block: Block | None = None


def sections(rows: list[Row], scoring: str | None = None) -> Iterator[Section]:
    """Yield the sections of a leaderboard: per block and scoring its tables, then the cutoffs and disclosures.

    Parameters
    ----------
    rows
        Audit rows, in registry order.
    scoring
        Scoring that stands first; a suite's own first one when None.
    """
    for block in tables.blocks(rows):
        yield Section(2, block.title, f"Suite `{block.suite}`, protocol `{block.protocol}`.", block=block)
        for name in block.scorings(scoring):
            yield _scored(block, name)
    ends = tables.cutoffs(rows)
    if ends:
        yield Section(2, "Cutoffs side by side", printed=((None, ends),))
    notes = tuple((row["model"], note) for row in tables.ordered(rows) for note in row["disclosures"])
    if notes:
        yield Section(2, "Disclosures", notes=notes)


def _scored(block: Block, name: str) -> Section:
    printed = tables.leaderboard(block, name)
    planted = {row["model"] for row in block.planted()}
    measured = [line for line in printed if line["Model"] not in planted]
    made: list[tuple[str | None, Lines]] = [(None, measured)] if measured else []
    truth: Lines = []
    if planted:
        truth = [tables.show_truth(block, record) for record in tables.truth(block, name)]
        made.append(
            (
                "Planted respondents (their hindsight is a known parameter)",
                [line for line in printed if line["Model"] in planted],
            )
        )
        if truth:
            made.append(("Truth beside estimate", truth))
            found = [recovery.show(block, record) for record in recovery.recovery(block, name)]
            made += [("Bias and coverage over the planted respondents", found)] if found else []
    more = tables.further(block, name)
    made += more
    further = [line for _, lines in more for line in lines]
    return Section(
        3,
        f"Scoring `{name}`",
        printed=tuple(made),
        legend=tables.legend(block, [*printed, *truth, *further]),
        block=block,
    )
