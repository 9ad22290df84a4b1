"""Questions of a user's own table, such as a panel built from ForecastBench's public files.

Columns are named as in a table of forecasts and in `anachron.backtest.panel.Questions`, and read by the same rules.
Source: the suite's specification, "Input of a backtest audit".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path

from anachron.backtest.faults import Faults, check_dates
from anachron.backtest.reader import load, read_column
from anachron.errors import BacktestError
from anachron.suites.leakage.questions import Question

NEEDED = ("question", "text", "frozen_on", "resolved_on", "outcome")
OPTIONAL = ("source", "crowd")
NO_SOURCE = "question"
"""What stands for a source where the table names none."""


def read(
    path: Path, wanted: Sequence[str], every: Sequence[str], today: dt.date | None = None
) -> list[Question]:
    """Return the questions of a table that are resolved in some months, by item.

    Parameters
    ----------
    path
        ``.csv`` or ``.parquet``; one row per question. Columns `NEEDED`, and any of `OPTIONAL`; others are not read.
    wanted
        Months of resolution, ``YYYY-MM``.
    every
        All months of the protocol, one of which must have a question.
    today
        No date may lie after it; the present day when None.

    Raises
    ------
    BacktestError
        When the table cannot be read, lacks a column, names a question twice, or holds a cell that is not allowed;
        tells line (row of a Parquet file), column, what was found and what is allowed, of the first dozen faults.
    """
    import pandas as pd

    unit, table, places = load(path)
    lacking = [name for name in NEEDED if name not in table.columns]
    if lacking:
        raise BacktestError(
            f"{path}: no column {lacking[0]!r}; a table of questions needs {', '.join(NEEDED)}, and may have "
            f"{', '.join(OPTIONAL)}"
        )
    told = Faults(path, unit, places)
    frame = pd.DataFrame(
        {
            name: read_column(name, list(table[name]), told)
            for name in (*NEEDED, *OPTIONAL)
            if name in table.columns
        }
    )
    told.stop()
    for row, (asked, name) in enumerate(zip(frame["frozen_on"], frame["question"], strict=True)):
        if not isinstance(asked, str):
            told.add(
                row, "frozen_on", None, f"the day as of which {name!r} is asked; leave it out without one"
            )
    told.stop()
    now = today or dt.datetime.now(dt.UTC).date()
    check_dates(frame.assign(cutoff=None), now, now, told)
    told.stop()
    sources = frame["source"] if "source" in frame else pd.Series(NO_SOURCE, index=frame.index)
    crowd = frame["crowd"] if "crowd" in frame else pd.Series(float("nan"), index=frame.index)
    items = [
        f"{day[:7]} " + re.sub(r"\s+", "-", f"{source} {name}").replace("/", "-")
        for day, source, name in zip(frame["resolved_on"], sources, frame["question"], strict=True)
    ]
    first: dict[str, int] = {}
    for row, item in enumerate(items):
        if first.setdefault(item, row) != row:
            told.add(
                row,
                "question",
                frame["question"].iloc[row],
                f"each once for a source; it stands on {told.place(first[item])} too",
            )
    told.stop()
    columns = [frame[name].tolist() for name in ("text", "frozen_on", "resolved_on", "outcome")]
    found = [
        Question(
            item=item,
            month=item[:7],
            source=str(source),
            reference="",
            threshold="",
            text=" ".join(str(text).split()),
            asked_on=str(asked),
            resolved_on=str(resolved),
            crowd=float(share),
            outcome=float(outcome),
        )
        for item, source, share, text, asked, resolved, outcome in zip(
            items, sources, crowd.tolist(), *columns, strict=True
        )
    ]
    whole = set(every)
    if not any(one.month in whole for one in found):
        raise BacktestError(
            f"{path}: no question is resolved in the protocol's months, {min(every)} to {max(every)}; its are "
            f"from {min(frame['resolved_on'])} to {max(frame['resolved_on'])}: set `dates` to hold them"
        )
    return sorted(one for one in found if one.month in set(wanted))
