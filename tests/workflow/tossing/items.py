"""One toss a month: heads in even months."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from anachron.suites.tossing.protocol import Protocol
from pandera.typing import Series

from anachron import frames

ORDER = ["month"]
IMPORTED = ("item", "month", "side")


class Contract(frames.Contract):
    item: Series[str]
    month: Series[str]
    side: Series[str]
    vintage_kind: Series[str]


def build(protocol: Protocol, sources: Any, months: Sequence[str]) -> pd.DataFrame:
    rows = [
        (f"{month} toss", month, "tails" if int(month[5:]) % 2 else "heads", "synthetic") for month in months
    ]
    return frames.check(pd.DataFrame(rows, columns=list(Contract.to_schema().columns)), Contract, "tosses")


def names(known: pd.DataFrame) -> list[str]:
    return known["item"].tolist()


def memory(known: pd.DataFrame) -> dict[str, str]:
    return dict(zip(known["item"], known["side"], strict=True))
