"""Kills, second processes, cut and full stores: only what was in flight is ever asked twice, and it is counted."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time

import pytest
from collecting import environment, wait_for
from nursery import nursery
from serving import NAME, gather, rows, says, served, settled, statuses, store_path, stored

from anachron.errors import CollectError
from anachron.files import sha256_text
from anachron.llm.providers import Reply
from anachron.llm.serve_faults import Fault

KILLS, SEED = int(os.environ.get("ANACHRON_KILLS", "100")), int(os.environ.get("ANACHRON_KILLS_SEED", "2026"))
"""More of them soak the client: ``ANACHRON_KILLS=5000 ANACHRON_KILLS_SEED=7 pytest -k hundred_kills``."""
ITEMS, CONCURRENCY = 24 * KILLS // 10, 4
LIMITS = {"concurrency": CONCURRENCY}


def steady(system: str, prompt: str, before: int) -> Reply:
    """Answer a prompt the same however often it comes, as far as its text goes."""
    return Reply(text=sha256_text(prompt)[:8], finish_reason="stop", input_tokens=5, output_tokens=2)


def works(folder, pid) -> bool:
    """Whether the store's lock is signed by this process."""
    try:
        return json.loads((folder / f"{store_path(folder).stem}.lock").read_text())["pid"] == pid
    except (OSError, ValueError, KeyError):
        return False


@pytest.mark.slow
def test_a_hundred_kills_at_random_moments_cost_only_what_was_in_flight(tmp_path):
    chance, folder = random.Random(SEED), tmp_path / "store"
    owed = in_flight_at_a_kill = 0
    with served(steady, delay_s=0.012) as server, nursery() as processes:
        for kill in range(KILLS):
            before = server.hits.total
            pid = processes.start(server.url, folder, ITEMS, CONCURRENCY)
            if kill % 4:
                wait_for(lambda before=before: server.hits.total > before)
                time.sleep(chance.uniform(0, 0.02))
            else:  # while it opens the store, plans, connects
                wait_for(lambda pid=pid: works(folder, pid))
                time.sleep(chance.uniform(0, 0.1))
            assert processes.kill(pid) == -9
            arrived, kept = settled(server), stored(folder)
            assert owed <= arrived - kept <= owed + CONCURRENCY, "a kill loses what is in flight, at most"
            in_flight_at_a_kill += arrived - kept > owed
            owed = arrived - kept
        assert kept < ITEMS, "every kill must fall into the work"
        assert in_flight_at_a_kill >= KILLS // 4

        frame = gather(server.url, folder, ITEMS, limits=LIMITS)

        assert len(frame) == frame["key"].nunique() == ITEMS
        assert server.hits.total == ITEMS + owed, "unique keys, and what was in flight at the kills"
        came = statuses(folder)
        assert came["answered"] == ITEMS and set(came) == {"answered", "lost"}
        assert owed <= came["lost"] <= KILLS * CONCURRENCY, "whatever may be billed twice is on record"
        tries = dict(rows(folder, "SELECT key, count(*) FROM attempts GROUP BY key"))
        for prompt, key in zip(frame["prompt_sha256"], frame["key"], strict=True):
            assert 1 <= server.hits.by_prompt[prompt] <= tries[key]
        untouched = gather(server.url, tmp_path / "other", ITEMS)
        same = [name for name in frame.columns if name != "request_id"]
        assert frame[same].equals(untouched[same])


def test_two_pipelines_on_one_store_ask_once_and_the_second_is_told_who_was_first(tmp_path):
    # One slow answer keeps the first at work until the second has come and gone.
    slow = [Fault(name="slow", argument="3", count=1)]
    with served(steady, faults=slow) as server, nursery() as processes:
        first = processes.start(server.url, tmp_path, 60, CONCURRENCY)
        wait_for(lambda: server.hits.total > 0)
        with pytest.raises(CollectError, match=f"process {first} on .*, started .*pay twice"):
            gather(server.url, tmp_path, 60)
        assert processes.wait(first) == 0
        assert len(gather(server.url, tmp_path, 60)) == 60
        assert server.hits.total == 60 and set(server.hits.by_prompt.values()) == {1}


def test_two_started_at_once_on_no_store_yet(tmp_path):
    with served(steady, delay_s=0.05) as server, nursery() as processes:
        both = [processes.start(server.url, tmp_path, 60, CONCURRENCY) for _ in range(2)]
        assert sorted(processes.wait(pid) for pid in both) == [0, 1]
        assert server.hits.total == 60 and set(server.hits.by_prompt.values()) == {1}
        assert stored(tmp_path) == 60


@pytest.mark.parametrize("share", [0.0, 0.35, 0.75])
def test_of_a_store_cut_short_only_what_is_gone_is_asked_again(tmp_path, share):
    told: list[str] = []
    with served(steady) as server:
        whole = gather(server.url, tmp_path, 200)
        path = store_path(tmp_path)
        os.truncate(path, int(path.stat().st_size * share))
        cut = path.read_bytes()
        again = gather(server.url, tmp_path, 200, report=told.append)
        gone = server.hits.total - 200
        assert (gone == 200) if share == 0 else 0 < gone < 200
        assert f"{200 - gone} answers" in told[0] and str(path) in told[0]
        assert (tmp_path / f"{path.name}.damaged-1").read_bytes() == cut
        assert sum(times == 2 for times in server.hits.by_prompt.values()) == gone
        assert max(server.hits.by_prompt.values()) <= 2
    same = [name for name in whole.columns if name != "request_id"]
    assert whole[same].equals(again[same])


FILL = f"""
import resource, sys
from pathlib import Path
from serving import gather
from anachron.errors import CollectError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    gather(sys.argv[1], Path(sys.argv[2]), 300, limits={LIMITS!r})
except CollectError as error:
    sys.exit(str(error))
"""


def test_a_disk_that_fills_up_loses_what_was_in_flight_and_no_more(tmp_path):
    with served(says("a long answer " * 40)) as server:
        command = [sys.executable, "-c", FILL, server.url, str(tmp_path), "200000"]
        full = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        assert full.returncode == 1 and "full disk" in full.stderr and "Traceback" not in full.stderr, (
            full.stderr
        )
        assert NAME in full.stderr and "are missing" in full.stderr
        arrived, kept = settled(server), stored(tmp_path)
        assert 5 < kept < 300 and kept <= arrived <= kept + CONCURRENCY
        assert len(gather(server.url, tmp_path, 300)) == 300
        assert server.hits.total == arrived + 300 - kept
