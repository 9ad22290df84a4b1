"""One prompt a toss."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from anachron.suites.tossing.protocol import Protocol

from anachron.suites.asking import known_arm, table
from anachron.suites.protocols import TIERS


def smoke(protocol: Protocol) -> list[tuple[str, str]]:
    return [("toss", f"{protocol.start} toss")]


def build(protocol: Protocol, known: pd.DataFrame, arm: str, items: Sequence[str]) -> pd.DataFrame:
    rows = [(item, 0, "", f"Heads or tails in {item[:7]}?", None, TIERS) for item in sorted(items)]
    return table(protocol.suite, known_arm(arm, protocol.arms), 0.0, 8, rows)
