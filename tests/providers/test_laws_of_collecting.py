"""Paid answers outlive everything: kills, second collectors, damaged files, full disks."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections import namedtuple

import pytest
from collecting import CONTEXT, SUITE, Respondent, environment, model, requests, sealed, start, wait_for

from anachron.errors import CollectError
from anachron.llm import providers, store
from anachron.llm.collect import collect
from anachron.llm.lock import exclusive


def counts(folder, name="planted one"):
    with store.open_store(folder, model(name).slug, durable=False) as opened:
        return {
            table: opened.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("requests", "attempts", "responses")
        }


def test_after_kills_only_what_is_missing_is_asked(tmp_path):
    items, kills = 60, 8
    log, folder = tmp_path / "log", tmp_path / "store"
    chance = random.Random(7)
    respondent = Respondent(log)
    for _ in range(kills):
        before = len(respondent.calls)
        child = start(folder, log, items, 0.004)
        wait_for(lambda before=before: len(respondent.calls) > before)
        time.sleep(chance.uniform(0, 0.04))
        child.kill()
        child.join()
        assert child.exitcode == -9
    killed = len(respondent.calls)
    assert kills <= killed < items * 2, "every kill must fall into the work"

    frame = collect(model(), SUITE, requests(items), folder, respondent, progress=False)

    unique = len(frame)
    assert unique == frame["key"].nunique() == items * 2
    assert unique <= len(respondent.calls) <= unique + kills
    assert set(respondent.calls) == set(frame["key"])
    found = counts(folder)
    assert found["attempts"] == found["responses"] == found["requests"] == unique
    untouched = collect(model(), SUITE, requests(items), tmp_path / "other", Respondent(log), progress=False)
    assert sealed(frame, tmp_path / "a") == sealed(untouched, tmp_path / "b")


def test_a_second_collector_refuses_and_names_the_first(tmp_path):
    log, folder = tmp_path / "log", tmp_path / "store"
    first = start(folder, log, 400, 0.01)
    try:
        wait_for(lambda: log.exists() and log.stat().st_size > 0)
        lock = json.loads((folder / f"{model().slug}.lock").read_text())
        second = Respondent(tmp_path / "second")
        with pytest.raises(CollectError, match=f"process {first.pid} .*started {lock['started'][:10]}"):
            collect(model(), SUITE, requests(400), folder, second, progress=False)
        assert second.calls == []
        other = collect(model("another"), SUITE, requests(2), folder, second, progress=False)
        assert len(other) == 4, "another model's store is free"
    finally:
        first.kill()
        first.join()
    assert len(collect(model(), SUITE, requests(2), folder, second, progress=False)) == 4


def test_the_lock_is_released_and_keeps_no_holder(tmp_path):
    path = tmp_path / "x.lock"
    with exclusive(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with pytest.raises(CollectError, match=str(os.getpid())), exclusive(path):
            pass
        assert json.loads(path.read_text())["pid"] == os.getpid(), "a refused collector must not blot it out"
    assert path.read_text() == ""
    with exclusive(path):
        pass


def test_all_cached_asks_nothing_and_needs_no_respondent(tmp_path):
    respondent = Respondent(tmp_path / "log")
    first = collect(model(), SUITE, requests(), tmp_path, respondent, progress=False)
    again = collect(model(), SUITE, requests(), tmp_path, None, progress=False)
    assert len(respondent.calls) == 20
    assert sealed(first, tmp_path / "a") == sealed(again, tmp_path / "b")


def test_a_changed_prompt_asks_that_date_again_and_no_other(tmp_path):
    respondent = Respondent(tmp_path / "log")
    table = requests()
    before = collect(model(), SUITE, table, tmp_path, respondent, progress=False)
    date = table["item"][6]
    table.loc[table["item"] == date, "prompt"] = "Another question?"
    after = collect(model(), SUITE, table, tmp_path, respondent, progress=False)
    changed = after["key"] != before["key"]
    assert set(after.loc[changed, "item"]) == {date}
    assert sorted(respondent.calls[20:]) == sorted(after.loc[changed, "key"])


def test_added_dates_ask_only_the_new_ones(tmp_path):
    respondent = Respondent(tmp_path / "log")
    collect(model(), SUITE, requests(10), tmp_path, respondent, progress=False)
    collect(model(), SUITE, requests(12), tmp_path, respondent, progress=False)
    assert len(respondent.calls) == 24


def damage_cut(path):
    os.truncate(path, path.stat().st_size * 6 // 10)


def damage_page(path):
    connection = sqlite3.connect(path)
    (raw,) = connection.execute("SELECT raw FROM responses ORDER BY id LIMIT 1 OFFSET 200").fetchone()
    connection.close()
    content = path.read_bytes()
    page = content.index(raw) // 4096 * 4096
    path.write_bytes(content[:page] + b"\xff" * 4096 + content[page + 4096 :])


@pytest.mark.parametrize("damage", [damage_cut, damage_page])
def test_a_damaged_store_is_reported_kept_and_read_as_far_as_it_goes(tmp_path, damage):
    respondent = Respondent(tmp_path / "log")
    table = requests(300)
    whole = collect(model(), SUITE, table, tmp_path, respondent, progress=False)
    path = tmp_path / f"{model().slug}.sqlite"
    damage(path)
    broken = path.read_bytes()
    told = []
    again = collect(model(), SUITE, table, tmp_path, respondent, progress=False, report=told.append)
    assert sealed(whole, tmp_path / "a") == sealed(again, tmp_path / "b")
    asked_again = len(respondent.calls) - 600
    assert 0 < asked_again < 400, "a part is lost, and a part is saved"
    assert (tmp_path / f"{path.name}.damaged-1").read_bytes() == broken
    assert len(told) == 1 and str(path) in told[0] and f"{600 - asked_again} answers" in told[0]
    damage(path)
    collect(model(), SUITE, table, tmp_path, respondent, progress=False, report=told.append)
    assert (tmp_path / f"{path.name}.damaged-1").read_bytes() == broken
    assert (tmp_path / f"{path.name}.damaged-2").exists()


@pytest.mark.parametrize("content", [b"", b"not a database at all " * 400])
def test_a_file_that_is_no_database_is_kept(tmp_path, content):
    path = tmp_path / f"{model().slug}.sqlite"
    path.write_bytes(content)
    told = []
    respondent = Respondent(tmp_path / "log")
    frame = collect(model(), SUITE, requests(2), tmp_path, respondent, progress=False, report=told.append)
    assert len(frame) == 4
    assert (tmp_path / f"{path.name}.damaged-1").read_bytes() == content
    assert "0 answers" in told[0]


def test_a_body_that_fails_its_checksum_is_asked_again_and_the_rest_is_not(tmp_path):
    respondent = Respondent(tmp_path / "log")
    whole = collect(model(), SUITE, requests(), tmp_path, respondent, progress=False)
    path = tmp_path / f"{model().slug}.sqlite"
    connection = sqlite3.connect(path)
    raw = bytearray(connection.execute("SELECT raw FROM responses WHERE id = 3").fetchone()[0])
    raw[-1] ^= 0xFF
    connection.execute("UPDATE responses SET raw = ? WHERE id = 3", (bytes(raw),))
    connection.commit()
    connection.close()
    told = []
    again = collect(model(), SUITE, requests(), tmp_path, respondent, progress=False, report=told.append)
    assert sealed(whole, tmp_path / "a") == sealed(again, tmp_path / "b")
    assert len(respondent.calls) == 21
    assert "checksum" in told[0] and (tmp_path / f"{path.name}.damaged-1").exists()


def test_a_foreign_or_newer_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / f"{model().slug}.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(CollectError, match="no store"):
        collect(model(), SUITE, requests(2), tmp_path, Respondent(tmp_path / "log"), progress=False)
    assert path.read_bytes() == before
    path.unlink()
    store.create(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(CollectError, match="version 99"):
        collect(model(), SUITE, requests(2), tmp_path, Respondent(tmp_path / "log"), progress=False)


FILL = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
from collecting import SUITE, Respondent, model, requests
from anachron.errors import CollectError
from anachron.llm.collect import collect
try:
    collect(model(), SUITE, requests(300), Path(sys.argv[1]), Respondent(Path(sys.argv[2])), progress=False)
except CollectError as error:
    sys.exit(str(error))
"""


def test_a_disk_that_fills_up_stops_with_a_clear_error_and_loses_nothing_stored(tmp_path):
    log, folder = tmp_path / "log", tmp_path / "store"
    command = [sys.executable, "-c", FILL, str(folder), str(log), str(300_000)]
    full = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert "the store cannot be written" in full.stderr and "full disk" in full.stderr
    assert "Traceback" not in full.stderr
    respondent = Respondent(log)
    asked = len(respondent.calls)
    assert 10 < asked < 600
    frame = collect(model(), SUITE, requests(300), folder, respondent, progress=False)
    assert len(frame) == 600
    assert len(respondent.calls) <= 601, "at most the answer that found no room is asked again"


def test_nothing_is_sent_when_the_disk_has_no_room_for_answers(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(store.shutil, "disk_usage", lambda _: usage(10**9, 10**9, 10**6))
    respondent = Respondent(tmp_path / "log")
    with pytest.raises(CollectError, match="1 MB of disk space"):
        collect(model(), SUITE, requests(2), tmp_path, respondent, progress=False)
    assert respondent.calls == []


def test_a_provider_that_costs_needs_a_budget_and_none_for_what_is_stored(tmp_path, monkeypatch):
    from anachron.llm.providers import planted

    costly = dataclasses.replace(planted.PROVIDER, free=False, provenance="api")
    monkeypatch.setattr(providers, "get", lambda kind: costly)
    respondent = Respondent(tmp_path / "log")
    with pytest.raises(CollectError, match=r"20 requests.*`budget_usd` is 0"):
        collect(model(), SUITE, requests(), tmp_path, respondent, progress=False)
    assert respondent.calls == []
    with pytest.raises(CollectError, match=r"20 requests.*unknown.*`unknown_prices: allow`"):
        collect(model(), SUITE, requests(), tmp_path, respondent, budget_usd=1.0, progress=False)
    assert respondent.calls == []
    allowed = {"budget_usd": 1.0, "unknown_prices": "allow", "progress": False}
    collect(model(), SUITE, requests(), tmp_path, respondent, **allowed)
    frame = collect(model(), SUITE, requests(), tmp_path, respondent, progress=False)
    assert len(frame) == len(respondent.calls) == 20


def test_costly_answers_wait_for_the_disk(tmp_path):
    for durable, level in ((True, 2), (False, 1)):
        with store.open_store(tmp_path, "x", durable=durable) as opened:
            assert opened.connection.execute("PRAGMA synchronous").fetchone()[0] == level


@pytest.mark.parametrize(
    "name", ["../../up", "..", "a/b:c d", "/etc/passwd", "llama3.2:3b", "ünïcode", "a\\b"]
)
def test_no_model_name_leaves_the_folder_of_stores(tmp_path, name):
    folder = tmp_path / "in" / "store"
    frame = collect(model(name), SUITE, requests(1), folder, Respondent(tmp_path / "log"), progress=False)
    assert set(frame["model"]) == {name}
    stores = [path for path in tmp_path.rglob("*") if path.suffix == ".sqlite"]
    assert [path.parent for path in stores] == [folder]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "log"]


def test_the_children_really_are_separate_processes():
    assert CONTEXT.get_start_method() == "forkserver"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
