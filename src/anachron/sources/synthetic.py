"""Generated facts for what no package may publish, so that every suite has a whole pool without a key or a network.

Deterministic: each number follows from the name it belongs to and from its place, through SHA-256 and the quantiles of
the normal distribution. Nothing here is a record of anything, and every row says so (`synthetic`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from anachron.blocks import months, ordinal
from anachron.sources.contracts import OPEN_END
from anachron.sources.publication import publication
from anachron.sources.sessions import last_session

if TYPE_CHECKING:
    import pandas as pd

FIRST, LAST = "1998-01", "2026-09"
STAMP = "2026-09-30T00:00:00+00:00"
NORMAL = NormalDist()


@dataclass(frozen=True)
class Walk:
    """A series that is drawn back to a mean."""

    unit: str
    start: float
    mean: float
    pull: float
    """Share of the distance to the mean that a month takes back."""
    step: float
    """Standard deviation of a month's change."""
    decimals: int
    lag: int
    """Days from a period's first day to its publication."""
    floor: float | None = 0.05


MACRO = {
    "EXJPUS": Walk("Japanese Yen to One U.S. Dollar", 110.0, 110.0, 0.01, 2.5, 4, 32, 40.0),
    "EXUSEU": Walk("U.S. Dollars to One Euro", 1.12, 1.18, 0.02, 0.025, 4, 32, 0.5),
    "EXUSUK": Walk("U.S. Dollars to One U.K. Pound Sterling", 1.60, 1.50, 0.02, 0.03, 4, 32, 0.7),
    "FEDFUNDS": Walk("percent", 4.8, 2.5, 0.01, 0.22, 2, 32),
    "GS10": Walk("percent", 5.0, 3.6, 0.02, 0.22, 2, 32, 0.3),
    "GS2": Walk("percent", 4.8, 2.9, 0.02, 0.24, 2, 32),
    "GS3M": Walk("percent", 4.6, 2.5, 0.02, 0.22, 2, 32),
    "MCOILWTICO": Walk("dollars per barrel", 20.0, 60.0, 0.02, 5.0, 2, 32, None),
    "MORTGAGE30US": Walk("percent", 6.9, 5.6, 0.02, 0.20, 2, 32, 2.0),
    "UNRATE": Walk("percent", 4.4, 5.5, 0.02, 0.18, 1, 36, 2.0),
}
"""Series that walk, and their units as FRED words them."""

INDICES = {"CPIAUCNS": (161.6, 0.0021, 0.0034), "CPILFENS": (172.0, 0.0021, 0.0014)}
"""Price indices: level in the first month, mean and standard deviation of the monthly growth rate."""

INDEX_LAG = 44
NEVER_MADE = {"2025-10": ("CPIAUCNS", "CPILFENS", "UNRATE")}
"""The planted gap: the months that the real series lack too."""

TICKERS = (
    *("AAPL", "ABT", "ADBE", "ADP", "AMAT", "AMD", "AMGN", "AMZN", "AXP", "BA", "BMY", "CAT", "CL", "COST"),
    *("CSCO", "CVX", "DE", "DIS", "FDX", "GILD", "GOOG", "GS", "HD", "IBM", "INTC", "JNJ", "KO", "LLY"),
    *("LMT", "LOW", "MCD", "MMM", "MRK", "MS", "MSFT", "MU", "NKE", "NVDA", "ORCL", "PEP", "PFE", "PG"),
    *("QCOM", "SBUX", "SLB", "TXN", "UNH", "UNP", "WFC", "WMT", "XOM"),
)
FIRST_PRICE = {"GOOG": "2004-08", "GS": "1999-05", "NVDA": "1999-01"}
"""The planted gaps before a listing; the others are listed from the start."""

PRICES_FROM = "1998-12"
NO_BAR = frozenset({("FDX", "2005-06"), ("ADP", "2019-11")})
"""Planted months without a bar on the last session."""

SPIN_OFFS = {("ABT", "2013-01"): 1.0575, ("MMM", "2024-04"): 1.196, ("PFE", "2020-11"): 1.054}
"""Planted fractional splits, as a price source carries a spin-off."""

SPLIT_ABOVE, REVERSE_BELOW = 160.0, 4.0
SPLITS = (2.0, 2.0, 1.5, 3.0, 4.0, 2.0, 7.0, 10.0)

FACTORS = {
    "F-F_Research_Data_Factors.csv": {
        "Mkt-RF": (0.6, 4.5),
        "SMB": (0.1, 3.0),
        "HML": (0.2, 3.1),
        "RF": (0.2, 0.05),
    },
    "F-F_Research_Data_5_Factors_2x3.csv": {"SMB": (0.1, 3.0), "RMW": (0.3, 2.2), "CMA": (0.2, 2.0)},
    "F-F_Momentum_Factor.csv": {"Mom": (0.5, 4.6)},
}
"""File, factor, mean and standard deviation of a month, percent."""

FACTORS_FROM, FACTORS_TO = "1990-01", "2026-08"


def draw(*key: object) -> float:
    """Return a standard normal number that depends on `key` alone."""
    number = int(hashlib.sha256("|".join(map(str, key)).encode()).hexdigest()[:13], 16)
    return NORMAL.inv_cdf((number + 0.5) / 16**13)


def releases() -> pd.DataFrame:
    """Return generated series in the columns of `embedded.EmbeddedAlfred`; nothing is ever revised."""
    import pandas as pd

    rows = []
    for name, walk in MACRO.items():
        value = walk.start
        for month in months(FIRST, LAST):
            value += walk.pull * (walk.mean - value) + walk.step * draw(name, month)
            if walk.floor is not None and value < walk.floor:
                value = 2 * walk.floor - value
            rows.append((name, month, round(value, walk.decimals), walk.unit, walk.lag))
    for name, (level, growth, spread) in INDICES.items():
        for month in months(FIRST, LAST):
            level *= 1 + growth + spread * draw(name, month)
            rows.append((name, month, round(level, 3), "index", INDEX_LAG))
    return pd.DataFrame(
        {
            "series_id": name,
            "reference_period": f"{month}-01",
            "published": publication(f"{month}-01", lag, 1, name),
            "value": value,
            "unit": unit,
            "vintage_end": OPEN_END,
            "first_release": True,
            "synthetic": True,
        }
        for name, month, value, unit, lag in rows
        if name not in NEVER_MADE.get(month, ())
    )


def prices() -> pd.DataFrame:
    """Return generated month-end prices in the columns of `embedded.EmbeddedYahoo`, splits and gaps planted."""
    import pandas as pd

    return pd.DataFrame([row for ticker in TICKERS for row in _prices(ticker)])


def _prices(ticker: str) -> list[dict[str, Any]]:
    close = 30.0 + 25.0 * abs(draw(ticker, "start"))
    path: list[tuple[str, float, float]] = []
    for month in months(max(PRICES_FROM, FIRST_PRICE.get(ticker, PRICES_FROM)), LAST):
        close *= max(0.5, 1 + 0.009 + 0.075 * draw(ticker, month))
        split = SPIN_OFFS.get((ticker, month), 1.0)
        if close > SPLIT_ABOVE:
            split *= SPLITS[ordinal(month) % len(SPLITS)]
        elif close < REVERSE_BELOW:
            split *= 0.125
        close /= split
        path.append((month, close, split))
    rows = []
    later = 1.0
    for month, quoted, split in reversed(path):
        missing = (ticker, month) in NO_BAR
        rows.append(
            {
                "ticker": ticker,
                "month": month,
                "session": last_session(month),
                "close_quoted": None if missing else round(quoted, 2),
                "close_adjusted": None if missing else round(quoted / later, 6),
                "split_factor": round(later, 9),
                "fetched_at": STAMP,
                "first_release": True,
                "synthetic": True,
            }
        )
        later *= split
    return rows[::-1]


def policy() -> pd.DataFrame:
    """Return generated decisions in the columns of `embedded.EmbeddedFed`, about as frequent as the real ones."""
    import pandas as pd

    rows = []
    target = 4.75
    for month in months("1999-01", LAST):
        urge = draw("policy", month) + 0.05 * (2.5 - target)
        move = 0.25 if urge > 1.1 else -0.25 if urge < -1.3 and target >= 0.5 else 0.0
        target += move
        decided = dt.date.fromisoformat(f"{month}-{10 + ordinal(month) % 15:02d}")
        rows.append(
            {
                "month": month,
                "decision_date": decided.isoformat() if move else None,
                "effective_date": (decided + dt.timedelta(days=1)).isoformat() if move else None,
                "target_upper": target,
                "outcome": "raised" if move > 0 else "lowered" if move < 0 else "unchanged",
                "first_release": True,
                "synthetic": True,
            }
        )
    return pd.DataFrame(rows)


def factors() -> pd.DataFrame:
    """Return generated factors in the columns of `embedded.EmbeddedFrench`, under the names of the library's files."""
    import pandas as pd

    return pd.DataFrame(
        {
            "factor": factor,
            "month": month,
            "value_pct": round(mean + spread * draw(file, factor, month), 2),
            "crsp_stamp": FACTORS_TO.replace("-", ""),
            "source_file": file,
            "first_release": True,
            "synthetic": True,
        }
        for file, held in FACTORS.items()
        for factor, (mean, spread) in held.items()
        for month in months(FACTORS_FROM, FACTORS_TO)
    )
