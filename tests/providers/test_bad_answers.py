"""Bad data from each source, through the commands: what is told names source, series and file; no good byte is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fred
import french as library
import pandas as pd
import pytest
import yahoo
import yfinance
from loopback import HTML, Fault, Loopback
from typer.testing import CliRunner, Result

from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import alfred, alfred_client

PRICES: list[fred.Row] = [
    ("2020-03-01", "2020-04-01", "9999-12-31", "29.2"),
    ("2020-04-01", "2020-05-01", "9999-12-31", "16.5"),
]
MAY = ("2020-05-01", "2020-06-01", "9999-12-31", "28.6")
BARS = {"2026-06-30": 404.44, "2026-07-31": 101.5, "2026-08-31": 103.25, "2026-09-01": 104.0}
ZIP = f"{library.THREE}_CSV.zip"
BEGIN = "2026-06-15"


@dataclass
class Sources:
    """The three loopback servers, and a folder that holds one good fetch of each."""

    fred: fred.Fred
    library: library.French
    market: yahoo.Yahoo
    home: Path

    def fetch(self, source: str, *more: str) -> Result:
        """Run `anachron fetch SOURCE` as a user would."""
        place = {"alfred": self.fred, "french": self.library, "yahoo": self.market}[source].root
        own = {
            "alfred": ["--series", "MCOILWTICO"],
            "french": [],
            "yahoo": ["--start", BEGIN, "--fresh-hours", "0", "--ticker", "AAPL"],
        }[source]
        files = ["-o", str(self.home / f"{source}.parquet"), "--raw", str(self.home / "raw")]
        return CliRunner().invoke(
            app, ["fetch", source, *own, *files, "--base-url", place, "--retries", "0", *more]
        )

    def bytes(self) -> dict[str, bytes]:
        """Return all that is kept, and the tables."""
        return {str(path): path.read_bytes() for path in sorted(self.home.rglob("*")) if path.is_file()}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    monkeypatch.setenv(alfred_client.KEY_VARIABLE, fred.KEY)
    monkeypatch.setitem(alfred.fetch.__kwdefaults__, "spacing_s", 0.0)
    yfinance.set_tz_cache_location(str(tmp_path / "cache"))
    yfinance.data.SingletonMeta._instances.clear()
    with fred.serving() as one, library.serving() as two, yahoo.serving() as three:
        one.add("MCOILWTICO", PRICES, units="Dollars per Barrel", seasonal_adjustment_short="NSA")
        three.tickers = {"AAPL": yahoo.Ticker(BARS, {"2026-07-15": (4, 1)})}
        yield Sources(one, two, three, tmp_path / "home")


def fault(server: Callable[[Sources], Loopback], only: str, **how: object) -> Callable[[Sources], None]:
    return lambda sources: setattr(server(sources), "faults", [Fault(only=only, **how)] * 2)  # type: ignore[arg-type]


def series(*rows: fred.Row, **about: str) -> Callable[[Sources], None]:
    return lambda sources: sources.fred.add("MCOILWTICO", list(rows), **about)


def build(stamp: str, change: dict[str, str] | None = None) -> Callable[[Sources], None]:
    return lambda sources: sources.library.release(stamp, change)


def ticker(held: yahoo.Ticker | None) -> Callable[[Sources], None]:
    def change(sources: Sources) -> None:
        sources.market.tickers = {"AAPL": held} if held else {}

    return change


def zipped(change: Callable[[bytes], bytes]) -> Callable[[Sources], None]:
    def swap(sources: Sources) -> None:
        sources.library.release("202511")
        sources.library.files[ZIP] = change(sources.library.files[ZIP])

    return swap


def a_byte_off(body: bytes) -> bytes:
    at = body.index(b"202508")
    return body[:at] + b"9" + body[at + 1 :]


def twice(sources: Sources) -> None:
    """Let a session of the chart stand twice; the zone is asked for first, of a chart without a window."""
    body = yahoo.chart("AAPL", sources.market.tickers["AAPL"], 0, 4_000_000_000)
    first, second = (str(yahoo.at_open(day)).encode() for day in list(BARS)[:2])
    sources.market.faults = [
        Fault(body=body.replace(second, str(int(first) + 60).encode(), 1), only="period1")
    ]


def a_bar_of_the_future(sources: Sources) -> None:
    body = yahoo.chart("AAPL", yahoo.Ticker({**BARS, "2999-01-04": 1.0}), 0, 40_000_000_000)
    sources.market.faults = [Fault(body=body, only="period1")]


def a_split_of_the_future(sources: Sources) -> None:
    held = yahoo.Ticker(BARS, {"2026-07-15": (4, 1), "2999-01-04": (2, 1)})
    sources.market.faults = [Fault(body=yahoo.chart("AAPL", held, 0, 40_000_000_000), only="period1")]


FRED = lambda sources: sources.fred  # noqa: E731
LIBRARY = lambda sources: sources.library  # noqa: E731
MARKET = lambda sources: sources.market  # noqa: E731
FRENCH, ALFRED, YAHOO = f"Kenneth French, {ZIP}", "ALFRED, MCOILWTICO", "Yahoo, AAPL"
PERCENT = next(
    line
    for line in library.csv_text(
        library.COLUMNS[library.THREE], library.rows(("a", "b", "c", "d"), "202511"), ""
    ).split("\r\n")
    if line.startswith("202508")
)

CASES = {
    "corrupt zip": ("french", zipped(a_byte_off), FRENCH, "the zip is damaged or cut short"),
    "half a zip": ("french", zipped(lambda body: body[: len(body) // 2]), FRENCH, "damaged or cut short"),
    "half a table of vintages": ("alfred", fault(FRED, "observations", cut=0.5), ALFRED, "cut short"),
    "half a chart": ("yahoo", fault(MARKET, "period1", cut=0.5), YAHOO, "not JSON, or cut short"),
    "a page for a zip": ("french", fault(LIBRARY, ZIP, body=HTML), FRENCH, "a web page"),
    "a page for vintages": ("alfred", fault(FRED, "observations", body=HTML), ALFRED, "a web page"),
    "a page for a chart": ("yahoo", fault(MARKET, "period1", body=HTML), YAHOO, "a web page"),
    "an unknown series": ("alfred", lambda sources: sources.fred.series.clear(), ALFRED, "does not exist"),
    "an unknown file": ("french", lambda sources: sources.library.files.clear(), FRENCH, "HTTP 404"),
    "an unknown ticker": ("yahoo", ticker(None), YAHOO, "may be wrong, renamed or delisted"),
    "a series that ends early": (
        "alfred",
        series(PRICES[0], observation_end="2020-04-01"),
        ALFRED,
        "ends early",
    ),
    "factors that end early": (
        "french",
        build("202511", {"the 202511 CRSP": "the 202512 CRSP"}),
        FRENCH,
        "early",
    ),
    "a chart that ends early": (
        "yahoo",
        ticker(yahoo.Ticker(BARS, traded="2026-10-30")),
        YAHOO,
        "ends early",
    ),
    "a month twice": (
        "alfred",
        series(*PRICES, ("2020-04-01", "2020-05-02", "9999-12-31", "9")),
        ALFRED,
        "two values",
    ),
    "a factor's month twice": (
        "french",
        build("202511", {PERCENT: f"{PERCENT}\r\n{PERCENT}"}),
        FRENCH,
        "stands twice",
    ),
    "a session twice": ("yahoo", twice, YAHOO, "session 2026-06-30 stands twice"),
    "a month of the future": (
        "alfred",
        series(*PRICES, ("2999-04-01", "2999-05-02", "9999-12-31", "9")),
        ALFRED,
        "2999-04-01 is still to come",
    ),
    "a build of the future": (
        "french",
        build("299901"),
        FRENCH,
        "CRSP 299901, a month that is still to come",
    ),
    "a bar of the future": ("yahoo", a_bar_of_the_future, YAHOO, "a bar of the future, 2999-01-04"),
    "a split of the future": ("yahoo", a_split_of_the_future, YAHOO, "a split of the future, 2999-01-04"),
    "percent times a hundred": (
        "french",
        build("202511", {"    9.04": "  904.00"}),
        FRENCH,
        "Mkt-RF of 202509 is 904 %",
    ),
    "a renamed ticker": (
        "yahoo",
        ticker(yahoo.Ticker(BARS, symbol="APPL")),
        YAHOO,
        "the ticker was renamed; ask for APPL",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_bad_is_told_with_source_series_and_file_and_replaces_nothing(
    sources: Sources, case: str
) -> None:
    source, harm, names, told = CASES[case]
    good = sources.fetch(source)
    assert good.exit_code == 0, good.exception
    before = sources.bytes()
    assert f"{source}.parquet" in "".join(before)
    harm(sources)
    bad = sources.fetch(source)
    assert bad.exit_code == 1 and isinstance(bad.exception, SourceError), bad.exception
    text = str(bad.exception)
    assert text.startswith(names) and told in text, text
    assert f"{sources.home / source}.parquet was not touched" in text
    assert sources.bytes() == before


def test_a_price_below_zero_is_legal(sources: Sources) -> None:
    sources.fred.add("MCOILWTICO", [*PRICES, (*MAY[:3], "-37.63")], units="Dollars per Barrel")
    assert sources.fetch("alfred").exit_code == 0
    assert pd.read_parquet(sources.home / "alfred.parquet")["value"].tolist() == [29.2, 16.5, -37.63]
    sources.market.tickers["CL=F"] = sources.market.tickers["CL%3DF"] = yahoo.Ticker(
        {"2026-06-30": -37.63, "2026-09-01": 10.01}, symbol="CL=F"
    )
    done = sources.fetch("yahoo", "--ticker", "CL=F")
    assert done.exit_code == 0, done.exception
    held = pd.read_parquet(sources.home / "yahoo.parquet").set_index(["ticker", "month"])["close_quoted"]
    assert held["CL=F", "2026-06"] == -37.63
