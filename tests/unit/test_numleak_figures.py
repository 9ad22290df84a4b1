"""Figures of the suite `numleak`: the same bytes twice, and words that state n and method."""

from __future__ import annotations

import copy

import numleak_rows
import pytest

from anachron.publish import figures


@pytest.fixture(scope="module")
def rows():
    return numleak_rows.rows()


def test_same_bytes_twice_and_what_the_captions_state(rows, tmp_path):
    first, second = (figures.write(rows, tmp_path / name) for name in ("a", "b"))
    assert [one.name for one in first] == ["numleak_signature", "numleak_recall_scatter", "cost_per_row"]
    for one, other in zip(first, second, strict=True):
        assert one.svg.read_bytes() == other.svg.read_bytes()
        assert one.png.read_bytes() == other.png.read_bytes()
    signature, scatter, _ = first
    assert "2 models" in signature.caption and "n = 40 months" in signature.caption
    assert "95%" in signature.caption and "bootstrap" in signature.caption
    assert "reciter: Mkt-RF r 1.00 of 40" in scatter.alt and "6 series" in scatter.caption
    assert "Not drawn: UNRATE" in scatter.caption


def test_a_moved_answer_moves_a_point_and_no_answers_are_no_fault(rows, tmp_path):
    (_, before, _) = figures.write(rows, tmp_path / "before")
    moved = copy.deepcopy(rows)
    moved[0]["side"]["numleak"]["scatter"]["SMB"][3][1] += 1.0
    (_, after, _) = figures.write(moved, tmp_path / "after")
    assert before.svg.read_bytes() != after.svg.read_bytes()
    for row in moved:
        row["side"]["numleak"]["scatter"] = {}
    (_, empty, _) = figures.write(moved, tmp_path / "empty")
    assert "no values" in empty.alt and empty.png.is_file()
