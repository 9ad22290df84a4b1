"""fredapi against a loopback FRED: what it gets wrong by itself, and what the wrapped one does about it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fred as server
import pandas as pd
import pytest
from loopback import Fault
from typer.testing import CliRunner

from anachron import frames
from anachron.cli import app
from anachron.errors import SourceError
from anachron.sources import alfred, alfred_client, asof, raw

HTML = b"<html><head><title>429</title></head><body><h1>Too Many Requests</h1></body></html>"
UNRATE: list[server.Row] = [
    ("2019-12-01", "2020-01-10", "9999-12-31", "3.5"),
    ("2020-01-01", "2020-02-07", "9999-12-31", "3.6"),
    ("2020-02-01", "2020-03-06", "9999-12-31", "3.5"),
    ("2020-03-01", "2020-04-03", "9999-12-31", "4.4"),
    ("2020-04-01", "2020-05-08", "2021-01-07", "14.7"),
    ("2020-04-01", "2021-01-08", "9999-12-31", "14.8"),
    ("2020-05-01", "2020-06-05", "9999-12-31", "."),
]


@pytest.fixture
def fred(monkeypatch: pytest.MonkeyPatch) -> Iterator[server.Fred]:
    monkeypatch.setenv(alfred_client.KEY_VARIABLE, server.KEY)
    with server.serving() as running:
        running.add("UNRATE", UNRATE)
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def get(fred: server.Fred, tmp_path: Path, waits: list[float]):
    def call(*series: str, **more) -> list[str]:
        settings = {"base_url": fred.root, "sleep": waits.append, "spacing_s": 0.0, "timeout_s": 5.0, **more}
        return alfred.fetch(series or ["UNRATE"], tmp_path / "raw", tmp_path / "alfred.parquet", **settings)

    return call


def table(folder: Path) -> pd.DataFrame:
    return asof.read(folder / "alfred.parquet")[0]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def plain(running: server.Fred):
    import fredapi

    client = fredapi.Fred(api_key=server.KEY)
    client.root_url = running.root
    return client


def test_fetch_keeps_every_vintage_with_its_days(get, tmp_path: Path) -> None:
    assert get() == ["UNRATE: 7 vintages 2020-01-10 to 2021-01-08, 7 values"]
    found = table(tmp_path)
    april = found[found["reference_period"] == "2020-04-01"]
    assert april[["published", "vintage_end", "value", "first_release"]].values.tolist() == [
        ["2020-05-08", "2021-01-07", 14.7, True],
        ["2021-01-08", "9999-12-31", 14.8, False],
    ]
    assert found["unit"].unique().tolist() == ["percent"]
    assert not found.loc[found["reference_period"] == "2019-12-01", "first_release"].any()


def test_the_first_release_keeps_its_day_and_a_number(fred: server.Fred, get, tmp_path: Path) -> None:
    theirs = plain(fred).get_series_first_release("UNRATE")
    assert theirs.dtype == object  # and no column says when it was published
    get()
    ours = asof.first_releases(table(tmp_path), "UNRATE")
    assert ours["value"].dtype == "float64"
    assert ours[ours["reference_period"] == "2020-04-01"].values.tolist() == [
        ["2020-04-01", "2020-05-08", 14.7]
    ]


def test_a_view_as_of_a_day_has_one_value_a_period(fred: server.Fred, get, tmp_path: Path) -> None:
    theirs = plain(fred).get_series_as_of_date("UNRATE", "2021-06-01")
    assert theirs["date"].duplicated().any()
    last = plain(fred).get_series("UNRATE", realtime_start="2020-01-01", realtime_end="2021-06-01")
    assert last[pd.Timestamp("2020-04-01")] == 14.8  # the revision stands for both days
    get()
    for day, value in (
        ("2020-05-07", None),
        ("2020-05-08", 14.7),
        ("2021-01-07", 14.7),
        ("2021-01-08", 14.8),
    ):
        view = asof.as_of(table(tmp_path), "UNRATE", day).set_index("reference_period")["value"]
        assert view.index.is_unique
        assert view.get("2020-04-01") == value


def test_pages_are_followed_to_the_last_row(fred: server.Fred, get, tmp_path: Path) -> None:
    fred.page, fred.vintage_page = 3, 2
    assert len(plain(fred).get_series_all_releases("UNRATE")) == 3  # cut, without a word
    get()
    assert len(table(tmp_path)) == 7
    first = bytes_of(tmp_path)["alfred.parquet"]
    fred.page, fred.vintage_page = 100_000, 10_000
    get()
    assert bytes_of(tmp_path)["alfred.parquet"] == first


@pytest.mark.parametrize("most", [1, 2, 3, 6, 7])
def test_spans_of_real_time_give_what_one_request_would(
    fred: server.Fred, get, tmp_path: Path, most: int
) -> None:
    get()
    whole = bytes_of(tmp_path)["alfred.parquet"]
    fred.most_vintages = most
    if most < 7:
        with pytest.raises(ValueError, match=r"exceeds the maximum number of vintage dates allowed"):
            plain(fred).get_series_all_releases("UNRATE")
        with pytest.raises(SourceError, match=r"There are 7 vintage dates in the specified real-time period"):
            get()
    get(max_vintages=most)
    assert bytes_of(tmp_path)["alfred.parquet"] == whole


def test_an_html_page_for_429_is_waited_out(
    fred: server.Fred, get, waits: list[float], tmp_path: Path
) -> None:
    import xml.etree.ElementTree as ElementTree

    fred.faults = [Fault(429, b"<html><br></html>")]
    with pytest.raises(ElementTree.ParseError):
        plain(fred).get_series_info("UNRATE")
    fred.faults = [
        Fault(429, HTML, {"Retry-After": "7"}),
        Fault(429, HTML),
        Fault(503, b"upstream", only="vintagedates"),
        Fault(drop=True, only="observations"),
        Fault(cut=0.5, only="observations"),
    ]
    get()
    assert waits == [7.0, 40.0, 1.0, 1.0, 2.0]
    assert len(table(tmp_path)) == 7


def test_requests_are_spaced(get, waits: list[float]) -> None:
    get(spacing_s=0.6)
    assert len(waits) == 2  # three requests
    assert all(0 < wait <= 0.6 for wait in waits)


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ([Fault(429, HTML)] * 3, "HTTP 429: <html>.*Too Many Requests.*, after 3 attempts"),
        (
            [Fault(429, HTML, {"Retry-After": "3600"})],
            "after 1 attempt; it asks to wait 3600 s: try again after that",
        ),
        ([Fault(500, b"oops")] * 3, "ALFRED, UNRATE, series: HTTP 500: oops, after 3 attempts"),
        ([Fault(hang_s=1.0)] * 3, "no answer within 0.2 s, after 3 attempts"),
        ([Fault(drop=True)] * 3, r"the connection failed \(.*\), after 3 attempts"),
        ([Fault(200, HTML)] * 3, "the answer is a web page: <html>.*, after 3 attempts"),
        ([Fault(cut=0.6, only="obs")] * 3, "observations: the answer is not XML, or cut short"),
        (
            [Fault(302, b"", {"Location": "http://elsewhere/x?api_key=1"})],
            "sent on to http://elsewhere/x; set",
        ),
        (
            [Fault(400, server.render_error(server.NOT_REGISTERED, "xml"))],
            r"not registered\..*Set FRED_API_KEY to a key that is registered \(https://[^)]*\), or unset it",
        ),
        (
            [Fault(400, server.render_error(server.NO_SERIES, "xml"))],
            "The series does not exist.' Look its id up",
        ),
        ([Fault(404, b"x" * 110 + server.KEY.encode())], "HTTP 404: x{110}REDACTED"),
        (
            [Fault(200, server.KEY.encode())],
            "the answer repeats the key, so it is not FRED's and is not kept",
        ),
    ],
)
def test_a_failed_refresh_leaves_the_last_good_data(
    fred: server.Fred, get, tmp_path: Path, faults: list[Fault], told: str
) -> None:
    get()
    before = bytes_of(tmp_path)
    fred.add("UNRATE", [*UNRATE, ("2020-06-01", "2020-07-02", "9999-12-31", "11.1")])
    fred.faults = list(faults)
    timeout = 0.2 if any(fault.hang_s for fault in faults) else 5.0
    with pytest.raises(SourceError, match=told) as caught:
        get(retries=2, timeout_s=timeout)
    assert bytes_of(tmp_path) == before
    assert "alfred.parquet was not touched" in str(caught.value)
    assert server.KEY[:4] not in str(caught.value)


def test_a_connection_refused_midway_keeps_what_came_and_the_table(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    get()
    before = bytes_of(tmp_path)["alfred.parquet"]
    fred.add("GS10", UNRATE)
    asked = 0

    def sleep(_: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 4:  # before the second request of the second series
            fred.stop()

    with pytest.raises(
        SourceError, match=r"(?s)GS10, .*the connection failed.*1 of 2 series are fetched and kept"
    ):
        get("UNRATE", "GS10", spacing_s=5.0, retries=1, sleep=sleep)
    assert bytes_of(tmp_path)["alfred.parquet"] == before
    assert raw.latest(tmp_path / "raw", "alfred", "GS10.series.page-0.xml") is None


def test_every_faulty_series_is_told_and_the_good_ones_are_kept(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    fred.add("DGS10", UNRATE, frequency_short="D")
    with pytest.raises(SourceError) as caught:
        get("NOPE", "DGS10", "UNRATE")
    text = str(caught.value)
    assert "ALFRED, NOPE, series: HTTP 400: FRED says 'Bad Request.  The series does not exist.'" in text
    assert "ask for GS10, its monthly average" in text
    assert "1 of 3 series are fetched and kept" in text
    assert not (tmp_path / "alfred.parquet").exists()
    assert raw.latest(tmp_path / "raw", "alfred", "UNRATE.series.page-0.xml") is not None
    with pytest.raises(SourceError, match=r"'\.\./x' is no id of a series"):
        get("../x")


def test_a_refused_key_stops_at_once(fred: server.Fred, get, tmp_path: Path) -> None:
    fred.add("GS10", UNRATE)
    with pytest.raises(SourceError, match=r"0 of 2 series are fetched and kept; not tried: GS10"):
        get("UNRATE", "GS10", key="f" * 32)
    assert len(fred.asked) == 1


@pytest.mark.parametrize("base_url", ["ftp://fred.example", "localhost:1/fred", "fred.example"])
def test_an_address_that_is_none_is_not_tried_again(get, waits: list[float], base_url: str) -> None:
    with pytest.raises(SourceError, match=r"protocol.*Set the base URL anew"):
        get(base_url=base_url)
    assert not waits


def test_a_fetch_killed_between_table_and_notes_leaves_no_table_that_passes_for_ones_own(
    get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anachron import files

    def killed(path: Path, document: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        get()
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


@pytest.mark.parametrize(("steps", "rows"), [(0, 7), (1, 7), (2, 7), (3, 8), (4, 8)])
def test_a_refresh_killed_at_any_step_leaves_a_table_with_its_own_notes(
    fred: server.Fred, get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, rows: int
) -> None:
    get()
    fred.add("UNRATE", [*UNRATE, ("2020-06-01", "2020-07-02", "9999-12-31", "11.1")])
    left, replace = [steps], Path.replace

    def killed(part: Path, target: Path) -> Path:
        if Path(target).parent == tmp_path:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
        return replace(part, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        if steps < 4:
            with pytest.raises(KeyboardInterrupt):
                get()
        else:
            get()
    found, known = asof.read(tmp_path / "alfred.parquet")
    assert len(found) == rows and set(known) == {"UNRATE"}
    # The notes of a table that is gone are gone too, whatever was killed before; unreadable ones are replaced.
    get()
    notes = (tmp_path / "alfred.json").read_text()
    assert "replaced" not in notes and len(table(tmp_path)) == 8
    (tmp_path / "alfred.json").write_text(notes[:20])
    get()
    assert (tmp_path / "alfred.json").read_text() == notes


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (UNRATE[:-1], "ends early: the newest period is 2020-04, and 2020-05 was kept before"),
        (
            [*UNRATE, ("2020-06-01", "2020-07-02", "9999-12-31", "much")],
            "row 7, 2020-06-01: the value is 'much'",
        ),
        (
            [*UNRATE, ("2999-06-01", "2999-07-02", "9999-12-31", "1")],
            "reference_period 2999-06-01 is still to come",
        ),
        ([*UNRATE, ("2020-06-01", "2999-07-02", "9999-12-31", "1")], "published 2999-07-02 is still to come"),
        ([*UNRATE, ("2020-05-01", "2020-06-05", "2020-07-01", "1")], "2020-05-01 has two values at once"),
        ([], "lists no vintage at all"),
    ],
)
def test_data_that_cannot_be_true_replace_nothing(
    fred: server.Fred, get, tmp_path: Path, rows: list[server.Row], told: str
) -> None:
    get()
    before = bytes_of(tmp_path)
    fred.add("UNRATE", rows)
    with pytest.raises(SourceError, match=told) as caught:
        get()
    assert str(caught.value).startswith("ALFRED, UNRATE")
    assert bytes_of(tmp_path) == before


def test_a_first_fetch_that_ends_before_the_series_does_keeps_nothing(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    fred.series["UNRATE"] = UNRATE[:-1]  # FRED still says that it reaches May
    with pytest.raises(
        SourceError, match=r"UNRATE: ends early, with 2020-04-01, though FRED says .* 2020-05-01"
    ):
        get()
    assert bytes_of(tmp_path) == {}


def test_two_refreshes_at_once_leave_one_table_with_its_own_notes(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    fred.add("GS10", UNRATE)
    get()
    before = bytes_of(tmp_path)
    with ThreadPoolExecutor(2) as both:
        with raw.turn(tmp_path):  # as a refresh that is writing its table holds it
            waiting = [both.submit(get, "UNRATE", "GS10"), both.submit(get, "GS10")]
            while sum("GS10" in path for path in fred.asked) < 6:
                time.sleep(0.01)
            time.sleep(0.3)
            assert not any(one.done() for one in waiting)
            assert bytes_of(tmp_path)["alfred.parquet"] == before["alfred.parquet"]
        assert [len(one.result(30)) for one in waiting] == [2, 1]
    found, known = asof.read(tmp_path / "alfred.parquet")
    assert set(found["series_id"]) == set(known) and "GS10" in known


def test_answers_about_one_series_are_kept_in_one_turn(get, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as other:
        with raw.turn(tmp_path / "raw" / "alfred"):
            waiting = other.submit(get)
            time.sleep(0.5)
            assert not waiting.done() and not raw.history(tmp_path / "raw", "alfred")
        waiting.result(30)
    assert len(raw.history(tmp_path / "raw", "alfred")) == 3


def test_a_table_that_is_replaced_while_it_is_read_is_read_again(
    fred: server.Fred, get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get()
    fred.add("UNRATE", [*UNRATE, ("2020-06-01", "2020-07-02", "9999-12-31", "11.1")])
    read, looks = frames.read, []

    def replaced(path: Path, contract: type) -> pd.DataFrame:
        found = read(path, contract)
        if not looks:
            get()
        looks.append(len(found))
        return found

    monkeypatch.setattr(frames, "read", replaced)
    assert len(asof.read(tmp_path / "alfred.parquet")[0]) == 8
    assert looks == [7, 8]


def test_a_second_fetch_says_what_is_new_and_changes_nothing_else(
    fred: server.Fred, get, tmp_path: Path
) -> None:
    get()
    before = bytes_of(tmp_path)
    assert get() == ["UNRATE: 7 vintages 2020-01-10 to 2021-01-08, 7 values, 0 new"]
    assert bytes_of(tmp_path) == before
    fred.add("UNRATE", [*UNRATE[1:], ("2020-06-01", "2020-07-02", "9999-12-31", "11.1")])
    assert get() == [
        "UNRATE: 7 vintages 2020-02-07 to 2021-01-08, 7 values, 1 new, 1 earlier values are no longer given"
    ]
    kept = raw.history(tmp_path / "raw", "alfred", "UNRATE.observations.1776-07-04.9999-12-31.page-0.xml")
    assert len(kept) == 2


@pytest.mark.parametrize("damaged", [None, b"<observations/>"])
def test_raw_answers_that_are_lost_or_damaged_are_fetched_again(
    get, tmp_path: Path, damaged: bytes | None
) -> None:
    get()
    before = bytes_of(tmp_path)
    for path in (tmp_path / "raw" / "alfred").glob("*.xml"):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
    with pytest.raises(SourceError, match="fetch the source again"):
        alfred.build(["UNRATE"], tmp_path / "raw", tmp_path / "alfred.parquet")
    get()
    assert bytes_of(tmp_path) == before


def test_the_key_is_written_nowhere(
    fred: server.Fred, get, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        get()
    assert f"api_key={server.KEY}" in fred.asked[0]
    assert any("series_id=UNRATE" in record.getMessage() for record in caplog.records)
    assert server.KEY not in caplog.text
    for name, content in bytes_of(tmp_path).items():
        assert server.KEY.encode() not in content, name


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "FRED_API_KEY is not set. A key is free: https://.* the embedded snapshot"),
        ("0123-SECRET", "FRED_API_KEY is not a key: it has 11 characters"),
    ],
)
def test_no_key_or_no_real_key(monkeypatch: pytest.MonkeyPatch, value: str | None, told: str) -> None:
    monkeypatch.delenv(alfred_client.KEY_VARIABLE, raising=False)
    if value:
        monkeypatch.setenv(alfred_client.KEY_VARIABLE, value)
    with pytest.raises(SourceError, match=told) as caught:
        alfred_client.key_from_environment()
    assert "SECRET" not in str(caught.value)


def test_the_command_fails_with_a_text_and_works_offline(
    fred: server.Fred, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(alfred_client, "SPACING_S", 0.0)
    out = tmp_path / "alfred.parquet"
    told = ["--raw", str(tmp_path / "raw"), "-o", str(out), "--retries", "0", "--series", "UNRATE"]
    run = CliRunner().invoke(app, ["fetch", "alfred", *told, "--base-url", fred.root])
    assert run.exit_code == 0, run.output
    assert "7 vintages" in run.output
    before = out.read_bytes()
    fred.faults = [Fault(429, HTML)]
    run = CliRunner().invoke(app, ["fetch", "alfred", *told], env={"ANACHRON_FRED_URL": fred.root})
    assert run.exit_code != 0
    assert isinstance(run.exception, SourceError)
    assert out.read_bytes() == before
    fred.stop()
    out.unlink()
    run = CliRunner().invoke(app, ["fetch", "alfred", *told, "--offline"])
    assert run.exit_code == 0, run.output
    assert out.read_bytes() == before


def test_answers_of_different_days_are_not_joined(fred: server.Fred, get, tmp_path: Path) -> None:
    get()
    kept = raw.latest(tmp_path / "raw", "alfred", "UNRATE.vintagedates.page-0.xml")
    assert kept is not None
    dates = [day for day in fred.vintages("UNRATE") if day != "2021-01-08"]
    body = server.render("vintage_date", {"count": len(dates), "offset": 0, "limit": 10_000}, dates, "xml")
    raw.keep(tmp_path / "raw", "alfred", kept.name, kept.url, body, {}, pd.Timestamp("2026-07-06", tz="UTC"))
    with pytest.raises(SourceError, match="begins on 2021-01-08, which is no vintage date"):
        alfred.build(["UNRATE"], tmp_path / "raw", tmp_path / "alfred.parquet")
    with pytest.raises(SourceError, match=r"GS10.series.page-0.xml is not in .*run `anachron fetch alfred"):
        alfred.build(["GS10"], tmp_path / "raw", tmp_path / "alfred.parquet")
