"""The page: nothing a row says acts in it, nothing is loaded, and what is drawn follows from what is printed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import pytest
from row_fixtures import SUITE, failed, planted_row, row

from anachron import files, suites
from anachron.publish import page, page_facts, tables
from anachron.publish.page_draw import Axis, Scale, interval, read_cell
from anachron.publish.text import escaped

EVIL = "</script><script>alert(1)</script>|`x` \u202eevil\x07"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.ids += [value for name, value in attrs if name == "id"]


def parsed(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    return parser


def test_what_rows_say_stays_text_and_nothing_is_loaded():
    made = row(EVIL, {"disclosures": [EVIL], "generation": EVIL, "vendor": EVIL}, E2=failed("k"))
    made["provenance"][SUITE]["protocol"]["title"] = EVIL
    text = page.text([made, planted_row()], browsable={EVIL: [SUITE]})
    found = parsed(text)
    assert found.tags.count("script") == 3 and found.handlers == []
    assert all(link.startswith(("#", "data:")) for link in found.loads)
    assert "alert(1)&lt;/script&gt;" in text and "\x07" not in text and "\u202e" not in text
    assert len(found.ids) == len(set(found.ids))


def test_only_the_script_of_the_page_and_files_beside_it_may_run():
    text = page.text([row()])
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.group(1).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' file: 'sha256-{hashed}'"
    assert "connect-src" not in rules and "unsafe-eval" not in policy.group(1)


def test_the_page_carries_the_rows_as_they_are():
    rows = [row("a:1"), planted_row()]
    text = page.text(rows)
    packed = re.search(r'<script type="text/plain" id="rows">([^<]+)</script>', text)
    assert packed is not None
    kept = json.loads(zlib.decompress(base64.b64decode(packed.group(1))))
    assert kept == {files.slug(one["model"]): one for one in rows}
    assert page.text(rows) == text


def view(text: str, name: str) -> str:
    start = text.index(f'id="model/{files.slug(name)}"')
    return text[start : text.index("</section>", start)]


def test_a_model_s_view_says_what_is_undefined_and_why_in_words():
    gate = failed("g")
    text = view(page.text([row("m", E2=failed("k"), cutoff=gate)]), "m")
    undefined = text[text.index("What is undefined") : text.index("What it cost")]
    marks = tables.blocks([row("m")])[0].table.MARKS
    assert escaped(marks["k"]) in undefined and "E2, date trigger" in undefined
    assert escaped(f"The gate asks: {gate.text}") in undefined
    assert "No month can be named" in text and "100" in text[text.index("What it cost") :]
    assert "Nothing: all" in view(page.text([row("m")]), "m")


def test_a_model_s_view_says_when_a_backtest_may_start_and_on_what_that_rests():
    made = row("m", {"vendor_cutoff": {"value": "2025-04", "kind": "official"}})
    text = view(page.text([made]), "m")
    assert f"From {made['safe_from']['month']} on" in text
    assert escaped(made["safe_from"]["text"]) in text
    assert "2024-10 [2024-09, 2024-11]" in text and "2025-04" in text
    questions = tables.blocks([made])[0].table.QUESTIONS
    assert all(escaped(question) in text for question in questions.values())


def test_transcripts_are_offered_only_where_they_lie_beside_the_page():
    rows = [row("a"), row("b")]
    text = page.text(rows, browsable={"a": [SUITE]})
    assert f"#transcripts/a/{SUITE}" in view(text, "a")
    assert "#transcripts/" not in view(text, "b")


@pytest.mark.parametrize(
    ("counts", "lines"),
    [
        ({"D": {"asked": 5, "answered": 4, "outcomes": {"answer": 3, "empty": 1}}}, [["D", 5, 4, 3, 1]]),
        (
            {
                "asked": {"x": 2},
                "answered": {"x": 2},
                "readings": {"x": {"letter": 2}},
                "facts": {"asked": 9},
            },
            [["x", 2, 2, 2]],
        ),
        ({"facts": {"missing": 1}}, []),
    ],
)
def test_counts_of_every_suite_become_a_line_per_arm(counts, lines):
    assert page_facts.arms_of(counts)[0] == lines


@pytest.mark.parametrize("text", ["", "—", "—k", "yes", "no (sign)", "none", "not stated"])
def test_words_and_dashes_are_not_numbers(text):
    assert read_cell(text) is None


def test_an_interval_is_drawn_where_it_is_printed():
    scale = Scale.of(["+.50 [.00, 1.00]k", "−.50 [−1.00, .00]", "—k"])
    assert scale == Scale(-1.0, 1.0, True)
    drawn = interval("+.50 [.00, 1.00]k", scale)
    assert 'style="left:50.0%;width:50.0%"' in drawn and 'class="dot" style="left:75.0%"' in drawn
    assert interval("—k", scale) == "" and interval("+.50", scale) == ""
    assert Scale.of(["+.50", "—"]) is None
    assert Scale.of(["2024-09 [2024-06, 2024-11]", "+.50 [.00, 1.00]"]) is None
    quarters = Scale.of(["2024Q3 [2024Q2, 2025Q2]"])
    assert quarters is not None and quarters.high - quarters.low == 12 and not quarters.zero


def test_the_axis_of_time_holds_every_month_of_every_row():
    rows = [
        row("a", {"vendor_cutoff": {"value": "2019-04", "kind": "official"}}),
        row("b", cutoff=failed("g")),
    ]
    axis = Axis.of(rows)
    assert axis is not None
    for month in ("2019-04", "2024-11", rows[0]["safe_from"]["month"]):
        assert 0 <= axis.at(month) <= 100
    assert Axis.of([row("b", cutoff=failed("g"))]) is None
    assert len(axis.years(4)) <= 4
    page.text([row("b", cutoff=failed("g"))])  # nothing to draw, and a page all the same


@pytest.mark.parametrize(
    ("dollars", "text"), [(None, "—"), (0.0, "$0"), (0.01234, "$0.0123"), (1234.5, "$1,234.50")]
)
def test_money(dollars, text):
    assert page_facts.money(dollars) == text


def test_the_page_says_what_suites_and_arms_ask_and_what_a_bare_dash_means():
    made = row("alpha")
    del made["estimates"][SUITE]["anachron"]["E1"]
    made["counts"] = {SUITE: {"D": {"asked": 516, "answered": 516, "outcomes": {"answer": 516}}}}
    text = page.text([made, planted_row()])
    view = text[text.index('id="model/alpha"') : text.index('id="model/planted-trigger"')]
    (block, *_) = tables.blocks([made])
    assert escaped(block.table.QUESTION) in view and escaped(block.table.ARMS["D"]) in view
    assert "Not asked of this model, or nothing to estimate it from." in view
    assert "Bias and coverage over the planted respondents" in text
    assert text.index('href="#model/alpha"') < text.index('href="#model/planted-trigger"'), (
        "models stand first"
    )


def test_what_a_first_month_rests_on_stands_below_the_first_table():
    made = row("alpha")
    text = page.text([made])
    below = text[text.index("What each month rests on") : text.index('<section class="block">')]
    assert escaped(made["safe_from"]["text"]) in below


@pytest.mark.parametrize("suite", list(suites.SUITES))
def test_every_suite_says_what_it_and_its_arms_ask(suite):
    table = suites.module(suite, "table")
    assert table.QUESTION.endswith("?") and all(table.ARMS.values())
    assert set(table.QUESTIONS) == set(table.COLUMNS)
