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
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.hindsightbench.probes import read_month, read_recall, was_cut
from anachron.suites.hindsightbench.protocol import ARMS, Protocol
from anachron.suites.hindsightbench.sketches import is_compliant, is_valid, read_sketches, recover_sketches

VERSION = "1"

RECALLS = ("up", "down", "unknown", "invalid")
MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"
AUDITED_ARMS = ("M", "W", "W72")


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
    columns = {name: transcripts[name].tolist() for name in ("arm", "item")}
    texts, recorded, shown = (_plain(transcripts[name]) for name in ("text", "recorded", "shown_date"))
    audit = YearsAndEvents(protocol)
    schema = (protocol.domains, protocol.horizons, [entry.id for entry in protocol.series])
    fakes = {
        "W": protocol.fake_dates(protocol.shift.months),
        "W72": protocol.fake_dates(protocol.shift.alternative_months),
    }
    recalled: dict[Any, str] = {}
    rows: list[dict[str, Any]] = []
    for arm, item, text, record, date in zip(
        columns["arm"], columns["item"], texts, recorded, shown, strict=True
    ):
        if arm in ARMS:
            row = read_arm(text, schema, protocol.sketches)
            if arm in AUDITED_ARMS:
                row.update(audit.flags(text, item, date or fakes.get(arm, {}).get(item)))
        elif arm == "LAP":
            if text not in recalled:
                recalled[text] = read_recall(text)
            row = read_lap(recalled[text], text, record)
        else:
            row = read_rec(text, record)
        rows.append(row)
    answers = transcripts[[*SHARED]].reset_index(drop=True)
    answers = answers.assign(parser=VERSION, shown_date=pd.Series(shown, dtype="string"))
    own = [name for name in Contract.to_schema().columns if name not in answers.columns]
    filled = {name: [row.get(name) for row in rows] for name in own}
    typed = {name: pd.array(values, dtype=_dtype(name)) for name, values in filled.items()}
    return answers.assign(**typed)


def _plain(column: pd.Series) -> list[str | None]:
    return [value if isinstance(value, str) else None for value in column.tolist()]


def _dtype(name: str) -> Any:
    if name.startswith("n_"):
        return "Int64"
    return "boolean" if name.startswith(("names_", "as_many")) else "string"


def read_arm(
    text: str | None, schema: tuple[Sequence[str], Sequence[int], Sequence[str]], asked: int
) -> dict[str, Any]:
    """Return the columns of one arm's answer under both scorings."""
    published = read_sketches(text)
    whole = recover_sketches(text, published)
    row: dict[str, Any] = {"repair": published.repair, "parse_error": published.error}
    row.update(zip(("n_valid", "n_invalid", "directions"), tally(published.items), strict=True))
    same = whole is published
    found = tally(whole.items) if not same else (row["n_valid"], row["n_invalid"], row["directions"])
    row.update(
        zip(("n_valid_recovered", "n_invalid_recovered", "directions_recovered"), found, strict=True),
        repair_recovered=whole.repair,
        n_compliant=sum(is_compliant(sketch, *schema) for sketch in whole.items or ()),
        as_many_as_asked=len(whole.items or ()) == asked,
    )
    return row


def tally(items: list[Any] | None) -> tuple[int, int, str]:
    """Return how many items are valid sketches, how many are not, and the valid ones' directions."""
    valid = [sketch["direction"] for sketch in items or () if is_valid(sketch)]
    return len(valid), len(items or ()) - len(valid), "".join(valid)


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
        self._years: dict[str, re.Pattern[str]] = {}

    def flags(self, text: str | None, item: str, shown: str | None) -> dict[str, bool | None]:
        """Return the flags of one answer; the shown year is missing where the prompt showed no date."""
        body = text or ""
        folded = body.casefold()
        return {
            "names_shown_year": self._names(body, shown[:4]) if shown else None,
            "names_true_year": self._names(body, item[:4]),
            "names_event": any(word in folded and bool(rule.search(folded)) for word, rule in self._words),
        }

    def _names(self, body: str, year: str) -> bool:
        if year not in body:
            return False
        if year not in self._years:
            self._years[year] = re.compile(rf"(?<!\d){re.escape(year)}(?!\d)")
        return bool(self._years[year].search(body))
