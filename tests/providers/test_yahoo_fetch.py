"""yfinance itself against a loopback Yahoo: cookie, crumb and faults; what was fetched is kept, no frame is empty."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yahoo as server
import yfinance
from loopback import HTML, Fault
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import raw, yahoo
from anachron.sources.contracts import Yahoo

START = "2026-06-15"
AAPL = server.Ticker(
    {
        "2026-06-29": 400.0,
        "2026-06-30": 404.44,
        "2026-07-31": 101.5,
        "2026-08-31": 103.25,
        "2026-09-01": 104.0,
    },
    {"2026-07-15": (4, 1)},
)
NEW = server.Ticker({"2026-08-27": 20.0, "2026-08-31": 21.0, "2026-09-01": 22.0})


@pytest.fixture
def market(tmp_path: Path) -> Iterator[server.Yahoo]:
    """A Yahoo, and a yfinance that remembers nothing of an earlier one."""
    yfinance.set_tz_cache_location(str(tmp_path / "cache"))
    yfinance.data.SingletonMeta._instances.clear()
    with server.serving() as running:
        running.tickers = {"AAPL": AAPL, "NEW": NEW}
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def get(market: server.Yahoo, tmp_path: Path, waits: list[float]):
    def call(*tickers: str, **more) -> list[str]:
        settings = {"start": START, "sleep": waits.append, "timeout_s": 5.0, "fresh_hours": 0.0, **more}
        session = yahoo.recording_session(market.root)
        return yahoo.fetch(
            tickers or ["AAPL"], tmp_path / "raw", tmp_path / "yahoo.parquet", session=session, **settings
        )

    return call


def table(folder: Path) -> pd.DataFrame:
    return frames.read(folder / "yahoo.parquet", Yahoo)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "cache" not in path.parts
    }


def test_month_ends_are_as_printed_and_a_listing_begins_where_it_begins(
    get, market: server.Yahoo, tmp_path: Path
) -> None:
    assert get("AAPL", "NEW")[0] == "AAPL: 5 bars 2026-06-29 to 2026-09-01, 1 splits, kept"
    found = table(tmp_path).set_index(["ticker", "month"])["close_quoted"]
    assert found.loc["AAPL"][["2026-06", "2026-07", "2026-08"]].tolist() == [404.44, 101.5, 103.25]
    assert found.loc["NEW"][["2026-06", "2026-07"]].isna().all()
    assert found["NEW", "2026-08"] == 21.0
    assert "period2" in market.asked[-1]
    assert any("crumb=" in asked for asked in market.asked)
    manifest = (tmp_path / "raw" / "yahoo" / "manifest.csv").read_text()
    assert "crumb=REDACTED" in manifest
    assert "Cr%2Fum" not in manifest


def test_the_same_charts_give_the_same_bytes_and_need_no_network(
    get, market: server.Yahoo, tmp_path: Path
) -> None:
    get("AAPL", "NEW")
    before = bytes_of(tmp_path)
    market.stop()
    yahoo.build(["NEW", "AAPL"], tmp_path / "raw", tmp_path / "yahoo.parquet", start=START)
    assert bytes_of(tmp_path) == before
    with pytest.raises(
        SourceError, match=r"IBM: no chart since 2026-06-15 in .*; run `anachron fetch yahoo`"
    ):
        yahoo.build(["IBM"], tmp_path / "raw", tmp_path / "yahoo.parquet", start=START)


def test_a_chart_that_is_fresh_is_not_asked_for_again(get, market: server.Yahoo) -> None:
    get("AAPL")
    asked = len(market.asked)
    assert "taken as it is" in get("AAPL", fresh_hours=12.0)[0]
    assert len(market.asked) == asked


@pytest.mark.parametrize("damaged", [None, b"{}"])
def test_a_raw_chart_that_is_lost_or_damaged_is_fetched_again_however_fresh(
    get, tmp_path: Path, damaged: bytes | None
) -> None:
    get("AAPL")
    before = (tmp_path / "yahoo.parquet").read_bytes()
    lost = raw.latest(tmp_path / "raw", "yahoo", f"AAPL.since-{START}.json")
    assert lost is not None
    lost.path.unlink()
    if damaged is not None:
        lost.path.write_bytes(damaged)
    with pytest.raises(SourceError, match=r"AAPL\.since-.*fetch the source again"):
        yahoo.build(["AAPL"], tmp_path / "raw", tmp_path / "yahoo.parquet", start=START)
    assert "5 bars" in get("AAPL", fresh_hours=12.0)[0]
    assert (tmp_path / "yahoo.parquet").read_bytes() == before


def test_yfinance_alone_gives_an_empty_frame_for_a_refusal_and_the_wrapped_one_does_not(
    get, market: server.Yahoo, caplog: pytest.LogCaptureFixture
) -> None:
    get("AAPL")  # its time zone is known now, and it is delisted
    del market.tickers["AAPL"]
    with caplog.at_level(logging.CRITICAL, logger="yfinance"):
        theirs = yfinance.Ticker("AAPL", session=yahoo.recording_session(market.root)).history(start=START)
    assert theirs.empty
    for ticker in ("AAPL", "GONE"):
        told = f"Yahoo, {ticker}: Yahoo says 'No data found, symbol may be delisted'; the ticker may be wrong"
        with pytest.raises(SourceError, match=told):
            get(ticker)
    assert yfinance.config.debug.hide_exceptions is True


def test_one_ticker_that_fails_is_named_and_the_others_are_kept(
    get, market: server.Yahoo, tmp_path: Path
) -> None:
    get("AAPL")
    before = (tmp_path / "yahoo.parquet").read_bytes()
    with pytest.raises(
        SourceError, match=r"(?s)Yahoo, GONE: .*2 of 3 tickers are fetched and kept; .* was not touched"
    ):
        get("AAPL", "GONE", "NEW")
    assert raw.latest(tmp_path / "raw", "yahoo", f"NEW.since-{START}.json") is not None
    assert (tmp_path / "yahoo.parquet").read_bytes() == before


CHART = "period1"


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        (
            [Fault(429, HTML, only=CHART)] * 6,
            "Yahoo, AAPL: HTTP 429, too many requests; gave up after 3 attempts",
        ),
        (
            [Fault(429, HTML, {"Retry-After": "3600"}, only=CHART)] * 2,
            "HTTP 429, too many requests, and asks to wait 3600 s; gave up after 1 attempts",
        ),
        ([Fault(502, b"bad gateway", only=CHART)] * 6, "HTTP 502: bad gateway; gave up after 3 attempts"),
        (
            [Fault(hang_s=1.2, only=CHART)] * 6,
            "the connection failed or timed out .*; gave up after 3 attempts",
        ),
        (
            [Fault(drop=True, only=CHART)] * 6,
            "the connection failed or timed out .*; gave up after 3 attempts",
        ),
        (
            [Fault(broken_off=True, only=CHART)] * 6,
            "the connection failed or timed out .*; gave up after 3 attempts",
        ),
        (
            [Fault(cut=0.5, only=CHART)] * 3,
            "the answer is not JSON, or cut short: .*; gave up after 3 attempts",
        ),
        ([Fault(200, HTML, only=CHART)] * 3, "the answer is a web page: .*; gave up after 3 attempts"),
        ([Fault(200, b"{}", only=CHART)], "the answer is no chart"),
        ([Fault(200, b'{"chart":{"result":[],"error":null}}', only=CHART)], "the answer is no chart"),
    ],
)
def test_a_failed_refresh_leaves_the_last_good_data(
    get, market: server.Yahoo, tmp_path: Path, faults: list[Fault], told: str
) -> None:
    get()
    before = bytes_of(tmp_path)
    market.tickers["AAPL"] = server.Ticker({**AAPL.quoted, "2026-09-30": 110.0}, AAPL.splits)
    market.faults = list(faults)
    timeout = 0.4 if any(fault.hang_s for fault in faults) else 5.0
    with pytest.raises(SourceError, match=told):
        get(retries=2, timeout_s=timeout)
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize(
    "fault", [Fault(429, HTML, only=""), Fault(200, HTML, only=""), Fault(503, b"", only="")]
)
def test_a_fault_in_the_first_look_at_a_ticker_is_asked_again(
    get, market: server.Yahoo, fault: Fault
) -> None:
    # yfinance asks for the ticker's time zone first, and would answer from that for the rest of the process.
    market.faults = [Fault(**{**vars(fault), "only": "range=1d"}) for _ in range(2)]
    assert "5 bars" in get()[0]


def test_a_wait_follows_retry_after_and_grows_without_it(
    get, market: server.Yahoo, waits: list[float]
) -> None:
    get()
    market.faults = [
        *[Fault(429, HTML, {"Retry-After": "9"}, only=CHART)] * 2,
        *[Fault(429, HTML, only=CHART)] * 2,
        Fault(drop=True, only=CHART),
    ]
    get()
    assert waits == [9.0, 120.0, 4.0]


def test_a_rate_limit_stops_the_run_and_the_next_one_goes_on(
    get, market: server.Yahoo, tmp_path: Path
) -> None:
    get("AAPL")
    before = (tmp_path / "yahoo.parquet").read_bytes()
    asked: list[float] = []

    def sleep(wait: float) -> None:
        asked.append(wait)
        if len(asked) == 1:  # the pause before the second ticker
            market.faults = [Fault(429, HTML, only="/NEW")] * 20

    with pytest.raises(
        SourceError, match=r"1 of 3 tickers are fetched and kept; not yet: NEW, GONE\..*goes on from here"
    ):
        get("AAPL", "NEW", "GONE", retries=1, sleep=sleep)
    assert asked == [0.5, 60.0]
    assert (tmp_path / "yahoo.parquet").read_bytes() == before
    market.faults = []
    count = len(market.asked)
    get("AAPL", "NEW", fresh_hours=1.0)
    assert not any("/AAPL" in path for path in market.asked[count:])
    assert set(table(tmp_path)["ticker"]) == {"AAPL", "NEW"}


def test_a_connection_refused_midway_keeps_what_came_and_the_table(
    get, market: server.Yahoo, tmp_path: Path
) -> None:
    def sleep(_: float) -> None:
        market.stop()

    with pytest.raises(
        SourceError, match=r"(?s)Yahoo, NEW: the connection failed.*1 of 2 tickers are fetched and kept"
    ):
        get("AAPL", "NEW", retries=1, sleep=sleep)
    assert raw.latest(tmp_path / "raw", "yahoo", f"AAPL.since-{START}.json") is not None
    assert not (tmp_path / "yahoo.parquet").exists()


def test_a_renamed_ticker_and_an_answer_that_ends_early_are_refused(get, market: server.Yahoo) -> None:
    market.tickers["FB"] = server.Ticker(NEW.quoted, symbol="META")
    with pytest.raises(SourceError, match="asked for FB, the answer is META: the ticker was renamed"):
        get("FB")
    market.tickers["CUT"] = server.Ticker(NEW.quoted, traded="2026-10-30")
    with pytest.raises(SourceError, match="CUT: ends early, on 2026-09-01, though traded until 2026-10-30"):
        get("CUT")


def test_tickers_are_spelt_as_yahoo_spells_them(get, market: server.Yahoo, tmp_path: Path) -> None:
    for name, sent in (("BRK-B", "BRK-B"), ("^GSPC", "%5EGSPC"), ("RDS.A", "RDS.A"), ("CL=F", "CL%3DF")):
        market.tickers[name] = market.tickers[sent] = server.Ticker(NEW.quoted, symbol=name)
    get("brk-b", " ^GSPC", "RDS.A", "CL=F", "BRK-B")
    assert set(table(tmp_path)["ticker"]) == {"BRK-B", "^GSPC", "RDS.A", "CL=F"}
    yahoo.build(["brk-b"], tmp_path / "raw", tmp_path / "yahoo.parquet", start=START)
    assert set(table(tmp_path)["ticker"]) == {"BRK-B"}


@pytest.mark.parametrize(
    ("ticker", "start", "told"),
    [
        ("", START, "'' is no ticker; those are letters, digits and"),
        ("AA PL", START, "'AA PL' is no ticker"),
        ("../X", START, "'../X' is no ticker"),
        ("US0378331005", START, r"US0378331005 is the number of a security \(ISIN\); ask for its ticker"),
        ("AAPL", "31/12/2025", "the start '31/12/2025' is no day that has passed; allowed is YYYY-MM-DD"),
        ("AAPL", "20260615", "the start '20260615' is no day that has passed"),
        ("AAPL", "2999-01-01", "the start '2999-01-01' is no day that has passed"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_is(
    get, market: server.Yahoo, ticker: str, start: str, told: str
) -> None:
    with pytest.raises(SourceError, match=f"^Yahoo: {told}"):
        get("AAPL", ticker, start=start)
    assert not market.asked


def test_a_crumb_that_ran_out_is_fetched_anew_and_one_that_is_never_accepted_is_told(
    get, market: server.Yahoo
) -> None:
    get()
    market.crumb = "another"
    assert "5 bars" in get(retries=0)[0]
    market.faults = [Fault(200, b"stale", only="getcrumb")] * 6
    market.crumb = "a third"
    with pytest.raises(SourceError, match="Yahoo, AAPL: Yahoo says 'Invalid Crumb'"):
        get(retries=0)


def test_the_command_fails_with_one_message_and_builds_offline(market: server.Yahoo, tmp_path: Path) -> None:
    run = CliRunner()
    base = [
        "fetch",
        "yahoo",
        "--start",
        START,
        "-o",
        str(tmp_path / "y.parquet"),
        "--raw",
        str(tmp_path / "raw"),
    ]
    online = [*base, "--base-url", market.root, "--retries", "0", "--fresh-hours", "0"]
    good = run.invoke(app, [*online, "--ticker", "AAPL"])
    assert good.exit_code == 0, good.output
    assert "AAPL: 5 bars" in good.output
    written = (tmp_path / "y.parquet").read_bytes()
    assert run.invoke(app, [*online, "--ticker", "GONE"]).exit_code == 1
    assert (tmp_path / "y.parquet").read_bytes() == written
    market.stop()
    assert run.invoke(app, [*base, "--ticker", "AAPL", "--offline"]).exit_code == 0
    assert (tmp_path / "y.parquet").read_bytes() == written
