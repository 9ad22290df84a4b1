"""Storms, dead servers, revoked keys, jumping clocks: the count at the server says what each has cost."""

from __future__ import annotations

import random
import threading
import time

import pytest
from collecting import wait_for
from serving import gather, rows, says, served, settled, statuses, stored

from anachron.errors import CollectError
from anachron.llm import client
from anachron.llm.patience import Patience
from anachron.llm.serve_faults import Fault

SECOND = 0.02
"""A second of the client's default patience, scaled down; a storm of a minute takes 60 of these."""
SCALED = Patience(first_wait_s=SECOND, longest_wait_s=120 * SECOND)


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(name="429", seconds=60 * SECOND)],
        [Fault(name="429", argument=str(2 * SECOND), seconds=60 * SECOND)],
        [Fault(name="529", seconds=60 * SECOND)],
        [Fault(name="429", seconds=60 * SECOND, share=0.5, seed=3)],
    ],
    ids=["429", "429 with Retry-After", "529", "429 for every other"],
)
def test_a_storm_of_a_minute_is_waited_out_and_costs_few_calls(tmp_path, faults):
    with served(says("yes"), faults=faults) as server:
        frame = gather(server.url, tmp_path, 60, patience=SCALED)
        refused = sum(server.hits.faults.values())
        assert server.hits.answered == len(frame) == 60
        assert server.hits.total == 60 + refused
        assert 8 <= refused <= 90, "a client that hammers would be refused hundreds of times"
        assert statuses(tmp_path) == {"answered": 60, "failed": refused}
        gather(server.url, tmp_path, 60)
        assert server.hits.total == 60 + refused


def test_what_a_date_asks_to_wait_is_waited(tmp_path):
    with served(says("yes"), faults=[Fault(name="retry-after-date", argument="2", count=1)]) as server:
        began = time.monotonic()
        assert len(gather(server.url, tmp_path, 4)) == 4
        assert 0.9 <= time.monotonic() - began < 10
        assert server.hits.total == 5


def test_a_server_that_is_down_for_good_ends_the_job_and_costs_nothing(tmp_path):
    with served(says("yes")) as server:
        server.stop()
        with pytest.raises(CollectError, match="no connection") as caught:
            gather(server.url, tmp_path)
        assert "may be billed" not in str(caught.value)
        assert set(statuses(tmp_path)) == {"unsent"}
        server.start()
        assert len(gather(server.url, tmp_path)) == 20
        assert server.hits.total == 20


def test_a_server_that_dies_midway_and_comes_back_is_asked_once_more_for_what_it_had_in_work(tmp_path):
    concurrency, items = 4, 40
    with served(says("yes"), faults=[Fault(name="hang", after=15)]) as server:
        found: list = []
        job = threading.Thread(
            target=lambda: found.append(
                gather(server.url, tmp_path, items, limits={"concurrency": concurrency},
                       patience=Patience(first_wait_s=0.05, longest_wait_s=0.5))
            )
        )  # fmt: skip
        job.start()
        wait_for(lambda: server.hits.in_flight == concurrency)
        server.stop()
        time.sleep(0.3)
        server.faults()
        server.start()
        job.join(30)
        assert len(found[0]) == items
        in_work = server.hits.faults["hang"]
        assert in_work == concurrency
        assert server.hits.total == items + in_work
        came = statuses(tmp_path)
        assert (came["answered"], came["dropped"]) == (items, in_work)
        assert set(came) <= {"answered", "dropped", "unsent"}


def test_a_key_revoked_midway_stops_the_job_and_the_mended_key_goes_on(tmp_path, monkeypatch):
    old, new, concurrency = "sk-planted-0123456789abcdef", "sk-planted-fedcba9876543210", 4
    monkeypatch.setenv("PLANTED_KEY", old)
    settings = {"api_key_env": "PLANTED_KEY", "limits": {"concurrency": concurrency}}
    with served(says("yes"), api_key=old, delay_s=0.01) as server:

        def revoke():
            wait_for(lambda: server.hits.answered >= 20)
            server.server.api_key = new

        revoking = threading.Thread(target=revoke)
        revoking.start()
        with pytest.raises(CollectError, match="Incorrect API key provided") as caught:
            gather(server.url, tmp_path, 200, **settings)
        revoking.join()
        told = str(caught.value)
        assert "PLANTED_KEY" in told and old not in told
        kept, asked = stored(tmp_path), server.hits.total
        assert kept == server.hits.answered >= 20, "all that was answered is in the store"
        assert 1 <= server.hits.unauthorized == asked - kept <= concurrency
        with pytest.raises(CollectError, match="Incorrect API key"):
            gather(server.url, tmp_path, 200, **settings)
        asked = server.hits.total
        monkeypatch.setenv("PLANTED_KEY", new)
        assert len(gather(server.url, tmp_path, 200, **settings)) == 200
        assert server.hits.answered == 200 and server.hits.total == asked + 200 - kept
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert old.encode() not in written and new.encode() not in written


def test_a_clock_that_jumps_changes_nothing_but_the_times_on_record(tmp_path, monkeypatch):
    chance, real = random.Random(11), time.time
    monkeypatch.setattr(client.time, "time", lambda: real() + chance.uniform(-1e9, 1e9))
    faults = [Fault(name="429", argument="0.05", count=3), Fault(name="503", after=10, count=3)]
    with served(says("yes"), faults=faults, delay_s=0.002) as server:
        began = time.monotonic()
        frame = gather(server.url, tmp_path, 60, limits={"requests_per_minute": 60_000, "timeout_s": 5})
        assert time.monotonic() - began < 20
        assert len(frame) == 60 and set(frame["outcome"]) == {"answer"}
        assert server.hits.total == 66
        assert frame.equals(gather(server.url, tmp_path, 60))
        assert server.hits.total == 66
    times = rows(tmp_path, "SELECT started, latency_s FROM attempts ORDER BY id")
    assert max(start for start, _ in times) - min(start for start, _ in times) > 1e8, "the clock did jump"
    assert all(0 < latency < 5 for _, latency in times)


def test_many_faults_at_once_for_a_whole_block(tmp_path):
    faults = [
        Fault(name=name, share=0.06, seed=seed)
        for seed, name in enumerate(["429", "500", "503", "529", "drop", "reset", "cut-off", "gzip-garbage"])
    ]
    with served(says("yes"), faults=faults) as server:
        patience = Patience(tries=20, first_wait_s=0.005, longest_wait_s=0.05)
        frame = gather(server.url, tmp_path, 120, patience=patience)
        assert len(frame) == 120 and set(frame["outcome"]) == {"answer"}
        came = statuses(tmp_path)
        assert (
            server.hits.total
            == sum(came.values())
            == 120 + came["failed"] + came["dropped"] + came["unreadable"]
        )
        asked = settled(server)
        gather(server.url, tmp_path, 120)
        assert server.hits.total == asked
