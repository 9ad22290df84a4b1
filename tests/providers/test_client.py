"""Asking over HTTP: paid once, stored before anything else, stopped in the provider's own words."""

from __future__ import annotations

import gzip
import json
import logging
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import sys
import threading
import time
from pathlib import Path

import pytest
from aiohttp import web
from collecting import CONTEXT, SUITE, requests, sealed

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from chat import PROVIDER, SECRET, VARIABLE, answer, model, serving

from anachron.errors import CollectError, ConfigError
from anachron.llm import answers, http, providers, store, writer
from anachron.llm.budget import Price
from anachron.llm.collect import collect
from anachron.llm.patience import Patience

FREE = Price(cost=lambda reply: 0.0, worst=lambda request: 0.0)
QUICK = Patience(first_wait_s=0.01, longest_wait_s=0.05)


@pytest.fixture(autouse=True)
def _wired(monkeypatch):
    monkeypatch.setattr(providers, "get", lambda kind: PROVIDER)
    monkeypatch.setenv(VARIABLE, SECRET)


def run(entry, folder, items=10, **options):
    options = {"price": FREE, "patience": QUICK, "progress": False, **options}
    return collect(entry, SUITE, requests(items), folder, **options)


def rows(folder, query, name="http one"):
    with sqlite3.connect(folder / f"{model('http://127.0.0.1', name).slug}.sqlite") as connection:
        return connection.execute(query).fetchall()


def fails_then(failures, response):
    """Answer with `response()` for the first `failures` calls."""
    return lambda number, payload: response() if number <= failures else answer(number)


def test_every_request_is_sent_once_and_a_second_run_sends_none(tmp_path):
    with serving() as chat:
        first = run(model(chat.url), tmp_path)
        assert len(chat.hits) == len(first) == 20 and chat.keys == {f"Bearer {SECRET}"}
        again = run(model(chat.url), tmp_path)
        assert len(chat.hits) == 20
    assert sealed(first, tmp_path / "a") == sealed(again, tmp_path / "b")
    assert set(first["provenance"]) == {"api"} and set(first["served_model"]) == {"m-1"}
    found = rows(
        tmp_path, "SELECT status, http_status, request_id, input_tokens, cost_usd, latency_s FROM attempts"
    )
    assert len(found) == 20 and {row[:2] for row in found} == {("answered", 200)}
    assert {row[2] for row in found} == {f"req-{n}" for n in range(1, 21)}
    assert {row[3:5] for row in found} == {(10, 0.0)} and all(row[5] > 0 for row in found)


def test_a_changed_served_model_reaches_the_transcripts(tmp_path):
    with serving(
        lambda n, _: answer(n, served_model="m-1" if n < 10 else "m-2", fingerprint=f"f{n > 9}")
    ) as chat:
        frame = run(model(chat.url), tmp_path)
    assert frame["served_model"].value_counts().to_dict() == {"m-1": 9, "m-2": 11}
    assert set(frame["fingerprint"]) == {"fFalse", "fTrue"}


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (lambda: web.Response(status=429, text="slow down"), "failed"),
        (lambda: web.Response(status=429, text="slow down", headers={"retry-after": "0.05"}), "failed"),
        (lambda: web.Response(status=500, text="oops"), "failed"),
        (lambda: web.Response(status=503, text="overloaded"), "failed"),
        (lambda: web.Response(status=408, text="late"), "failed"),
        (lambda: "drop", "dropped"),
        (
            lambda: web.Response(
                body=b"\x1f\x8bgarbage" * 9,
                headers={"content-encoding": "gzip", "content-type": "application/json"},
            ),
            "unreadable",
        ),
        (lambda: web.Response(text="<html>portal</html>", content_type="text/html"), "unreadable"),
    ],
)
def test_what_can_pass_is_tried_again_and_counted(tmp_path, response, status):
    with serving(fails_then(5, response)) as chat:
        frame = run(model(chat.url), tmp_path)
    assert len(frame) == 20 and len(chat.hits) == 25
    assert set(frame["outcome"]) == {"answer"}
    found = rows(tmp_path, "SELECT status, count(*), count(cost_usd) FROM attempts GROUP BY status")
    free = 5 if status == "failed" else 0
    assert sorted(found) == sorted([("answered", 20, 20), (status, 5, free)])


@pytest.mark.parametrize(
    ("code", "words"),
    [(401, "key revoked"), (400, "prompt not allowed"), (403, "no access"), (404, "no such model")],
)
def test_what_cannot_pass_stops_at_once_in_the_providers_words_and_loses_nothing(tmp_path, code, words):
    def behave(number, payload):
        return answer(number) if number <= 12 else web.Response(status=code, text=f"{words} {SECRET}")

    with serving(behave) as chat:
        entry = model(chat.url, limits={"concurrency": 3})
        with pytest.raises(CollectError, match=rf"{words} \[key\]") as caught:
            run(entry, tmp_path)
        assert "12 of 20 answers are in" in str(caught.value) and "8 are missing" in str(caught.value)
        assert VARIABLE in str(caught.value) and SECRET not in str(caught.value)
        assert 13 <= len(chat.hits) <= 15, "what was in flight, and nothing after it"
        before = len(chat.hits)
        chat.behave = lambda number, payload: answer(number)
        assert len(run(entry, tmp_path)) == 20
        assert len(chat.hits) == before + 8


def test_answers_in_flight_when_the_job_stops_are_kept(tmp_path):
    def behave(number, payload):
        return web.Response(status=401, text="no") if number == 1 else (0.3, answer(number))

    with serving(behave) as chat:
        with pytest.raises(CollectError, match="7 of 20 answers"):
            run(model(chat.url, limits={"concurrency": 8}), tmp_path)
        assert len(chat.hits) == 8


def test_tries_end_and_say_why(tmp_path):
    with serving(lambda n, p: web.Response(status=500, text="broken for good")) as chat:
        with pytest.raises(CollectError, match=r"(8 tries|pauses in a row).*broken for good"):
            run(model(chat.url, limits={"concurrency": 1}), tmp_path)
        assert len(chat.hits) == 8


def test_a_storm_of_429_is_waited_out_with_few_calls(tmp_path):
    start = time.monotonic()

    def behave(number, payload):
        if time.monotonic() - start < 1.0:
            return web.Response(status=429, text="slow down", headers={"retry-after": "0.2"})
        return answer(number)

    with serving(behave) as chat:
        assert len(run(model(chat.url), tmp_path)) == 20
        assert len(chat.hits) < 20 + 60


def test_a_server_that_dies_midway_and_comes_back_is_asked_again(tmp_path):
    with serving(lambda n, p: (0.02, answer(n))) as chat:
        entry = model(chat.url, limits={"concurrency": 4})
        port = int(chat.url.split(":")[2].split("/")[0])
        result = []
        patience = Patience(first_wait_s=0.05, longest_wait_s=0.3)
        thread = threading.Thread(target=lambda: result.append(run(entry, tmp_path, 30, patience=patience)))
        thread.start()
        while len(chat.hits) < 20:
            time.sleep(0.01)
        died = chat
    time.sleep(0.3)
    with serving(lambda n, p: answer(n), port) as back:
        thread.join(30)
    assert len(result[0]) == 60
    assert 60 <= len(died.hits) + len(back.hits) <= 64


def test_a_dead_server_is_an_error_that_says_nothing_was_billed(tmp_path):
    with socket.socket() as held:  # its port is taken, so that no other process can come to listen there
        held.bind(("127.0.0.1", 0))
        with pytest.raises(CollectError, match="no connection") as caught:
            run(model(f"http://127.0.0.1:{held.getsockname()[1]}/v1"), tmp_path)
    assert "may be billed" not in str(caught.value)
    assert {row[0] for row in rows(tmp_path, "SELECT status FROM attempts")} == {"unsent"}


def test_a_timeout_may_be_billed_and_is_counted(tmp_path):
    price = Price(cost=lambda reply: 0.01, worst=lambda request: 0.5)
    with serving(lambda n, p: (5, answer(n)) if n <= 2 else answer(n)) as chat:
        entry = model(chat.url, limits={"timeout_s": 0.3})
        assert len(run(entry, tmp_path, price=price, budget_usd=50)) == 20
    found = rows(tmp_path, "SELECT status, count(*), sum(cost_usd), sum(most_usd) FROM attempts GROUP BY 1")
    assert [(status, n, cost and round(cost, 9), most) for status, n, cost, most in found] == [
        ("answered", 20, 0.2, 10.0),
        ("timeout", 2, None, 1.0),
    ]


def test_redirects_are_refused(tmp_path):
    with serving() as other, serving() as chat:
        chat.behave = lambda n, p: web.Response(status=307, headers={"location": f"{other.url}/chat"})
        with pytest.raises(CollectError, match=r"redirect to 127\.0\.0\.1, which is not followed"):
            run(model(chat.url), tmp_path)
        assert other.hits == []


def test_bodies_are_kept_up_to_a_limit(tmp_path, monkeypatch):
    long = "x" * 10 * 2**20
    with serving(lambda n, p: answer(n, long)) as chat:
        frame = collect(model(chat.url), SUITE, requests(1, 1), tmp_path, price=FREE, progress=False)
        assert frame["text"][0] == long
        bomb = gzip.compress(b" " * 3 * 2**20)
        chat.behave = lambda n, p: web.Response(body=bomb, headers={"content-encoding": "gzip"})
        monkeypatch.setattr(http, "LARGEST_BODY", 2**20)
        with pytest.raises(CollectError, match="larger than 1 MB"):
            run(model(chat.url), tmp_path)


@pytest.mark.parametrize("body", [b"", b'{"text": "cu', b"[1]", b"\xff\xfe"])
def test_a_malformed_answer_is_an_outcome_and_is_paid_once(tmp_path, body):
    with serving(lambda n, p: web.Response(body=body, content_type="application/json")) as chat:
        frame = run(model(chat.url), tmp_path)
        assert set(frame["outcome"]) == {"malformed_body"}
        assert len(chat.hits) == 20


@pytest.mark.parametrize(
    ("value", "words"), [("", "is not set"), ("  ", "is not set"), ("a\nb", "line break")]
)
def test_a_missing_or_broken_key_names_its_variable_before_anything_is_sent(
    tmp_path, monkeypatch, value, words
):
    monkeypatch.setenv(VARIABLE, value)
    with serving() as chat:
        with pytest.raises(CollectError, match=f"{VARIABLE}.*{words}"):
            run(model(chat.url), tmp_path)
        assert chat.hits == []


def test_no_secret_is_written_anywhere(tmp_path, monkeypatch, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "store"

    def behave(number, payload):
        if number % 3 == 0:
            return web.Response(status=500, text=f"echo Bearer {SECRET}", headers={"x-request-id": SECRET})
        return answer(number, f"your header was Bearer {SECRET}")

    with serving(behave) as chat:
        run(model(chat.url), folder, progress=True)
        chat.behave = lambda n, p: web.Response(status=401, text=f"bad key {SECRET}")
        with pytest.raises(CollectError) as caught:
            run(model(chat.url), folder, 30, progress=True)
    out = capfd.readouterr()
    logged = "".join(record.getMessage() for record in caplog.records)
    assert SECRET not in str(caught.value) + out.out + out.err + logged
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path
    with store.open_store(folder, model(chat.url).slug, durable=False) as opened:
        keys = [row[0] for row in opened.connection.execute("SELECT key FROM responses")]
        assert len(keys) == 20
        assert all(SECRET.encode() not in raw for raw in answers.lookup(opened, keys).values())
        assert SECRET not in str(opened.connection.execute("SELECT * FROM attempts").fetchall())


def test_the_budget_is_never_overshot_and_says_how_to_go_on(tmp_path):
    price = Price(cost=lambda reply: 0.10, worst=lambda request: 0.25)
    with serving(lambda n, p: (0.01, answer(n))) as chat:
        entry = model(chat.url)
        with pytest.raises(CollectError, match=r"budget of \$1\.00 is reached.*spent \$0\.\d+") as caught:
            run(entry, tmp_path, 30, price=price, budget_usd=1.0)
        assert "`budget_usd`" in str(caught.value) and f"{60 - len(chat.hits)} are missing" in str(
            caught.value
        )
        (spent,) = rows(tmp_path, "SELECT sum(cost_usd) FROM attempts")[0]
        assert 0.75 < spent <= 1.0, "all that worst cases allow, and not more"
        other = model(chat.url, "http two")
        before = len(chat.hits)
        with pytest.raises(CollectError, match="budget"):
            run(other, tmp_path, 30, price=price, budget_usd=1.0)
        assert len(chat.hits) == before, "the other store's spend counts"
        assert len(run(entry, tmp_path, 30, price=price, budget_usd=7.0)) == 60
        assert len(chat.hits) == 60


def test_the_heartbeat_says_how_far_a_block_is(tmp_path):
    with serving() as chat:
        entry = model(chat.url)
        run(entry, tmp_path, price=Price(lambda reply: 0.5, lambda request: 0.5), budget_usd=100)
    beat = json.loads((tmp_path / f"{entry.slug}.status.json").read_text())
    assert beat["pid"] == os.getpid() and beat["model"] == "http one" and beat["suite"] == SUITE
    told = {name: beat[name] for name in ("state", "total", "cached", "done", "failed", "tokens", "cost_usd")}
    assert told == {
        "state": "finished",
        "total": 20,
        "cached": 0,
        "done": 20,
        "failed": 0,
        "tokens": 300,
        "cost_usd": 10.0,
    }


def test_a_store_of_version_1_opens_and_loses_nothing(tmp_path):
    with serving() as chat:
        entry = model(chat.url)
        before = run(entry, tmp_path)
        path = tmp_path / f"{entry.slug}.sqlite"
        with sqlite3.connect(path) as connection:
            connection.executescript(
                "DROP INDEX requests_by_key; INSERT INTO requests (key, suite, arm, item, rep, body) SELECT key, "
                "suite, arm, item, rep, body FROM requests LIMIT 3; ALTER TABLE attempts DROP COLUMN http_status; "
                "ALTER TABLE attempts DROP COLUMN words; ALTER TABLE attempts DROP COLUMN most_usd; "
                "PRAGMA user_version=1;"
            )
        connection.close()
        after = run(entry, tmp_path)
        assert len(chat.hits) == 20
    assert sealed(before, tmp_path / "a") == sealed(after, tmp_path / "b")
    assert rows(tmp_path, "SELECT count(*), count(http_status) FROM attempts") == [(20, 0)]
    assert rows(tmp_path, "PRAGMA user_version") == [(store.SCHEMA_VERSION,)]


def test_a_disk_that_fills_up_stops_and_keeps_what_is_there(tmp_path, monkeypatch):
    commit = writer.Writer._commit
    full = []

    def refuse(self, jobs):
        if len(full) < 30:
            full.append(1)
            return commit(self, jobs)
        self._store.connection.execute("PRAGMA max_page_count=1")  # what a full disk makes SQLite say
        return commit(self, jobs)

    monkeypatch.setattr(writer.Writer, "_commit", refuse)
    with serving() as chat:
        entry = model(chat.url, limits={"concurrency": 2})
        with pytest.raises(CollectError, match="full disk"):
            run(entry, tmp_path, 40)
        kept = rows(tmp_path, "SELECT count(*) FROM responses")[0][0]
        asked = len(chat.hits)
        assert 5 < kept < 40 and asked <= kept + 2
        monkeypatch.undo()
        monkeypatch.setattr(providers, "get", lambda kind: PROVIDER)
        monkeypatch.setenv(VARIABLE, SECRET)
        assert len(run(entry, tmp_path, 40)) == 80
        assert len(chat.hits) == asked + 80 - kept


def test_a_small_budget_is_told_as_it_was_set(tmp_path):
    price = Price(cost=lambda reply: 0.001, worst=lambda request: 0.002)
    said = pytest.raises(CollectError, match=r"budget of \$0\.0050 is reached")
    with serving(lambda n, p: (0.0, answer(n))) as chat, said:
        run(model(chat.url), tmp_path, 40, price=price, budget_usd=0.005)


def test_proxies_are_for_public_hosts_and_never_for_loopback(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:word@proxy.example:3128")
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert http.proxy_for("https://api.example/v1") == "http://proxy.example:3128"
    assert http.proxy_for("https://inside.example/v1") is None
    for loopback in ("http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:80/v1"):
        assert http.proxy_for(loopback) is None
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:word@proxy.example:1")
    with pytest.raises(ConfigError, match=r"socks5 proxy for api\.example") as caught:
        http.proxy_for("https://api.example/v1")
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    "proxy", ["http://user:word@[::1:3128", "http://user:word#@proxy.example:1", "http://"]
)
def test_a_proxy_that_is_no_url_is_one_line_without_its_password(monkeypatch, proxy):
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(ConfigError, match=r"proxy for api\.example that is no URL") as caught:
        http.proxy_for("https://api.example/v1")
    assert "word" not in str(caught.value).replace("password", "")


def child(url, folder, items, patience):
    os.environ[VARIABLE] = SECRET
    providers.get = lambda kind: PROVIDER
    collect(
        model(url, limits={"concurrency": 6}),
        SUITE,
        requests(items),
        folder,
        price=FREE,
        patience=patience,
        progress=False,
    )


def test_after_kills_hits_are_the_unique_keys_and_what_was_in_flight(tmp_path):
    chance, items, kills = random.Random(3), 100, 6
    with serving(lambda n, p: (0.01, answer(n))) as chat:
        for _ in range(kills):
            before = len(chat.hits)
            process = CONTEXT.Process(target=child, args=(chat.url, tmp_path, items, QUICK))
            process.start()
            while len(chat.hits) == before:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.04))
            process.kill()
            process.join()
            time.sleep(0.05)
        asked = len(chat.hits)
        assert asked < items * 2, "every kill must fall into the work"
        frame = run(model(chat.url), tmp_path, items)
        assert len(frame) == frame["key"].nunique() == items * 2
        lost = rows(tmp_path, "SELECT count(*) FROM attempts WHERE status='lost'")[0][0]
        assert 0 < lost <= kills * 6
        assert items * 2 <= len(chat.hits) <= items * 2 + lost, (
            "every call that may have been paid twice is counted"
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_what_is_in_flight_and_keeps_it(tmp_path, number):
    with serving(lambda n, p: (0.3, answer(n))) as chat:
        process = CONTEXT.Process(target=child, args=(chat.url, tmp_path, 100, QUICK))
        process.start()
        while len(chat.hits) < 6:
            time.sleep(0.005)
        os.kill(process.pid, number)
        process.join(10)
        assert process.exitcode == 1
        assert rows(tmp_path, "SELECT status, count(*) FROM attempts GROUP BY 1") == [
            ("answered", len(chat.hits))
        ]
    assert multiprocessing.active_children() == []


def child_that_tells(url, folder, items, patience):
    try:
        child(url, folder, items, patience)
    except CollectError as error:
        (folder / "told.txt").write_text(str(error))
        raise


def test_a_second_interrupt_waits_for_nothing_and_says_what_may_be_billed(tmp_path):
    with serving(lambda n, p: (0.0 if n < 6 else 5.0, answer(n))) as chat:
        process = CONTEXT.Process(target=child_that_tells, args=(chat.url, tmp_path, 100, QUICK))
        process.start()
        while len(chat.hits) < 9:
            time.sleep(0.005)
        for _ in range(2):
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.2)
        process.join(60)
        assert process.exitcode == 1
    abandoned = rows(tmp_path, "SELECT count(*) FROM attempts WHERE status='sent'")[0][0]
    said = (tmp_path / "told.txt").read_text()
    assert abandoned > 0
    calls = "calls" if abandoned > 1 else "call"
    assert f"{abandoned} {calls} brought no answer and may be billed. Run again to go on" in said
    assert "interrupted again, without waiting" in said
