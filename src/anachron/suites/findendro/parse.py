"""Stage `parse`: transcripts to answers. What an option means is known from the fact's name alone.

Source: the suite's specification, "Parsing".
"""

from __future__ import annotations

import math

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.continuations import last_logprobs
from anachron.suites.findendro.layout import LETTERS, candidate_count, layout
from anachron.suites.findendro.letters import READINGS, month, opening, read
from anachron.suites.findendro.likelihood import shares
from anachron.suites.findendro.protocol import Protocol
from anachron.suites.findendro.protocol_parts import TEXTS

VERSION = "2"

BY_OUTCOME = {
    "truncated": "truncated",
    "refusal": "refusal",
    "content_filter": "refusal",
    "empty": "empty",
    "malformed_body": "no answer",
    "error": "no answer",
}
"""How a request without an answer reads; one that was cut off may still begin with its letter."""


class Contract(frames.Answers):
    """One row per transcript: the option chosen, as candidate and claim."""

    reading: Series[str] = pa.Field(isin=READINGS)
    """What became of the answer; the cutoff's month counts as its letter."""
    letter: Series[str] = pa.Field(nullable=True)
    """The letter given; missing where there is none."""
    candidate: Series[pd.Int64Dtype] = pa.Field(ge=0, le=3, nullable=True)
    """Place of the chosen candidate, in ascending order."""
    knows: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    """Whether the chosen option claims to know; missing without claims or without a choice."""
    likely_letter: Series[str] = pa.Field(nullable=True)
    """The letter that the first token makes most likely; missing where no log-probabilities tell."""
    likely_candidate: Series[pd.Int64Dtype] = pa.Field(ge=0, le=3, nullable=True)
    likely_knows: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    likely_share: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Its share of the probability of all option letters."""
    text_logprob: Series[float] = pa.Field(le=0, nullable=True)
    """Log-probability of an option's text after the question (its `rep` says which option); missing in other arms."""
    text_bytes: Series[pd.Int64Dtype] = pa.Field(ge=1, nullable=True)
    """How long that text is in UTF-8."""
    stated_month: Series[str] = pa.Field(nullable=True)
    """The cutoff that the model states."""


KINDS = dict.fromkeys(("candidate", "likely_candidate", "text_bytes"), "Int64")
KINDS |= dict.fromkeys(("knows", "likely_knows"), "boolean") | dict.fromkeys(
    ("likely_share", "text_logprob"), "float64"
)

COLUMNS = list(Contract.to_schema().columns)
OWN = COLUMNS[COLUMNS.index("reading") :]


def parse(transcripts: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Return the answers of transcripts of this suite (`Contract`), one row each.

    Parameters
    ----------
    transcripts
        `frames.Transcripts`, any order; the order stays.
    protocol
        The protocol they were asked under: it says which option was which candidate and claim.
    """
    columns: dict[str, list[object]] = {name: [] for name in OWN}
    texts, logprobs = (
        transcripts[name].astype(object).where(transcripts[name].notna(), None).tolist()
        for name in ("text", "logprobs")
    )
    for arm, item, outcome, text, odds in zip(
        transcripts["arm"].tolist(),
        transcripts["item"].tolist(),
        transcripts["outcome"].tolist(),
        texts,
        logprobs,
        strict=True,
    ):
        if arm == "cutoff":
            stated = month(text or "") if outcome == "answer" else None
            reading = "letter" if stated else BY_OUTCOME.get(outcome, "no letter")
            row: dict[str, object] = {"reading": reading, "stated_month": stated}
        elif arm in TEXTS:
            row = _scored(outcome, text or "", odds, protocol.task.candidate)
        else:
            options = layout(protocol.seed, item, arm, candidate_count(item, protocol.policy.id))
            reading, letter = _read(outcome, text or "", len(options))
            candidate, knows = (
                options[LETTERS.index(letter)] if reading == "letter" and letter else (None, None)
            )
            row = {"reading": reading, "letter": letter, "candidate": candidate, "knows": knows}
            row |= _likely(odds, options)
        for name, values in columns.items():
            values.append(row.get(name))
    shared = {name: transcripts[name] for name in COLUMNS if name in transcripts.columns}
    frame = pd.DataFrame({**shared, "parser": VERSION, **_typed(columns, transcripts.index)})[COLUMNS]
    return frames.check(frame, Contract, "answers of findendro")


def _typed(columns: dict[str, list[object]], index: pd.Index) -> dict[str, pd.Series]:
    return {
        name: pd.Series(values, index=index, dtype=KINDS.get(name, "str")) for name, values in columns.items()
    }


def _read(outcome: str, text: str, offered: int) -> tuple[str, str | None]:
    if outcome == "answer":
        return read(text, offered)
    letter = opening(text, offered) if outcome == "truncated" else None
    return ("letter", letter) if letter else (BY_OUTCOME[outcome], None)


def _likely(odds: object, options: tuple[tuple[int, bool | None], ...]) -> dict[str, object]:
    found = shares(odds, len(options)) if isinstance(odds, str) else None
    if found is None:
        return {}
    place = max(range(len(found)), key=lambda at: (found[at], -at))
    candidate, knows = options[place]
    likely = {"letter": LETTERS[place], "candidate": candidate, "knows": knows, "share": found[place]}
    return {f"likely_{name}": value for name, value in likely.items()}


def _scored(outcome: str, text: str, odds: object, cue: str) -> dict[str, object]:
    """Return how likely the text behind the last `cue` of a scored prompt is."""
    _, found, option = text.rpartition(cue.strip())
    option = option.strip()
    if outcome != "answer" or not (found and option):
        return {"reading": BY_OUTCOME.get(outcome, "not scored")}
    odd = last_logprobs(odds, len(option) + len(text) - len(text.rstrip()))
    if odd is None or not math.isfinite(sum(odd)) or sum(odd) > 0:
        return {"reading": "not scored"}
    return {
        "reading": "scored",
        "text_logprob": sum(odd),
        "text_bytes": len(option.encode("utf-8", "replace")),
    }
