"""What the stores say was spent: every attempt of a model, and their sums per suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from anachron.llm.records import MAYBE_BILLED
from anachron.llm.store import faults, reading

COLUMNS = (
    "key",
    "suite",
    "arm",
    "status",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "most_usd",
)
NUMBERS = COLUMNS[4:]


def attempts(path: Path) -> pd.DataFrame:
    """Return every attempt of a store with its suite and arm; another process may be writing to it.

    Returns
    -------
    DataFrame
        `COLUMNS`; no rows where there is no store. An attempt whose request is gone has no suite and arm, and
        what the store does not know is NaN.

    Raises
    ------
    CollectError
        When the file is damaged, or is no store.
    """
    if not path.is_file():
        rows = []
    else:
        with faults(path), reading(path) as connection:
            known = {row[1] for row in connection.execute("PRAGMA table_info(attempts)")}
            # A store of an earlier version has no such column until its model is collected again.
            most = "a.most_usd" if "most_usd" in known else "NULL"
            rows = connection.execute(
                "SELECT a.key, r.suite, r.arm, a.status, a.input_tokens, a.cached_tokens, a.output_tokens, "
                f"a.reasoning_tokens, a.cost_usd, {most} FROM attempts a LEFT JOIN (SELECT key, min(suite) suite, "
                "min(arm) arm FROM requests GROUP BY key) r ON r.key = a.key ORDER BY a.id"
            ).fetchall()
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(NUMBERS, "float64"))


def spent(tries: pd.DataFrame) -> dict[str, Any]:
    """Return the sums of attempts: how many came to what, their tokens, and their dollars.

    Returns
    -------
    dict
        ``tries``, ``answered``, ``refused`` (nothing was billed), ``maybe_billed``; ``input_tokens`` and
        ``output_tokens`` of the answers; ``dollars`` (what is known), ``unpriced_answers`` (answers of unknown
        cost), ``maybe_dollars`` (what calls that may be billed can have cost at most) and ``limitless`` (those
        of them whose most is not known).
    """
    answered = tries[tries["status"] == "answered"]
    maybe = tries[tries["status"].isin(MAYBE_BILLED)]
    return {
        "tries": len(tries),
        "answered": len(answered),
        "refused": len(tries) - len(answered) - len(maybe),
        "maybe_billed": len(maybe),
        "input_tokens": int(answered["input_tokens"].sum()),
        "output_tokens": int(answered["output_tokens"].sum()),
        "dollars": float(tries["cost_usd"].sum()),
        "unpriced_answers": int(answered["cost_usd"].isna().sum()),
        "maybe_dollars": float(maybe["most_usd"].sum()),
        "limitless": int(maybe["most_usd"].isna().sum()),
    }
