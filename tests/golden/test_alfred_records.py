"""Vintages against records made by others: FRED's own initial releases, FRED-MD's vintages, the published panel."""

from __future__ import annotations

import calendar
import json
import os
from collections.abc import Iterator
from pathlib import Path

import fred as server
import pandas as pd
import pytest

from anachron.sources import alfred, alfred_parse, alfred_table, asof

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data"))
API = DATA / "sources" / "fred_api"
VINTAGES = DATA / "sources" / "alfred_vintages"
PANEL = DATA / "hindsightbench" / "panel.parquet"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not API.is_dir(), reason=f"no recorded answers of FRED in {API}"),
]


@pytest.fixture(scope="module")
def unrate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pd.DataFrame]:
    """All vintages of UNRATE, served on loopback and fetched through fredapi in spans of 300 vintages."""
    record = pd.read_parquet(VINTAGES / "UNRATE.parquet")
    start, date = (record[column].dt.strftime("%Y-%m-%d") for column in ("realtime_start", "date"))
    following = record.groupby("date")["realtime_start"].shift(-1) - pd.Timedelta(days=1)
    end = following.dt.strftime("%Y-%m-%d").fillna(server.OPEN_END)
    folder = tmp_path_factory.mktemp("unrate")
    with server.serving() as running:
        running.add("UNRATE", list(zip(date, start, end, record["value"].map(str), strict=True)))
        running.most_vintages = 300
        alfred.fetch(
            ["UNRATE"],
            folder / "raw",
            folder / "alfred.parquet",
            key=server.KEY,
            base_url=running.root,
            spacing_s=0.0,
            max_vintages=300,
        )
        assert sum("observations" in path for path in running.asked) == 3
    yield asof.read(folder / "alfred.parquet")[0]


@pytest.fixture(scope="module")
def gdp() -> pd.DataFrame:
    dates = alfred_parse.vintage_dates([answer("GDP_vintagedates")], "GDP")
    rows = alfred_parse.observations([answer("GDP_observations_output1_all_realtime")], "GDP")
    about = alfred_parse.info(answer("series_info"), "GDP", "GDP")
    return alfred_table.tabulate(alfred_parse.stitch([rows], dates, "GDP"), dates, about, "GDP")


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    if not PANEL.is_file():
        pytest.skip(f"the published panel is not at {PANEL}")
    published = pd.read_parquet(PANEL)
    return pd.DataFrame(
        [
            (date, one["series"], one["obs_date"], float(one["vintage_value"]), float(one["revised_value"]))
            for date, entries in zip(published["decision_date"], published["snapshot"], strict=True)
            for one in entries
        ],
        columns=["decision_date", "series", "obs_date", "vintage_value", "revised_value"],
    )


def fred_md(series: str) -> pd.DataFrame:
    """Return the newest month and value of a series in each monthly vintage, 2000-01 to 2021-09."""
    record = pd.read_csv(VINTAGES / "fredmd_vintages_2000-01_2021-09_last_values.csv")
    record = record[record["series"] == series]
    assert len(record) == 261
    return record


def answer(name: str) -> bytes:
    return (API / f"pyfredapi_{name}.json").read_bytes()


def test_first_releases_of_gdp_are_those_fred_calls_initial(gdp: pd.DataFrame) -> None:
    theirs = pd.DataFrame(json.loads(answer("GDP_observations_output4_initial_release"))["observations"])
    ours = gdp[gdp["first_release"]].reset_index(drop=True)
    assert gdp["reference_period"].nunique() == 317
    assert len(ours) == len(theirs) == 134
    assert ours["reference_period"].tolist() == theirs["date"].tolist()
    assert ours["published"].tolist() == theirs["realtime_start"].tolist()
    assert ours["vintage_end"].tolist() == theirs["realtime_end"].tolist()
    assert ours["value"].tolist() == theirs["value"].astype("float64").tolist()
    assert ours["unit"].unique().tolist() == ["billions of dollars, annual rate"]


def test_a_view_of_gdp_is_what_fred_answers_for_that_day(gdp: pd.DataFrame) -> None:
    theirs = pd.DataFrame(json.loads(answer("GDP_observations_asof_2019-01-01"))["observations"])
    theirs = theirs[(theirs["realtime_end"] == "2019-01-01") & (theirs["value"] != ".")]
    ours = asof.as_of(gdp, "GDP", "2019-01-01")
    assert ours["reference_period"].tolist() == theirs["date"].tolist()
    assert ours["value"].tolist() == theirs["value"].astype("float64").tolist()
    # Nominal GDP of 1946 was taken back in October 1999, and stands in older views only.
    assert ours["reference_period"].min() == "1947-01-01"
    assert asof.as_of(gdp, "GDP", "1999-10-27")["reference_period"].min() == "1946-01-01"


def test_unemployment_as_published_and_as_revised(unrate: pd.DataFrame) -> None:
    told = asof.revisions(unrate, "UNRATE").set_index("reference_period")
    assert told.loc["2020-04-01", ["published", "first_value", "latest_value"]].tolist() == [
        "2020-05-08",
        14.7,
        14.8,
    ]
    assert told.loc["2008-12-01", ["first_value", "latest_value"]].tolist() == [7.2, 7.3]
    assert told.loc["2025-09-01", "published"] == "2025-11-20"
    window = told.loc["1999-01-01":"2026-05-01"]
    # October 2025 was never surveyed: 328 of the 329 months exist.
    assert len(window) == 328
    assert "2025-10-01" not in set(unrate["reference_period"])
    assert (window["first_value"] != window["latest_value"]).sum() == 144
    # ALFRED's records begin on 15 March 1960 with the whole history; nine months of the early sixties came late.
    assert told.index.min() == "1960-03-01"
    assert not unrate.loc[unrate["reference_period"] < "1960-03-01", "first_release"].any()
    assert len(told) == 786


def test_views_of_unemployment_agree_with_the_vintages_of_fred_md(unrate: pd.DataFrame) -> None:
    record = fred_md("UNRATE")
    for vintage, month, value in record[["vintage", "last_month", "value"]].itertuples(
        index=False, name=None
    ):
        year, number = map(int, vintage.split("-"))
        view = asof.as_of(unrate, "UNRATE", f"{vintage}-{calendar.monthrange(year, number)[1]:02d}")
        assert view.iloc[-1][["reference_period", "value"]].tolist() == [month, value], vintage


def test_the_panel_of_vintages_is_the_published_one(unrate: pd.DataFrame, panel: pd.DataFrame) -> None:
    theirs = panel[panel["series"] == "UNRATE"]
    ours = asof.alfred_panel(unrate, {"UNRATE": "2026-07-02"}, ["UNRATE"], theirs["decision_date"].tolist())
    assert len(ours) == 258
    for mine, other in (
        ("reference_period", "obs_date"),
        ("value", "vintage_value"),
        ("latest_value", "revised_value"),
    ):
        assert ours[mine].tolist() == theirs[other].tolist()
    assert (ours["value"] != ours["latest_value"]).sum() > 50


def test_series_of_the_same_release_show_the_same_period(
    unrate: pd.DataFrame, gdp: pd.DataFrame, panel: pd.DataFrame
) -> None:
    # Employment comes with unemployment, real GDP with nominal GDP, whose recorded vintages end in June 2025.
    for series, table, name, until in (
        ("PAYEMS", unrate, "UNRATE", "2026-07-02"),
        ("GDPC1", gdp, "GDP", "2025-07-25"),
    ):
        theirs = panel[(panel["series"] == series) & (panel["decision_date"] <= until)]
        ours = asof.alfred_panel(table, {name: until}, [name], theirs["decision_date"].tolist())
        assert ours["reference_period"].tolist() == theirs["obs_date"].tolist(), series


def test_the_panel_of_the_funds_rate_is_that_of_the_vintages_of_fred_md(panel: pd.DataFrame) -> None:
    record = fred_md("FEDFUNDS")
    table = pd.DataFrame(
        {
            "series_id": "FEDFUNDS",
            "reference_period": record["last_month"],
            # A month's average is out on the first days of the next; the file tells the month alone.
            "published": record["vintage"] + "-01",
            "value": record["value"],
            "unit": "percent",
            "vintage_end": server.OPEN_END,
            "first_release": True,
        }
    )
    theirs = panel[(panel["series"] == "FEDFUNDS") & (panel["decision_date"] < "2021-10")]
    ours = asof.alfred_panel(
        table, {"FEDFUNDS": "2021-09-30"}, ["FEDFUNDS"], theirs["decision_date"].tolist()
    )
    assert len(ours) == 201
    assert ours["reference_period"].tolist() == theirs["obs_date"].tolist()
    assert ours["value"].tolist() == theirs["vintage_value"].tolist()


def test_consumer_prices_of_the_panel_are_those_of_the_vintage_before_or_after_the_date(
    panel: pd.DataFrame,
) -> None:
    # Prices come out about the 15th: the vintage at the end of the date's month knows one month more than the one
    # before it, or the panel knows as much.
    record = fred_md("CPIAUCSL")
    held = {
        vintage: pair
        for vintage, *pair in record[["vintage", "last_month", "value"]].itertuples(index=False, name=None)
    }
    theirs = panel[(panel["series"] == "CPIAUCSL") & (panel["decision_date"] < "2021-10")]
    apart = []
    for date, period, value in theirs[["decision_date", "obs_date", "vintage_value"]].itertuples(
        index=False, name=None
    ):
        after, before = date[:7], str(pd.Period(date[:7], "M") - 1)
        assert period in (held[after][0], held[before][0]), date
        if [period, value] not in (held[after], held[before]):
            apart.append(date)
    assert len(theirs) == 201
    # Seasonal factors are renewed in February, some days before January's prices: December had another value.
    assert apart == ["2008-02-15", "2011-02-15", "2012-02-15"]


def test_no_series_of_the_published_panel_waits_longer_than_a_first_release_is_believed_to(
    panel: pd.DataFrame,
) -> None:
    for series, own in panel.groupby("series"):
        about = alfred_parse.Info(str(series), "", "SA", "Q" if series == "GDPC1" else "M", "")
        own = own.sort_values("decision_date")
        assert own["obs_date"].is_monotonic_increasing
        step = pd.DateOffset(months=3 if series == "GDPC1" else 1)
        waited = pd.to_datetime(own["decision_date"]) - (pd.to_datetime(own["obs_date"]) + step)
        assert waited.dt.days.max() <= alfred_table.plausible_lag(about)[1], series
