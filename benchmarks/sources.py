"""Seconds and memory to fetch, read and view vintages: the panel's eight series, and one that is much revised.

    python benchmarks/sources.py

Eight made-up series of 2,195 values each (as many as unemployment had by July 2026), their panel of 258 dates, and
`fredapi` alone on the same answers. Then a made-up monthly series of 75,000 values, as industrial production is
revised: every month a new value, five revised ones, and once a year the whole history. All is served on loopback, the
long series in two pages, so that network time is none. CPU is the client's and the server's, in one process; the
server's share of the long series is listed apart. MB is by how much a step raised the peak of the process.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

import fred as server  # noqa: E402

from anachron.sources import alfred, alfred_parse, asof  # noqa: E402

FIRST_YEAR = 1919
DECISION_DATES = [f"{year}-{month:02d}-15" for year in range(2005, 2026) for month in range(1, 13)]
PANEL_DATES = [*DECISION_DATES, *(f"2026-{month:02d}-15" for month in range(1, 7))]
VALUES = 2195


def main() -> None:
    """Print one line a step."""
    print(f"{'step':<34}{'CPU s':>8}{'wall s':>8}{'MB':>8}")
    eight_series()
    rows = made_up()
    vintages = sorted({row[1] for row in rows})
    alone(
        "server's share",
        lambda: server.render("observation", {}, server.observations(rows, "0", "9", "1"), "xml"),
    )
    with tempfile.TemporaryDirectory() as name, server.serving() as running:
        folder = Path(name)
        running.add("INDPRO", rows)
        running.page = 50_000
        told: list[str] = []

        def fetch() -> None:
            told.extend(
                alfred.fetch(
                    ["INDPRO"],
                    folder / "raw",
                    folder / "alfred.parquet",
                    key=server.KEY,
                    base_url=running.root,
                    spacing_s=0.0,
                )
            )

        alone("fetch, keep, write the table", fetch)
        alone("the same again, nothing new", fetch)
        alone(
            "the table from raw answers",
            lambda: alfred.build(["INDPRO"], folder / "raw", folder / "alfred.parquet"),
        )
        table, known = asof.read(folder / "alfred.parquet")
        alone("one view as of a day", lambda: asof.as_of(table, "INDPRO", "2015-06-15"))
        alone(
            f"panel of {len(DECISION_DATES)} dates",
            lambda: asof.alfred_panel(table, known, ["INDPRO"], DECISION_DATES),
        )
        alone("first releases", lambda: asof.first_releases(table, "INDPRO"))
        size = (folder / "alfred.parquet").stat().st_size
    spans = len(alfred_parse.windows(vintages))
    print(f"{told[0]}; {spans} span(s) of real time; table {size / 1e6:.2f} MB")


def eight_series() -> None:
    """Fetch, parse and view series of the size of the default panel's, beside the plain client."""
    import fredapi

    rows = steady(VALUES)
    names = alfred.PANEL_SERIES
    with tempfile.TemporaryDirectory() as name, server.serving() as running:
        folder = Path(name)
        for series in names:
            running.add(series, rows)
        plain = fredapi.Fred(api_key=server.KEY)
        plain.root_url = running.root
        plain.get_series_info(names[0])  # imports, first connection
        alone("fredapi alone, one series", lambda: plain.get_series_all_releases(names[0]))
        alone(
            "fetch, keep, write eight series",
            lambda: alfred.fetch(
                names,
                folder / "raw",
                folder / "alfred.parquet",
                key=server.KEY,
                base_url=running.root,
                spacing_s=0.0,
            ),
        )
        stretches = server.observations(rows, server.EARLIEST, server.OPEN_END, "1")
        answer = server.render("observation", {"count": len(stretches)}, stretches, "xml")
        alone(f"parse {VALUES:,} values", lambda: alfred_parse.observations([answer], "benchmark"))
        table, known = asof.read(folder / "alfred.parquet")
        alone(
            f"panel of {len(PANEL_DATES)} dates, {len(names)} series",
            lambda: asof.alfred_panel(table, known, names, PANEL_DATES),
        )


def steady(values: int) -> list[server.Row]:
    """Return the rows of a monthly series since 1948, each month published in the next, and revised a year on."""
    months = [f"{year}-{month:02d}-01" for year in range(1948, 2027) for month in range(1, 13)][:942]
    rows: list[server.Row] = []
    for place, month in enumerate(months[:-1]):
        edges = [months[place + 1][:8] + "06"]
        if place + 14 < len(months):
            edges.append(months[place + 13][:8] + "07")
        if place % 2 == 0 and place + 26 < len(months):
            edges.append(months[place + 25][:8] + "07")
        ends = [*(edge[:8] + "06" for edge in edges[1:]), server.OPEN_END]
        rows += [
            (month, start, end, f"{3 + (place + turn) % 70 / 10:.1f}")
            for turn, (start, end) in enumerate(zip(edges, ends, strict=True))
        ]
    return rows[-values:]


def made_up() -> list[server.Row]:
    """Return the rows of a monthly series that is revised as industrial production is."""
    months = [f"{year}-{month:02d}-01" for year in range(FIRST_YEAR, 2026) for month in range(1, 13)]
    places = {month: number for number, month in enumerate(months)}
    last: dict[str, tuple[str, str]] = {}
    rows: list[server.Row] = []
    for place in range(len(months) - 1):
        published = months[place + 1][:8] + "16"
        back = place if place % 12 == 0 else min(place, 5)
        for period in months[place - back : place + 1]:
            if period in last:
                rows.append((period, last[period][0], months[place + 1][:8] + "15", last[period][1]))
            last[period] = (published, f"{50 + (7919 * places[period] + 104729 * place) % 60000 / 1000:.4f}")
    rows += [(period, start, server.OPEN_END, value) for period, (start, value) in last.items()]
    return [row for row in rows if row[1] <= row[2]]


def alone(step: str, work: Callable[[], object]) -> None:
    """Run one step and print what it took."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
    print(f"{step:<34}{cpu:>8.2f}{wall:>8.2f}{grown:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
