"""Looking into stores: whole and damaged, old and new, beside a collector, in folders nobody may write to."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing

import duckdb
import pytest
import zstandard
from collecting import SUITE, Respondent, environment, model, requests, start, wait_for

from anachron.errors import CollectError
from anachron.llm import store
from anachron.llm.collect import collect
from anachron.llm.store_export import export
from anachron.llm.store_merge import merge
from anachron.llm.store_read import locate
from anachron.llm.store_tools import stats, verify

HERE = [("planted", None)]
NAME = f"{model().slug}.sqlite"
VERSION_1 = """
ALTER TABLE attempts DROP COLUMN http_status; ALTER TABLE attempts DROP COLUMN words;
ALTER TABLE attempts DROP COLUMN most_usd; DROP INDEX requests_by_key;
INSERT INTO requests (key, suite, arm, item, rep, body) SELECT key, suite, arm, item, rep, body FROM requests LIMIT 1;
PRAGMA user_version = 1;
"""


def filled(folder, items=10, **columns):
    """Collect into a folder, and return the store's file."""
    table = requests(items, **columns)
    collect(model(), SUITE, table, folder, Respondent(folder.with_suffix(".log")), progress=False)
    return folder / NAME


def change(path, script, values=()):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if values:
            connection.execute(script, values)
        else:
            connection.executescript(script)


def dump(path):
    """Return every row of a store, without its numbers."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: sorted(map(repr, (row[1:] for row in connection.execute(f"SELECT * FROM {table}"))))
            for table in ("requests", "attempts", "responses")
        }


def look(path, out):
    """Look at a store with every tool that only reads."""
    return verify(path, HERE), stats(path), export(path, out / "all.parquet"), export(path, out / "all.jsonl")


def test_a_whole_store_is_whole_and_counted(tmp_path):
    path = filled(tmp_path / "store")
    report = verify(path, HERE)
    assert report.faults == [] and report.notes == []
    assert report.counts == {"requests": 20, "attempts": 20, "responses": 20}
    assert sum(report.asked_at.values()) == 20
    [arm] = stats(path)["arms"]
    assert (arm["requests"], arm["answers"], arm["attempts"]) == (20, 20, {"answered": 20})
    assert arm["outcomes"] == {"answer": 20} and arm["cost_usd"] == 0 and arm["unknown_costs"] == 0


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM requests WHERE id = 4", "1 answers without their request"),
        ("UPDATE requests SET rep = 7 WHERE id = 4", "whose key is not that of their body"),
        (
            "UPDATE requests SET body = (SELECT body FROM requests WHERE id = 6) WHERE id = 4",
            "item 2000-02-15",
        ),
        ("UPDATE responses SET raw = substr(raw, 1, 20) WHERE id IN (3, 5)", "2 answers that cannot be read"),
        ("UPDATE responses SET raw = 'text' WHERE id = 3", "answers that cannot be read"),
        ("UPDATE requests SET body = x'00' WHERE id = 3", "1 request bodies that cannot be read"),
        ("DELETE FROM requests WHERE id = 4; DELETE FROM responses WHERE id = 4", "only an attempt is left"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, damage, says):
    path = filled(tmp_path / "store")
    change(path, damage)
    assert any(says in fault for fault in verify(path, HERE).faults)


def test_keys_asked_at_another_endpoint_are_recomputed_when_it_is_named(tmp_path):
    path = filled(tmp_path / "store")
    assert verify(path, [("openai_chat", "https://a.example/v1")]).faults
    assert not verify(path, [("openai_chat", "https://a.example/v1"), *HERE]).faults


def test_an_index_that_lost_an_answer_is_found(tmp_path):
    path = filled(tmp_path / "store", 100)
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_responses_1'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    start_of_page = (root - 1) * size
    cells = int.from_bytes(content[start_of_page + 3 : start_of_page + 5], "big")
    content[start_of_page + 3 : start_of_page + 5] = (cells - 1).to_bytes(2, "big")
    path.write_bytes(content)
    assert any("damaged pages or indexes" in fault for fault in verify(path, HERE).faults)


def test_lost_answers_and_open_requests_are_notes(tmp_path):
    path = filled(tmp_path / "store")
    change(path, "DELETE FROM responses WHERE id = 3; UPDATE attempts SET status = 'sent' WHERE id = 5")
    report = verify(path, HERE)
    assert report.faults == []
    assert [note.split(" ")[0] for note in report.notes] == ["1", "1", "1"]


def test_unknown_costs_are_never_added_up_as_nothing(tmp_path):
    path = filled(tmp_path / "store")
    change(
        path,
        "UPDATE attempts SET cost_usd = 0.5; UPDATE attempts SET cost_usd = NULL, most_usd = 2 WHERE id = 3;"
        "UPDATE attempts SET cost_usd = NULL, status = 'timeout', most_usd = 3 WHERE id = 4;"
        "UPDATE attempts SET cost_usd = NULL, status = 'failed' WHERE id = 5",
    )
    [arm] = stats(path)["arms"]
    assert (arm["cost_usd"], arm["unknown_costs"], arm["unknown_at_most_usd"]) == (8.5, 2, 5.0)
    change(path, "UPDATE attempts SET most_usd = NULL WHERE id = 4")
    [arm] = stats(path)["arms"]
    assert (arm["unknown_costs"], arm["unknown_at_most_usd"]) == (2, None)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_stops_with_a_readable_error_and_is_left_as_it_is(tmp_path, seed):
    path = filled(tmp_path / "store", 60)
    chance = random.Random(seed)
    content = bytearray(path.read_bytes())
    if seed % 2:
        del content[chance.randrange(1, len(content)) :]
    else:
        for _ in range(40):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    other = filled(tmp_path / "other", 3)
    before, found = dump(other), 0
    for tool in (
        lambda: verify(path, HERE).faults,
        lambda: stats(path),
        lambda: export(path, tmp_path / "x.parquet"),
        lambda: merge(other, path).unreadable,
    ):
        try:
            found += bool(tool())
        except CollectError as error:
            assert str(path) in str(error)
            found += 1
    assert found and path.read_bytes() == bytes(content)
    for table, rows in dump(other).items():
        assert set(before[table]) <= set(rows)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"no database at all " * 400, "not a database"),
        (b"SQLite format 3\0", "damaged"),
    ],
)
def test_a_file_that_is_no_store_is_refused(tmp_path, content, says):
    path = tmp_path / NAME
    path.write_bytes(content)
    for tool in (lambda: verify(path, HERE), lambda: stats(path), lambda: export(path, tmp_path / "x.jsonl")):
        with pytest.raises(CollectError, match=says):
            tool()
    assert path.read_bytes() == content and not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("PRAGMA application_id = 7", "no store"),
        ("PRAGMA user_version = 99", "version 99"),
        ("PRAGMA user_version = 0", "version 0"),
        ("DROP TABLE attempts", "the table attempts is gone"),
    ],
)
def test_a_foreign_or_newer_store_is_refused(tmp_path, script, says):
    path = filled(tmp_path / "store")
    change(path, script)
    second = filled(tmp_path / "second", 2)
    for tool in (lambda: verify(path, HERE), lambda: stats(path), lambda: merge(second, path)):
        with pytest.raises(CollectError, match=says):
            tool()


def test_a_store_of_the_first_version_is_read_and_stays_one(tmp_path):
    path = filled(tmp_path / "store")
    change(path, VERSION_1)
    before = path.read_bytes()
    report, sums, rows, _ = look(path, tmp_path)
    assert report.faults == [] and report.counts["requests"] == 21
    assert rows == 20 and sums["arms"][0]["requests"] == 20 and sums["schema_version"] == 1
    assert path.read_bytes() == before


def test_every_tool_that_reads_works_beside_a_collector(tmp_path):
    folder, log = tmp_path / "store", tmp_path / "log"
    child = start(folder, log, 60, 0.01)
    try:
        wait_for(lambda: len(Respondent(log).calls) > 5)
        seen = []
        while child.is_alive():
            report, sums, rows, _ = look(folder / NAME, tmp_path)
            assert report.faults == [] and report.counts["responses"] <= 120
            seen.append((sums["arms"][0]["answers"], rows))
        assert len(seen) > 1 and seen[0][0] < 120
    finally:
        child.join(20)
    assert child.exitcode == 0
    assert stats(folder / NAME)["arms"][0]["answers"] == 120


def test_a_folder_that_cannot_be_written_to_gets_no_file(tmp_path, monkeypatch):
    path = filled(tmp_path / "store")
    before = sorted(path.parent.iterdir())
    monkeypatch.setattr(os, "access", lambda *_: False)
    report, _, rows, _ = look(path, tmp_path)
    assert report.faults == [] and rows == 20
    assert sorted(path.parent.iterdir()) == before


def test_an_export_holds_everything_and_is_the_same_twice(tmp_path):
    path = filled(tmp_path / "store", 5)
    collect(model(), SUITE, requests(2, arm="Q"), path.parent, Respondent(tmp_path / "log"), progress=False)
    odd = zstandard.ZstdCompressor().compress(b"\xff\xfe")
    change(path, "UPDATE responses SET raw = ? WHERE id = 2", (odd,))
    change(path, "DELETE FROM requests WHERE id = 3")
    names = ("all.parquet", "again.parquet", "all.jsonl")
    assert [export(path, tmp_path / name) for name in names] == [14, 14, 14]
    assert (tmp_path / names[0]).read_bytes() == (tmp_path / names[1]).read_bytes()
    table = duckdb.read_parquet(str(tmp_path / "all.parquet")).df()
    assert table["request"].isna().sum() == 1 and table["suite"].isna().tolist()[-1]
    assert bytes(table["response_bytes"].dropna().item()) == b"\xff\xfe"
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == table["key"].tolist()
    for line, attempts in zip(lines, table["attempts"], strict=True):
        assert (
            [one["status"] for one in line["attempts"]] == [one["status"] for one in attempts] == ["answered"]
        )
        assert line["response"] is None or json.loads(line["response"])["text"].startswith("0.3")
    places = [(line["arm"], line["item"], line["rep"]) for line in lines[:-1]]
    assert places == sorted(places)
    assert (
        export(path, tmp_path / "q.jsonl", SUITE, "Q") == 4 and export(path, tmp_path / "n.jsonl", "no") == 0
    )


def test_an_export_holds_a_few_answers_in_memory_at_a_time(tmp_path):
    path = filled(tmp_path / "store", 100)
    large = zstandard.ZstdCompressor().compress(b"x" * 500_000)
    change(path, "UPDATE responses SET raw = ?", (large,))
    for name in ("all.parquet", "all.jsonl"):
        tracemalloc.start()
        assert export(path, tmp_path / name) == 200
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40e6, "100 MB of answers must not be in memory together"


FULL = """
import resource, sys
from pathlib import Path
from anachron.errors import CollectError
from anachron.llm.store_export import export
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000,) * 2)
try:
    export(Path(sys.argv[1]), Path(sys.argv[2]))
except CollectError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_an_export_that_finds_no_room_leaves_nothing(tmp_path, kind):
    path = filled(tmp_path / "store", 2)
    large = zstandard.ZstdCompressor().compress(random.Random(1).randbytes(100_000))
    change(path, "UPDATE responses SET raw = ? WHERE id = 1", (large,))
    out = tmp_path / "out" / f"all.{kind}"
    command = [sys.executable, "-c", FULL, str(path), str(out)]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 1 and str(out) in run.stderr and "cannot be written" in run.stderr
    assert "Traceback" not in run.stderr
    assert list(out.parent.iterdir()) == []


def test_an_export_needs_a_known_ending_and_a_model_a_store(tmp_path):
    path = filled(tmp_path / "store", 1)
    with pytest.raises(CollectError, match=r"\.parquet or \.jsonl"):
        export(path, tmp_path / "x.csv")
    assert locate(path.parent, model().name) == locate(path.parent, str(path)) == path
    with pytest.raises(CollectError, match="did you mean `planted%20one`"):
        locate(path.parent, "planted on")


def test_merging_adds_what_is_missing_and_a_second_time_nothing(tmp_path):
    first, second = filled(tmp_path / "a", 6), filled(tmp_path / "b", 10)
    change(
        second, "UPDATE attempts SET started = started + 1; UPDATE attempts SET status = 'sent' WHERE id = 20"
    )
    change(second, "DELETE FROM responses WHERE id = 20")
    held, before = dump(first), second.read_bytes()
    merged = merge(first, second)
    assert (merged.requests, merged.responses, merged.already) == (8, 7, 12)
    assert (merged.attempts, merged.conflicts, merged.unreadable) == (20, [], [])
    after = dump(first)
    assert all(set(held[table]) <= set(after[table]) for table in held)
    assert stats(first)["arms"][0]["attempts"] == {"answered": 31, "lost": 1}
    again = merge(first, second)
    assert (again.requests, again.responses, again.attempts, again.already) == (0, 0, 0, 19)
    assert dump(first) == after and second.read_bytes() == before
    assert verify(first, HERE).faults == []
    respondent = Respondent(tmp_path / "log")
    collect(model(), SUITE, requests(10), first.parent, respondent, progress=False)
    assert len(respondent.calls) == 1, "merged answers are not asked again"


def test_answers_that_disagree_are_named_and_the_first_stays(tmp_path):
    first, second = filled(tmp_path / "a", 3), filled(tmp_path / "b", 4)
    other = zstandard.ZstdCompressor().compress(b'{"text": "another"}')
    change(second, "UPDATE responses SET raw = ? WHERE id = 2", (other,))
    change(second, "UPDATE responses SET raw = x'00' WHERE id = 7")
    held = dump(first)["responses"]
    merged = merge(first, second)
    assert len(merged.conflicts) == 1 and "item 2000-01-15, rep 2" in merged.conflicts[0]
    assert len(merged.unreadable) == 1 and "item 2000-04-15, rep 1" in merged.unreadable[0]
    assert merged.responses == 1 and set(held) <= set(dump(first)["responses"])


def test_a_store_of_the_first_version_is_merged(tmp_path):
    first, second = filled(tmp_path / "a", 2), filled(tmp_path / "b", 4)
    change(second, VERSION_1)
    assert merge(first, second).responses == 4
    assert verify(first, HERE).faults == []


def test_neither_store_may_be_in_use_and_both_are_of_one_model(tmp_path):
    first, second = filled(tmp_path / "a", 2), filled(tmp_path / "b", 2)
    for folder in (first.parent, second.parent):
        with (
            store.open_store(folder, first.stem, durable=False),
            pytest.raises(CollectError, match=str(folder)),
        ):
            merge(first, second)
    with pytest.raises(CollectError, match="the store it should be merged into"):
        merge(first, first)
    with pytest.raises(CollectError, match="another model"):
        merge(first, shutil.copy(second, tmp_path / "other.sqlite") and tmp_path / "other.sqlite")
    with pytest.raises(CollectError, match="no such store"):
        merge(first, tmp_path / "none" / NAME)


KILLED = """
import os, sys
from pathlib import Path
from anachron.llm import store_merge
store_merge.BATCH = 7
done, at = 0, int(sys.argv[3])
insert = store_merge._insert
def counted(*arguments):
    global done
    done += 1
    if done == at:
        os.kill(os.getpid(), 9)
    return insert(*arguments)
store_merge._insert = counted
store_merge.merge(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_killed_merge_is_finished_by_merging_again(tmp_path):
    first, second = filled(tmp_path / "a", 2), filled(tmp_path / "b", 20)
    change(second, "UPDATE attempts SET started = started + 1")
    whole = tmp_path / "whole"
    shutil.copytree(first.parent, whole)
    merge(whole / NAME, second)
    for at in (1, 20, 55, 100):
        command = [sys.executable, "-c", KILLED, str(first), str(second), str(at)]
        run = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        assert run.returncode in (-9, 0), run.stderr
        assert verify(first, HERE).faults == []
    merge(first, second)
    assert dump(first) == dump(whole / NAME)
