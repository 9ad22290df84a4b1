"""Seconds and memory to read the factor library's files and 50 tickers of daily bars, beside the plain clients.

    python benchmarks/sources_markets.py [--tickers 50] [--years 27]

Made-up files of the true size, served on loopback, so that network time is none. Each line is measured in a process of
its own: wall and CPU seconds of the work alone (imports done before), and by how much the peak of memory grew. The
plain client of factors is httpx with `zipfile` and `pandas.read_csv`; the one of prices is `yfinance`, which gives
stored prices, not those that were quoted. The server runs in another process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

import french as library  # noqa: E402
import yahoo as market  # noqa: E402

MONTHS = 1192
START = "1998-12-01"


def main() -> None:
    """Print one line a step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickers", type=int, default=50)
    parser.add_argument("--years", type=int, default=27)
    args = parser.parse_args()
    print(f"{'step':<52}{'wall s':>8}{'CPU s':>8}{'MB':>8}")
    with served(library_server, ()) as root, tempfile.TemporaryDirectory() as name:
        run("factors: plain client, three files", plain_factors, root)
        run("factors: fetched, checked, kept, written", factors, root, name)
        run("factors: the same again, nothing new", factors, root, name)
        run("factors: the table from raw files", factors_offline, name)
    with served(market_server, (args.tickers, args.years)) as root, tempfile.TemporaryDirectory() as name:
        told = f"prices, {args.tickers} tickers of {args.years} years"
        run(f"{told}: yfinance alone", plain_prices, root, name, args.tickers)
        run(f"{told}: fetched, kept, written", prices, root, name, args.tickers)
        run(f"{told}: the table from raw", prices_offline, name, args.tickers)


def library_server(pipe: Connection) -> None:
    """Serve three files of the true length until told to stop."""
    with library.serving() as running:
        for file, columns in library.COLUMNS.items():
            text = library.csv_text(columns, library.rows(columns, "202510", MONTHS), "202510")
            running.files[f"{file}_CSV.zip"] = library.zipped(text, f"{file}.csv")
        pipe.send(running.root)
        pipe.recv()


def market_server(pipe: Connection, tickers: int, years: int) -> None:
    """Serve daily bars of made-up tickers until told to stop."""
    import exchange_calendars

    end = "2025-12-31"
    days = exchange_calendars.get_calendar("XNYS", start=f"{2026 - years - 1}-12-01", end=end).sessions
    names = days.strftime("%Y-%m-%d").tolist()
    quoted: dict[str, float | None] = {
        day: 50 + (7919 * place % 6000) / 100 for place, day in enumerate(names)
    }
    splits = {names[len(names) // 3]: (2.0, 1.0), names[len(names) // 2]: (7.0, 1.0)}
    ticker = market.Ticker(quoted, splits)
    bodies = {f"T{n:03d}": market.chart(f"T{n:03d}", ticker, 0, 4_000_000_000) for n in range(tickers)}
    with market.serving() as running:
        true = running.respond

        def respond(path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
            name = path.split("?")[0].rsplit("/", 1)[-1]
            return (200, bodies[name], {}) if name in bodies else true(path, headers)

        running.respond = respond  # type: ignore[method-assign]
        pipe.send(running.root)
        pipe.recv()


def plain_factors(root: str) -> Callable[[], object]:
    """Return the work of someone who needs the numbers once."""
    import httpx
    import pandas as pd

    def work() -> int:
        rows = 0
        for file in library.COLUMNS:
            content = httpx.get(f"{root}/{file}_CSV.zip").content
            text = zipfile.ZipFile(io.BytesIO(content)).read(f"{file}.csv").decode("latin-1")
            rows += len(pd.read_csv(io.StringIO(text), skiprows=3, index_col=0, nrows=MONTHS))
        return rows

    return work


def factors(root: str, folder: str) -> Callable[[], object]:
    """Return our own fetch."""
    import httpx  # noqa: F401

    from anachron import frames  # noqa: F401
    from anachron.sources import contracts, french  # noqa: F401

    return lambda: french.fetch(Path(folder) / "raw", Path(folder) / "french.parquet", base_url=root)


def factors_offline(folder: str) -> Callable[[], object]:
    """Return our own table from raw files."""
    from anachron import frames  # noqa: F401
    from anachron.sources import contracts, french  # noqa: F401

    return lambda: french.build(Path(folder) / "raw", Path(folder) / "french.parquet")


def plain_prices(root: str, folder: str, tickers: int) -> Callable[[], object]:
    """Return yfinance's own histories, one ticker after the other."""
    import yfinance

    from anachron.sources import yahoo

    yfinance.set_tz_cache_location(f"{folder}/cache-plain")
    session = yahoo.recording_session(root)
    return lambda: [
        yfinance.Ticker(f"T{n:03d}", session=session).history(start=START, auto_adjust=False)
        for n in range(tickers)
    ]


def prices(root: str, folder: str, tickers: int) -> Callable[[], object]:
    """Return our own fetch, without its pauses."""
    import exchange_calendars  # noqa: F401
    import yfinance

    from anachron import frames  # noqa: F401
    from anachron.sources import contracts, yahoo  # noqa: F401

    yfinance.set_tz_cache_location(f"{folder}/cache-ours")
    return lambda: yahoo.fetch(
        [f"T{n:03d}" for n in range(tickers)],
        Path(folder) / "raw",
        Path(folder) / "yahoo.parquet",
        start=START,
        session=yahoo.recording_session(root),
        pause_s=0.0,
    )


def prices_offline(folder: str, tickers: int) -> Callable[[], object]:
    """Return our own table from raw charts."""
    import exchange_calendars  # noqa: F401

    from anachron import frames  # noqa: F401
    from anachron.sources import contracts, yahoo  # noqa: F401

    names = [f"T{n:03d}" for n in range(tickers)]
    return lambda: yahoo.build(names, Path(folder) / "raw", Path(folder) / "yahoo.parquet", start=START)


@contextlib.contextmanager
def served(server: Callable[..., None], arguments: tuple[Any, ...]) -> Any:
    """Run a server in a process of its own; gives its address."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=server, args=(there, *arguments))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("stop")
        process.join()


def run(step: str, prepare: Callable[..., Callable[[], object]], *arguments: Any) -> None:
    """Measure one step in a process of its own, and print what it took."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_measured, args=(there, prepare, arguments))
    process.start()
    wall, cpu, grown = here.recv()
    process.join()
    print(f"{step:<52}{wall:>8.2f}{cpu:>8.2f}{grown:>8.0f}", flush=True)


def _measured(
    pipe: Connection, prepare: Callable[..., Callable[[], object]], arguments: tuple[Any, ...]
) -> None:
    work = prepare(*arguments)
    warnings.simplefilter("ignore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    held = work()
    took = time.perf_counter() - wall, time.process_time() - cpu
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    del held
    pipe.send((*took, grown))


if __name__ == "__main__":
    main()
