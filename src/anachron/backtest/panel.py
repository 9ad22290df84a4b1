"""Questions from ForecastBench's public files: question sets, which freeze a crowd's probability, and resolution sets.

Kept are questions of prediction markets that are resolved to 0 or 1 and no combination of others. A question is
asked in several sets: the crowd is that of the earliest freeze that holds a readable probability before the
resolution. Resolutions are published again every night and change: the newest set's stands, and what stood before it
is kept beside it.

Source: Temporal Leakage, appendix D.2 ("Panel construction"); the suite's specification, "Panel builder".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron import frames
from anachron.backtest import faults
from anachron.errors import BacktestError
from anachron.frames import DATE, Contract

MARKETS = ("infer", "manifold", "metaculus", "polymarket")


class Questions(Contract):
    """Resolved questions with the crowd's frozen probability: one row per question."""

    question: Series[str]
    """The source's own identifier."""
    source: Series[str]
    text: Series[str] = pa.Field(nullable=True)
    """Missing where no question set holds the question."""
    criteria: Series[str] = pa.Field(nullable=True)
    url: Series[str] = pa.Field(nullable=True)
    crowd: Series[float] = pa.Field(gt=0, lt=1, nullable=True)
    """Probability at the earliest readable freeze before the resolution; missing without one."""
    frozen_on: Series[str] = pa.Field(str_matches=DATE, nullable=True)
    freezes: Series[int] = pa.Field(ge=0)
    """Readable freezes before the resolution."""
    resolved_on: Series[str] = pa.Field(str_matches=DATE)
    outcome: Series[float] = pa.Field(isin=[0.0, 1.0])
    revisions: Series[int] = pa.Field(ge=0)
    """How often outcome or day changed from one resolution set to the next."""
    revised_from: Series[str]
    """What stood before, oldest first, as ``0 on 2025-01-01; …``; empty without a revision."""

    class Config:
        """One row per question."""

        unique = ["question"]  # noqa: RUF012 - pandera reads a plain attribute


@dataclass(frozen=True)
class Panel:
    """Questions, and what was left out."""

    frame: pd.DataFrame
    """See `Questions`; sorted by day of resolution and question."""
    dropped: Mapping[str, int]
    """Entries of resolution sets that were left out, by reason; a question counts once for each reason."""


@dataclass(frozen=True)
class _Freeze:
    frozen_on: str
    crowd: float | None
    entry: Mapping[str, Any]


def build(
    question_files: Iterable[Path],
    resolution_files: Iterable[Path],
    *,
    markets: Sequence[str] = MARKETS,
    first: str | None = None,
    last: str | None = None,
) -> Panel:
    """Return the panel of questions of ForecastBench's files.

    Parameters
    ----------
    question_files
        ``YYYY-MM-DD-llm.json`` and the like, in any order.
    resolution_files
        ``YYYY-MM-DD_resolution_set.json``, in any order; of two with the same due date the later one given is
        taken to be the newer.
    markets
        Sources that count.
    first, last
        First and last day of resolution, both included; without limit when None.

    Raises
    ------
    BacktestError
        When a file is not what it should be; names file, entry and key.
    """
    dropped: dict[str, set[str]] = {}
    standing = _resolutions(resolution_files, markets, dropped)
    asked = _freezes(question_files, markets)
    rows = []
    for question, told in standing.items():
        outcome, resolved_on, source = told[-1]
        if (first is not None and resolved_on < first) or (last is not None and resolved_on > last):
            dropped.setdefault("resolved outside the window", set()).add(question)
            continue
        rows.append(_row(question, source, outcome, resolved_on, told, asked.get(question, [])))
    columns = list(Questions.to_schema().columns)
    if not rows:
        raise BacktestError(
            f"no question of {', '.join(markets)} in the files is resolved to 0 or 1 in the window"
        )
    frame = pd.DataFrame(rows, columns=pd.Index(columns)).sort_values(["resolved_on", "question"])
    counts = {reason: len(found) for reason, found in sorted(dropped.items())}
    return Panel(frames.check(frame, Questions, "questions of ForecastBench"), counts)


def counts_by_quarter(resolved_on: pd.Series) -> dict[str, int]:
    """Return the number of questions by quarter of resolution, as ``24Q3``, in order of time."""
    quarter = (resolved_on.str.slice(5, 7).astype(int) + 2) // 3
    names = resolved_on.str.slice(2, 4) + "Q" + quarter.astype(str)
    return {str(name): int(count) for name, count in sorted(Counter(names).items())}


def _row(
    question: str,
    source: str,
    outcome: float,
    resolved_on: str,
    told: Sequence[tuple[float, str, str]],
    asked: Sequence[_Freeze],
) -> dict[str, Any]:
    """Return a question's row, with the earliest freeze whose probability is readable and not too late."""
    usable = [one for one in asked if one.crowd is not None and one.frozen_on < resolved_on]
    earliest = min(usable, key=lambda one: one.frozen_on) if usable else None
    wording: Mapping[str, Any] = (earliest or asked[0]).entry if asked else {}
    return {
        "question": question,
        "source": source,
        "text": wording.get("question"),
        "criteria": wording.get("resolution_criteria"),
        "url": wording.get("url"),
        "crowd": None if earliest is None else earliest.crowd,
        "frozen_on": None if earliest is None else earliest.frozen_on,
        "freezes": len({one.frozen_on for one in usable}),
        "resolved_on": resolved_on,
        "outcome": outcome,
        "revisions": len(told) - 1,
        "revised_from": "; ".join(f"{before:g} on {on}" for before, on, _ in told[:-1]),
    }


def _resolutions(
    files: Iterable[Path], markets: Sequence[str], dropped: dict[str, set[str]]
) -> dict[str, list[tuple[float, str, str]]]:
    """Return what was told of each question, oldest first and each once: outcome, day, source."""
    sets = sorted(((path, _load(path, "resolutions")) for path in files), key=lambda one: one[1][0])
    told: dict[str, list[tuple[float, str, str]]] = {}
    for path, (_, entries) in sets:
        for place, entry in enumerate(entries):
            source = _text(path, place, entry, "source")
            if source not in markets:
                continue
            question = entry.get("id")
            if not isinstance(question, str):
                dropped.setdefault("a combination of questions", set()).add(json.dumps(question))
                continue
            value = faults.number(entry.get("resolved_to"))
            if entry.get("resolved") is not True:
                dropped.setdefault("not resolved", set()).add(question)
            elif value not in (0.0, 1.0):
                dropped.setdefault("resolved to neither 0 nor 1", set()).add(question)
            else:
                on = faults.day(str(entry.get("resolution_date"))[:10])
                if on is None:
                    raise _fault(path, place, "resolution_date", entry.get("resolution_date"), "a day")
                now = (value, on, source)
                history = told.setdefault(question, [])
                if not history or history[-1] != now:
                    history.append(now)
    for reason in ("not resolved", "resolved to neither 0 nor 1"):
        # A question may be open in an older set and resolved in a newer one.
        left = dropped.get(reason, set()) - told.keys()
        dropped.pop(reason, None)
        if left:
            dropped[reason] = left
    return told


def _freezes(files: Iterable[Path], markets: Sequence[str]) -> dict[str, list[_Freeze]]:
    """Return each question's freezes, by day."""
    found: dict[str, list[_Freeze]] = {}
    for path in files:
        for place, entry in enumerate(_load(path, "questions")[1]):
            question = entry.get("id")
            if _text(path, place, entry, "source") not in markets or not isinstance(question, str):
                continue
            on = faults.day(str(entry.get("freeze_datetime"))[:10])
            if on is None:
                raise _fault(path, place, "freeze_datetime", entry.get("freeze_datetime"), "a date")
            value = faults.number(entry.get("freeze_datetime_value"))
            crowd = value if value is not None and 0 < value < 1 else None
            found.setdefault(question, []).append(_Freeze(on, crowd, entry))
    return {question: sorted(each, key=lambda one: one.frozen_on) for question, each in found.items()}


def _load(path: Path, key: str) -> tuple[str, list[Mapping[str, Any]]]:
    """Return a set's due date and its entries."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BacktestError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BacktestError(f"{path}: is no JSON ({error}); it may be cut short: fetch it again") from None
    entries = whole.get(key) if isinstance(whole, dict) else None
    due = whole.get("forecast_due_date") if isinstance(whole, dict) else None
    if (
        not isinstance(entries, list)
        or not isinstance(due, str)
        or not all(isinstance(one, dict) for one in entries)
    ):
        raise BacktestError(
            f"{path}: found no list {key!r} with a 'forecast_due_date'; allowed is a file of ForecastBench's "
            f"{'question' if key == 'questions' else 'resolution'} sets"
        )
    return due, entries


def _text(path: Path, place: int, entry: Mapping[str, Any], key: str) -> str:
    found = entry.get(key)
    if not isinstance(found, str):
        raise _fault(path, place, key, found, "text")
    return found


def _fault(path: Path, place: int, key: str, found: Any, allowed: str) -> BacktestError:
    return BacktestError(f"{path}: entry {place + 1}, {key!r}: found {found!r}; allowed is {allowed}")
