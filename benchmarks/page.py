"""How large the page of many models is, how long it takes to write, and how a browser copes with it.

    python benchmarks/page.py [--models 15] [--transcripts 19000] [--place FOLDER]

Makes rows of made-up estimates with a cell for every column, and transcripts with prompts and answers as long as those
of HindsightBench's arms; writes the page as `anachron publish` does; opens it in a headless Chromium (the extra
`browser`, or ANACHRON_CHROMIUM); and prints a Markdown table. Nothing is asked of anybody.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "unit"))

LIMIT_BYTES = 3_000_000
ARMS = {"LAP": (0.6, 500, 1), "D": (0.15, 3000, 4000), "W": (0.15, 3000, 4000), "REC": (0.1, 2500, 60)}
"""Share of the transcripts, and letters of prompt and answer."""
LOOKED_AT = "model-01"
VENDORS = ("Alpha", "Beta", "Gamma")


def main() -> None:
    """Write the page, open it, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=15)
    parser.add_argument("--transcripts", type=int, default=19_000)
    parser.add_argument("--place", type=Path, default=None, help="Folder to keep the page in.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.place or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [("models, transcripts of each", f"{given.models}, {given.transcripts:,}")]
        lines += write(folder, given.models, given.transcripts)
        lines += read(folder / "index.html", given.transcripts)
    print("| what | figure |\n|---|---|")
    print("\n".join(f"| {what} | {figure} |" for what, figure in lines))


def timed(do: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and the seconds that it took."""
    start = time.perf_counter()
    return do(), time.perf_counter() - start


def write(folder: Path, models: int, count: int) -> list[tuple[str, str]]:
    """Write transcripts, figures and the page."""
    from row_fixtures import row

    from anachron.publish import browse, figures, tables

    rows = [
        row(
            f"model-{number:02d}",
            {"generation": str(2024 + number % 3), "vendor": VENDORS[number % 3],
             "vendor_cutoff": {"value": f"2024-{1 + number % 12:02d}", "kind": "official"}},
            cutoff=f"2024-{1 + number % 12:02d}",
        )
        for number in range(models)
    ]  # fmt: skip
    first, *others = [made["model"] for made in rows]
    _, files_s = timed(lambda: transcripts(folder, first, count))
    for name in others:
        under_another_name(folder / browse.FOLDER, first, name)
    drawn, draw_s = timed(lambda: figures.write(rows, folder))
    _, page_s = timed(lambda: tables.write(rows, folder, None, drawn, browse.found(folder, rows)))
    size = (folder / "index.html").stat().st_size
    beside = list((folder / browse.FOLDER).rglob("*.js"))
    largest = max(path.stat().st_size for path in beside)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        ("files of transcripts, one model", f"{files_s:.1f} s"),
        ("figures", f"{draw_s:.1f} s"),
        ("tables and page", f"{page_s:.1f} s"),
        ("the page", f"{size / 1e6:.2f} MB ({'below' if size < LIMIT_BYTES else 'ABOVE'} 3 MB)"),
        ("files beside it", f"{len(beside):,}, {sum(path.stat().st_size for path in beside) / 1e6:.0f} MB in all"),
        ("the largest of them", f"{largest / 1e3:.0f} kB"),
        ("memory of writing, peak", f"{memory:.0f} MB"),
    ]  # fmt: skip


def transcripts(folder: Path, model: str, count: int) -> None:
    """Write the browser's files of one model."""
    import pandas as pd
    from row_fixtures import SUITE
    from transcript_fixtures import answers
    from transcript_fixtures import transcripts as sealed_of

    from anachron import files
    from anachron.publish import browse

    sealed, parsed, prompts = [], [], {}
    for arm, (share, asked, length) in ARMS.items():
        number = int(count * share)
        texts = [f"answer {place} " + words(length, place) for place in range(number)]
        part = sealed_of(model, arm, texts)
        sealed.append(part)
        parsed.append(answers(part, recall=["up" if place % 3 else "down" for place in range(number)]))
        for item, rep in zip(part["item"], part["rep"], strict=True):
            prompts[arm, item, rep] = ("Be brief.", f"{item} " + words(asked, int(item[:4])))
    where = folder / browse.FOLDER / files.slug(model) / SUITE
    browse.write(pd.concat(sealed, ignore_index=True), pd.concat(parsed, ignore_index=True), prompts, where)


def under_another_name(folder: Path, first: str, name: str) -> None:
    """Write the files of one model again as those of another: each names its model once, in its first letters."""
    for path in sorted((folder / first).rglob("*.js")):
        copy = folder / name / path.relative_to(folder / first)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(
            path.read_text(encoding="utf-8").replace(f'"{first}"', f'"{name}"', 1), encoding="utf-8"
        )


@cache
def stock() -> str:
    """Return letters that compress about as prose does, to cut texts from."""
    import random

    chance = random.Random(1)
    return " ".join("".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(100_000))


def words(length: int, seed: int) -> str:
    """Return text of a length, another one for each seed."""
    start = seed * 7919 % (len(stock()) - length)
    return stock()[start : start + length]


def read(page: Path, count: int) -> list[tuple[str, str]]:
    """Open the page, a model's view and its transcripts in a browser; nothing where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("ANACHRON_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        return [("in a browser", "not measured: no Chromium, or the extra `browser` is not installed")]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        session = opened.context.new_cdp_session(opened)
        session.send("Performance.enable")
        lines = []

        def step(what: str, do: Callable[[], Any]) -> None:
            _, seconds = timed(do)
            session.send("HeapProfiler.collectGarbage")
            metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
            lines.append(
                (what, f"{seconds:.2f} s, {metrics['JSHeapUsedSize'] / 1e6:.0f} MB of script memory")
            )

        step("open the page", lambda: opened.goto(page.as_uri()))
        step("sort its first table", lambda: opened.locator(".overview thead button").nth(1).click())

        def narrow() -> None:
            opened.get_by_label("Filter").fill(LOOKED_AT)
            opened.wait_for_selector("#count:has-text('1 of')")

        def view() -> None:
            opened.goto(f"{page.as_uri()}#model/{LOOKED_AT}")
            opened.wait_for_selector("section.model.on")

        def arm() -> None:
            opened.goto(f"{page.as_uri()}#transcripts/{LOOKED_AT}/hindsightbench/LAP")
            opened.wait_for_selector(".transcript h3.title")

        def last() -> None:
            opened.locator(".list button[aria-current=true]").press("End")
            opened.wait_for_selector(f".transcript[data-at='{int(count * ARMS['LAP'][0]) - 1}']")

        step("filter to one model", narrow)
        step("open a model's view", view)
        step("open its longest arm", arm)
        step("go to the arm's last transcript", last)
        browser.close()
    return lines


if __name__ == "__main__":
    main()
