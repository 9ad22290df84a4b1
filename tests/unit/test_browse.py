"""Transcripts beside the page: every one is there as it was, in scripts that hold nothing that could run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from row_fixtures import row
from transcript_fixtures import SUITE, answers, prompts, transcripts

from anachron.errors import ContractError
from anachron.publish import browse

EVIL = '</script>"); alert(1);// \u2028 \u202e \x00'


def read(path: Path) -> tuple[list[Any], Any]:
    """Return the name and the content of one file, which must be a single call of plain values."""
    found = re.fullmatch(
        r'anachronTranscripts\((\[[^\n<]*\]),"([A-Za-z0-9+/=]*)"\);\n', path.read_text("utf-8")
    )
    assert found, path
    return json.loads(found.group(1)), json.loads(zlib.decompress(base64.b64decode(found.group(2))))


def test_every_transcript_is_there_as_it_was(tmp_path):
    texts = [f"answer {place} {EVIL}" if place % 7 else None for place in range(450)]
    sealed = transcripts("a model", "D", texts)
    parsed = answers(sealed, recall=["up" if place % 3 else None for place in range(450)])
    browse.write(sealed, parsed, prompts(sealed), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "D-0000.js", "D-0001.js", "D-0002.js", "D.js", "index.js",
    ]  # fmt: skip
    name, index = read(tmp_path / "out" / "index.js")
    assert name == ["a model", SUITE]
    assert index == {
        "arms": [{"arm": "D", "n": 450, "outcomes": {"answer": 385, "empty": 65}}],
        "per_file": 200,
    }
    _, listed = read(tmp_path / "out" / "D.js")
    pieces = [read(tmp_path / "out" / f"D-{number:04d}.js")[1] for number in range(3)]
    records = [record for piece in pieces for record in piece["records"]]
    by_place = {
        (item, rep): at for at, (item, rep) in enumerate(zip(sealed["item"], sealed["rep"], strict=True))
    }
    assert len(records) == len(by_place) == 450
    for place, record in enumerate(records):
        item, rep = listed["item"][place], listed["rep"][place]
        at = by_place.pop((item, rep))
        assert record.get("text") == texts[at]
        assert listed["outcomes"][listed["outcome"][place]] == sealed["outcome"][at]
        assert record["parsed"].get("recall") == ("up" if at % 3 else None)
        assert listed["facets"]["recall"]["codes"][place] == (0 if at % 3 else -1)
        assert pieces[place // 200]["prompts"][record["prompt"]] == ["Be brief.", f"What happened? {item}"]
    assert len(pieces[0]["prompts"]) == 100  # the two reps of an item share theirs


def test_a_name_cannot_leave_its_script(tmp_path):
    sealed = transcripts(EVIL.replace("\x00", ""), "D", ["x"])
    browse.write(sealed, answers(sealed), {}, tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        text = path.read_text("utf-8")
        assert "</script" not in text and text.isascii()
    # Imported records hold no prompt, and the page says by its hash which it was.
    record = read(tmp_path / "out" / "D-0000.js")[1]["records"][0]
    assert record["prompt_sha256"] == "a" * 64 and "prompt" not in record


def test_the_folder_is_replaced_as_a_whole_and_twice_the_same(tmp_path):
    sealed = transcripts("m", "D", ["x", None])
    browse.write(sealed, answers(sealed), {}, tmp_path / "out")
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (tmp_path / "out" / "Z-0000.js").write_text("of an earlier run")
    browse.write(sealed, answers(sealed), {}, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken = answers(sealed, score=float("inf"))
        browse.write(sealed, broken, {}, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ContractError, match="is a file where a folder should be"):
        browse.write(sealed, answers(sealed), {}, tmp_path / "file")


def test_only_transcripts_that_are_there_are_found(tmp_path):
    sealed = transcripts("a:1", "D", ["x"])
    browse.write(sealed, answers(sealed), {}, tmp_path / browse.FOLDER / "a%3A1" / SUITE)
    assert browse.found(tmp_path, [row("a:1"), row("b")]) == {"a:1": [SUITE]}
