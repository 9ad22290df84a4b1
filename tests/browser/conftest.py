"""A real browser without a screen, and a page with transcripts beside it; skipped where there is no browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from row_fixtures import SUITE, failed, planted_row, row
from transcript_fixtures import answers, prompts, transcripts

from anachron import files
from anachron.publish import browse, figures, page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

EVIL = '</script><img src="https://example.org/x" onerror="window.ran = 1"><script>window.ran = 1</script>'
RIGHT_TO_LEFT = "سعر النفط يرتفع \u202eevil\u202c \x07 end"
MODEL = "some/model:2b"
MANY = 19_000


# Playwright keeps an event loop running in this thread while it is open: no test elsewhere may find it there.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = os.environ.get("ANACHRON_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no browser: install Debian's chromium, or set ANACHRON_CHROMIUM to a Chromium's path")
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a page: four models, one with 19,000 transcripts of an arm, one that writes what it should not."""
    folder = tmp_path_factory.mktemp("page")
    rows = [
        row(MODEL, {"vendor_cutoff": {"value": "2025-04", "kind": "official"}}, cutoff="2024-10"),
        row(
            EVIL,
            {"disclosures": [EVIL, RIGHT_TO_LEFT], "vendor": EVIL, "generation": "2024"},
            cutoff="2023-06",
        ),
        row("gated", {"generation": "2023"}, E2=failed("k"), cutoff=failed("g")),
        planted_row(cutoff="2024-07"),
    ]
    many = transcripts(
        MODEL, "LAP", ["up" if place % 3 else None if place % 5 == 0 else "down" for place in range(MANY)]
    )
    long = transcripts(MODEL, "D", ["word " * 9000, "x" * 5000, EVIL, RIGHT_TO_LEFT, None, "[1,\n 2]"])
    write(folder, MODEL, [(many, many["text"].fillna("none")), (long, long["outcome"])])
    evil = transcripts(EVIL, "W", [EVIL] * 4, reasoning=EVIL, served_model=EVIL)
    write(folder, EVIL, [(evil, evil["text"])])
    drawn = figures.write(rows, folder)
    files.write_text(folder / page.NAME, page.text(rows, None, drawn, browse.found(folder, rows)))
    return folder


def write(folder: Path, model: str, arms: list[tuple[Any, Any]]) -> None:
    import pandas as pd

    sealed = pd.concat([one for one, _ in arms], ignore_index=True)
    parsed = pd.concat([answers(one, recall=recall) for one, recall in arms], ignore_index=True)
    where = folder / browse.FOLDER / files.slug(model) / SUITE
    browse.write(sealed, parsed, prompts(sealed, EVIL if model == EVIL else "What happened?"), where)


class Visit:
    """A page that was opened, and all that it said and asked for meanwhile."""

    def __init__(self, opened: Any, address: str) -> None:
        self.page = opened
        self.address = address
        self.said: list[str] = []
        self.asked: list[str] = []
        opened.on("console", lambda message: self.said.append(message.text))
        opened.on("pageerror", lambda error: self.said.append(str(error)))
        opened.on("dialog", lambda dialog: (self.said.append("a dialog"), dialog.dismiss()))
        opened.on("request", lambda request: self.asked.append(request.url))

    def go(self, where: str = "") -> Any:
        """Open the page anew at a place in it."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{where}")
        return self.page


@pytest.fixture
def visit(browser: Any, place: Path) -> Iterator[Any]:
    """Open the page from its file: `visit(width, scheme)`. Whatever it said on the console fails the test."""
    contexts, visits = [], []

    def start(width: int = 1280, scheme: str = "light", address: str | None = None, **more: Any) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **more
        )
        context.set_default_timeout(60_000)
        contexts.append(context)
        visits.append(Visit(context.new_page(), address or (place / page.NAME).as_uri()))
        return visits[-1]

    yield start
    for one in visits:
        assert one.said == []
        inside = place.as_uri()
        assert [url for url in one.asked if not url.startswith((inside, "data:", "about:", "blob:"))] == []
    for context in contexts:
        context.close()
