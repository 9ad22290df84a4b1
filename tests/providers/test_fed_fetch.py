"""The Federal Reserve's target: two dates of a change, months that are over, two daily series through fredapi."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path

import fred as server
import pandas as pd
import pytest
from loopback import Fault
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import alfred_client, fed, fed_changes
from anachron.sources.contracts import Fed

LAST = fed_changes.TABLE_THROUGH


def daily(first: str, last: str) -> list[tuple[str, float]]:
    """Return the series as FRED has it, from the announced changes."""
    table = fed_changes.announced().sort_values("effective_date")
    steps = pd.Series(table["target_upper"].to_numpy(), index=pd.to_datetime(table["effective_date"]))
    days = pd.date_range(first, last)
    return list(
        zip(days.strftime("%Y-%m-%d"), steps.reindex(days.union(steps.index)).ffill()[days], strict=True)
    )


def rows(days: list[tuple[str, float]]) -> list[server.Row]:
    return [(day, "2026-10-01", "9999-12-31", f"{value:g}") for day, value in days]


TARGET = daily("1998-10-01", "2008-12-15")
UPPER = daily("2008-12-16", "2026-10-02")


TODAY = dt.date(2026, 10, 3)


@pytest.fixture
def fred(monkeypatch: pytest.MonkeyPatch) -> Iterator[server.Fred]:
    monkeypatch.setenv(alfred_client.KEY_VARIABLE, server.KEY)
    with server.serving() as running:
        running.add("DFEDTAR", rows(TARGET))
        running.add("DFEDTARU", rows(UPPER))
        yield running


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a good fetch leaves it."""
    folder = tmp_path_factory.mktemp("fetched")
    with server.serving() as running:
        running.add("DFEDTAR", rows(TARGET))
        running.add("DFEDTARU", rows(UPPER))
        fed.fetch(
            folder / "raw",
            folder / "fed.parquet",
            key=server.KEY,
            base_url=running.root,
            spacing_s=0.0,
            today=TODAY,
        )
    return folder


@pytest.fixture
def get(fred: server.Fred, tmp_path: Path):
    def call(**more) -> list[str]:
        settings = {
            "base_url": fred.root,
            "sleep": lambda _: None,
            "spacing_s": 0.0,
            "retries": 1,
            "today": TODAY,
            **more,
        }
        return fed.fetch(tmp_path / "raw", tmp_path / "fed.parquet", **settings)

    return call


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_change_belongs_to_the_month_in_which_it_was_decided() -> None:
    table = fed_changes.announced()
    by_decision, by_effect = (
        fed_changes.monthly(table, LAST, basis=basis).set_index("month")
        for basis in ("decision", "effective")
    )
    for months in (by_decision, by_effect):
        assert months["outcome"].value_counts().to_dict() == {"unchanged": 259, "raised": 44, "lowered": 30}
    moved = by_decision.index[by_decision["outcome"] != by_effect["outcome"]]
    assert moved.tolist() == ["2019-07", "2019-08"]
    july = by_decision.loc["2019-07"]
    assert july.tolist() == ["2019-07-31", "2019-08-01", 2.25, "lowered"]
    assert by_effect.loc["2019-07", "target_upper"] == 2.5
    # Two changes in one month are one outcome, with the dates of the last.
    assert by_decision.loc["2020-03"].tolist() == ["2020-03-15", "2020-03-16", 0.25, "lowered"]
    # Surveys were not held in October 2025; the target was decided on all the same.
    assert by_decision.loc["2025-10"].tolist() == ["2025-10-29", "2025-10-30", 4.0, "lowered"]
    assert pd.isna(by_decision.loc["2019-08", "decision_date"])


def test_a_month_that_is_not_over_is_not_there() -> None:
    table = fed_changes.announced()
    assert fed_changes.monthly(table, "2019-07-30")["month"].iloc[-1] == "2019-06"
    assert fed_changes.monthly(table, "2019-07-31")["month"].iloc[-1] == "2019-07"
    with pytest.raises(SourceError, match="no month from 1999-01 on is over by 1999-01-30"):
        fed_changes.monthly(table, "1999-01-30")
    with pytest.raises(SourceError, match="the target before 1998-09 is not known"):
        fed_changes.monthly(table, LAST, start="1998-09")


def test_the_series_give_what_was_announced(get, fred: server.Fred, tmp_path: Path) -> None:
    fred.page = 4000
    assert get() == ["80 changes, the last decided on 2026-09-16; known through 2026-10-01"]
    found = frames.read(tmp_path / "fed.parquet", Fed)
    fed.build_embedded(tmp_path / "embedded.parquet")
    pd.testing.assert_frame_equal(found, frames.read(tmp_path / "embedded.parquet", Fed))
    before = bytes_of(tmp_path)
    fred.stop()
    fed.build(tmp_path / "raw", tmp_path / "fed.parquet")
    assert bytes_of(tmp_path) == before
    assert server.KEY not in (tmp_path / "raw" / "fed" / "manifest.csv").read_text()


def test_a_decision_on_a_months_last_day_waits_for_the_day_after(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    fred.add("DFEDTARU", rows([day for day in UPPER if day[0] <= "2026-09-30"]))
    get()
    assert frames.read(tmp_path / "fed.parquet", Fed)["month"].iloc[-1] == "2026-08"


def _without(day: str) -> list[tuple[str, float]]:
    return [one for one in UPPER if one[0] != day]


def _with(day: str, value: float) -> list[tuple[str, float]]:
    return [(one, value if one == day else old) for one, old in UPPER]


@pytest.mark.parametrize(
    ("series", "days", "told"),
    [
        (
            "DFEDTARU",
            UPPER[:-30],
            "DFEDTARU: ends early, on 2026-09-02; it is continued daily, and today is 2026-10-03",
        ),
        ("DFEDTARU", _without("2020-02-29"), "DFEDTARU: 2020-03-01 stands where 2020-02-29 should"),
        ("DFEDTARU", _with("2020-02-29", float("nan")), r"DFEDTARU.*: the target is nan|row \d+"),
        (
            "DFEDTARU",
            _with("2020-02-29", -0.25),
            "DFEDTARU: 2020-02-29: the target is -0.25; allowed is 0 to 25 percent",
        ),
        (
            "DFEDTARU",
            [(day, value / 100) for day, value in UPPER],
            "2015-12-16: a step from 0.0025 to 0.005; steps are .* the unit is wrong|2008-12-16: a step",
        ),
        (
            "DFEDTARU",
            [(day, value * 100) for day, value in UPPER],
            "the target is 50; allowed is 0 to 25 percent",
        ),
        ("DFEDTARU", [*UPPER, ("2027-01-01", 4.0)], "2027-01-01 is still to come; today is 2026-10-03"),
        (
            "DFEDTARU",
            daily("2008-12-16", "2026-11-30"),
            "DFEDTARU: 2026-11-30 is still to come; today is 2026-10-03",
        ),
        ("DFEDTARU", UPPER[1:], "DFEDTARU: begins on 2008-12-17; it begins on 2008-12-16"),
        ("DFEDTAR", TARGET[:-1], "DFEDTAR: ends on 2008-12-14; it ends on 2008-12-15"),
        (
            "DFEDTARU",
            _with("2021-06-01", 0.5),
            "the change decided on 2021-05-31, from 2021-06-01 on, to 0.5 % is not among the announced ones",
        ),
        (
            "DFEDTARU",
            [(day, 3.75 if day >= "2025-12-11" else value) for day, value in UPPER],
            "decided on 2026-09-16, from 2026-09-17 on, to 4 % is missing, though it was announced",
        ),
    ],
)
def test_each_damaged_series_is_named_and_replaces_nothing(
    get,
    fred: server.Fred,
    fetched: Path,
    tmp_path: Path,
    series: str,
    days: list[tuple[str, float]],
    told: str,
) -> None:
    shutil.copytree(fetched, tmp_path, dirs_exist_ok=True)
    before = bytes_of(tmp_path)
    fred.add(series, rows(days))
    with pytest.raises(SourceError, match=told) as caught:
        get()
    assert bytes_of(tmp_path) == before
    assert "fed.parquet was not touched" in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault(429, b"<html>Too Many</html>", only="DFEDTARU"), "HTTP 429: <html>Too Many</html>"),
        (Fault(cut=0.5, only="DFEDTARU"), "not XML, or cut short"),
        (Fault(400, server.render_error(server.NO_SERIES, "xml")), "The series does not exist"),
    ],
)
def test_a_failed_refresh_leaves_the_last_good_data(
    get, fred: server.Fred, fetched: Path, tmp_path: Path, fault: Fault, told: str
) -> None:
    shutil.copytree(fetched, tmp_path, dirs_exist_ok=True)
    before = bytes_of(tmp_path)
    fred.faults = [fault, fault.__class__(**vars(fault))]
    with pytest.raises(SourceError, match=told):
        get()
    assert bytes_of(tmp_path) == before


def test_the_command_needs_no_key_for_the_embedded_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(alfred_client.KEY_VARIABLE, raising=False)
    run, out = CliRunner(), tmp_path / "fed.parquet"
    command = ["fetch", "fed", "-o", str(out), "--raw", str(tmp_path / "raw")]
    told = str(run.invoke(app, command).exception)
    assert "FRED_API_KEY is not set" in told and "--embedded` takes the announced changes" in told
    assert "or with --embedded" in str(run.invoke(app, [*command, "--offline"]).exception)
    assert not out.exists()
    done = run.invoke(app, [*command, "--embedded"])
    assert done.exit_code == 0, done.output
    found = frames.read(out, Fed).set_index("month")
    assert len(found) == 333
    # The table is by date of decision: the cut of 31 July 2019 is July's.
    assert found.loc[["2019-07", "2019-08"], "outcome"].tolist() == ["lowered", "unchanged"]
