"""The side named."""

from __future__ import annotations

import pandas as pd
import pandera.pandas as pa
from anachron.suites.tossing.protocol import Protocol
from pandera.typing import Series

from anachron import frames

VERSION = "1"


class Contract(frames.Answers):
    reading: Series[str] = pa.Field(isin=["heads", "tails", "neither"])


def parse(transcripts: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    said = transcripts["text"].where(transcripts["text"].isin(["heads", "tails"]), "neither")
    frame = transcripts.assign(parser=VERSION, reading=said)
    return frames.check(frame[list(Contract.to_schema().columns)], Contract, "answers of tossing")
