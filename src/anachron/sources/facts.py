"""The facts that suites ask about: first releases, closes, decisions, factors, each with its standing.

One frame for all (`FACT_COLUMNS`), a row for every name and month that was asked for. Whatever table a fact comes
from (the embedded snapshot, a fetched one, a user's own), a row whose `why` is missing may be asked about, and one
whose `why` is given may not.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anachron.blocks import from_ordinal, last_day, ordinal
from anachron.errors import SourceError
from anachron.sources import choice

if TYPE_CHECKING:
    import pandas as pd

    from anachron.config import Sources

FACT_COLUMNS = (
    "family",
    "name",
    "month",
    "value",
    "outcome",
    "published",
    "first_release",
    "synthetic",
    "why",
)
"""family (macro, stock, policy, factor); name (FRED's id, ticker, or `POLICY`); month (``YYYY-MM``); value (in the unit
of the source, percent for a change); outcome (policy only: raised, lowered, unchanged); published (``YYYY-MM-DD``);
first_release; synthetic; why (missing where the fact may be asked about)."""

POLICY = "FEDTARGET"

NEVER = "never published"
NOT_YET = "not published yet, or not in the table"
BEFORE = "before the table begins"
REVISED = "first release unknown"
NO_BASE = "the month it is compared with has no value"
UNLISTED = "before its first price"
NO_PRICE = "no price on the month's last session"
ABSENT = "not in the table"
WHYS = (NEVER, NOT_YET, BEFORE, REVISED, NO_BASE, UNLISTED, NO_PRICE, ABSENT)
"""Every reason there is."""

NO_CHANGES: Mapping[str, int] = MappingProxyType({})


def macro_first_releases(
    sources: Sources,
    series: Sequence[str],
    months: Sequence[str],
    *,
    changes: Mapping[str, int] = NO_CHANGES,
    synthetic: bool = False,
) -> pd.DataFrame:
    """Return what was published first about each month of some macroeconomic series.

    Parameters
    ----------
    sources
        The section `sources` of the configuration.
    series
        FRED's ids.
    months
        Reference months, ``YYYY-MM``.
    changes
        Months to look back, by series: the value is then the change since, in percent, from the first release and the
        earlier month as it stood on the day of that release. Not rounded.
    synthetic
        Whether the snapshot's generated series are wanted; otherwise real ones alone are read.

    Returns
    -------
    pandas.DataFrame
        `FACT_COLUMNS`, by series as given and then by month. Where the first release is not known, `value` is the
        earliest known one and `why` says so. On the snapshot, `published` follows from publication lags.

    Raises
    ------
    SourceError
        When a table cannot be read, or has none of the series. (One that it lacks is told in `why`.)
    """
    table = _releases(sources, synthetic)
    rows: list[dict[str, Any]] = []
    for name, own in _each(table, "series_id", series, "series"):
        if own is None:
            rows += [_row("macro", name, month, synthetic, why=ABSENT) for month in months]
            continue
        held = _Releases(own)
        for month in months:
            rows.append(_row("macro", name, month, synthetic, **held.fact(month, changes.get(name))))
    return _frame(rows)


def closes(
    sources: Sources, tickers: Sequence[str], months: Sequence[str], *, synthetic: bool = False
) -> pd.DataFrame:
    """Return month-end closes as they were quoted on the day; see `macro_first_releases`.

    `published` is the exchange's last session of the month. A close is never revised: `first_release` is true wherever
    there is a price.
    """
    table = _table(sources, "yahoo", synthetic)
    rows: list[dict[str, Any]] = []
    for name, own in _each(table, "ticker", tickers, "tickers"):
        if own is None:
            rows += [_row("stock", name, month, synthetic, why=ABSENT) for month in months]
            continue
        held = {
            month: (session, float(close))
            for month, session, close in zip(own["month"], own["session"], own["close_quoted"], strict=True)
        }
        priced = sorted(month for month, (_, close) in held.items() if not math.isnan(close))
        for month in months:
            session, close = held.get(month, (None, math.nan))
            why = None
            if math.isnan(close):
                why = _outside(month, priced, before=UNLISTED) or NO_PRICE
            known = why is None
            rows.append(
                _row("stock", name, month, synthetic, close, session if known else None, known, why=why)
            )
    return _frame(rows)


def policy(sources: Sources, months: Sequence[str], *, synthetic: bool = False) -> pd.DataFrame:
    """Return what became of the Federal Reserve's target in each month, by decision date; see `macro_first_releases`.

    `value` is the target at the month's end in percent (the upper limit of a range). `published` is the day of the
    month's last change, or the month's last day where nothing was changed.
    """
    table = _table(sources, "fed", synthetic)
    held = {month: tuple(rest) for month, *rest in table[_POLICY].itertuples(index=False)}
    known = sorted(held)
    rows = []
    for month in months:
        if month not in held:
            why = _outside(month, known, before=BEFORE) or NEVER
            rows.append(_row("policy", POLICY, month, synthetic, why=why))
            continue
        target, outcome, decided = held[month]
        day = decided if isinstance(decided, str) else last_day(month)
        rows.append(_row("policy", POLICY, month, synthetic, float(target), day, True, outcome))
    return _frame(rows)


def factors(
    sources: Sources, names: Sequence[str], months: Sequence[str], *, synthetic: bool = False
) -> pd.DataFrame:
    """Return monthly factors in percent, each from the file it is at home in; see `macro_first_releases`.

    In a table of one's own that is a file of another name, where the library's are not in it.

    The library has no vintages and revises its history with every build: `first_release` is false and `published`
    missing throughout, and `why` does not hold that against them. The snapshot has generated factors only.
    """
    from anachron.sources.french import FACTORS, HOME_FILE

    table = _table(sources, "french", synthetic)
    home = table["source_file"] == table["factor"].map(HOME_FILE)
    strange = ~table["source_file"].isin({f"{name}.csv" for name in FACTORS})
    at_home = table[home | (strange & ~table["factor"].isin(set(table.loc[home, "factor"])))]
    rows: list[dict[str, Any]] = []
    for name, own in _each(at_home, "factor", names, "factors"):
        held = {} if own is None else dict(zip(own["month"], own["value_pct"].astype(float), strict=True))
        known = sorted(month for month, value in held.items() if not math.isnan(value))
        for month in months:
            value = held.get(month, math.nan)
            why = None
            if own is None:
                why = ABSENT
            elif math.isnan(value):
                why = _outside(month, known, before=BEFORE) or NEVER
            rows.append(_row("factor", name, month, synthetic, value, why=why))
    return _frame(rows)


_POLICY = ["month", "target_upper", "outcome", "decision_date"]


class _Releases:
    """The releases of one series."""

    def __init__(self, own: pd.DataFrame) -> None:
        self._of: dict[str, list[tuple[str, str, float, bool]]] = {}
        columns = ("reference_period", "published", "vintage_end", "value", "first_release")
        for period, *rest in own.sort_values(["reference_period", "published"])[list(columns)].itertuples(
            index=False
        ):
            self._of.setdefault(period[:7], []).append(tuple(rest))
        self._months = sorted(month for month, rows in self._of.items() if not math.isnan(_earliest(rows)[1]))

    def fact(self, month: str, back: int | None) -> dict[str, Any]:
        """Return value, published, first_release and why of one month."""
        published, value, first = _earliest(self._of.get(month, []))
        if math.isnan(value):
            return {"why": _outside(month, self._months, before=BEFORE) or NEVER}
        if back is not None:
            base = self._standing(from_ordinal(ordinal(month) - back), published)
            if math.isnan(base) or base == 0:
                return {"why": NO_BASE}
            value = 100.0 * (value / base - 1.0)
        return {
            "value": value,
            "published": published,
            "first_release": first,
            "why": None if first else REVISED,
        }

    def _standing(self, month: str, date: str) -> float:
        """Return the value of a month as it stood on a day."""
        rows = self._of.get(month, [])
        place = bisect_right([row[0] for row in rows], date) - 1
        return rows[place][2] if place >= 0 and rows[place][1] >= date else math.nan


def _earliest(rows: Sequence[tuple[str, str, float, bool]]) -> tuple[str, float, bool]:
    """Return day, value and standing of a month's first release, or of the earliest value known."""
    given = [row for row in rows if not math.isnan(row[2])]
    if not given:
        return "", math.nan, False
    published, _, value, first = next((row for row in given if row[3]), given[0])
    return published, float(value), bool(first)


def _outside(month: str, known: Sequence[str], *, before: str) -> str | None:
    if not known or month > known[-1]:
        return NOT_YET
    return before if month < known[0] else None


def _releases(sources: Sources, synthetic: bool) -> pd.DataFrame:
    path = None if synthetic else choice.alfred_table(sources)
    if path is None:
        return _table(sources, "alfred", synthetic)
    return choice.read_vintages(path)[0]


def _table(sources: Sources, source: str, synthetic: bool) -> pd.DataFrame:
    from anachron.sources import embedded

    path = None if synthetic else getattr(sources, source)
    if path is None or source == "alfred":
        return embedded.read(Path(sources.snapshot), source, synthetic=synthetic)
    return choice.read_own(Path(path), source)


def _each(
    table: pd.DataFrame, column: str, names: Sequence[str], what: str
) -> Iterable[tuple[str, pd.DataFrame | None]]:
    """Yield each name with its rows, None where the table has none of it."""
    parts = {str(name): own for name, own in table.groupby(column)}
    if names and not any(name in parts for name in names):
        raise SourceError(
            f"none of the {what} {', '.join(names)} is in the facts at hand; these are: "
            f"{', '.join(sorted(parts)) or 'none'}. Fetch them (docs/reference/sources.md), or name a table of your "
            "own in `sources`"
        )
    for name in names:
        yield name, parts.get(name)


def _row(
    family: str,
    name: str,
    month: str,
    synthetic: bool,
    value: float = math.nan,
    published: str | None = None,
    first_release: bool = False,
    outcome: str | None = None,
    why: str | None = None,
) -> dict[str, Any]:
    fact = (family, name, month, value, outcome, published, first_release, synthetic, why)
    return dict(zip(FACT_COLUMNS, fact, strict=True))


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(FACT_COLUMNS))
    texts = ("family", "name", "month", "outcome", "published", "why")
    return frame.astype(
        {**dict.fromkeys(texts, "str"), "value": "float64", "first_release": "bool", "synthetic": "bool"}
    )
