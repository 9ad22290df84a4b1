"""Factors, prices and decisions against records of others: two builds of the library, Yahoo's charts, FRED's days."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from anachron.errors import SourceError
from anachron.sources import fed_changes, french, french_parse, yahoo_chart

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data")) / "sources"
AUTUMN, SPRING = DATA / "french" / "2025-12_bobbobr", DATA / "french" / "2026-05_openbb"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not AUTUMN.is_dir(), reason=f"no recorded files in {DATA}"),
]


def factors(folder: Path, name: str) -> pd.DataFrame:
    path = folder / f"{name}_CSV.zip"
    return french_parse.parse(path.read_bytes(), path.name)


def chart(name: str) -> bytes:
    document = json.loads((DATA / "yahoo_chart" / name).read_text())
    return json.dumps(document.get("response", {}).get("bodyJson") or document).encode()


def test_two_builds_of_the_library_differ_in_35_of_1192_months() -> None:
    old, new = (factors(folder, french.THREE_FACTORS) for folder in (AUTUMN, SPRING))
    assert {*old["crsp_stamp"], *new["crsp_stamp"]} == {"202510", "202603"}
    assert french_parse.revisions(old, new, ("Mkt-RF", "SMB", "HML")) == (35, 1192)


@pytest.mark.parametrize(
    ("name", "first", "months"),
    [
        (french.THREE_FACTORS, "1926-07", 1192),
        (french.FIVE_FACTORS, "1963-07", 748),
        (french.MOMENTUM, "1927-01", 1186),
    ],
)
def test_the_monthly_blocks_are_whole(name: str, first: str, months: int) -> None:
    table = factors(AUTUMN, name)
    assert tuple(dict.fromkeys(table["factor"])) == french.FACTORS[name]
    one = table[table["factor"] == french.FACTORS[name][0]]
    assert (one["month"].iloc[0], one["month"].iloc[-1], len(one)) == (first, "2025-10", months)
    assert one["value_pct"].notna().all()


def test_size_of_the_two_files_is_not_the_same_factor() -> None:
    table = pd.concat([factors(AUTUMN, name) for name in (french.THREE_FACTORS, french.FIVE_FACTORS)])
    three = french.series(table, "SMB")
    five = french.series(table, "SMB", f"{french.FIVE_FACTORS}.csv")
    common = three.index.intersection(five.index)
    assert len(common) == 748
    assert (three[common] != five[common]).mean() > 0.9
    assert 0.9 < three[common].corr(five[common]) < 1.0


@pytest.mark.parametrize("cut", [100, 5_000, -1])
def test_a_real_zip_that_is_cut_is_told(cut: int) -> None:
    content = (AUTUMN / f"{french.THREE_FACTORS}_CSV.zip").read_bytes()
    with pytest.raises(SourceError, match="the zip is damaged or cut short"):
        french_parse.parse(content[:cut], "f.zip")


def test_a_fund_that_split_in_two_is_quoted_at_twice_its_stored_price() -> None:
    for ticker, first, printed in (("XLK", "2025-05-02", 216.61), ("XLE", "2025-05-02", 81.98)):
        bars, splits = yahoo_chart.parse(chart(f"YONGJINSONG_{ticker}_1y_20260503.json"), ticker, ticker)
        assert splits.to_dict() == {"2025-12-05": 2.0}
        found = yahoo_chart.as_quoted(bars, splits)
        assert (found.index[0], found["close_quoted"].iloc[0]) == (first, printed)
        assert found.loc["2025-12-04", "split_factor"] == 2.0
        assert found.loc["2025-12-05":, "split_factor"].eq(1.0).all()


@pytest.mark.parametrize(
    ("file", "ticker", "last"),
    [
        ("historical-via-chart-NVDA-split-2021-02-01-to-2022-01-31.csv.json", "NVDA", "2022-01-28"),
        ("historical-via-chart-MSFT-dividends-2021-02-01-to-2022-01-31.csv.json", "MSFT", "2022-01-28"),
        ("chart-AAPL-2020-08-31-to-2020-11-07.json", "AAPL", "2020-11-06"),
    ],
)
def test_a_window_of_the_past_is_refused(file: str, ticker: str, last: str) -> None:
    with pytest.raises(SourceError, match=f"ends early, on {last}, though traded until 2025-02-"):
        yahoo_chart.parse(chart(file), ticker, ticker)


def test_a_split_after_the_window_is_put_back_once_it_is_known() -> None:
    document = json.loads(chart("historical-via-chart-NVDA-split-2021-02-01-to-2022-01-31.csv.json"))
    result = document["chart"]["result"][0]
    result["meta"]["regularMarketTime"] = result["timestamp"][-1]  # as if it had been traded no longer
    bars, inside = yahoo_chart.parse(json.dumps(document).encode(), "NVDA", "NVDA")
    assert yahoo_chart.as_quoted(bars, inside)["close_quoted"].iloc[0] == 52.95  # a tenth of what was printed
    known = pd.concat([inside, pd.Series({"2024-06-10": 10.0})])
    found = yahoo_chart.as_quoted(bars, known)["close_quoted"]
    assert found.iloc[0] == 529.48
    assert 290 < found["2021-12-31"] < 300


def test_announced_changes_are_those_of_the_daily_series() -> None:
    theirs = pd.read_csv(DATA / "derived" / "fed_target_changes_1999_2026.csv")
    ours = fed_changes.announced().query("decision_date >= '1999'")
    assert ours["effective_date"].tolist() == theirs["effective_date"].tolist()
    assert ours["target_upper"].tolist() == theirs["target_after"].tolist()
    later = theirs["effective_date"] >= fed_changes.DAY_AFTER_SINCE
    assert (
        ours["decision_date"][later.to_numpy()].tolist()
        == theirs["decision_date_if_day_before"][later].tolist()
    )


def test_the_target_of_each_month_lies_by_the_traded_rate() -> None:
    record = pd.read_csv(
        DATA / "derived" / "macro_monthly_candidates.csv", usecols=["month", "FREDMD_FEDFUNDS"]
    )
    traded = record.set_index(record["month"].str.slice(0, 7))["FREDMD_FEDFUNDS"].dropna()
    target = fed_changes.monthly(fed_changes.announced(), fed_changes.TABLE_THROUGH).set_index("month")
    still = target["outcome"].eq("unchanged") & target["outcome"].shift(1).eq("unchanged")
    apart = (target["target_upper"] - traded)[still].dropna()
    assert len(apart) > 150
    assert apart.between(-0.2, 0.3).all()
