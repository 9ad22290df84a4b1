"""Views as of a day against a day-by-day replay of made-up histories of vintages."""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from pathlib import Path

import fred as server
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from anachron.sources import alfred, alfred_parse, alfred_table, asof, raw

PERIODS = [f"2020-{month:02d}-01" for month in range(1, 6)]
FIRST_DAY = dt.date(2020, 5, 10)
INFO = alfred_parse.Info("A", "Percent", "SA", "M", PERIODS[-1])
WHERE = "ALFRED, A"
STAMP = dt.datetime(2026, 7, 5, 12, tzinfo=dt.UTC)

Changes = dict[str, dict[str, str]]
"""For each vintage date, the new text of each period that changed."""


def day(offset: int) -> str:
    return (FIRST_DAY + dt.timedelta(days=offset)).isoformat()


changes = st.dictionaries(
    st.integers(0, 120).map(day),
    st.dictionaries(st.sampled_from(PERIODS), st.sampled_from([".", "1.0", "2.5", "-3"]), min_size=1),
    min_size=1,
    max_size=9,
)


def replay(history: Changes, until: str) -> dict[str, tuple[str, float]]:
    """Return for each period the day and the value that stood at the end of a day, one change after another."""
    standing: dict[str, tuple[str, float]] = {}
    for date in sorted(history):
        if date > until:
            break
        for period, text in history[date].items():
            value = math.nan if text == "." else float(text)
            if period not in standing or not same(standing[period][1], value):
                standing[period] = (date, value)
    return {period: found for period, found in standing.items() if not math.isnan(found[1])}


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def rows_of(history: Changes) -> list[server.Row]:
    """Return a history as FRED keeps it: a row for each stretch of days over which a value stood."""
    stretches: dict[str, list[list[str]]] = {}
    for date in sorted(history):
        before = (dt.date.fromisoformat(date) - dt.timedelta(days=1)).isoformat()
        for period, text in history[date].items():
            own = stretches.setdefault(period, [])
            if own and own[-1][3] == text:
                continue
            if own:
                own[-1][2] = before
            own.append([period, date, server.OPEN_END, text])
    return [(row[0], row[1], row[2], row[3]) for own in stretches.values() for row in own]


def body(tag: str, rows: list, **head: str) -> bytes:
    return server.render(tag, {"count": len(rows), "offset": 0, "limit": 100_000, **head}, rows, "xml")


def observed(rows: list[server.Row], start: str, end: str) -> bytes:
    return body("observation", server.observations(rows, start, end, "1"))


def read(rows: list[server.Row], most: int) -> pd.DataFrame:
    dates = sorted({row[1] for row in rows})
    parts = [
        alfred_parse.observations([observed(rows, start, end)], WHERE)
        for start, end in alfred_parse.windows(dates, most)
    ]
    joined = alfred_parse.stitch(parts, dates, WHERE)
    return alfred_table.tabulate(joined, dates, INFO, WHERE)


@given(changes, st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_spans_join_to_what_one_request_gives(history: Changes, most: int) -> None:
    rows = rows_of(history)
    pd.testing.assert_frame_equal(read(rows, most), read(rows, 2000))


@given(changes, st.integers(-2, 125).map(day))
@settings(max_examples=40, deadline=None)
def test_a_view_is_what_a_reader_of_that_day_had(history: Changes, date: str) -> None:
    table = read(rows_of(history), 2000)
    view = asof.as_of(table, "A", date)
    assert (view["published"] <= date).all()
    found = {
        period: (published, value) for period, published, value in view.itertuples(index=False, name=None)
    }
    assert found == replay(history, date)
    known = {"A": "2021-12-31"}
    if found:
        panel = asof.alfred_panel(table, known, ["A"], [date]).iloc[0]
        newest = max(found)
        assert (panel["reference_period"], panel["published"], panel["value"]) == (newest, *found[newest])


@given(changes, st.integers(0, 120), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_later_vintages_never_change_an_earlier_view(history: Changes, offset: int, more: int) -> None:
    date = day(offset)
    past = {when: what for when, what in history.items() if when <= date}
    if not past:
        return
    whole, then = read(rows_of(history), 2000), read(rows_of(past), 2000)
    pd.testing.assert_frame_equal(asof.as_of(whole, "A", date), asof.as_of(then, "A", date))
    later = asof.as_of(whole, "A", day(offset + more))
    if not any("." in what.values() for what in history.values()):
        assert set(asof.as_of(whole, "A", date)["reference_period"]) <= set(later["reference_period"])


@given(changes)
@settings(max_examples=30, deadline=None)
def test_a_first_release_is_the_earliest_value_and_none_stood_when_coverage_began(history: Changes) -> None:
    table = read(rows_of(history), 2000)
    first = table[table["first_release"]]
    assert first["reference_period"].is_unique
    coverage = min(row[1] for row in rows_of(history))
    for period, published in first[["reference_period", "published"]].itertuples(index=False, name=None):
        given_values = table[(table["reference_period"] == period) & table["value"].notna()]
        assert published == given_values["published"].min()
        assert published > coverage
    told = asof.revisions(table, "A")
    assert (told["times"] >= 0).all()
    assert told["first_value"].tolist() == first.sort_values("reference_period")["value"].tolist()


@given(changes, st.integers(1, 4))
@settings(max_examples=8, deadline=None)
def test_building_twice_gives_the_same_bytes(history: Changes, most: int) -> None:
    rows = rows_of(history)
    dates = sorted({row[1] for row in rows})
    fake = server.Fred()
    fake.add("A", rows)
    bodies = {
        "A.series.page-0.xml": body("series", [fake.about["A"]]),
        "A.vintagedates.page-0.xml": body("vintage_date", dates),
        **{
            f"A.observations.{start}.{end}.page-0.xml": observed(rows, start, end)
            for start, end in alfred_parse.windows(dates, most)
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        home, out = Path(folder), Path(folder) / "alfred.parquet"
        for name, content in bodies.items():
            raw.keep(home / "raw", "alfred", name, "http://h/fred", content, {}, STAMP)
        made = []
        for _ in range(2):
            alfred.build(["A"], home / "raw", out, max_vintages=most)
            made.append((out.read_bytes(), out.with_suffix(".json").read_bytes()))
            out.unlink()
        assert made[0] == made[1]
