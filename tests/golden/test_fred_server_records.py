"""The loopback FRED answers as FRED answered, where its answers were recorded; recorded refusals and gaps are read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import fred as server
import pandas as pd
import pytest

from anachron.errors import SourceError
from anachron.sources import alfred_client, alfred_parse, alfred_table

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data")) / "sources"
RECORDED = DATA / "fred_api" / "fredq"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not RECORDED.is_dir(), reason=f"no recorded answers of FRED in {RECORDED}"),
]

Row = dict[str, str]


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / name).read_text(encoding="utf-8"))
    return found


def unrate() -> list[server.Row]:
    """Return all vintages of UNRATE with the last day each value stood."""
    record = pd.read_parquet(DATA / "alfred_vintages" / "UNRATE.parquet")
    record = record.sort_values(["date", "realtime_start"])
    following = record.groupby("date")["realtime_start"].shift(-1) - pd.Timedelta(days=1)
    columns = [record["date"], record["realtime_start"], following]
    days = [column.dt.strftime("%Y-%m-%d") for column in columns]
    return list(zip(days[0], days[1], days[2].fillna(server.OPEN_END), record["value"].map(str), strict=True))


def test_a_span_of_real_time_is_cut_at_its_edges_as_fred_cuts_it() -> None:
    theirs = recorded("series-observations/UNRATE_vintage-2001.json")
    rows = server.observations(unrate(), theirs["realtime_start"], theirs["realtime_end"], "1")
    ours = [row for row in rows if theirs["observation_start"] <= row["date"] <= theirs["observation_end"]]
    assert ours == theirs["observations"]
    # No vintage began on the first of January; the edge of the span alone says so.
    assert ours[0]["realtime_start"] == "2001-01-01"
    assert "2001-01-01" not in {row[1] for row in unrate()}


def test_initial_releases_are_those_fred_lists() -> None:
    api = DATA / "fred_api"
    every = json.loads((api / "pyfredapi_GDP_observations_output1_all_realtime.json").read_text())
    initial = json.loads((api / "pyfredapi_GDP_observations_output4_initial_release.json").read_text())
    rows: list[server.Row] = [
        (row["date"], row["realtime_start"], row["realtime_end"], row["value"])
        for row in every["observations"]
    ]

    def parts(listed: list[Row]) -> list[tuple[str, str, str, str]]:
        return [(row["date"], row["realtime_start"], row["realtime_end"], row["value"]) for row in listed]

    ours = server.observations(rows, server.EARLIEST, server.OPEN_END, "4")
    assert parts(ours) == parts(initial["observations"])


def test_refusals_are_in_freds_words() -> None:
    assert recorded("series/ERR_bad-api-key.json")["error_message"] == server.NOT_REGISTERED
    assert recorded("series/ERR_invalid-id.json")["error_message"] == server.NO_SERIES
    running = server.Fred()
    for path, key in (("series", "k" * 32), ("series", server.KEY), ("series/observations", server.KEY)):
        asked = f"/fred/{path}?series_id=NOPE&api_key={key}&file_type=json"
        status, body, _ = running.respond(asked, {})
        name = (
            "series/ERR_bad-api-key.json"
            if key != server.KEY
            else f"{path.replace('/', '-')}/ERR_invalid-id.json"
        )
        assert (status, json.loads(body)) == (400, recorded(name))


@pytest.mark.parametrize(
    "name",
    [
        "series/ERR_bad-api-key.json",
        "series-observations/ERR_invalid-id.json",
        "series-vintagedates/ERR_invalid-id.json",
    ],
)
def test_a_recorded_refusal_kept_in_place_of_data_is_told(name: str) -> None:
    with pytest.raises(SourceError, match=r"ALFRED, X, kept\.json: FRED says .Bad Request\.  The "):
        alfred_parse.read_page((RECORDED / name).read_bytes(), "observation", "ALFRED, X, kept.json")


def test_recorded_holidays_are_missing_and_a_window_of_the_future_is_empty() -> None:
    where = "ALFRED, DGS10"
    days = alfred_parse.observations([(RECORDED / "series-observations/DGS10_2024.json").read_bytes()], where)
    assert (len(days), int(days["value"].isna().sum())) == (262, 12)
    assert days.loc[days["date"] == "2024-12-25", "value"].isna().all()
    future = (RECORDED / "series-observations/DGS10_future-window.json").read_bytes()
    assert alfred_parse.observations([future], where).empty


def test_a_page_of_vintage_dates_that_is_not_the_first_or_runs_backwards_is_refused() -> None:
    whole = (RECORDED / "series-vintagedates/GNPCA.json").read_bytes()
    assert len(alfred_parse.vintage_dates([whole], "GNPCA")) == 188
    page = (RECORDED / "series-vintagedates/GNPCA_page-desc.json").read_bytes()
    with pytest.raises(
        SourceError, match="GNPCA: a page begins at row 5 of 188 where row 0 of 188 should follow"
    ):
        alfred_parse.vintage_dates([page], "GNPCA")
    backwards = json.dumps({**json.loads(page), "count": 10, "offset": 0}).encode()
    with pytest.raises(
        SourceError, match="vintage 2023-03-30 follows 2023-09-28; each day stands once, in order"
    ):
        alfred_parse.vintage_dates([backwards], "GNPCA")


@pytest.mark.parametrize(
    ("series", "unit"),
    [
        ("CPIAUCSL", "index"),
        ("FEDFUNDS", "percent"),
        ("GDP", "billions of dollars, annual rate"),
        ("GNPCA", "billions of chained dollars"),
        ("MORTGAGE30US", "percent"),
        ("TWEXB", "index"),
        ("UNRATE", "percent"),
        ("DGS10", None),
        ("DEXCAUS", None),
    ],
)
def test_recorded_descriptions_are_read_and_daily_series_refused(series: str, unit: str | None) -> None:
    about = alfred_parse.info((RECORDED / f"series/{series}.json").read_bytes(), series, series)
    if unit is not None:
        assert alfred_table.unit(about) == unit
        least, most = alfred_table.plausible_lag(about)
        assert least < most
        return
    empty = alfred_parse.observations(
        [(RECORDED / "series-observations/DGS10_future-window.json").read_bytes()], series
    )
    with pytest.raises(SourceError, match=f"{series}: frequency 'D' is not read"):
        alfred_table.tabulate(empty, ["2026-07-05"], about, series)


def test_a_series_without_vintages_is_told_so_in_freds_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopback import Fault

    message = recorded("series-vintagedates/ERR_invalid-id.json")["error_message"]
    with server.serving() as running:
        running.add("X", [("2020-01-01", "2020-02-07", server.OPEN_END, "1")])
        running.faults = [Fault(400, server.render_error(message, "xml"), only="vintagedates")]
        fred = alfred_client.client(server.KEY, base_url=running.root, spacing_s=0.0)
        with pytest.raises(
            SourceError, match=r"ALFRED, X, vintagedates: .*ALFRED but may exist.*or have no vintages"
        ):
            fred.get_series_vintage_dates("X")
        fred.close()
