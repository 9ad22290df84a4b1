"""Rows, tables and figures of the suite `findendro`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from findendro_facts import ROOT, protocol, sample, transcripts

from anachron.config import Registry, load
from anachron.publish import figures, markdown, row, tables
from anachron.stages_estimate import document
from anachron.suites.findendro import items, planted
from anachron.suites.findendro.estimate import estimate
from anachron.suites.findendro.parse import parse

NAMES = ("planted-memory", "planted-amnesiac")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Return the rows of two planted models of the registry, one that knows and one that does not."""
    chosen, known, made = protocol(), sample(), []
    registry = load(Registry, ROOT / "config/models.yaml")
    for name in NAMES:
        entry = registry.get(name)
        sealed = transcripts(chosen, known, entry.planted["findendro"])
        sealed["model"] = name
        answers = parse(sealed, chosen)
        truth = {"anachron": planted.truth(entry.planted["findendro"], chosen, items.memory(known))}
        result = estimate(answers, known, chosen)
        part = document(entry, "findendro", chosen, sealed, answers, known, result, truth=truth)
        made.append(row.build(entry, {"findendro": part}))
    return made


def test_cutoffs_stand_side_by_side_and_the_statements_decide_nothing(rows: list[dict[str, Any]]) -> None:
    memory = rows[0]
    kinds = {end["label"]: end for end in memory["cutoffs"]}
    assert kinds["self-reported"]["kind"] == "self-reported" and kinds["self-reported"]["month"] == "2023-12"
    assert kinds["knowledge end"]["month"] == "2021-09" and kinds["claims end"]["month"] == "2023-03"
    assert kinds["knowledge end"]["months_from_vendor"] == -27
    highs = [kinds[label]["high"] for label in ("knowledge end", "claims end")]
    assert memory["safe_from"]["month"] is None or memory["safe_from"]["month"] > max(highs)
    printed = tables.cutoffs(rows)[0]
    assert printed["Self-reported"] == "2023-12" and "Measured self-reported" not in printed


def test_tables_print_and_gated_cells_say_why(rows: list[dict[str, Any]]) -> None:
    block = tables.blocks(rows)[0]
    knows, ignorant = tables.leaderboard(block, "anachron")
    assert knows["Knowledge ends"].startswith("2021Q3 [") and knows["Claims end"].startswith("2023Q1 [")
    assert ignorant["Knowledge ends"] == "—b"
    assert knows["Says, predict → dated"].endswith("→ .00")
    titles = dict(tables.further(block, "anachron"))
    assert len(titles) == 4
    filtered = next(lines for title, lines in titles.items() if title.startswith("Self-report"))
    assert filtered[1]["Inside: accuracy"] == "—e" and filtered[0]["Inside: n"] != "—"
    text = markdown.text(rows)
    assert all(f"{title}:" in text for title in titles)
    assert "<sup>b</sup> Never known" in text and "<sup>e</sup> The end of knowledge" in text


def test_figures_are_the_same_bytes_twice_and_say_what_is_not_drawn(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    first, again = (figures.write(rows, tmp_path / name) for name in ("a", "b"))
    assert [one.name for one in first] == ["findendro_knows_says", "findendro_over_time", "cost_per_row"]
    for one, other in zip(first, again, strict=True):
        assert (
            one.svg.read_bytes() == other.svg.read_bytes() and one.png.read_bytes() == other.png.read_bytes()
        )
    assert "planted-memory: knowledge ends 2021Q3, claims end 2023Q1" in first[1].alt
    assert "planted-amnesiac: knowledge ends undefined" in first[1].alt
