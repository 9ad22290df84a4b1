"""Stage `parse`: transcripts to answers. Both scorings stand side by side; nothing here knows a model.

Columns without a suffix are the published rule (`bm1`); ``_recovered`` and ``_uniform`` are what
`anachron` reads.

LAP under `bm1` is the word that an imported artifact had recorded (two parsers made those records), and
the uniform rule where none was. LAP under `anachron` reads the raw text by the uniform rule; only where
the artifact had cut the text does a recorded up, down or unknown stand, as it was read from the whole. A
recorded `invalid` never stands: the stricter parser's no does not say that the uniform rule finds nothing.
`recall_source` says which, and the row counts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pyarrow as arrow
import pyarrow.compute as compute
from pandera.typing import Series

from anachron import frames
from anachron.suites.hindsightbench.probes import read_month, read_recall, was_cut
from anachron.suites.hindsightbench.protocol import ARMS, Protocol
from anachron.suites.hindsightbench.sketches import (
    Schema,
    is_compliant,
    is_valid,
    read_sketches,
    recover_sketches,
)

VERSION = "1"

RECALLS = ("up", "down", "unknown", "invalid")
MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"
FALSE_DATES = ("W", "W72")
AUDITED_ARMS = ("M", *FALSE_DATES)
TEXTS_AT_ONCE = 512


class Contract(frames.Answers):
    """The suite's answers. Columns of other arms are missing."""

    shown_date: Series[str] = pa.Field(nullable=True)
    repair: Series[str] = pa.Field(nullable=True)
    """plain, error, or the repairs joined by ``+``: fence, think, scan, comma."""
    parse_error: Series[str] = pa.Field(nullable=True)
    n_valid: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    n_invalid: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    directions: Series[str] = pa.Field(str_matches=r"^[+-]*$", nullable=True)
    """Direction of every valid sketch, in order."""
    repair_recovered: Series[str] = pa.Field(nullable=True)
    n_valid_recovered: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    n_invalid_recovered: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    directions_recovered: Series[str] = pa.Field(str_matches=r"^[+-]*$", nullable=True)
    n_compliant: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    """Sketches that fulfil the whole schema, object-wise recovery included."""
    as_many_as_asked: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    """Whether the list holds exactly as many items as the task asks for."""
    names_shown_year: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    names_true_year: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    names_event: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    recall: Series[str] = pa.Field(isin=RECALLS, nullable=True)
    recall_uniform: Series[str] = pa.Field(isin=RECALLS, nullable=True)
    recall_source: Series[str] = pa.Field(isin=["text", "recorded"], nullable=True)
    estimated_month: Series[str] = pa.Field(str_matches=MONTH, nullable=True)
    estimated_year: Series[str] = pa.Field(nullable=True)
    """Year of the estimated month, or of an answer that names no month (`anachron` only)."""


SHARED = ("model", "suite", "arm", "item", "rep", "duplicate", "key", "outcome")


def parse(transcripts: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Parse transcripts of this suite.

    Parameters
    ----------
    transcripts
        `frames.Transcripts`.
    protocol
        For the schema that compliance is held against, and the words of the transcript audit.

    Returns
    -------
    DataFrame
        `Contract`, one row per transcript, in the order given. No text makes it raise: an answer that
        cannot be read is a parse error, or ``invalid``.
    """
    arms, items = (transcripts[name].tolist() for name in ("arm", "item"))
    recorded, shown = (_plain(transcripts[name]) for name in ("recorded", "shown_date"))
    audit = YearsAndEvents(protocol)
    schema = Schema(
        frozenset(protocol.domains),
        frozenset(protocol.horizons),
        frozenset(entry.id for entry in protocol.series),
    )
    fakes = {
        "W": protocol.fake_dates(protocol.shift.months),
        "W72": protocol.fake_dates(protocol.shift.alternative_months),
    }
    recalled: dict[tuple[str | None, str | None], dict[str, Any]] = {}
    answers = transcripts[[*SHARED]].reset_index(drop=True).assign(parser=VERSION)
    own = [name for name in Contract.to_schema().columns if name not in answers.columns]
    filled: dict[str, list[Any]] = {name: [None] * len(arms) for name in own}
    filled["shown_date"] = shown
    texts = _in_turn(transcripts["text"], arms, audit)
    records = zip(arms, items, texts, recorded, shown, strict=True)
    for place, (arm, item, (text, eventful), record, date) in enumerate(records):
        if arm in ARMS:
            row = read_arm(text, schema, protocol.sketches)
            if arm in AUDITED_ARMS:
                dated = date or fakes.get(arm, {}).get(item)
                row.update(audit.flags(text, item, dated, eventful))
        elif arm == "LAP":
            said = (text, record)
            if said not in recalled:
                recalled[said] = read_lap(read_recall(text), text, record)
            row = recalled[said]
        else:
            row = read_rec(text, record)
        for name, value in row.items():
            filled[name][place] = value
    # Arrow reads a list into a column several times as fast as pandas does.
    typed = {
        name: _dtype(name).__from_arrow__(arrow.array(values, _arrow_type(name)))
        for name, values in filled.items()
    }
    return answers.assign(**typed)


def _plain(column: pd.Series) -> list[str | None]:
    return [value if isinstance(value, str) else None for value in column.tolist()]


def _in_turn(column: pd.Series, arms: list[str], audit: YearsAndEvents) -> Iterator[tuple[str | None, bool]]:
    """Yield what `_plain` holds and whether it may name an event (see `YearsAndEvents.may_name_event`).

    A model's texts are large: only some of them are in memory twice at a time.
    """
    for start in range(0, len(column), TEXTS_AT_ONCE):
        texts = _plain(column.iloc[start : start + TEXTS_AT_ONCE])
        here = zip(texts, arms[start : start + TEXTS_AT_ONCE], strict=True)
        searched = [text if arm in FALSE_DATES else None for text, arm in here]
        yield from zip(texts, audit.may_name_event(searched), strict=True)


def _dtype(name: str) -> Any:
    if name.startswith("n_"):
        return pd.Int64Dtype()
    return pd.BooleanDtype() if name.startswith(("names_", "as_many")) else pd.StringDtype()


def _arrow_type(name: str) -> arrow.DataType:
    if name.startswith("n_"):
        return arrow.int64()
    return arrow.bool_() if name.startswith(("names_", "as_many")) else arrow.large_string()


def read_arm(text: str | None, schema: Schema, asked: int) -> dict[str, Any]:
    """Return the columns of one arm's answer under both scorings."""
    published = read_sketches(text)
    whole = recover_sketches(text, published)
    good = valid_sketches(whole.items)
    found = tally(whole.items, good)
    valid, invalid, directions = found if whole is published else tally(None, [])
    return {
        "repair": published.repair,
        "parse_error": published.error,
        "n_valid": valid,
        "n_invalid": invalid,
        "directions": directions,
        "repair_recovered": whole.repair,
        "n_valid_recovered": found[0],
        "n_invalid_recovered": found[1],
        "directions_recovered": found[2],
        "n_compliant": sum([is_compliant(sketch, schema) for sketch in good]),
        "as_many_as_asked": len(whole.items or ()) == asked,
    }


def valid_sketches(items: list[Any] | None) -> list[dict[str, Any]]:
    """Return the items that are valid sketches, in order."""
    return [item for item in items or () if is_valid(item)]


def tally(items: list[Any] | None, valid: list[dict[str, Any]]) -> tuple[int, int, str]:
    """Return how many items are valid sketches, how many are not, and the valid ones' directions."""
    directions = "".join([sketch["direction"] for sketch in valid])
    return len(valid), len(items or ()) - len(valid), directions


def read_lap(uniform: str, text: str | None, recorded: str | None) -> dict[str, Any]:
    """Return the columns of one outcome-recall answer (see the module's head for the two rules)."""
    known = recorded if recorded in RECALLS else None
    cut = known in RECALLS[:3] and (text is None or was_cut(text))
    return {
        "recall": known or uniform,
        "recall_uniform": known if cut else uniform,
        "recall_source": "recorded" if cut else "text",
    }


def read_rec(text: str | None, recorded: str | None) -> dict[str, Any]:
    """Return the columns of one date-recovery answer; a record without text keeps what it recorded."""
    month, year = read_month(text if text is not None else recorded)
    return {"estimated_month": month, "estimated_year": year}


class YearsAndEvents:
    """Looks for the shown year, the true year and words of known events in an answer's text."""

    def __init__(self, protocol: Protocol) -> None:
        words = [word.casefold() for names in protocol.sets.event_words.values() for word in names]
        self._words = [(word, re.compile(rf"\b{re.escape(word)}\b")) for word in words]
        self._any_word = "|".join(re.escape(word) for word in words)
        self._years: dict[str, re.Pattern[str]] = {}

    def may_name_event(self, texts: list[str | None]) -> list[bool]:
        """Return which texts `flags` must search for events; the others hold none of the words.

        One pass of Arrow's automaton over many texts is far quicker than a search per word and text. It folds
        case and finds word boundaries by other rules than Python, so that it decides on plain ASCII only, and
        only that a text holds no word at all.
        """
        plain = [text if text is None or text.isascii() else None for text in texts]
        found = compute.match_substring_regex(
            arrow.array(plain, arrow.large_string()), self._any_word, ignore_case=True
        )
        known = zip(texts, found.to_pylist(), strict=True)
        return [text is not None and hit is not False for text, hit in known]

    def flags(self, text: str | None, item: str, shown: str | None, eventful: bool = True) -> dict[str, bool]:
        """Return the flags of one answer; where the prompt showed no date, the true year is all to look for.

        `eventful` is what `may_name_event` said of the text.
        """
        body = text or ""
        if not shown:
            return {"names_true_year": self._names(body, item[:4])}
        folded = body.casefold() if eventful else ""
        return {
            "names_shown_year": self._names(body, shown[:4]),
            "names_true_year": self._names(body, item[:4]),
            "names_event": any(word in folded and bool(rule.search(folded)) for word, rule in self._words),
        }

    def _names(self, body: str, year: str) -> bool:
        if year not in body:
            return False
        if year not in self._years:
            self._years[year] = re.compile(rf"(?<!\d){re.escape(year)}(?!\d)")
        return bool(self._years[year].search(body))
