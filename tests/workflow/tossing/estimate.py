"""The share of tosses named right."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from anachron.suites.tossing.items import memory
from anachron.suites.tossing.protocol import Protocol

from anachron.estimates import Estimate, Result, count_readings, records

VERSION = "1"


def estimate(
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    protocol: Protocol,
    tier: str = "full",
    arms: Sequence[str] | None = None,
) -> Result:
    right = answers["item"].map(memory(panel)) == answers["reading"]
    found = Estimate("right", "share", float(right.mean()), n=len(right))
    return Result(records([found], "tossing", "anachron"), {"readings": count_readings(answers)}, {})
