"""Published tables against golden files, LaTeX that compiles, Parquet that holds the CSV, and what recovery counts.

The golden files show what is printed; `PYTHONPATH=tests/unit python tests/unit/test_published_files.py` writes them
anew after a change that is meant, and the difference is read before it is committed.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from row_fixtures import SUITE, failed, planted_row, row

from anachron.publish import latex, markdown, recovery, tables

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tables"
EVIL = r"a_b/c:2 <i> $x^2$ {y} \end{document} 100% & # ~ -- ``q'' ?` 模型"


def rows():
    """Return rows that hold what tables may hold: gates, marks, generations, planted truth, an awkward name."""
    return [
        row("older", {"generation": "2024", "vendor_cutoff": {"value": "2024-06", "kind": "official"}}),
        row(
            EVIL,
            {"generation": "2026", "disclosures": ["Says: " + EVIL], "thinking": "locked"},
            E2=failed("k"), E3=failed("k"), cutoff=failed("g"),
        ),
        row("newer", {"generation": "2026"}, REC_pre_year=failed("r"), REC_post_year=failed("r"), marks={}),
        planted_row(),
        planted_row("planted-other", E2=0.52, E3=failed("k")),
    ]  # fmt: skip


def texts() -> dict[str, str]:
    made = rows()
    return {
        "leaderboard.md": markdown.text(made),
        "leaderboard.tex": latex.text(made),
        "leaderboard.csv": tables.csv_text(tables.machine(made)),
    }


@pytest.mark.parametrize("name", ["leaderboard.md", "leaderboard.tex", "leaderboard.csv"])
def test_tables_are_those_of_the_golden_files(name):
    assert texts()[name] == (GOLDEN / name).read_bytes().decode("utf-8")


def test_planted_models_stand_in_a_block_of_their_own():
    text = markdown.text(rows())
    measured, planted = text.split("Planted respondents (")[:2]
    assert "| planted-" not in measured and "| older |" not in planted.split("### ")[0]
    first = [line.split(" | ")[0] for line in measured.splitlines() if line.startswith("| ")]
    assert first[2:] == ["| " + markdown.escape(EVIL), "| newer", "| older"], (
        "newest generation first, then as registered"
    )


def test_bias_and_coverage_are_those_of_the_respondents():
    (block,) = tables.blocks(rows())
    found = {record["metric"]: record for record in recovery.recovery(block, "anachron")}
    # Truth .40; estimates .3829 and .52, each with an interval of ±.0873.
    assert found["E2"]["bias"] == pytest.approx((0.3829 - 0.40 + 0.52 - 0.40) / 2)
    assert (found["E2"]["intervals"], found["E2"]["covered"]) == (2, 1)
    assert (found["E3"]["respondents"], found["E3"]["estimated"]) == (2, 1), "gated is no estimate"
    assert recovery.show(block, found["cutoff"])["Bias"] == "+1.0 months"
    assert recovery.recovery(tables.blocks([row()])[0], "anachron") == []


def test_the_latex_balances_and_has_as_many_cells_as_columns():
    text = texts()["leaderboard.tex"]
    assert text.isascii() or re.search(r"DeclareUnicodeCharacter\{6A21\}", text)
    for name in ("document", "tabular", "itemize"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") > 0
    assert text.count(r"\end{document}") == 1, "a model's name ends no document"
    for body in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.DOTALL):
        lines = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in lines}) == 1


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex here (Debian: texlive-latex-recommended)"
)
def test_the_latex_compiles(tmp_path):
    (tmp_path / "leaderboard.tex").write_text(texts()["leaderboard.tex"], encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "leaderboard.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
    assert (tmp_path / "leaderboard.pdf").read_bytes().startswith(b"%PDF")
    assert "Overfull" not in run.stdout, "no table is wider than the page"


def test_a_long_table_goes_on_below_its_head_again():
    lines = [{"Model": f"m{number}", "E2": "+.1"} for number in range(latex.PAGE + 1)]
    text = "\n".join(latex._table(lines, None))
    assert text.count(r"\begin{tabular}") == text.count(r"Model & E2 \\") == 2


def test_parquet_holds_what_the_csv_holds(tmp_path):
    records = tables.machine(rows())
    tables.parquet(records, tmp_path / "a.parquet")
    tables.parquet(records, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    held = pd.read_parquet(tmp_path / "a.parquet")
    lines = list(csv.DictReader(tables.csv_text(records).splitlines()))
    assert list(held.columns) == list(lines[0]) and len(held) == len(lines)
    for column in held.columns:
        for value, text in zip(held[column], [line[column] for line in lines], strict=True):
            assert (text == "") == bool(pd.isna(value)), column
            if text and not isinstance(value, str):
                assert float(value) == float(text), column
    assert held["E2"].dtype == "float64" and str(held["planted"].iloc[0]) in ("yes", "no")
    assert set(held.loc[held["model"] == "planted-trigger", "suite"]) == {SUITE}


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (GOLDEN / name).write_bytes(text.encode("utf-8"))
