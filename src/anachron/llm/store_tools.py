"""Looking into a store: is all of it whole (`verify`), and what does it hold (`stats`)."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anachron.llm.keys import PROTOCOL_TOKEN, key
from anachron.llm.records import MAYBE_BILLED
from anachron.llm.store_read import ASKED, UnreadableBodyError, columns, inflate, request_text, snapshot

EXAMPLES = 3
"""How many cases of one fault are named; all are counted."""

Asked = tuple[str, str | None]
"""A provider kind and the base URL it was asked at: with body and rep, what a key is made of."""

TOKENS = ("input", "cached", "output", "reasoning")


@dataclass(slots=True)
class Report:
    """What verifying a store found."""

    path: Path
    counts: dict[str, int] = field(default_factory=dict)
    asked_at: Counter[str] = field(default_factory=Counter)
    """Requests whose key was recomputed, by the provider, base URL and protocol token that gave it."""
    notes: list[str] = field(default_factory=list)
    """What is worth knowing and wrong with nothing."""
    found: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, what: str, where: str) -> None:
        """Count a fault, and keep the first few places it was found at."""
        self.found[what] += 1
        kept = self.examples.setdefault(what, [])
        if len(kept) < EXAMPLES:
            kept.append(where)

    @property
    def faults(self) -> list[str]:
        """The faults, a line for each kind."""
        return [
            f"{number:,} {what}: {'; '.join(self.examples[what])}"
            + (f"; and {number - EXAMPLES:,} more" if number > EXAMPLES else "")
            for what, number in sorted(self.found.items())
        ]


def verify(path: Path, asked: Sequence[Asked]) -> Report:
    """Check every page, body and key of a store; nothing is written, and a collector may be at work.

    Parameters
    ----------
    path
        The store.
    asked
        Providers and base URLs that its requests may have been sent to, the likeliest first.

    Raises
    ------
    CollectError
        When the file cannot be opened at all, is no store, or is one of a newer version.
    """
    report = Report(path)
    with snapshot(path) as connection:
        for (damage,) in connection.execute("PRAGMA integrity_check(20)"):
            if damage != "ok":
                report.fault("damaged pages or indexes", damage)
        for look in (_counts, _requests, _responses, _attempts):
            try:
                look(connection, report, asked)
            except sqlite3.DatabaseError as error:
                report.fault("tables that cannot be read to their end", f"{look.__name__[1:]} ({error})")
    return report


def _counts(connection: sqlite3.Connection, report: Report, asked: Sequence[Asked]) -> None:
    for table in ("requests", "attempts", "responses"):
        (number,) = connection.execute(f"SELECT count(*) FROM {table} NOT INDEXED").fetchone()
        report.counts[table] = int(number)


def _requests(connection: sqlite3.Connection, report: Report, asked: Sequence[Asked]) -> None:
    tokens = earlier_tokens()
    candidates = [(kind, url, token) for token in tokens for kind, url in dict.fromkeys(asked)]
    query = "SELECT key, suite, arm, item, rep, body FROM requests NOT INDEXED ORDER BY id"
    for stored, suite, arm, item, rep, body in connection.execute(query):
        where = f"{suite}, arm {arm}, item {item}, rep {rep} (key {stored[:12]}…)"
        try:
            text = request_text(body)
        except UnreadableBodyError as error:
            report.fault("request bodies that cannot be read", f"{where}: {error}")
            continue
        for place, (kind, url, token) in enumerate(candidates):
            if key(kind, url, text, rep, token) == stored:
                report.asked_at[f"{kind} at {url or 'this process'}, protocol token {token}"] += 1
                candidates.insert(0, candidates.pop(place))  # its neighbours were most likely asked there too
                break
        else:
            report.fault(
                "requests whose key is not that of their body under any known provider and endpoint", where
            )


def _responses(connection: sqlite3.Connection, report: Report, asked: Sequence[Asked]) -> None:
    # A store of version 1 has no index of requests by key: one that is made once, not a look at all for each.
    query = "SELECT key, raw, key IN (SELECT key FROM requests) FROM responses NOT INDEXED ORDER BY id"
    for stored, raw, has_request in connection.execute(query):
        try:
            inflate(raw)
        except UnreadableBodyError as error:
            report.fault("answers that cannot be read", f"key {stored[:12]}…: {error}")
        if not has_request:
            report.fault("answers without their request", f"key {stored[:12]}…")


def _attempts(connection: sqlite3.Connection, report: Report, asked: Sequence[Asked]) -> None:
    one = connection.execute
    for (stored,) in one(
        "SELECT DISTINCT key FROM attempts WHERE key NOT IN (SELECT key FROM requests) ORDER BY key"
    ):
        report.fault("requests of which only an attempt is left", f"key {stored[:12]}…")
    (gone,) = one(
        "SELECT count(DISTINCT key) FROM attempts WHERE status = 'answered' "
        "AND key NOT IN (SELECT key FROM responses)"
    ).fetchone()
    if gone:
        report.notes.append(
            f"{gone:,} answers were received and are no longer here (lost to a damaged file); a run asks again"
        )
    (unanswered,) = one(
        "SELECT count(DISTINCT key) FROM requests WHERE key NOT IN (SELECT key FROM responses)"
    ).fetchone()
    if unanswered:
        report.notes.append(f"{unanswered:,} requests have no answer yet")
    (sent,) = one("SELECT count(*) FROM attempts WHERE status = 'sent'").fetchone()
    if sent:
        report.notes.append(f"{sent:,} attempts are on their way, or were when their process ended")


def earlier_tokens() -> list[str]:
    """Return the protocol tokens that a store may hold keys of, this program's own first."""
    if not PROTOCOL_TOKEN.isdecimal():
        return [PROTOCOL_TOKEN]
    return [str(number) for number in range(int(PROTOCOL_TOKEN), 0, -1)]


def stats(path: Path) -> dict[str, Any]:
    """Return what a store holds, in all and per suite and arm; a collector may be at work.

    Returns
    -------
    dict
        ``model`` (as in the file's name), ``schema_version``, ``file_bytes``, ``log_bytes`` (what is not yet
        folded into the file), ``first_attempt`` and ``last_attempt`` (UTC), and ``arms``, a list sorted by
        suite and arm. Dollars that are unknown are counted (``unknown_costs``) and never added up as 0;
        ``unknown_at_most_usd`` is null when not even a limit is known.

    Raises
    ------
    CollectError
        When the file cannot be read or is no store.
    """
    from anachron.files import unslug

    with snapshot(path) as connection:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        first, last = connection.execute("SELECT min(started), max(started) FROM attempts").fetchone()
        arms: dict[tuple[str, str], dict[str, Any]] = {}
        _sum_requests(connection, arms)
        _sum_responses(connection, arms)
        _sum_attempts(connection, arms)
    log = path.with_name(path.name + "-wal")
    return {
        "model": unslug(path.stem),
        "file": str(path),
        "schema_version": version,
        "file_bytes": path.stat().st_size,
        "log_bytes": log.stat().st_size if log.exists() else 0,
        "first_attempt": utc(first),
        "last_attempt": utc(last),
        "arms": [{"suite": suite, "arm": arm, **arms[suite, arm]} for suite, arm in sorted(arms)],
    }


def utc(seconds: float | None) -> str | None:
    """Return a time in seconds since 1970 as UTC text; None when there is none or it is no time at all."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def _arm(arms: dict[tuple[str, str], dict[str, Any]], suite: str | None, arm: str | None) -> dict[str, Any]:
    """Return the sums of an arm; what has lost its request stands under the empty names."""
    return arms.setdefault(
        (suite or "", arm or ""),
        {
            "requests": 0,
            "answers": 0,
            "outcomes": {},
            "attempts": {},
            **{f"{kind}_tokens": 0 for kind in TOKENS},
            "answers_without_usage": 0,
            "cost_usd": 0.0,
            "unknown_costs": 0,
            "unknown_at_most_usd": 0.0,
            "request_bytes": 0,
            "answer_bytes": 0,
        },
    )


def _sum_requests(connection: sqlite3.Connection, arms: dict[tuple[str, str], dict[str, Any]]) -> None:
    query = "SELECT suite, arm, count(DISTINCT key), sum(length(body)) FROM requests GROUP BY suite, arm"
    for suite, arm, number, size in connection.execute(query):
        _arm(arms, suite, arm).update(requests=number, request_bytes=size)


def _sum_responses(connection: sqlite3.Connection, arms: dict[tuple[str, str], dict[str, Any]]) -> None:
    query = (
        "SELECT suite, arm, outcome, count(*), sum(length(raw)) FROM responses "
        f"LEFT JOIN {ASKED} USING (key) GROUP BY suite, arm, outcome ORDER BY outcome"
    )
    for suite, arm, outcome, number, size in connection.execute(query):
        sums = _arm(arms, suite, arm)
        sums["answers"] += number
        sums["answer_bytes"] += size
        sums["outcomes"][outcome] = number


def _sum_attempts(connection: sqlite3.Connection, arms: dict[tuple[str, str], dict[str, Any]]) -> None:
    most = columns(connection, "attempts", ("most_usd",)).partition(" ")[0]
    counted = ", ".join(f"coalesce(sum({kind}_tokens), 0)" for kind in TOKENS)
    may_cost = json.dumps(["answered", *MAYBE_BILLED])
    doubt = "cost_usd IS NULL AND status IN (SELECT value FROM json_each(?1))"
    query = (
        f"SELECT suite, arm, status, count(*), {counted}, "
        "sum(status = 'answered' AND input_tokens IS NULL AND output_tokens IS NULL), "
        f"coalesce(sum(cost_usd), 0), sum({doubt}), sum({doubt} AND {most} IS NULL), "
        f"coalesce(sum(CASE WHEN {doubt} THEN {most} END), 0) "
        f"FROM attempts LEFT JOIN {ASKED} USING (key) GROUP BY suite, arm, status ORDER BY status"
    )
    for suite, arm, status, number, *sums, silent, paid, unknown, limitless, at_most in connection.execute(
        query, (may_cost,)
    ):
        into = _arm(arms, suite, arm)
        into["attempts"][status] = number
        for kind, tokens in zip(TOKENS, sums, strict=True):
            into[f"{kind}_tokens"] += tokens
        into["answers_without_usage"] += silent
        into["cost_usd"] += paid
        into["unknown_costs"] += unknown
        if limitless or into["unknown_at_most_usd"] is None:
            into["unknown_at_most_usd"] = None
        else:
            into["unknown_at_most_usd"] += at_most
