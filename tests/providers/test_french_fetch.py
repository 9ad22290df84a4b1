"""The factor library over HTTP: only what changed is fetched, and a refresh that fails replaces nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import french as server
import pytest
from loopback import HTML, Fault
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import download, french, raw
from anachron.sources.contracts import French


@pytest.fixture
def library() -> Iterator[server.French]:
    with server.serving() as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def get(library: server.French, tmp_path: Path, waits: list[float]):
    def call(**more) -> list[str]:
        settings = {"base_url": f"{library.root}/ftp/", "sleep": waits.append, "timeout_s": 5.0, **more}
        return french.fetch(tmp_path / "raw", tmp_path / "french.parquet", **settings)

    return call


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_all_factors_of_all_files_are_kept_with_their_build(
    get, library: server.French, tmp_path: Path
) -> None:
    assert get()[0] == "F-F_Research_Data_Factors: CRSP 202510, 6 months"
    table = frames.read(tmp_path / "french.parquet", French)
    assert len(table) == 6 * (4 + 6 + 1)
    assert set(table["crsp_stamp"]) == {"202510"}
    three = french.series(table, "SMB")
    five = french.series(table, "SMB", f"{french.FIVE_FACTORS}.csv")
    assert (three["2025-10"], five["2025-10"]) == (8.04, 8.06)
    assert french.series(table, "Mom")["2025-10"] == 10.01
    with pytest.raises(
        SourceError, match=r"no factor 'QMJ' of any file; the table holds CMA, HML, Mkt-RF, Mom, RF"
    ):
        french.series(table, "QMJ")
    assert library.asked[0] == "/ftp/F-F_Research_Data_Factors_CSV.zip"


def test_what_has_not_changed_is_not_sent_again(get, library: server.French, tmp_path: Path) -> None:
    get()
    before = bytes_of(tmp_path)
    report = get()
    assert [line.split(": ")[1][:17] for line in report] == ["not changed since"] * 3
    assert library.headers[-1]["if-none-match"].startswith('"')
    assert library.headers[-1]["if-modified-since"] == server.MODIFIED
    assert bytes_of(tmp_path) == before


def test_a_new_build_is_a_new_raw_file_and_says_what_it_revised(
    get, library: server.French, tmp_path: Path
) -> None:
    get()
    library.release("202511", {"   10.04": "   10.05"})
    assert get()[0] == "F-F_Research_Data_Factors: CRSP 202510 → 202511, 1 of 5 months revised"
    kept = raw.history(tmp_path / "raw", "french", "F-F_Research_Data_Factors_CSV.zip")
    assert len({one.sha256 for one in kept}) == 2
    assert all(raw.read(one) for one in kept)
    table = frames.read(tmp_path / "french.parquet", French)
    assert french.series(table, "Mkt-RF")["2025-10"] == 10.05
    before = (tmp_path / "french.parquet").read_bytes()
    french.build(tmp_path / "raw", tmp_path / "french.parquet")
    assert (tmp_path / "french.parquet").read_bytes() == before


@pytest.mark.parametrize("damaged", [None, b"PK"])
def test_a_raw_file_that_is_lost_or_damaged_is_fetched_again(
    get, tmp_path: Path, damaged: bytes | None
) -> None:
    get()
    before = bytes_of(tmp_path)
    lost = raw.latest(tmp_path / "raw", "french", "F-F_Momentum_Factor_CSV.zip")
    assert lost is not None
    lost.path.unlink()
    if damaged is not None:
        lost.path.write_bytes(damaged)
    with pytest.raises(SourceError, match=r"F-F_Momentum_Factor_CSV.*fetch the source again"):
        french.build(tmp_path / "raw", tmp_path / "french.parquet")
    assert "F-F_Momentum_Factor: CRSP 202510, 6 months" in get()
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ([Fault(429, HTML)] * 3, r"HTTP 429: <html>.*Too Many Requests.*, after 3 attempts"),
        ([Fault(429, HTML, {"Retry-After": "3600"})], "and asks to wait 3600 s; try again after that"),
        ([Fault(503, b"busy")] * 3, "HTTP 503: busy, after 3 attempts"),
        ([Fault(403, b"no robots")], "answered HTTP 403: no robots"),
        ([Fault(hang_s=0.6)] * 3, "no answer within 0.2 s, after 3 attempts"),
        ([Fault(drop=True)] * 3, r"the connection failed \(.*\), after 3 attempts"),
        ([Fault(broken_off=True)] * 3, r"the connection failed \(peer closed.*\), after 3 attempts"),
        ([Fault(cut=0.5)], "the zip is damaged or cut short"),
        ([Fault(200, HTML)], "a web page"),
        ([Fault(304, b"")], None),
    ],
)
def test_a_failed_refresh_leaves_the_last_good_data(
    get, library: server.French, tmp_path: Path, faults: list[Fault], told: str | None
) -> None:
    get()
    before = bytes_of(tmp_path)
    library.release("202511")
    momentum = "F-F_Research_Data_Factors"
    library.faults = [Fault(**{**vars(fault), "only": momentum}) for fault in faults]
    if told is None:
        assert "not changed" in get()[0]
        return
    timeout = 0.2 if any(fault.hang_s for fault in faults) else 5.0
    with pytest.raises(SourceError, match=told) as caught:
        get(retries=2, timeout_s=timeout)
    assert bytes_of(tmp_path) == before
    assert "F-F_Research_Data_Factors_CSV.zip" in str(caught.value)
    assert "0 of 3 files are fetched and kept" in str(caught.value)


def test_a_connection_refused_midway_keeps_what_came_and_the_table(
    get, library: server.French, tmp_path: Path
) -> None:
    get()
    before = (tmp_path / "french.parquet").read_bytes()
    library.release("202511")
    library.faults = [Fault(503, b"", only="Momentum")]
    with pytest.raises(
        SourceError, match=r"(?s)Momentum_Factor_CSV.*the connection failed.*2 of 3 files are fetched"
    ):
        get(retries=1, sleep=lambda _: library.stop())
    assert (tmp_path / "french.parquet").read_bytes() == before
    five = raw.latest(tmp_path / "raw", "french", "F-F_Research_Data_5_Factors_2x3_CSV.zip")
    assert five is not None
    assert b"PK" in raw.read(five)


def test_waits_grow_and_follow_retry_after(get, library: server.French, waits: list[float]) -> None:
    library.faults = [Fault(429, HTML), Fault(429, HTML, {"Retry-After": "7"}), Fault(500, b"")]
    get()
    assert waits == [1.0, 7.0, 4.0]


@pytest.mark.parametrize(
    ("header", "wait"),
    [(None, 2.0), ("9", 9.0), ("-1", 0.0), ("soon", 2.0), ("Fri, 02 Jan 2026 03:04:35 GMT", 30.0)],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, wait: float) -> None:
    now = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert download.retry_after(header, now, 2.0) == wait


def test_an_older_build_and_one_of_the_future_replace_nothing(
    get, library: server.French, tmp_path: Path
) -> None:
    get()
    before = bytes_of(tmp_path)
    library.release("202509")
    with pytest.raises(SourceError, match="offers CRSP 202509, older than the 202510 that is kept; nothing"):
        get()
    library.release("209901")
    with pytest.raises(SourceError, match="made from CRSP 209901, a month that is still to come"):
        get()
    library.release("202511", {"Mkt-RF": "Market"})
    with pytest.raises(
        SourceError, match="should hold the factors Mkt-RF, SMB, HML, RF; holds Market, SMB, HML, RF"
    ):
        get()
    assert bytes_of(tmp_path) == before


def test_the_command_fails_with_one_message_and_builds_offline(
    library: server.French, tmp_path: Path
) -> None:
    run = CliRunner()
    command = ["fetch", "french", "-o", str(tmp_path / "f.parquet"), "--raw", str(tmp_path / "raw")]
    online = [*command, "--base-url", library.root, "--retries", "0"]
    nothing = run.invoke(app, [*command, "--offline"])
    assert nothing.exit_code == 1
    assert "run `anachron fetch french`" in str(nothing.exception)
    good = run.invoke(app, online)
    assert good.exit_code == 0, good.output
    assert "CRSP 202510, 6 months" in good.output
    written = (tmp_path / "f.parquet").read_bytes()
    library.faults = [Fault(429, HTML)]
    assert run.invoke(app, online).exit_code == 1
    assert (tmp_path / "f.parquet").read_bytes() == written
    library.stop()
    assert run.invoke(app, [*command, "--offline"]).exit_code == 0
    assert (tmp_path / "f.parquet").read_bytes() == written
