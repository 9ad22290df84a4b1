"""Panels from a table of vintages, and the digests that say which of their dates a refresh has changed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from anachron import frames
from anachron.config import Sources
from anachron.errors import SourceError
from anachron.items.panel import build
from anachron.sources import choice, views
from anachron.sources.contracts import OPEN_END, Alfred

SNAPSHOT = str(Path(__file__).resolve().parents[2] / "resources" / "snapshot")
DATES = ["2020-02-15", "2020-03-15", "2020-04-15"]

FIRST = [
    ("2020-01-01", "2020-02-07", 3.6),
    ("2020-02-01", "2020-03-06", 3.5),
    ("2020-03-01", "2020-04-03", 4.4),
    ("2020-04-01", "2020-05-08", 14.7),
]
"""UNRATE as it was published first."""


def write(path: Path, *revisions: tuple[str, str, float], series: str = "UNRATE") -> Path:
    """Write FIRST with revisions: (period, day, value)."""
    rows = []
    for period, day, value in FIRST:
        later = sorted((at, to) for of, at, to in revisions if of == period)
        steps = [(day, value), *later]
        for place, (at, to) in enumerate(steps):
            until = OPEN_END
            if place + 1 < len(steps):
                until = (pd.Timestamp(steps[place + 1][0]) - pd.Timedelta(days=1)).strftime("%Y-%m-%d")
            rows.append((series, period, at, to, "percent", until, place == 0))
    frame = pd.DataFrame(rows, columns=list(Alfred.to_schema().columns))
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frames.write(frame, path, Alfred)
    return path


def protocol() -> Any:
    return SimpleNamespace(
        dates=SimpleNamespace(day=15),
        series=[SimpleNamespace(id="UNRATE")],
        target=SimpleNamespace(realised=SimpleNamespace(source="equity_index", series=None, sessions=20)),
        lap=SimpleNamespace(sessions=21),
    )


@pytest.mark.parametrize("name", ["own.parquet", "own.csv"])
def test_a_panel_shows_what_was_published_and_what_it_became(tmp_path: Path, name: str) -> None:
    table = write(tmp_path / name, ("2020-02-01", "2020-03-20", 3.4), ("2020-02-01", "2021-01-08", 3.3))
    found = build(protocol(), Sources(snapshot=SNAPSHOT, alfred=str(table)), DATES)
    assert found["reference_period"].tolist() == ["2020-01-01", "2020-02-01", "2020-03-01"]
    assert found["published"].tolist() == ["2020-02-07", "2020-03-06", "2020-04-03"]
    assert found["value"].tolist() == [3.6, 3.5, 4.4]
    assert found["latest_value"].tolist() == [3.6, 3.3, 4.4]
    assert set(found["vintage_kind"]) == {"real time"}
    # Directions and base rates are the snapshot's, as without vintages.
    plain = build(protocol(), Sources(snapshot=SNAPSHOT, alfred=None), DATES)
    same = ["realised", "realised_kind", "first_session", "lap_end", "base_rate_up", "base_rate_n"]
    pd.testing.assert_frame_equal(found[same], plain[same])
    pinned = Sources(snapshot=SNAPSHOT, alfred=str(table), latest_on="2020-06-30")
    assert build(protocol(), pinned, DATES)["latest_value"].tolist() == [3.6, 3.4, 4.4]


def test_a_date_beyond_the_table_is_an_error(tmp_path: Path) -> None:
    table = write(tmp_path / "own.parquet")
    with pytest.raises(SourceError, match=r"date 2020-06-15: its vintages are known up to 2020-05-08"):
        build(protocol(), Sources(snapshot=SNAPSHOT, alfred=str(table)), ["2020-06-15"])


def test_a_fault_in_a_table_of_one_s_own_names_line_and_column(tmp_path: Path) -> None:
    table = write(tmp_path / "own.csv")
    table.write_text(table.read_text().replace(",3.5,", ",3.5%,"))
    with pytest.raises(SourceError, match=r"own\.csv: line 3, column 'value': found '3\.5%'"):
        build(protocol(), Sources(snapshot=SNAPSHOT, alfred=str(table)), DATES)


def digests(path: Path, latest_on: str | None = None) -> list[str]:
    return [views.digest_of(path, ["UNRATE"], [date], latest_on) for date in DATES]


def test_only_the_dates_that_see_a_revision_change(tmp_path: Path) -> None:
    path = write(tmp_path / "own.parquet")
    before = digests(path)
    assert len(set(before)) == 3 and digests(path) == before  # the second time from what is kept
    (tmp_path / "own.views.json").unlink()
    assert digests(path) == before
    # The latest value of February changes what 15 March shows; April's unemployment is seen by no date.
    write(path, ("2020-02-01", "2021-01-08", 3.3), ("2020-04-01", "2021-01-08", 14.8))
    after = digests(path)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert digests(path, "2020-12-31") == before
    # A revision that was out by a date changes the value that date saw.
    write(path, ("2020-02-01", "2020-03-10", 3.3))
    assert [old == new for old, new in zip(before, digests(path), strict=True)] == [True, False, True]


def test_faults_of_a_table_are_the_job_s_to_tell(tmp_path: Path) -> None:
    missing, damaged = tmp_path / "none.parquet", tmp_path / "damaged.parquet"
    damaged.write_bytes(b"<html>not a table</html>")
    other = write(tmp_path / "other.parquet", series="PAYEMS")
    found = [digests(path)[0] for path in (missing, damaged, other)]
    assert len(set(found)) == 3
    beyond = views.digest_of(other, ["PAYEMS"], ["2020-04-15", "2030-01-15"], None)
    assert beyond != views.digest_of(other, ["PAYEMS"], ["2020-04-15"], None)


def test_the_digest_of_facts_is_that_of_their_tables(tmp_path: Path) -> None:
    plain = Sources(snapshot=SNAPSHOT, alfred=None)
    path = tmp_path / "own.parquet"
    own = Sources(snapshot=SNAPSHOT, alfred=str(path))
    waiting = choice.digest_of(own)
    write(path)
    assert len({choice.digest_of(plain), waiting, choice.digest_of(own)}) == 3
    assert choice.digest_of(plain, ("fed",)) == choice.digest_of(own, ("fed",))
