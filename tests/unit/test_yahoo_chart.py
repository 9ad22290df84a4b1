"""Charts of daily bars: prices as printed on the day, month ends by the exchange's calendar, damaged answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import yahoo as server

from anachron.errors import SourceError
from anachron.sources import sessions, yahoo_chart

BARS = {"2021-12-30": 295.86, "2021-12-31": 294.11, "2022-01-03": 301.21}


def body(ticker: server.Ticker, change: Callable[[dict[str, Any]], object] | None = None) -> bytes:
    document = json.loads(server.chart("NVDA", ticker, 0, 4_000_000_000))
    if change is not None:
        change(document["chart"]["result"][0])
    return json.dumps(document).encode()


def parse(content: bytes, ticker: str = "NVDA") -> tuple[pd.DataFrame, pd.Series]:
    return yahoo_chart.parse(content, ticker, f"Yahoo, {ticker}, f.json")


def quoted(prices: dict[str, float], splits: dict[str, float]) -> pd.DataFrame:
    bars = pd.DataFrame({"close": prices, "adjusted": prices}, dtype="float64")
    ratios = pd.Series(splits, dtype="float64", index=pd.Index(list(splits), dtype="str"))
    return yahoo_chart.as_quoted(bars, ratios)


@pytest.mark.parametrize(
    ("day", "stored", "splits", "printed"),
    [
        # what Yahoo stores, the splits since, and the close in the newspaper of the day after
        ("2019-12-31", 73.4124984741211, {"2020-08-31": 4.0}, 293.65),  # AAPL
        ("2021-02-01", 13.237000465393066, {"2021-07-20": 4.0, "2024-06-10": 10.0}, 529.48),  # NVDA
        ("2021-01-29", 55.5099983215332, {}, 55.51),  # INTC
        (
            "2019-12-31",
            55.62198,
            {"2021-08-02": 0.125, "2023-01-04": 1.281, "2024-04-02": 1.253},
            11.16,
        ),  # GE
        (
            "2020-08-31",
            129.0399932861328,
            {"2020-08-31": 4.0},
            129.04,
        ),  # a split is in the price of its own day
    ],
)
def test_prices_are_put_back_to_what_was_printed(
    day: str, stored: float, splits: dict[str, float], printed: float
) -> None:
    assert quoted({day: stored}, splits).loc[day, "close_quoted"] == printed


def test_cents_are_rounded_after_the_splits_are_put_back() -> None:
    assert quoted({"2019-12-31": 73.4124984741211}, {"2020-08-31": 4.0})["close_quoted"].iloc[0] != 4 * 73.41


def test_a_negative_price_is_legal() -> None:
    bars, splits = parse(body(server.Ticker({"2020-04-20": -37.63, "2020-04-21": 10.01})))
    assert yahoo_chart.as_quoted(bars, splits)["close_quoted"].tolist() == [-37.63, 10.01]


def test_a_chart_gives_bars_and_splits_by_the_exchanges_own_day() -> None:
    ticker = server.Ticker({**BARS, "2024-06-10": 121.79}, {"2024-06-10": (10, 1)})
    bars, splits = parse(body(ticker))
    assert splits.to_dict() == {"2024-06-10": 10.0}
    found = yahoo_chart.as_quoted(bars, splits)
    assert found["close_quoted"].to_dict() == {**BARS, "2024-06-10": 121.79}
    assert found["split_factor"].tolist() == [10.0, 10.0, 10.0, 1.0]


def test_a_window_that_ends_before_a_later_split_is_refused_not_read_as_a_tenth() -> None:
    ticker = server.Ticker({**BARS, "2024-06-10": 121.79}, {"2024-06-10": (10, 1)})
    window = server.chart("NVDA", ticker, 0, server.at_open("2022-01-04"))
    assert "splits" not in json.loads(window)["chart"]["result"][0].get("events", {})
    with pytest.raises(
        SourceError, match=r"NVDA, f\.json: ends early, on 2022-01-03, though traded until 2024-06-10"
    ):
        parse(window)


def test_month_ends_are_last_sessions_and_a_missing_bar_is_not_the_day_before() -> None:
    ends = yahoo_chart.last_sessions("2021-11-15", "2022-03-01")
    assert ends.to_dict() == {
        "2021-11": "2021-11-30",
        "2021-12": "2021-12-31",
        "2022-01": "2022-01-31",
        "2022-02": "2022-02-28",
    }
    table = yahoo_chart.month_ends(quoted({**BARS, "2022-01-28": 228.4, "2022-02-28": 243.85}, {}), ends)
    assert table["session"].tolist() == ends.tolist()
    assert table["close_quoted"].isna().tolist() == [True, False, True, False]  # not listed yet; a halt


def test_a_month_counts_once_its_last_session_is_over() -> None:
    assert yahoo_chart.last_sessions("2024-03-01", "2024-03-28").empty
    # Good Friday was the 29th: the month's last session is the 28th, the quarter's books close on it.
    assert yahoo_chart.last_sessions("2024-03-01", "2024-03-29").to_dict() == {"2024-03": "2024-03-28"}


def test_last_sessions_agree_with_the_rule_of_the_exchange() -> None:
    ends = yahoo_chart.last_sessions("1998-12-01", "2026-10-01")
    assert len(ends) == 334
    for month, session in ends.items():
        days = pd.date_range(f"{month}-01", periods=pd.Period(month).days_in_month)
        assert session == max(day.date().isoformat() for day in days if sessions.is_session(day.date()))


def test_todays_running_quote_replaces_todays_bar() -> None:
    def repeat(result: dict[str, Any]) -> None:
        result["timestamp"].append(result["timestamp"][-1] + 3600)
        result["indicators"]["quote"][0]["close"].append(302.0)
        result["indicators"]["adjclose"][0]["adjclose"].append(302.0)

    bars, _ = parse(body(server.Ticker(BARS), repeat))
    assert bars["close"].tolist() == [295.86, 294.11, 302.0]


def _twice(result: dict[str, Any]) -> None:
    result["timestamp"][1] = result["timestamp"][0] + 60


def _shorter(result: dict[str, Any]) -> None:
    result["indicators"]["quote"][0]["close"].pop()


def _meta(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda result: result["meta"].update(values)


def _split(**values: Any) -> Callable[[dict[str, Any]], object]:
    one = {"date": server.at_open("2021-12-31"), "numerator": 4, "denominator": 1, **values}
    return lambda result: result.update(events={"splits": {"1": one}})


def _same_split_twice(result: dict[str, Any]) -> None:
    one = {"date": server.at_open("2021-12-31"), "numerator": 4, "denominator": 1}
    result["events"] = {"splits": {"1": one, "2": {**one, "date": one["date"] + 60}}}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_twice, "session 2021-12-30 stands twice"),
        (_shorter, "3 dates, 2 closes, 3 adjusted closes: a chart has as many of each"),
        (lambda result: result.update(timestamp=None), "0 dates, 3 closes"),
        (lambda result: result["indicators"].update(quote=[]), "a chart without bars"),
        (
            _meta(symbol="META"),
            "asked for NVDA, the answer is META: the ticker was renamed; ask for META instead",
        ),
        (_meta(dataGranularity="1mo"), "bars of '1mo', not daily ones"),
        (_meta(exchangeTimezoneName="Mars/Olympus"), "time zone is 'Mars/Olympus', which is not known"),
        (_meta(regularMarketTime=None), "does not say when the ticker was traded last"),
        (
            _meta(regularMarketTime=server.at_open("2021-06-01")),
            "a bar of the future, 2022-01-03; the last trade was",
        ),
        (_split(denominator=0), "a split that is no ratio of shares"),
        (_split(numerator=None), "a split that is no ratio of shares"),
        (_same_split_twice, "two splits on 2021-12-31"),
    ],
)
def test_each_damaged_chart_is_named(change: Callable[[dict[str, Any]], object], told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        parse(body(server.Ticker(BARS), change))
    assert str(caught.value).startswith("Yahoo, NVDA, f.json: ")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<html>Will be right back</html>", "a web page, 31 bytes"),
        (body(server.Ticker(BARS))[:300], "not JSON, or cut short, 300 bytes"),
        (b"\xff\xfe", "not JSON, or cut short"),
        (b"[]", "JSON without a chart"),
        (b'{"chart":{"result":[],"error":null}}', "a chart without bars"),
        (
            json.dumps({"chart": {"result": None, "error": {"description": server.GONE}}}).encode(),
            "Yahoo says 'No data found, symbol may be delisted'; the ticker may be wrong, renamed or delisted",
        ),
    ],
)
def test_what_is_no_chart_is_named(content: bytes, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        parse(content)
