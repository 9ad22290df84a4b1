"""The panel: what was true and known on each decision date, from true vintages or from the embedded snapshot.

With a table of vintages (`sources.alfred`) each date sees what had been published by then: `real time`. The snapshot
carries the latest vintage only. What had been published by a date then follows from publication lags
(`sources.publication_lag_days`), and the panel is `pseudo real time`: right about which period was the newest,
within the error of the lags, and wrong about the value wherever a series was revised later.

The realised direction comes from the snapshot in both cases.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from anachron.blocks import from_ordinal, months, ordinal
from anachron.config import DEFAULT_PUBLICATION_LAG_DAYS, Sources
from anachron.errors import ConfigError, SourceError
from anachron.frames import Panel, check
from anachron.sources import asof, choice, snapshot
from anachron.sources.publication import publication
from anachron.sources.sessions import window

PSEUDO = "pseudo real time"
MONTHLY_AVERAGES = "{series}, change from the decision month's average to the next month's"


class PanelProtocol(Protocol):
    """What the panel reads of a protocol file; any suite whose items are decision dates can have it."""

    dates: Any
    """`day`: the day of the month of every decision date."""
    series: Any
    """Entries with an `id`, in the order of the catalog."""
    target: Any
    """`realised`: `source` (equity_index or series), `series`, `sessions`."""
    lap: Any
    """`sessions`: length of the outcome-recall window, its first session counted."""


@dataclass(frozen=True)
class History:
    """One series of the snapshot by reference period, and when each period was published by the lag."""

    id: str
    periods: list[str]
    values: list[float]
    published: list[str]
    unit: str
    step: int
    """Months from one period to the next."""
    lag: int


@dataclass(frozen=True)
class Label:
    """The realised direction of one decision month, and the day from which it is known."""

    sign: int
    kind: str
    known: str


def build(protocol: PanelProtocol, sources: Sources, dates: Sequence[str]) -> pd.DataFrame:
    """Build the panel of some decision dates.

    Parameters
    ----------
    protocol
        Names the series, the target, and the day of the month that earlier decision dates fall on.
    sources
        Folder of the snapshot, days from the first day of a reference period to its publication, and the table of
        vintages if there is one.
    dates
        Decision dates, ``YYYY-MM-DD``. A row depends on its own date only, never on the others.

    Returns
    -------
    pandas.DataFrame
        Contract `frames.Panel`, in the order of dates and then of the protocol's series. Without vintages `value`
        equals `latest_value`. Values are in their source's unit; `base_rate_up` is a fraction of one.

    Raises
    ------
    SourceError
        When a table cannot be read, or lacks a series or month that a date needs; names series, date and how far
        the table reaches.
    ConfigError
        When a series has no publication lag, or one that ends before the period does.

    Notes
    -----
    Spec `hindsightbench`, Items; HindsightBench §3 (as-of panel), §4 (realised direction).
    """
    folder = Path(sources.snapshot)
    table = snapshot.read_macro(folder)
    lags = {**DEFAULT_PUBLICATION_LAG_DAYS, **sources.publication_lag_days}
    ids = [entry.id for entry in protocol.series]
    vintages = choice.alfred_table(sources)
    if vintages is None:
        known = _pseudo([history(table, one, lags, folder) for one in ids], dates)
    else:
        known = _real(vintages, ids, dates, sources.latest_on)
    labels = target_labels(protocol, table, lags, folder)
    of_date = {}
    for date in dates:
        label = labels(date[:7])
        up, n = base_rate(labels, date)
        first, end = window(date, protocol.lap.sessions)
        of_date[date] = {
            "realised": label.sign if label else None,
            "realised_kind": label.kind if label else None,
            "first_session": first,
            "lap_end": end,
            "base_rate_up": up,
            "base_rate_n": n,
        }
    rows = [{**row, **of_date[row["decision_date"]]} for row in known]
    frame = pd.DataFrame(rows, columns=list(Panel.to_schema().columns))
    return check(frame, Panel, "panel")


def _real(
    path: Path, ids: Sequence[str], dates: Sequence[str], latest_on: str | None
) -> list[dict[str, Any]]:
    """Return what was known of each series on each date, from true vintages."""
    vintages, known_until = choice.read_vintages(path)
    seen = asof.alfred_panel(vintages, known_until, ids, dates, latest_on=latest_on)
    return [
        dict(zip(asof.PANEL_COLUMNS, row, strict=True)) for row in seen.itertuples(index=False, name=None)
    ]


def _pseudo(histories: Sequence[History], dates: Sequence[str]) -> list[dict[str, Any]]:
    """Return the same from latest values and publication lags."""
    rows = []
    for date in dates:
        for series in histories:
            place = newest(series, date)
            value = series.values[place]
            row = (date, series.id, series.periods[place], series.published[place])
            rows.append(dict(zip(asof.PANEL_COLUMNS, (*row, value, value, series.unit, PSEUDO), strict=True)))
    return rows


def history(table: pd.DataFrame, series: str, lags: Mapping[str, int], folder: Path) -> History:
    """Return one series of the snapshot with its publication dates; faults as in `build`."""
    rows = table[table["series_id"] == series].sort_values("reference_period")
    if rows.empty:
        carried = ", ".join(sorted(table["series_id"].unique()))
        raise SourceError(
            f"{folder}: the snapshot does not carry the series {series!r}; it carries {carried}. "
            "Take one of these in the protocol file"
        )
    if series not in lags:
        raise ConfigError(
            f"series {series!r} has no publication lag; set `sources.publication_lag_days.{series}`, the days "
            "from the first day of a reference period to its publication"
        )
    periods = rows["reference_period"].tolist()
    places = [ordinal(period) for period in periods]
    step = min((later - sooner for sooner, later in pairwise(places)), default=1)
    return History(
        id=series,
        periods=periods,
        values=[float(value) for value in rows["value"]],
        published=[publication(period, lags[series], step, series) for period in periods],
        unit=str(rows["unit"].iloc[-1]),
        step=step,
        lag=lags[series],
    )


def newest(series: History, date: str) -> int:
    """Return the place of the newest period of `series` published on or before `date`.

    A period inside the series' range that was never published (a survey month that was skipped) is passed
    over; one beyond the range is an error, since an older one would stand in its place unnoticed.
    """
    place = bisect_right(series.published, date) - 1
    first, last = series.periods[0][:7], series.periods[-1][:7]
    if place < 0:
        raise SourceError(
            f"series {series.id!r}, decision date {date}: nothing was published by then; the snapshot "
            f"carries {first}..{last}. Start the protocol's dates later"
        )
    following = from_ordinal(ordinal(last) + series.step) + "-01"
    if (
        place == len(series.periods) - 1
        and publication(following, series.lag, series.step, series.id) <= date
    ):
        raise SourceError(
            f"series {series.id!r}, decision date {date}: the period {following[:7]} was published by then, "
            f"but the last month the snapshot carries is {last}. End the protocol's dates sooner, or rebuild "
            "the snapshot from newer packages (`anachron snapshot build`)"
        )
    return place


def target_labels(
    protocol: PanelProtocol, table: pd.DataFrame, lags: Mapping[str, int], folder: Path
) -> Callable[[str], Label | None]:
    """Return the function that gives the label of a decision month, None where it is not known."""
    rule, day = protocol.target.realised, protocol.dates.day
    if rule.source == "series":
        return _labels_of_series(history(table, str(rule.series), lags, folder))
    return _labels_of_index(snapshot.read_realised(folder), rule.sessions, day, folder)


def _labels_of_series(series: History) -> Callable[[str], Label | None]:
    if series.step != 1:
        raise SourceError(f"series {series.id!r} is not monthly and cannot be the target of a monthly panel")
    places = {period[:7]: place for place, period in enumerate(series.periods)}
    kind = MONTHLY_AVERAGES.format(series=series.id)

    def label(month: str) -> Label | None:
        here, after = places.get(month), places.get(from_ordinal(ordinal(month) + 1))
        if here is None or after is None:
            return None
        sign = 1 if series.values[after] >= series.values[here] else -1
        return Label(sign, kind, series.published[after])

    return label


def _labels_of_index(
    realised: pd.DataFrame, sessions: int, day: int, folder: Path
) -> Callable[[str], Label | None]:
    carried = sorted({int(value) for value in realised["sessions"]})
    if sessions not in carried:
        raise SourceError(
            f"{folder}: the snapshot carries the index's direction over {carried} sessions, the protocol's "
            f"target asks for {sessions}; set `target.realised.sessions` to one of these"
        )
    own = realised[(realised["sessions"] == sessions) & realised["decision_date"].str.endswith(f"-{day:02d}")]
    signs = {
        date[:7]: (date, int(sign), str(kind))
        for date, sign, kind in zip(own["decision_date"], own["realised"], own["kind"], strict=True)
    }

    @cache
    def label(month: str) -> Label | None:
        if month not in signs:
            return None
        date, sign, kind = signs[month]
        return Label(sign, kind, window(date, sessions + 1)[1])

    return label


FIRST_MONTH = "1950-01"
"""No label is older than this."""


def base_rate(labels: Callable[[str], Label | None], date: str) -> tuple[float, int]:
    """Return the share of earlier decision months that went up, and their number.

    Only months whose move was over and known strictly before `date` count; the share is NaN without any.
    """
    month = date[:7]
    found = [labels(earlier) for earlier in months(FIRST_MONTH, month)]
    signs = [label.sign for label in found if label is not None and label.known < date]
    return (sum(sign > 0 for sign in signs) / len(signs) if signs else math.nan), len(signs)
