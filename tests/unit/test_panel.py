"""The panel on small snapshots whose answers are known by hand, and on the committed one."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from anachron.config import Sources
from anachron.errors import ConfigError, SourceError
from anachron.items.panel import build, publication
from anachron.sources import snapshot

SNAPSHOT = Path(__file__).resolve().parents[2] / "resources" / "snapshot"


def protocol(series: list[str], source: str = "equity_index", target: str | None = None, **over: Any) -> Any:
    return SimpleNamespace(
        dates=SimpleNamespace(day=over.get("day", 15)),
        series=[SimpleNamespace(id=name) for name in series],
        target=SimpleNamespace(
            realised=SimpleNamespace(source=source, series=target, sessions=over.get("sessions", 20))
        ),
        lap=SimpleNamespace(sessions=21),
    )


@pytest.fixture
def small(tmp_path: Path) -> Sources:
    """GS10 rises, falls, stands still; UNRATE skips a month; labels of the index up, down, up."""
    values = [
        *(
            ("GS10", f"2020-{month:02d}-01", value, "percent")
            for month, value in enumerate((1, 2, 1.5, 1.5), 1)
        ),
        *(("UNRATE", f"2020-{month:02d}-01", float(month), "percent") for month in (1, 2, 4)),
    ]
    labels = [(f"2020-{month:02d}-15", 20, sign, "index") for month, sign in ((1, 1), (2, -1), (3, 1))]
    snapshot.write(
        tmp_path / "small",
        pd.DataFrame(values, columns=list(snapshot.MACRO_COLUMNS)),
        pd.DataFrame(labels, columns=list(snapshot.REALISED_COLUMNS)),
        [],
    )
    return Sources(alfred=None, snapshot=str(tmp_path / "small"))


def test_newest_published_period_and_its_value(small: Sources) -> None:
    # UNRATE comes 36 days after the period's first day: January's on Thursday 2020-02-06.
    found = build(protocol(["UNRATE"]), small, ["2020-02-06", "2020-03-15", "2020-04-15"])
    assert found["reference_period"].tolist() == ["2020-01-01", "2020-02-01", "2020-02-01"]
    # 36 days after 1 February is Sunday, 8 March: it came on the Friday.
    assert found["published"].tolist() == ["2020-02-06", "2020-03-06", "2020-03-06"]
    assert found["value"].tolist() == [1.0, 2.0, 2.0]  # March was never published: April shows February still
    assert found["latest_value"].tolist() == found["value"].tolist()
    assert set(found["vintage_kind"]) == {"pseudo real time"}


def test_a_weekend_gives_way_to_friday_unless_that_is_inside_the_period() -> None:
    assert publication("2020-03-01", 46, 1, "INDPRO") == "2020-04-16"  # a Thursday stays
    assert publication("2020-04-01", 46, 1, "INDPRO") == "2020-05-15"  # Sunday the 17th becomes Friday
    assert publication("2021-07-01", 32, 1, "FEDFUNDS") == "2021-08-02"
    assert publication("2020-01-01", 31, 1, "FEDFUNDS") == "2020-02-03"  # Saturday; its Friday is in January
    assert publication("2020-10-01", 120, 3, "GDPC1") == "2021-01-29"
    with pytest.raises(
        ConfigError, match=r"sources\.publication_lag_days\.GDPC1` is 45.*before the period is over"
    ):
        publication("2020-01-01", 45, 3, "GDPC1")


def test_realised_and_base_rate_of_the_index(small: Sources) -> None:
    found = build(protocol(["UNRATE"]), small, ["2020-02-12", "2020-02-13", "2020-02-14", "2020-03-15"])
    # The window of 15 January closes on Thursday 13 February (twenty sessions on, one holiday between).
    assert found["base_rate_n"].tolist() == [0, 0, 1, 1]
    assert math.isnan(found["base_rate_up"][0]) and found["base_rate_up"].tolist()[2:] == [1.0, 1.0]
    assert found["realised"].tolist() == [-1, -1, -1, 1]
    later = build(protocol(["UNRATE"]), small, ["2020-05-01"])
    assert later["realised"].isna().all() and later["realised_kind"].isna().all()
    assert later["base_rate_n"].tolist() == [3] and later["base_rate_up"].tolist() == [2 / 3]


def test_first_session_and_end_of_the_recall_window(small: Sources) -> None:
    found = build(protocol(["UNRATE"]), small, ["2020-02-15"])
    assert found[["first_session", "lap_end"]].values.tolist() == [["2020-02-18", "2020-03-17"]]


def test_realised_of_a_monthly_series(small: Sources) -> None:
    rule = protocol(["GS10"], "series", "GS10")
    found = build(rule, small, ["2020-02-15", "2020-03-15", "2020-04-15"])
    assert found["realised"].tolist() == [-1, 1, pd.NA]  # no change counts as up; May is not known
    assert set(found["realised_kind"].dropna()) == {
        "GS10, change from the decision month's average to the next month's"
    }
    # January's change needs February's average, which is out on 4 March (1 February and 32 days).
    assert build(rule, small, ["2020-03-04"])["base_rate_n"].tolist() == [0]
    assert build(rule, small, ["2020-03-05"])["base_rate_n"].tolist() == [1]


def test_what_the_snapshot_lacks_is_an_error_with_names(small: Sources) -> None:
    with pytest.raises(SourceError, match=r"does not carry the series 'NAPM'; it carries GS10, UNRATE"):
        build(protocol(["NAPM"]), small, ["2020-02-15"])
    with pytest.raises(
        SourceError, match=r"'UNRATE', decision date 2020-06-15: .*2020-05 .*last month .* 2020-04"
    ):
        build(protocol(["UNRATE"]), small, ["2020-06-15"])
    with pytest.raises(SourceError, match=r"'UNRATE', decision date 2020-01-15: nothing was published"):
        build(protocol(["UNRATE"]), small, ["2020-01-15"])
    with pytest.raises(SourceError, match=r"over \[20\] sessions, the protocol's target asks for 5"):
        build(protocol(["UNRATE"], sessions=5), small, ["2020-02-15"])
    with pytest.raises(SourceError, match=r"no such folder; set `sources\.snapshot`"):
        build(protocol(["UNRATE"]), Sources(alfred=None, snapshot="nowhere"), ["2020-02-15"])


def test_a_series_without_a_lag_names_the_key(tmp_path: Path) -> None:
    frame = pd.DataFrame([("NEW", "2020-01-01", 1.0, "index")], columns=list(snapshot.MACRO_COLUMNS))
    snapshot.write(tmp_path, frame, snapshot.read_realised(SNAPSHOT), [])
    with pytest.raises(ConfigError, match=r"sources\.publication_lag_days\.NEW"):
        build(protocol(["NEW"]), Sources(alfred=None, snapshot=str(tmp_path)), ["2020-02-15"])
    lags = {"NEW": 40}  # the other series keep their defaults
    found = build(
        protocol(["NEW"]),
        Sources(alfred=None, snapshot=str(tmp_path), publication_lag_days=lags),
        ["2020-02-15"],
    )
    assert found["published"].tolist() == ["2020-02-10"]
