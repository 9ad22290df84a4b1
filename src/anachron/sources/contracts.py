"""The contracts of the tables that sources write under `resources/`; a user's own table passes the same ones.

Months are ``YYYY-MM``, dates ``YYYY-MM-DD``. Percent are percent (4.3 means 4.3 %), prices are in the ticker's
currency.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
import pandera.pandas as pa
from pandera.typing import Series

from anachron.frames import DATE, Contract

MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"
MONTH_START = r"^\d{4}-(0[1-9]|1[0-2])-01$"
OPEN_END = "9999-12-31"
"""What FRED writes for a vintage that still stands."""

FED_OUTCOMES = ("raised", "lowered", "unchanged")


class Alfred(Contract):
    """Every value of every series with the day it was first seen: one row per series, period and vintage."""

    series_id: Series[str]
    reference_period: Series[str] = pa.Field(str_matches=MONTH_START)
    """First day of the period the value is about."""
    published: Series[str] = pa.Field(str_matches=DATE)
    """The day on which this value was first seen."""
    value: Series[float] = pa.Field(nullable=True)
    """Missing where a vintage took a period's value back without giving another."""
    unit: Series[str]
    vintage_end: Series[str] = pa.Field(str_matches=DATE)
    """Last day on which the value stood; `OPEN_END` while it stands."""
    first_release: Series[bool]
    """Whether this is what was published first about the period. False everywhere for a period whose earliest
    vintage is only the day ALFRED's records of it begin."""

    @pa.dataframe_check(error="vintage_end is before published")
    @classmethod
    def _stands_after_it_is_published(cls, frame: pd.DataFrame) -> pd.Series:
        return frame["vintage_end"] >= frame["published"]

    @pa.dataframe_check(error="published before the period it is about begins")
    @classmethod
    def _published_after_the_period_began(cls, frame: pd.DataFrame) -> pd.Series:
        return frame["published"] >= frame["reference_period"]

    @pa.dataframe_check(error="a first release without a value")
    @classmethod
    def _a_release_has_a_value(cls, frame: pd.DataFrame) -> pd.Series:
        return ~frame["first_release"] | frame["value"].notna()

    class Config:
        """One row per series, period and vintage."""

        unique = ["series_id", "reference_period", "published"]


class French(Contract):
    """Monthly factors of the Kenneth French data library, as one CRSP build gave them."""

    factor: Series[str]
    month: Series[str] = pa.Field(str_matches=MONTH)
    value_pct: Series[float] = pa.Field(gt=-100, nullable=True)
    crsp_stamp: Series[str] = pa.Field(str_matches=r"^\d{4}(0[1-9]|1[0-2])$")
    source_file: Series[str]
    """The CSV it was taken from; SMB differs between files."""

    class Config:
        """One row per file, factor and month."""

        unique = ["source_file", "factor", "month"]


class Yahoo(Contract):
    """Month-end prices as they were quoted on the day."""

    ticker: Series[str]
    month: Series[str] = pa.Field(str_matches=MONTH)
    session: Series[str] = pa.Field(str_matches=DATE)
    """The exchange's last session of the month."""
    close_quoted: Series[float] = pa.Field(nullable=True)
    """Close as printed that day. Missing where the ticker has no bar on the session; below zero is legal
    (oil, April 2020)."""
    close_adjusted: Series[float] = pa.Field(nullable=True)
    split_factor: Series[float] = pa.Field(gt=0, nullable=True)
    """Product of the splits dated after the session, up to the day of fetching."""
    fetched_at: Series[str]

    @pa.dataframe_check(error="the session lies in another month")
    @classmethod
    def _session_lies_in_its_month(cls, frame: pd.DataFrame) -> pd.Series:
        return frame["session"].str.slice(0, 7) == frame["month"]

    class Config:
        """One row per ticker and month."""

        unique = ["ticker", "month"]


class Fed(Contract):
    """The Federal Reserve's target at each month's end, and what was decided in the month."""

    month: Series[str] = pa.Field(str_matches=MONTH)
    decision_date: Series[str] = pa.Field(str_matches=DATE, nullable=True)
    """Day of the month's last change, missing in a month without one."""
    effective_date: Series[str] = pa.Field(str_matches=DATE, nullable=True)
    """The day that change is dated in the series: the next one, since 2017."""
    target_upper: Series[float] = pa.Field(ge=0)
    """Percent: the target, or the upper limit of its range."""
    outcome: Series[str] = pa.Field(isin=FED_OUTCOMES)

    class Config:
        """One row per month."""

        unique = ["month"]


CONTRACTS: Mapping[str, type[Contract]] = MappingProxyType(
    {"alfred": Alfred, "fed": Fed, "french": French, "yahoo": Yahoo}
)
"""The contract of each source's table, by the name that `sources.<name>` has in the configuration."""
