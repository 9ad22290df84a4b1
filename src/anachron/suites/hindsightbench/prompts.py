"""Prompts as pieces: which part of a text is wording, and which part was filled in from the data.

A prompt that was put together as one string can only be searched for dates by guessing which digits are data
(payrolls of 1999 thousand, housing starts of 2020). So a prompt stays a list of pieces until it is checked
(`masking`): wording is searched, filled-in fields are compared with the panel. All wording, and everything
about the target, comes from the protocol file; the only text here is the form of an observation's line.

Source: HindsightBench §3.1 (arms), §3.2 (probes); the suite's specification, "Arms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from anachron.blocks import ordinal
from anachron.suites.hindsightbench.protocol import FILL, Protocol, SeriesEntry

Kind = Literal["text", "constant", "date", "end", "lag", "reference", "value", "latest", "base_rate"]


class Piece(NamedTuple):
    """A part of a prompt.

    `text` is wording, `constant` a number of the protocol, all others come from the panel or state a date.
    """

    kind: Kind
    text: str


Fill = Callable[[str, Mapping[str, Piece]], list[Piece]]
"""Fills a template with the protocol's constants and with the given fields of one date."""


class Observation(NamedTuple):
    """One series as known on a decision date; `value` and `latest` in the entry's unit."""

    entry: SeriesEntry
    reference: str
    value: float
    latest: float


class Node(NamedTuple):
    """A decision date with everything a prompt may show of it; `base_rate_up` is a share, None if unknown."""

    date: str
    lap_end: str
    observations: tuple[Observation, ...]
    base_rate_up: float | None
    base_rate_n: int


def number(value: float, decimals: int) -> str:
    """Return a value with a fixed number of decimals and no thousands separator, the one rule for all dates.

    Zero has no sign.
    """
    text = f"{value:.{decimals}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def lag_months(date: str, reference: str) -> int:
    """Return the whole calendar months from a reference period's month to the decision month."""
    return ordinal(date) - ordinal(reference)


def percent(share: float) -> str:
    """Return a share as percent with one decimal."""
    return f"{100 * share:.1f}%"


def arm_prompt(protocol: Protocol, fill: Fill, node: Node, shown: str | None, revealed: bool) -> list[Piece]:
    """Return the prompt of arm R (`revealed`), or of D, W and W72 (`shown` is the date they state) or M.

    Parameters
    ----------
    protocol
        The protocol; all wording is its `task`.
    fill
        What `filler` returns for it.
    node
        The decision date.
    shown
        The date that the prompt states; None states none (arm M).
    revealed
        Whether reference dates, latest values and the statistics block are shown (arm R).
    """
    task = protocol.task
    stated = Piece("text", task.undisclosed_date) if shown is None else Piece("date", shown)
    dates = {"date": stated}
    line = fill(task.undisclosed_line, {}) if shown is None else fill(task.date_line, dates)
    catalog = "\n".join(f"{entry.id}: {entry.label}" for entry in protocol.series)
    heading = task.revealed_heading if revealed else task.lagged_heading
    paragraphs = [
        [*line, _NEWLINE, *fill(task.admissibility, dates)],
        fill(task.target_text, {}),
        [*fill(task.catalog_heading, {}), _NEWLINE, Piece("text", catalog)],
        _statistics(protocol, fill, node) if revealed else [],
        [*fill(heading, {}), _NEWLINE, *observation_lines(node, revealed)],
        fill(task.instruction, {}),
        fill(task.schema_text, {}),
        [*fill(task.example_heading, {}), _NEWLINE, Piece("text", task.example.rstrip("\n"))],
    ]
    return _joined(paragraphs)


def rec_prompt(protocol: Protocol, fill: Fill, node: Node) -> list[Piece]:
    """Return the date-recovery prompt: the masked observations and the question, nothing else."""
    return _joined([observation_lines(node, revealed=False), fill(protocol.task.rec, {})])


def lap_prompt(protocol: Protocol, fill: Fill, node: Node) -> list[Piece]:
    """Return the outcome-recall prompt: the question with both ends of its window."""
    ends = {"date": Piece("date", node.date), "end": Piece("end", node.lap_end)}
    return fill(protocol.task.lap, ends)


def observation_lines(node: Node, revealed: bool) -> list[Piece]:
    """Return one line per series: reference date and latest value when `revealed`, else months of lag."""
    pieces: list[Piece] = []
    for entry, reference, value, latest in node.observations:
        if pieces:
            pieces.append(_NEWLINE)
        pieces.append(Piece("text", f"{entry.id}: asof="))
        if revealed:
            pieces.append(Piece("reference", reference))
        else:
            pieces.append(Piece("lag", f"t-{lag_months(node.date, reference)}mo"))
        pieces += [Piece("text", ", value="), Piece("value", number(value, entry.decimals))]
        if revealed:
            pieces += [Piece("text", ", latest="), Piece("latest", number(latest, entry.decimals))]
        pieces.append(Piece("text", f", unit: {entry.unit}"))
    return pieces


def filler(protocol: Protocol) -> Fill:
    """Return the function that fills the templates of a protocol."""
    target = protocol.target
    constants = {
        "target": Piece("text", target.name),
        "definition": Piece("text", target.definition),
        "plus": Piece("text", target.plus),
        "minus": Piece("text", target.minus),
        "rose": Piece("text", target.rose),
        "fell": Piece("text", target.fell),
        "sketches": Piece("constant", str(protocol.sketches)),
        "domains": Piece("text", ", ".join(protocol.domains)),
        "horizons": Piece("constant", ", ".join(str(horizon) for horizon in protocol.horizons)),
        "catalog": Piece("text", ", ".join(entry.id for entry in protocol.series)),
    }

    def fill(template: str, fields: Mapping[str, Piece]) -> list[Piece]:
        return [
            (fields.get(part) or constants[part]) if is_field else Piece("text", part)
            for is_field, part in _split(template)
        ]

    return fill


def rendered(pieces: list[Piece]) -> str:
    """Return the text that a model is sent."""
    return "".join(text for _, text in pieces)


def _statistics(protocol: Protocol, fill: Fill, node: Node) -> list[Piece]:
    if node.base_rate_up is None or node.base_rate_n == 0:
        return fill(protocol.task.statistics_none, {})
    fields = {
        "base_rate_up": Piece("base_rate", percent(node.base_rate_up)),
        "base_rate_n": Piece("base_rate", str(node.base_rate_n)),
    }
    return fill(protocol.task.statistics, fields)


def _joined(paragraphs: list[list[Piece]]) -> list[Piece]:
    pieces: list[Piece] = []
    for paragraph in paragraphs:
        if paragraph:
            pieces += [Piece("text", "\n\n"), *paragraph] if pieces else paragraph
    return pieces


@lru_cache(maxsize=256)
def _split(template: str) -> tuple[tuple[bool, str], ...]:
    """Return a template's parts in order: whether each is a field's name, and its text."""
    parts = FILL.split(template.rstrip("\n"))
    return tuple((place % 2 == 1, part) for place, part in enumerate(parts) if part)


_NEWLINE = Piece("text", "\n")
