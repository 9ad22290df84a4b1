"""Printed cells and the three forms of the leaderboard."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_fixtures import SUITE, failed, planted_row, row

from anachron.errors import ContractError
from anachron.publish import markdown, page, tables
from anachron.publish.cells import metrics
from anachron.suites.hindsightbench import table
from anachron.suites.hindsightbench.table import COLUMNS, fixed, percent

EVIL = "<script>alert(1)</script>|`x`"


def cells(made, scoring):
    return table.cells(metrics(made, "hindsightbench", scoring))


def test_cells_print_as_the_paper_does():
    assert cells(row(), "bm1") == {
        "E1": "−.004 [−.05, .04]",
        "E2": "+.383 [.30, .47]",
        "E3": "+.495 [.35, .64]",
        "P1": "−.062m",
        "REC pre/post": "20%/0%",
        "LAP pre/post (hit)": ".838/.000 (68%)",
        "Cutoff": "2024-10",
        "δ (t)": "+.162 (1.34)",
        "VALID": "100%p",
    }


def test_corrected_scoring_prints_the_intervals_it_adds():
    printed = cells(row(), "anachron")
    assert printed["P1"] == "−.062 [−.15, .02]m"
    assert printed["Cutoff"] == "2024-10 [2024-09, 2024-11]"


def test_gated_cells_are_a_dash_with_the_gates_mark():
    made = row(
        E2=failed("k"), P1=failed("c"), REC_pre_year=failed("r"), REC_post_year=failed("r"),
        cutoff=failed("g"), delta=failed("v"), delta_t=failed("v"), marks={"hit_rate": "g"},
    )  # fmt: skip
    printed = cells(made, "bm1")
    assert [printed[column] for column in ("E2", "P1", "REC pre/post", "Cutoff", "δ (t)")] == [
        "—k", "—c", "—r", "—g", "—v",
    ]  # fmt: skip
    assert printed["LAP pre/post (hit)"] == ".838/.000 (68%)g"


def test_one_gated_window_leaves_the_other():
    assert cells(row(REC_pre_year=failed("r"), REC_post_year=0.176), "bm1")["REC pre/post"] == "—r/18%"


def test_what_a_row_lacks_prints_dashes():
    assert set(cells(row(), "no such scoring").values()) == {"—"}
    assert tuple(cells(row(), "no such scoring")) == COLUMNS
    assert cells(row(cutoff=None), "bm1")["Cutoff"] == "—"


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(0.0625, 3, ".062"), (-0.0625, 3, "−.062"), (0.0635, 3, ".064"), (0.1265, 3, ".126"), (0.125, 2, ".12"),
     (1.0, 3, "1.000"), (-2.03, 2, "−2.03"), (0.06250000000000003, 3, ".062"), (0.0, 3, ".000")],
)  # fmt: skip
def test_rounding_is_half_to_even_on_decimal_digits(value, places, text):
    assert fixed(value, places) == text


def test_percent_is_half_to_even():
    assert [percent(share) for share in (0.205, 0.215, 0.48749999, 1.0, 0.0)] == [
        "20%",
        "22%",
        "49%",
        "100%",
        "0%",
    ]


@given(st.floats(-5, 5), st.integers(1, 4))
def test_a_printed_number_is_the_nearest_one(value, places):
    text = fixed(value, places, plus=True)
    assert re.fullmatch(r"[+−][1-9]?\d*\.\d+", text)
    printed = Decimal(text.replace("−", "-"))
    assert abs(printed - Decimal(value)) <= Decimal(5).scaleb(-places - 1) + Decimal("1e-8")


def test_newest_generation_first_and_registry_order_within():
    rows = [
        row("a", {"generation": "2024"}), row("b", {"generation": "2026"}),
        row("c", {"generation": "unstated"}), row("d", {"generation": "2024"}),
        row("e", {"generation": "2026"}),
    ]  # fmt: skip
    assert [made["model"] for made in tables.ordered(rows)] == ["b", "e", "a", "d", "c"]


def test_csv_holds_a_line_per_model_and_scoring_with_numbers_and_cells():
    text = tables.csv_text(tables.machine([row(E2=failed("k")), planted_row()]))
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [(line["model"], line["scoring"], line["planted"]) for line in lines] == [
        ("some-model:2b", "anachron", "no"), ("some-model:2b", "bm1", "no"),
        ("planted-trigger", "anachron", "yes"), ("planted-trigger", "bm1", "yes"),
    ]  # fmt: skip
    assert (lines[0]["E2"], lines[0]["E2_gate"], lines[0]["printed E2"]) == ("", "k", "—k")
    assert (lines[0]["E3"], lines[0]["cutoff_high"], lines[0]["VALID_marks"]) == ("0.49513", "2024-11", "p")


def test_two_rows_of_one_model_are_refused():
    with pytest.raises(ContractError, match="two rows of model"):
        tables.machine([row(), row()])


def test_rows_of_two_protocols_do_not_share_a_table():
    other = row("another")
    other["provenance"][SUITE]["protocol"] = {"name": "bm1-treasury", "sha256": "1" * 64, "title": "Treasury"}
    assert [block.protocol for block in tables.blocks([row(), other])] == ["bm1", "bm1-treasury"]


def test_legend_holds_the_marks_present_and_no_other():
    (block,) = tables.blocks([row("model m k g", E2=failed("k"), marks={"VALID": "p"})])
    assert list(tables.legend(block, tables.leaderboard(block, "bm1"))) == ["k", "p"]


def test_truth_stands_beside_the_estimate():
    (block,) = tables.blocks([row(), planted_row(E3=failed("k"))])
    found = {record["metric"]: record for record in tables.truth(block, "anachron")}
    assert set(found) == {"E2", "E3", "LAP.pre", "cutoff"}
    assert found["E2"]["error"] == pytest.approx(-0.0171) and found["E2"]["covered"] == "yes"
    assert (found["cutoff"]["error"], found["cutoff"]["covered"]) == (1, "yes")
    assert (found["E3"]["error"], found["E3"]["covered"], found["E3"]["gate"]) == (None, "", "k")
    assert tables.show_truth(block, found["cutoff"])["Error"] == "+1 month"


def test_each_scoring_is_held_against_the_truth_by_its_own_definition():
    (block,) = tables.blocks([planted_row(bm1_truth={"E2": 0.10})])
    own, published = (
        next(record for record in tables.truth(block, scoring) if record["metric"] == "E2")
        for scoring in ("anachron", "bm1")
    )
    assert (own["truth"], own["covered"]) == (0.40, "yes")
    assert (published["truth"], published["covered"]) == (0.10, "no")
    assert "<span>+.100</span>" in page.text(list(block.rows)) and "| +.100 |" in markdown.text(
        list(block.rows)
    )


def test_only_differences_carry_a_plus():
    (block,) = tables.blocks([planted_row()])
    shown = {
        line["Metric"]: line for line in (tables.show_truth(block, r) for r in tables.truth(block, "bm1"))
    }
    assert shown[block.table.LABELS["E2"]]["Truth"] == "+.400"
    assert shown[block.table.LABELS["LAP.pre"]]["Truth"] == ".850"
    assert [tables.months(number) for number in (-1, 0, 2)] == ["−1 month", "0 months", "+2 months"]


def test_a_name_that_many_lines_share_stands_once():
    text = page.text([planted_row("one"), planted_row("two")])
    table = text[text.index('aria-label="Truth beside estimate, ') :]
    table = table[: table.index("</table>")]
    assert table.count('scope="rowgroup" rowspan="4"') == 2 and table.count("<tr data-name=") == 2 * 4


def test_an_interval_that_misses_the_truth_says_so():
    (block,) = tables.blocks([planted_row(E2=0.1)])
    assert {record["metric"]: record["covered"] for record in tables.truth(block, "anachron")}["E2"] == "no"


def test_markdown_escapes_what_rows_say():
    text = markdown.text([row(EVIL, {"disclosures": [EVIL + "\n# heading"]})])
    assert "<script" not in text and "\n# heading" not in text
    widths = {
        len(re.findall(r"(?<!\\)\|", line))
        for line in text.splitlines()
        if line.startswith("| ") and "E2" in line
    }
    body = [line for line in text.splitlines() if line.startswith("| &lt;script") and "2024-10 " in line]
    assert body and {len(re.findall(r"(?<!\\)\|", line)) for line in body[:1]} == widths


def test_scoring_asked_for_comes_first():
    text = markdown.text([row()], "bm1")
    assert text.index("Scoring `bm1`") < text.index("Scoring `anachron`")


def test_writing_twice_gives_the_same_bytes(tmp_path):
    rows = [row(), planted_row()]
    first = [path.read_bytes() for path in tables.write(rows, tmp_path / "a")]
    assert first == [path.read_bytes() for path in tables.write(rows, tmp_path / "b")]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "index.html", "leaderboard.csv", "leaderboard.md", "leaderboard.parquet", "leaderboard.tex",
    ]  # fmt: skip
