"""Figures: same bytes twice, words beside them, and no formula made of a model's name."""

from __future__ import annotations

from row_fixtures import failed, planted_row, row

from anachron.publish import figures, page


def rows():
    return [
        row(
            "kimi/k2.6 $x^$",
            {"generation": "2026", "vendor_cutoff": {"value": "2025-04", "kind": "official"}},
        ),
        row("gated <i>", E2=failed("k"), E3=failed("k"), cutoff=failed("g")),
        planted_row(),
    ]


def test_same_bytes_twice_and_words_beside(tmp_path):
    first = figures.write(rows(), tmp_path / "a")
    second = figures.write(rows(), tmp_path / "b")
    assert [figure.name for figure in first] == ["bm1_e2_e3_forest", "bm1_lap_heatmap", "cost_per_row"]
    for one, other in zip(first, second, strict=True):
        assert one.svg.read_bytes() == other.svg.read_bytes()
        assert one.png.read_bytes() == other.png.read_bytes()
        assert one.png.read_bytes().startswith(b"\x89PNG")
        text = (tmp_path / "a" / f"{one.name}.txt").read_text(encoding="utf-8")
        assert one.alt in text and one.caption in text
    forest, heatmap, cost = first
    assert "E2 +0.383 from +0.30 to +0.47" in forest.alt and "E2 undefined" in forest.alt
    assert "n of E2: 47" in forest.caption and "percentile bootstrap" in forest.caption
    assert "measured end 2024-10, vendor says 2025-04" in heatmap.alt
    assert "2005-01 to 2026-06, 258 months" in heatmap.caption
    assert "planted-trigger: $0.00, 100 calls" in cost.alt and "cost unknown" in cost.alt
    assert "n = 3 rows, 300 calls" in cost.caption and "known of 1 rows" in cost.caption


def test_drawing_follows_the_numbers(tmp_path):
    (one, *_), (other, *_) = (figures.write([row(E2=value)], tmp_path / str(value)) for value in (0.1, 0.3))
    assert one.svg.read_bytes() != other.svg.read_bytes()


def test_rows_without_monthly_recall_still_give_both_files(tmp_path):
    made = row()
    made["side"]["hindsightbench"].pop("lap_by_month")
    _, heatmap, _ = figures.write([made], tmp_path)
    assert heatmap.svg.exists() and "No monthly recall" in heatmap.alt


def test_the_page_carries_the_figures_inside(tmp_path):
    drawn = figures.write(rows(), tmp_path)
    text = page.text(rows(), figures=drawn)
    assert text.count('<img src="data:image/svg+xml;base64,') == 2
    assert "gated &lt;i&gt;: E2 undefined" in text


def test_captions_say_what_estimates_rest_on_and_how_intervals_were_made():
    cells = [
        {"n": 1040, "level": 0.95, "method": "t"},
        None,
        {"n": 12},
        {"n": 40, "level": 0.95, "method": "t"},
    ]
    assert figures.number_of(cells) == "n = 12 to 1,040" and figures.methods_of(cells) == "95% t"
    assert figures.number_of([None]) == "n not recorded" and figures.methods_of([{"n": 3}]) == "no interval"
