"""The page as people use it: by mouse and keyboard, on a wide and a narrow screen, read aloud, and attacked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from row_fixtures import SUITE

from anachron import files

pytestmark = pytest.mark.slow

MODEL = "some/model:2b"
SLUG = files.slug(MODEL)
LAP = f"#transcripts/{SLUG}/{SUITE}/LAP"
LONG = f"#transcripts/{SLUG}/{SUITE}/D"
WIDTHS = (1280, 390)


def evil_slug(place: Path) -> str:
    return next(path.name for path in (place / "transcripts").iterdir() if path.name != SLUG)


def names(page: Any) -> list[str]:
    return page.locator(".overview tbody tr:visible th a").all_inner_texts()


def ready(page: Any) -> Any:
    page.wait_for_selector(".transcript h3.title")
    return page


def test_sorting_by_mouse_and_by_keyboard(visit: Any) -> None:
    page = visit().go()
    head = page.locator(".overview thead th", has_text="Safe from")
    given = names(page)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    ascending = names(page)
    assert ascending[-1] == "gated"
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    # What is undefined stays last whichever way the others run.
    assert names(page) == [*reversed(ascending[:-1]), "gated"]
    head.get_by_role("button").press("Space")
    assert names(page) == given and head.get_attribute("aria-sort") is None
    page.locator("section.block table.sorts").first.get_by_role("button", name="E2").click()
    first = page.locator("section.block table.sorts").first.locator("tbody tr")
    assert first.locator("td:nth-child(3)").all_inner_texts()[-1].startswith("—")


def test_filtering_reaches_every_table(visit: Any) -> None:
    page = visit().go()
    page.get_by_label("Filter").fill("some")
    assert names(page) == [MODEL]
    assert page.locator("#count").inner_text().startswith("1 of 4 models")
    for line in page.locator("#leaderboard tr[data-name]:visible").all():
        assert line.get_attribute("data-name") == MODEL
    page.get_by_label("Filter").fill("")
    page.get_by_role("checkbox", name="planted respondents").uncheck()
    assert "planted-trigger" not in names(page) and len(names(page)) == 3


def test_a_model_s_view_by_mouse_and_by_keyboard(visit: Any) -> None:
    page = visit().go()
    page.locator(".overview").get_by_role("link", name=MODEL).click()
    page.wait_for_selector("section.model.on")
    assert page.evaluate("document.activeElement.textContent") == MODEL
    assert (
        page.locator("section.model:visible").count() == 1 and not page.locator("#leaderboard").is_visible()
    )
    assert "From 2025-03 on" in page.locator("section.model.on").inner_text()
    assert page.locator("section.model.on figure").count() == 2
    page.locator("section.model.on .back a").press("Enter")
    page.wait_for_selector("#leaderboard:not(.off)")
    page.get_by_role("combobox", name="Model").select_option("gated")
    page.wait_for_selector("section.model.on h2:has-text('gated')")
    assert "No month can be named" in page.locator("section.model.on").inner_text()
    assert page.title().startswith("gated")


def test_every_estimate_of_a_row_can_be_found_and_the_row_saved(visit: Any) -> None:
    page = visit().go(f"#model/{SLUG}")
    page.locator(".estimates summary").press("Enter")
    page.wait_for_selector(".estimates tbody tr")
    assert page.locator(".estimates tbody tr").count() == 28
    page.locator(".estimates").get_by_label("Filter").fill("E2 bm1")
    lines = page.locator(".estimates tbody tr:visible")
    assert lines.count() == 1 and "0.3829 [0.2956, 0.4702]" in lines.first.inner_text()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save the whole row").click()
    assert files.read_json(Path(saved.value.path()))["model"] == MODEL


def test_transcripts_by_mouse_and_by_keyboard(visit: Any) -> None:
    seen = visit()
    page = seen.go(f"#model/{SLUG}")
    page.get_by_role("link", name="Read the transcripts").click()
    ready(page)
    page.get_by_role("combobox", name="Arm").select_option(f"{SUITE}/LAP")
    page.wait_for_selector("h3.title:has-text('LAP')")
    assert page.locator("#transcripts [role=status]").inner_text() == "19,000 of 19,000 transcripts"
    assert page.locator(".list li").count() == 50
    article = page.locator(".transcript")
    assert "What happened? 2005-01-15" in article.inner_text() and "Be brief." in article.inner_text()
    page.locator(".list button[aria-current=true]").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".transcript[data-at='1']")
    assert page.evaluate("document.activeElement.dataset.at") == "1"
    assert "up" in article.locator("pre").nth(2).inner_text()
    assert "recall" in article.inner_text() and "The model answered." in article.inner_text()
    page.keyboard.press("End")
    page.wait_for_selector(".transcript[data-at='18999']")
    assert page.url.endswith("/LAP/18999") and "page 380 of 380" in page.locator(".pager").inner_text()
    # Of 95 files of this arm, those that were looked into.
    assert [url.rsplit("/", 1)[1] for url in seen.asked if "/LAP-" in url] == ["LAP-0000.js", "LAP-0094.js"]
    page.get_by_role("combobox", name="Outcome").select_option(label="empty (1,267)")
    assert page.locator("#transcripts [role=status]").inner_text() == "1,267 of 19,000 transcripts"
    page.get_by_role("combobox", name="Outcome").select_option("")
    page.get_by_role("combobox", name="Read as").select_option(label="recall: down (5,067)")
    page.get_by_role("searchbox", name="Item").fill("2006-0")
    assert {text[:6] for text in page.locator(".list .name").all_inner_texts()} == {"2006-0"}
    page.get_by_role("button", name="Next transcript").click()
    assert "down" in article.locator("pre").nth(2).inner_text()
    page.get_by_role("searchbox", name="Item").fill("no such item")
    assert "No transcript fits" in article.inner_text()


def test_an_address_leads_to_its_transcript(visit: Any) -> None:
    page = ready(visit().go(f"{LAP}/12345"))
    assert page.locator(".list button[aria-current=true]").get_attribute("data-at") == "12345"
    ready(visit().go(f"{LAP}/99999999"))
    ready(visit().go(f"#transcripts/{SLUG}/no-such-suite/no-arm/x"))
    assert visit().go("#model/nobody").locator("#leaderboard").is_visible()


def test_what_a_model_wrote_stays_text(visit: Any, place: Path) -> None:
    slug = evil_slug(place)
    evil = "</script><img src="
    for where in (
        "",
        f"#model/{slug}",
        f"#transcripts/{quote(slug)}/{SUITE}/W/0",
        f"#transcripts/{slug}/{SUITE}/W/0",
    ):
        page = visit(390).go(where)
        page.wait_for_timeout(300)
        assert page.evaluate("window.ran") is None
        assert page.locator("img[src^=http]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ready(page)
    for part in page.locator(".transcript pre").all():
        assert evil in part.inner_text() or part.inner_text() == "Be brief."
    assert page.locator(".transcript pre").count() == 4  # system text, prompt, answer, reasoning


@pytest.mark.parametrize("width", WIDTHS)
def test_long_lines_and_other_scripts(visit: Any, width: int) -> None:
    page = ready(visit(width).go(f"{LONG}/0"))
    answer = page.locator(".transcript pre").nth(2)
    assert len(answer.inner_text()) == 20_000
    page.get_by_role("button", name="Show the other 25,000 characters").click()
    assert len(answer.inner_text()) == 45_000
    for at in range(1, 6):
        page = ready(visit(width).go(f"{LONG}/{at}"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        text = page.locator(".transcript").inner_text()
        if at == 3:
            assert "U+202E" in text and "U+0007" in text and "\u202e" not in text
            assert (
                page.locator(".transcript pre").nth(2).evaluate("e => getComputedStyle(e).direction") == "rtl"
            )
        if at == 4:
            assert "No text." in text and "The answer holds no text." in text


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_overflows_and_axe_finds_no_serious_fault(
    visit: Any, place: Path, width: int, scheme: str
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="the extra `browser` is not installed"
    )
    for where in (
        "",
        f"#model/{SLUG}",
        "#model/gated",
        f"{LAP}/7",
        f"#transcripts/{evil_slug(place)}/{SUITE}",
    ):
        page = visit(width, scheme, bypass_csp=True).go(where)
        page.wait_for_timeout(300)
        for fold in page.locator("details:visible > summary").all():
            fold.click()
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = axe.Axe().run(page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []


def test_without_scripts_all_but_the_transcripts_can_be_read(visit: Any) -> None:
    page = visit(java_script_enabled=False).go()
    assert page.locator(".overview").is_visible()
    assert page.locator("section.model").count() == 4 and page.locator("section.model").last.is_visible()
    assert not page.locator("form.tools").is_visible()


def test_a_page_that_lost_its_transcripts_says_so(visit: Any, place: Path, tmp_path: Path) -> None:
    shutil.copy(place / "index.html", tmp_path / "index.html")
    seen = visit(address=(tmp_path / "index.html").as_uri())
    page = seen.go(LAP)
    page.wait_for_selector("[role=alert]")
    assert 'The folder "transcripts" belongs beside this page' in page.locator("[role=alert]").inner_text()
    # The browser itself reports the file that is not there, and nothing else is said.
    assert all("ERR_FILE_NOT_FOUND" in text for text in seen.said)
    seen.said.clear()
    seen.asked.clear()
