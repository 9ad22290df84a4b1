"""`anachron verify` on a real run: an unaltered row follows, and whatever was altered is named."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest
from workflow_checkout import Checkout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

ROW = "results/rows/tiny-trigger.json"
BLOCK = "results/transcripts/tiny-trigger/hindsightbench/D/all.parquet"


def verify(checkout: Checkout, *args: str, row: str = ROW, ok: bool = True) -> str:
    return checkout.anachron("verify", row, "--config", "config/test/config.yaml", *args, ok=ok)


def test_rows_of_a_run_follow_from_their_transcripts(checkout: Checkout) -> None:
    before = checkout.results()
    assert "follows from" in verify(checkout)
    assert "follows from" in verify(checkout, row="results/rows/tiny%2Famnesiac%3A%20two.json")
    assert checkout.results() == before, "verifying writes nothing"


def test_one_altered_digit_is_named_and_nothing_else(checkout: Checkout) -> None:
    path = checkout.path / ROW
    row = json.loads(path.read_text(encoding="utf-8"))
    value = row["estimates"]["hindsightbench"]["anachron"]["LAP.pre"]["value"]
    text = path.read_text(encoding="utf-8")
    altered = f"{value}"[:-1] + ("1" if f"{value}"[-1] != "1" else "2")
    assert text.count(f'"value": {value}') >= 1
    path.write_text(text.replace(f'"value": {value}', f'"value": {altered}', 1), encoding="utf-8")
    said = verify(checkout, ok=False)
    assert "1 field differs" in said
    assert re.search(rf"LAP\.pre\.value`: the row says {altered}, recomputed {value}", said), said
    assert "the row itself was altered" in said


def test_a_parser_that_was_changed_after_freezing_is_named(checkout: Checkout) -> None:
    checkout.snakemake("freeze", "--config", "frozen=frozen")
    frozen = "frozen/tiny/tiny-trigger@1.json"
    assert (checkout.path / frozen).is_file(), sorted((checkout.path / "frozen").rglob("*"))
    assert "follows from" in verify(checkout, row=frozen)
    parser = checkout.path / "src/anachron/suites/hindsightbench/parse.py"
    parser.write_text(parser.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    said = verify(checkout, row=frozen, ok=False)
    assert "hindsightbench: the parser, or code it uses, was changed after the row was made" in said
    assert "`provenance.hindsightbench.fingerprints.parse`" in said and "1 field differs" in said
    assert "follows from" in verify(checkout, "--other-code", row=frozen)


def test_a_removed_transcript_and_a_removed_block_are_named(checkout: Checkout) -> None:
    path = checkout.path / BLOCK
    kept = path.read_bytes()
    frame = pd.read_parquet(path)
    frame.iloc[1:].to_parquet(path, index=False)
    said = verify(checkout, ok=False)
    assert "hindsightbench: the sealed transcripts are not those the row was made from" in said
    calls = json.loads((checkout.path / ROW).read_text(encoding="utf-8"))["ledger"]["calls"]
    assert f"`ledger.calls`: the row says {calls}, recomputed {calls - 1}" in said
    path.unlink()
    said = verify(checkout, ok=False)
    assert BLOCK in said and "no such file" in said and "1 of the 7 sealed blocks" in said
    path.write_bytes(kept)
    verify(checkout)


def test_another_protocol_and_a_model_that_is_gone_are_told_plainly(checkout: Checkout) -> None:
    shutil.copy(checkout.path / "config/test/protocol.yaml", checkout.path / "mine.yaml")
    checkout.edit("config/test/protocol.yaml", "name: tiny\n", "name: other\n")
    said = verify(checkout, ok=False)
    assert "made under protocol 'tiny'; the configuration has 'other'" in said
    assert "follows from" in verify(checkout, "--protocol", "mine.yaml")
    checkout.edit("config/test/models.yaml", "name: tiny-trigger", "name: tiny-other")
    assert "'tiny-trigger' is not in the registry" in verify(checkout, ok=False)
