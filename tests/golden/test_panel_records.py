"""The default panel against the published panel of HindsightBench: periods, directions, sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from anachron import frames
from anachron.config import Sources
from anachron.items.panel import build
from anachron.sources.contracts import OPEN_END, Alfred
from anachron.suites import load_protocol

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data"))
RECORD = DATA / "hindsightbench" / "panel.parquet"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not RECORD.is_file(), reason=f"the published panel is not at {RECORD}"),
]


@pytest.fixture(scope="module")
def ours() -> pd.DataFrame:
    protocol = load_protocol("hindsightbench", ROOT / "config" / "protocols" / "bm1.yaml")
    return build(
        protocol, Sources(alfred=None, snapshot=str(ROOT / "resources" / "snapshot")), protocol.decision_dates
    )


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return pd.read_parquet(RECORD)


def test_every_direction_both_know_agrees(ours: pd.DataFrame, published: pd.DataFrame) -> None:
    both = ours.drop_duplicates("decision_date").merge(published, on="decision_date")
    known = both[both["realised"].notna() & both["forward_return_20d_sign"].notna()]
    assert (known["realised"] == known["forward_return_20d_sign"]).all()
    # Every date of the pre cohort has one; the files of levels end in September 2025.
    assert len(known) == 247
    assert both.loc[both["cohort"] == "pre", "realised"].notna().all()


def test_sessions_agree_wherever_the_record_has_a_calendar(
    ours: pd.DataFrame, published: pd.DataFrame
) -> None:
    both = ours.drop_duplicates("decision_date").merge(published, on="decision_date")
    stated = both[both["first_trading_day"].notna()]
    assert (stated["first_session"] == stated["first_trading_day"]).all()
    differing = both[both["lap_end"] != both["lap_t_end"]]
    # The record's calendar had ended there, and it took 28 days: 12 April 2026 is a Sunday.
    assert differing["decision_date"].tolist() == ["2026-03-15", "2026-05-15", "2026-06-15"]


def test_reference_periods_agree_as_far_as_fixed_lags_can(
    ours: pd.DataFrame, published: pd.DataFrame
) -> None:
    rows = [
        (date, entry["series"], entry["obs_date"])
        for date, entries in zip(published["decision_date"], published["snapshot"], strict=True)
        for entry in entries
    ]
    record = pd.DataFrame(rows, columns=["decision_date", "series", "obs_date"])
    both = ours.merge(record, on=["decision_date", "series"], validate="one_to_one")
    agree = (both["reference_period"] == both["obs_date"]).groupby(both["series"]).mean()
    # Releases that fall about the 15th (CPI, production, retail sales) come a day before it or after it; a
    # fixed lag cannot tell. The others are clear of it, but for shutdowns of the government.
    clear = ["FEDFUNDS", "GDPC1", "HOUST", "PAYEMS", "UNRATE"]
    assert (agree[clear] > 0.96).all()
    assert (agree.drop(clear) > 0.6).all()


VINTAGES = DATA / "sources" / "alfred_vintages" / "UNRATE.parquet"


@pytest.mark.skipif(not VINTAGES.is_file(), reason=f"the vintages of UNRATE are not at {VINTAGES}")
def test_a_panel_from_vintages_is_the_published_one(published: pd.DataFrame, tmp_path: Path) -> None:
    protocol = load_protocol("hindsightbench", ROOT / "config" / "protocols" / "bm1.yaml")
    unrate = protocol.model_copy(
        update={"series": [entry for entry in protocol.series if entry.id == "UNRATE"]}
    )
    record = pd.read_parquet(VINTAGES).sort_values(["date", "realtime_start"])
    following = record.groupby("date")["realtime_start"].shift(-1) - pd.Timedelta(days=1)
    table = pd.DataFrame(
        {
            "series_id": "UNRATE",
            "reference_period": record["date"].dt.strftime("%Y-%m-%d"),
            "published": record["realtime_start"].dt.strftime("%Y-%m-%d"),
            "value": record["value"],
            "unit": "percent",
            "vintage_end": following.dt.strftime("%Y-%m-%d").fillna(OPEN_END),
            "first_release": False,
        }
    )
    frames.write(table, tmp_path / "alfred.parquet", Alfred)
    sources = Sources(snapshot=str(ROOT / "resources" / "snapshot"), alfred=str(tmp_path / "alfred.parquet"))
    ours = build(unrate, sources, protocol.decision_dates)
    theirs = pd.DataFrame(
        [
            (date, one["obs_date"], float(one["vintage_value"]), float(one["revised_value"]))
            for date, entries in zip(published["decision_date"], published["snapshot"], strict=True)
            for one in entries
            if one["series"] == "UNRATE"
        ],
        columns=["decision_date", "reference_period", "value", "latest_value"],
    )
    assert len(ours) == 258 and set(ours["vintage_kind"]) == {"real time"}
    pd.testing.assert_frame_equal(ours[list(theirs.columns)], theirs, check_dtype=False)
