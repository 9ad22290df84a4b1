"""Stage `parse`: transcripts to answers, by the published rule and by the final answer.

Source: the suite's specification, "Parsing".
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.numleak import naming
from anachron.suites.numleak.entropy import first_tokens
from anachron.suites.numleak.judging import score
from anachron.suites.numleak.likelihood import mean_logprob
from anachron.suites.numleak.numerals import final, published
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.verdicts import declines, opens_with_refusal, verdict

VERSION = "1"

READINGS = ("value", "verdict", "score", "range", "unit", "refusal", "truncated", "empty", "unread", "error")
"""What became of an answer: a number, a month, a judged text; or why there is none."""

BY_OUTCOME = {
    "refusal": "refusal",
    "content_filter": "refusal",
    "empty": "empty",
    "malformed_body": "error",
    "error": "error",
}


class Contract(frames.Answers):
    """One row per transcript: number, month or score, by either rule."""

    reading: Series[str] = pa.Field(isin=READINGS)
    cut: Series[bool]
    """Whether the answer ended at its token limit."""
    value: Series[float] = pa.Field(nullable=True)
    """The number of the final answer, in the unit of the series."""
    published: Series[float] = pa.Field(nullable=True)
    """The number by the published rule, in percent."""
    pick: Series[str] = pa.Field(nullable=True)
    """Month named last by an answer that was not cut off."""
    endorsed: Series[str] = pa.Field(nullable=True)
    """Month by the endorsement-aware rule, of whatever text there is."""
    first: Series[str] = pa.Field(nullable=True)
    """Month named first."""
    entropy: Series[float] = pa.Field(nullable=True)
    """Mean entropy of the first two tokens, in bits."""
    score: Series[float] = pa.Field(nullable=True)
    """Judge's score from 0 to 4, or a candidate's mean log-probability."""
    judge: Series[str] = pa.Field(nullable=True)
    shown_date: Series[str] = pa.Field(nullable=True)
    """Month that the prompt stated, where it was not the item's own."""
    place: Series[str] = pa.Field(nullable=True)
    """Where a record stands among its fellows, as text that sorts so; missing for answers of our own."""


COLUMNS = list(Contract.to_schema().columns)
READ = ["reading", "cut", "value", "published", "pick", "endorsed", "first", "entropy", "score", "judge"]


def parse(transcripts: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Return one answer per transcript (`Contract`), in the same order."""
    units: dict[str, str] = {entry.id: entry.unit for entry in protocol.series}
    rows = [
        _row(arm, item, outcome, _text(text), finish, odds, recorded, units)
        for arm, item, outcome, text, finish, odds, recorded in zip(
            *(
                transcripts[name].tolist()
                for name in ("arm", "item", "outcome", "text", "finish_reason", "logprobs", "recorded")
            ),
            strict=True,
        )
    ]
    read = pd.DataFrame(rows, columns=READ, index=transcripts.index)
    for name in ("pick", "endorsed", "first", "judge"):
        read[name] = read[name].astype("str")
    for name in ("value", "published", "entropy", "score"):
        read[name] = read[name].astype("float64")
    shared = transcripts[[name for name in COLUMNS if name in transcripts.columns]]
    imported = transcripts["provenance"] == "imported"
    frame = pd.concat([shared, read], axis=1)
    frame["parser"], frame["place"] = VERSION, transcripts["request_id"].where(imported)
    return frames.check(frame[COLUMNS], Contract, "answers of numleak")


def _text(text: Any) -> str:
    return text if isinstance(text, str) else ""


def _row(
    arm: str, item: str, outcome: str, text: str, finish: Any, odds: Any, recorded: Any, units: dict[str, str]
) -> list[Any]:
    cut = outcome == "truncated" or finish in ("length", "max_tokens", "MAX_TOKENS")
    found: dict[str, Any] = dict.fromkeys(READ)
    found["cut"], found["reading"] = cut, BY_OUTCOME.get(outcome, "unread")
    noted = _noted(recorded)
    if isinstance(odds, str):
        found["entropy"] = first_tokens(odds)
    if outcome in ("answer", "truncated"):
        series, pair = naming.series_of(item), naming.pair_of(item)
        if arm == naming.CANDIDATES:
            likely = noted.get("mean_logprob", mean_logprob(text, odds))
            found |= {"reading": "unread" if likely is None else "score", "score": likely}
        elif arm.startswith(naming.UTILITY):
            grade = noted.get("score", judged(noted))
            found |= {"reading": silent(text, cut) if grade is None else "score"}
            found |= {"score": grade, "judge": noted.get("judge")}
        elif pair is not None:
            found |= _picked(text, pair, cut)
        else:
            unit = units.get(series, "bps" if series.lower().endswith("bps") else "percent")
            found |= _valued(text, unit, cut)
    return [found[name] for name in READ]


def _noted(recorded: Any) -> dict[str, Any]:
    if not isinstance(recorded, str):
        return {}
    try:
        found = json.loads(recorded)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def judged(noted: dict[str, Any]) -> float | None:
    """Return the score that a judge's words give; None where it said none."""
    said = noted.get("judge_said")
    return score(said) if isinstance(said, str) and noted.get("judge_outcome") == "answer" else None


def _valued(text: str, unit: str, cut: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"published": published(text)}
    answer = final(text, unit)
    if answer.value is not None and not cut:
        return found | {"reading": "value", "value": answer.value}
    reading = silent(text, cut)
    return found | {"reading": answer.fault if reading == "unread" and answer.fault else reading}


def _picked(text: str, pair: tuple[str, str], cut: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "endorsed": verdict(text, pair, "endorsed"),
        "first": verdict(text, pair, "first"),
    }
    if cut or declines(text):
        return found | {"reading": silent(text, cut)}
    pick = verdict(text, pair, "last")
    return found | {"pick": pick, "reading": "unread" if pick is None else "verdict"}


def silent(text: str, cut: bool) -> str:
    """Return why a text holds no answer: empty, refusal, truncated, or unread.

    A text that was cut off declines only where its first sentence does: what it says in between is thinking aloud.
    """
    if not text.strip():
        return "truncated" if cut else "empty"
    if cut:
        return "refusal" if opens_with_refusal(text) else "truncated"
    return "refusal" if declines(text) else "unread"
