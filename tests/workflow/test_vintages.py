"""The same command with a key: vintages are fetched once; a refresh reruns what it changes, a failed one nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fred as server
import pandas as pd
import pytest
from loopback import Fault
from workflow_checkout import ROOT, Checkout, fresh

from anachron.config import DEFAULT_PUBLICATION_LAG_DAYS, load
from anachron.errors import ConfigError
from anachron.sources import choice
from anachron.sources.publication import publication
from anachron.sources.snapshot import read_macro
from anachron.suites.hindsightbench.protocol import Protocol

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

TABLE = Path("resources/alfred.parquet")
SPAN = "results/panel/hindsightbench/2015-2019.parquet"
RUN = ("leaderboard", "--config", "model=tiny-trigger")

UNITS = {
    "CPIAUCSL": ("Index 1982-1984=100", "SA"),
    "GDPC1": ("Billions of Chained 2017 Dollars", "SAAR"),
    "HOUST": ("Thousands of Units", "SAAR"),
    "INDPRO": ("Index 2017=100", "SA"),
    "PAYEMS": ("Thousands of Persons", "SA"),
    "RSAFS": ("Millions of Dollars", "SA"),
}
"""As FRED says them; the prompts' units follow from these, or asking would stop."""


@pytest.fixture
def fred() -> Iterator[server.Fred]:
    """The series of the test protocol, each period seen first on the day the lags say, and never revised."""
    macro = read_macro(ROOT / "resources" / "snapshot")
    macro = macro[macro["reference_period"].between("2010-01-01", "2016-06-01")]
    with server.serving() as running:
        for series in load(Protocol, ROOT / "config" / "test" / "protocol.yaml").macro_series:
            own = macro[macro["series_id"] == series]
            step, short = (3, "Q") if series == "GDPC1" else (1, "M")
            days = [
                publication(period, DEFAULT_PUBLICATION_LAG_DAYS[series], step, series)
                for period in own["reference_period"]
            ]
            rows = list(
                zip(
                    own["reference_period"],
                    days,
                    [server.OPEN_END] * len(own),
                    own["value"].map(str),
                    strict=True,
                )
            )
            units, seasonal = UNITS.get(series, ("Percent", "SA"))
            running.add(series, rows, frequency_short=short, units=units, seasonal_adjustment_short=seasonal)
        yield running


def revise(fred: server.Fred, series: str, period: str, day: str, value: str) -> None:
    """Let a period have another value from a day on."""
    before = (pd.Timestamp(day) - pd.Timedelta(days=1)).strftime("%Y-%m-%d")
    rows = [
        (*row[:2], before, row[3]) if row[0] == period and row[2] == server.OPEN_END else row
        for row in fred.series[series]
    ]
    fred.series[series] = [*rows, (period, day, server.OPEN_END, value)]


def panel(checkout: Checkout) -> pd.DataFrame:
    paths = sorted((checkout.path / "results" / "panel" / "hindsightbench").glob("*.parquet"))
    return pd.concat(map(pd.read_parquet, paths), ignore_index=True)


def vintage_kinds(checkout: Checkout) -> set[str]:
    return {
        kind
        for path in sorted((checkout.path / "results" / "rows").glob("*.json"))
        for suite in json.loads(path.read_text())["provenance"].values()
        for kind in suite["panel"]["vintage_kinds"]
    }


def kill_a_refresh(checkout: Checkout, fred: server.Fred, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a refresh and kill it with all its processes while FRED keeps it waiting."""
    fred.faults = [Fault(hang_s=20.0, only="UNRATE")]
    monkeypatch.setenv("FRED_API_KEY", server.KEY)
    command = [
        "snakemake",
        "--force",
        "fetch_alfred",
        "--cores",
        "1",
        "--configfile",
        "config/test/config.yaml",
    ]
    refresh = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=checkout.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + 300
    while fred.faults and time.monotonic() < until:
        time.sleep(0.1)
    assert refresh.poll() is None and not fred.faults
    os.killpg(refresh.pid, signal.SIGKILL)
    refresh.wait()
    monkeypatch.delenv("FRED_API_KEY")
    checkout.snakemake("--unlock")


def test_without_a_key_nothing_is_fetched(finished: Checkout) -> None:
    planned = finished.planned("--forceall", "leaderboard")
    assert planned["panel"] and not [rule for rule in planned if rule.startswith("fetch")]
    assert set(panel(finished)["vintage_kind"]) == vintage_kinds(finished) == {"pseudo real time"}


def test_with_a_key_the_same_command_runs_on_vintages(
    fred: server.Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = fresh(tmp_path / "clone")
    monkeypatch.setenv("ANACHRON_FRED_URL", fred.root)

    # A refused key is sent once. What a fetch that was given up has kept is no table: without a key it is not missed.
    monkeypatch.setenv("FRED_API_KEY", "e" * 32)
    assert "not registered" in checkout.snakemake(*RUN, ok=False)
    assert len(fred.asked) == 1
    monkeypatch.setenv("FRED_API_KEY", server.KEY)
    fred.faults = [Fault(400, server.render_error(server.NO_SERIES, "xml"), only="UNRATE")]
    assert "7 of 8 series are fetched and kept" in checkout.snakemake(*RUN, ok=False)
    monkeypatch.delenv("FRED_API_KEY")
    assert "fetch_alfred" not in checkout.planned(*RUN)

    # One fault that passes is not seen.
    monkeypatch.setenv("FRED_API_KEY", server.KEY)
    fred.faults = [Fault(503, b"busy", only="UNRATE")]
    assert "fetched first" in checkout.snakemake(*RUN)
    assert set(panel(checkout)["vintage_kind"]) == vintage_kinds(checkout) == {"real time"}
    fetched = (checkout.path / TABLE).read_bytes()
    asked = len(fred.asked)

    # The decision stands without the key, nothing is asked again, and a second run does nothing.
    monkeypatch.delenv("FRED_API_KEY")
    assert "Nothing to be done" in checkout.snakemake(*RUN)
    assert len(fred.asked) == asked

    # A table that is there is nobody's output: neither a killed refresh nor an edited rule asks for the key again.
    kill_a_refresh(checkout, fred, monkeypatch)
    rules = checkout.path / "workflow" / "rules" / "fetch.smk"
    rules.write_text(rules.read_text().replace("--retries 3", "--retries 2"))
    assert "Nothing to be done" in checkout.snakemake(*RUN)
    assert (checkout.path / TABLE).read_bytes() == fetched

    # A refresh that fails says so and leaves the table; nothing has to run.
    monkeypatch.setenv("FRED_API_KEY", "f" * 32)
    told = checkout.snakemake("--force", "fetch_alfred", ok=False)
    assert "not registered" in told and "f" * 32 not in told
    assert (checkout.path / TABLE).read_bytes() == fetched
    assert "Nothing to be done" in checkout.snakemake(*RUN)

    # A revision of a period that dates of 2015 show reruns that span alone.
    monkeypatch.setenv("FRED_API_KEY", server.KEY)
    revise(fred, "UNRATE", "2015-03-01", "2015-07-02", "9.9")
    checkout.snakemake("--force", "fetch_alfred")
    assert (checkout.path / TABLE).read_bytes() != fetched
    assert checkout.planned(*RUN)["panel"] == 1
    before = panel(checkout)
    checkout.snakemake(SPAN, *RUN[1:])
    after = panel(checkout)
    changed = before["latest_value"] != after["latest_value"]
    assert after.loc[
        changed, ["series", "reference_period", "latest_value"]
    ].drop_duplicates().values.tolist() == [["UNRATE", "2015-03-01", 9.9]]
    assert set(after.loc[changed, "decision_date"]) == {"2015-04-15"}

    # No key that was used, or refused, stands in any file: not in logs, Snakemake's own records, stores or rows.
    written = {path: path.read_bytes() for path in checkout.path.rglob("*") if path.is_file()}
    assert any(path.parts[-3:-1] == (".snakemake", "log") for path in written)
    for key in (server.KEY, "e" * 32, "f" * 32):
        assert not [path for path, content in written.items() if key.encode() in content]


def test_a_key_that_appears_later_asks_no_paid_model_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anachron.config import Sources

    monkeypatch.chdir(tmp_path)
    environment = {"FRED_API_KEY": server.KEY}
    assert choice.decide(Sources(), environment, paid=False)[0].alfred == choice.FETCHED["alfred"]
    kept, told = choice.decide(Sources(), environment, paid=True)
    assert kept.alfred is None and "paid for" in told
    assert choice.decide(Sources(), {}, paid=False)[0].alfred is None
    assert choice.decide(Sources(alfred=None), environment, paid=False)[0].alfred is None
    assert choice.decide(Sources(alfred="own.csv"), {}, paid=True)[0].alfred == "own.csv"
    # What was fetched stays in use, paid or not, key or not.
    raw = Path(choice.RAW_VINTAGES)
    raw.mkdir(parents=True)
    (raw / "manifest.csv").touch()
    # Raw answers alone are a fetch that was given up, or a table that is gone. It matters once answers were paid for.
    assert choice.decide(Sources(), {}, paid=False)[0].alfred is None
    with pytest.raises(ConfigError, match=r"anachron fetch alfred --offline.*set sources.alfred to null"):
        choice.decide(Sources(), environment, paid=True)
    assert choice.decide(Sources(alfred=None), environment, paid=True)[0].alfred is None
    Path(choice.FETCHED["alfred"]).touch()
    assert choice.decide(Sources(), {}, paid=True)[0].alfred == choice.FETCHED["alfred"]
