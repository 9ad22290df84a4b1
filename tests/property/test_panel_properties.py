"""What must hold of the panel on any date: no look-ahead, monotone in time, rows that stand alone."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anachron.config import Sources
from anachron.items.panel import build
from anachron.sources import snapshot
from anachron.sources.sessions import is_session, window

SNAPSHOT = Path(__file__).resolve().parents[2] / "resources" / "snapshot"
MACRO = Sources(alfred=None, snapshot=str(SNAPSHOT))
SERIES = ["CPIAUCSL", "FEDFUNDS", "GDPC1", "HOUST", "INDPRO", "PAYEMS", "RSAFS", "UNRATE"]
DATES = st.dates(dt.date(1992, 1, 1), dt.date(2026, 6, 28)).map(dt.date.isoformat)


def protocol(source: str = "equity_index", target: str | None = None) -> Any:
    return SimpleNamespace(
        dates=SimpleNamespace(day=15),
        series=[SimpleNamespace(id=name) for name in SERIES],
        target=SimpleNamespace(realised=SimpleNamespace(source=source, series=target, sessions=20)),
        lap=SimpleNamespace(sessions=21),
    )


@settings(max_examples=12, deadline=None)
@given(date=DATES)
def test_nothing_published_or_referring_after_the_date_is_visible(date: str) -> None:
    found = build(protocol(), MACRO, [date])
    assert (found["published"] <= date).all()
    assert (found["reference_period"] < found["published"]).all()
    assert found["series"].tolist() == SERIES
    assert (found["first_session"] >= date).all() and (found["lap_end"] > found["first_session"]).all()


@settings(max_examples=5, deadline=None)
@given(dates=st.lists(DATES, min_size=2, max_size=4, unique=True).map(sorted))
def test_monotone_in_the_date_and_each_row_stands_alone(dates: list[str]) -> None:
    together = build(protocol(), MACRO, dates)
    for _, rows in together.groupby("series"):
        assert rows["reference_period"].is_monotonic_increasing
        assert rows["published"].is_monotonic_increasing
        assert rows["base_rate_n"].is_monotonic_increasing
    alone = pd.concat([build(protocol(), MACRO, [date]) for date in dates], ignore_index=True)
    pd.testing.assert_frame_equal(together, alone)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshot")


@settings(max_examples=5, deadline=None)
@given(date=st.dates(dt.date(1995, 1, 1), dt.date(2025, 6, 28)).map(dt.date.isoformat), source=st.booleans())
def test_no_look_ahead_whatever_the_future_brings(folder: Path, date: str, source: bool) -> None:
    """Every later value multiplied, every label not over by the date turned: what the date shows stays."""
    rule = protocol("series", "GS10") if source else protocol()
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)
    shown = ["series", "reference_period", "published", "value", "base_rate_up", "base_rate_n"]
    before = build(rule, MACRO, [date])[shown]
    macro.loc[macro["reference_period"] >= f"{date[:7]}-01", "value"] *= -1
    recent = (dt.date.fromisoformat(date) - dt.timedelta(days=60)).isoformat()
    open_still = realised["decision_date"].map(lambda day: day > recent and window(day, 21)[1] >= date)
    realised.loc[open_still, "realised"] *= -1
    assert open_still.any()
    snapshot.write(folder, macro, realised, [])
    after = build(rule, Sources(alfred=None, snapshot=str(folder)), [date])[shown]
    pd.testing.assert_frame_equal(before, after)


@settings(max_examples=40, deadline=None)
@given(date=DATES, count=st.integers(2, 60))
def test_a_window_holds_just_its_sessions(date: str, count: int) -> None:
    first, last = window(date, count)
    days = pd.date_range(date, last).date
    assert sum(is_session(day) for day in days) == count
    assert first == next(day.isoformat() for day in days if is_session(day))


def test_base_rate_is_a_share_of_whole_months() -> None:
    found = build(protocol(), MACRO, [f"{year}-07-15" for year in range(1992, 2026)])
    ups = found["base_rate_up"] * found["base_rate_n"]
    assert ((ups - ups.round()).abs() < 1e-9).all()
    assert not found["base_rate_up"].map(math.isnan).any()
