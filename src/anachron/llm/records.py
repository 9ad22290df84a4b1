"""The rows of a store: a request, its attempts, its answer.

An attempt is written before it is sent and completed when its outcome is known, so that what a killed process
had in flight can be counted. Its status says what became of it:

========== =============================================================== ==============================
sent       on its way                                                      cost unknown
answered   an answer came and is stored                                    `cost_usd`, or unknown
failed     the provider said no (`http_status`, `words`)                   nothing
unsent     no connection came about                                        nothing
timeout    no answer within the time limit                                 unknown: it may be billed
dropped    the connection broke after the request was sent                 unknown: it may be billed
unreadable an answer came that cannot be read as what the provider sends   unknown: it may be billed
lost       the process ended while it was on its way                       unknown: it may be billed
========== =============================================================== ==============================

`most_usd` is what an attempt can have cost at most; None when its price is unknown.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from anachron.llm.providers import Failure, Reply, well_formed
from anachron.llm.store import Store, faults

MAYBE_BILLED = ("sent", "timeout", "dropped", "unreadable", "lost")
"""Statuses of attempts that have no answer here and may all the same be on the provider's bill."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as asked: its key, what it is about, and its wire body as canonical JSON."""

    key: str
    suite: str
    arm: str
    item: str
    rep: int
    body: str


@dataclass(frozen=True, slots=True)
class Try:
    """One HTTP attempt: its row, its request's key, when it began (seconds since 1970), its cost at most."""

    id: int
    key: str
    started: float
    most_usd: float | None


class Came(NamedTuple):
    """What came of an attempt."""

    status: str
    latency_s: float
    failure: Failure | None
    """What is wrong; None for an answer."""
    raw: bytes = b""
    reply: Reply | None = None
    """What the answer says; None when it cannot be read."""
    outcome: str = ""
    http_status: int | None = None
    request_id: str | None = None
    wait_s: float | None = None
    """How long the provider asks to wait, in seconds."""


def next_attempt(store: Store) -> int:
    """Return the number of the next attempt; the one writer counts on from it."""
    with faults(store.path):
        return int(store.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM attempts").fetchone()[0])


def bury(store: Store) -> int:
    """Mark the attempts that a process left unfinished as lost, and return their number.

    The caller holds the store's lock, so no process has any of them in flight.
    """
    with faults(store.path):
        return store.connection.execute("UPDATE attempts SET status='lost' WHERE status='sent'").rowcount


def write_sent(store: Store, call: Call, attempt: Try) -> None:
    """Write that a request is about to be sent, inside a transaction of the caller's."""
    run = store.connection.execute
    _write_request(store, call)
    run(
        "INSERT INTO attempts (id, key, started, status, most_usd) VALUES (?,?,?,'sent',?)",
        (attempt.id, attempt.key, attempt.started, attempt.most_usd),
    )


def write_failed(store: Store, attempt: Try, came: Came, words: str, cost_usd: float | None) -> None:
    """Complete an attempt that brought no answer, inside a transaction of the caller's."""
    store.connection.execute(
        "UPDATE attempts SET status=?, words=?, http_status=?, request_id=?, latency_s=?, cost_usd=? WHERE id=?",
        (
            came.status,
            well_formed(words),
            came.http_status,
            well_formed(came.request_id),
            came.latency_s,
            cost_usd,
            attempt.id,
        ),
    )


def write_answered(store: Store, attempt: Try, came: Came, cost_usd: float | None) -> None:
    """Complete an attempt and write its answer, inside a transaction of the caller's."""
    said = came.reply or Reply()
    store.connection.execute(
        "UPDATE attempts SET status='answered', http_status=?, request_id=?, latency_s=?, input_tokens=?, "
        "cached_tokens=?, output_tokens=?, reasoning_tokens=?, cost_usd=? WHERE id=?",
        (
            came.http_status,
            well_formed(came.request_id or said.request_id),
            came.latency_s,
            *_tokens(said),
            cost_usd,
            attempt.id,
        ),
    )
    _write_response(store, attempt.key, came.raw, said, came.outcome)


def put(
    store: Store,
    call: Call,
    raw: bytes,
    reply: Reply | None,
    outcome: str,
    *,
    started: float,
    latency_s: float,
    cost_usd: float | None,
) -> None:
    """Store the answer of a provider in this process, with its request and its attempt, in one commit.

    Parameters
    ----------
    call, raw
        The request, and its answer as it came.
    reply, outcome
        What the answer says (None when it cannot be read), and what became of the request.
    started, latency_s
        When the request was made (seconds since 1970) and how long the answer took (seconds).
    cost_usd
        What it cost in US dollars; None when unknown.

    Raises
    ------
    CollectError
        When the disk is full or refuses; nothing of this answer is then in the store.
    """
    said = reply or Reply()
    run = store.connection.execute
    with faults(store.path):
        run("BEGIN IMMEDIATE")
        try:
            _write_request(store, call)
            run(
                "INSERT INTO attempts (key, started, latency_s, status, input_tokens, cached_tokens, "
                "output_tokens, reasoning_tokens, request_id, cost_usd) VALUES (?,?,?,'answered',?,?,?,?,?,?)",
                (call.key, started, latency_s, *_tokens(said), well_formed(said.request_id), cost_usd),
            )
            _write_response(store, call.key, raw, said, outcome)
            run("COMMIT")
        except BaseException:
            roll_back(store.connection)
            raise


def roll_back(connection: sqlite3.Connection) -> None:
    """Undo the open transaction, if there is one."""
    if connection.in_transaction:
        connection.rollback()


def _tokens(said: Reply) -> tuple[int | None, ...]:
    return (said.input_tokens, said.cached_tokens, said.output_tokens, said.reasoning_tokens)


def _write_request(store: Store, call: Call) -> None:
    store.connection.execute(
        "INSERT OR IGNORE INTO requests (key, suite, arm, item, rep, body) VALUES (?,?,?,?,?,?)",
        (
            call.key,
            well_formed(call.suite),
            well_formed(call.arm),
            well_formed(call.item),
            call.rep,
            store.compressor.compress(call.body.encode("utf-8", "surrogatepass")),
        ),
    )


def _write_response(store: Store, key: str, raw: bytes, said: Reply, outcome: str) -> None:
    store.connection.execute(
        "INSERT INTO responses (key, raw, outcome, finish_reason, served_model, fingerprint, upstream) "
        "VALUES (?,?,?,?,?,?,?)",
        (
            key,
            store.compressor.compress(raw),
            outcome,
            *map(well_formed, (said.finish_reason, said.served_model, said.fingerprint, said.upstream)),
        ),
    )
