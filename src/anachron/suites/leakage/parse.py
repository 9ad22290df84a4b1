"""Stage `parse`: transcripts to probabilities."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.suites.leakage.probability import read
from anachron.suites.leakage.protocol import Protocol

VERSION = "1"

READINGS = (
    *("probability", "range", "outside", "several", "unread"),
    *("refusal", "truncated", "empty", "error"),
)
"""What became of an answer: a probability, or why there is none."""

BY_OUTCOME = {
    "refusal": "refusal",
    "content_filter": "refusal",
    "truncated": "truncated",
    "empty": "empty",
    "malformed_body": "error",
    "error": "error",
}
CUT = ("length", "max_tokens", "MAX_TOKENS")


class Contract(frames.Answers):
    """One row per transcript."""

    reading: Series[str] = pa.Field(isin=READINGS)
    probability: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Probability of yes."""


COLUMNS = list(Contract.to_schema().columns)


def parse(transcripts: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Return one answer per transcript (`Contract`), in the same order.

    An answer that was cut off has no probability: what stood last when it ended is no answer.
    """
    readings, values = [], []
    columns = (transcripts[name].tolist() for name in ("outcome", "text", "finish_reason"))
    for outcome, text, finish in zip(*columns, strict=True):
        reading, value = "truncated" if finish in CUT else BY_OUTCOME.get(outcome, ""), None
        if not reading:
            value, fault = read(text if isinstance(text, str) else "")
            reading = fault or "probability"
        readings.append(reading)
        values.append(value)
    frame = transcripts[[name for name in COLUMNS if name in transcripts.columns]].assign(
        parser=VERSION,
        reading=readings,
        probability=pd.Series(values, index=transcripts.index, dtype="float64"),
    )
    return frames.check(frame[COLUMNS], Contract, "answers of leakage")
