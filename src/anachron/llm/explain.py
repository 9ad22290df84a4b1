"""Why a request of the run is, or is not, answered from the store: which field of its body changed the key."""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anachron.config import ModelEntry
from anachron.llm.keys import PROTOCOL_TOKEN, key
from anachron.llm.plan import Ask, Respondent, each, nothing_more, plan
from anachron.llm.providers import Provider
from anachron.llm.store_read import UnreadableBodyError, columns, request_text
from anachron.llm.store_tools import Asked, earlier_tokens, utc

CANDIDATES = 200
"""Stored requests of one suite, arm and item that are compared; more than any protocol has reps."""

SHORT = 120
"""Characters of a value that are shown whole."""

CHANGES = 6
"""Places of a long text whose changes are shown."""

AROUND = 30
"""Characters shown before and after a change in a long text."""

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that differs: its path, and what stands there, `ABSENT` where nothing does."""

    path: str
    stored: Any
    wanted: Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the store has of one request of the run."""

    arm: str
    item: str
    rep: int
    key: str
    state: str
    """``answered``, ``unanswered`` (asked, and no answer came) or ``missing`` (never asked so)."""
    lines: list[str]


@dataclass(frozen=True, slots=True)
class _Stored:
    key: str
    rep: int
    text: str
    body: Any


def explain(
    connection: sqlite3.Connection | None,
    entry: ModelEntry,
    provider: Provider,
    requests: Any,
    asked: Sequence[Asked],
    respondent: Respondent = nothing_more,
) -> list[Explanation]:
    """Return, for each request that the model's tier asks of a table, what the store has of it.

    Parameters
    ----------
    connection
        The model's store, open for reading (`store_read.snapshot`); None when it has none.
    entry, provider, respondent
        As for `plan.plan`.
    requests
        `frames.Requests` of one suite: of one item, or a few.
    asked
        Providers and base URLs that stored requests may have been sent to.

    Raises
    ------
    CollectError
        When the table's requests cannot be written; see `plan.plan`.
    """
    if requests.empty:
        return []
    made = plan(entry, provider, str(requests["suite"].iloc[0]), requests, respondent)
    return [_one(connection, entry, provider, ask, asked) for ask in each(made, range(len(made.keys)))]


def _one(
    connection: sqlite3.Connection | None,
    entry: ModelEntry,
    provider: Provider,
    ask: Ask,
    asked: Sequence[Asked],
) -> Explanation:
    call = ask.call

    def say(state: str, lines: list[str]) -> Explanation:
        return Explanation(call.arm, call.item, call.rep, call.key, state, lines)

    if connection is None:
        return say("missing", ["the model has no store: it was never asked anything"])
    tries = _tries(connection, call.key)
    answer = connection.execute("SELECT outcome FROM responses WHERE key = ?", (call.key,)).fetchone()
    if answer:
        return say("answered", [f"the store holds its answer (outcome {answer[0]})", *tries])
    if tries or connection.execute("SELECT 1 FROM requests WHERE key = ?", (call.key,)).fetchone():
        return say("unanswered", ["it was asked, and the store holds no answer", *tries])
    stored = list(_candidates(connection, call.suite, call.arm, call.item))
    if not stored:
        return say("missing", [_nothing_like(connection, call.suite, call.arm, call.item)])
    return say("missing", _compare(entry, provider, ask, stored, asked))


def _tries(connection: sqlite3.Connection, wanted: str) -> list[str]:
    names = columns(connection, "attempts", ("started", "status", "http_status", "words"))
    query = f"SELECT {names} FROM attempts WHERE key = ? ORDER BY started, id"
    return [
        f"attempt of {utc(started) or 'an unknown time'}: {status}"
        + (f", HTTP {http_status}" if http_status else "")
        + (f", {words!r}" if words else "")
        for started, status, http_status, words in connection.execute(query, (wanted,))
    ]


def _candidates(connection: sqlite3.Connection, suite: str, arm: str, item: str) -> Iterator[_Stored]:
    query = "SELECT key, rep, body FROM requests WHERE suite = ? AND arm = ? AND item = ? ORDER BY id DESC LIMIT ?"
    for stored, rep, body in connection.execute(query, (suite, arm, item, CANDIDATES)):
        try:
            text = request_text(body)
            yield _Stored(stored, rep, text, json.loads(text))
        except (UnreadableBodyError, ValueError, RecursionError):
            continue  # `store verify` names it


def _nothing_like(connection: sqlite3.Connection, suite: str, arm: str, item: str) -> str:
    count = "SELECT count(DISTINCT key) FROM requests WHERE suite = ?"
    (of_arm,) = connection.execute(f"{count} AND arm = ?", (suite, arm)).fetchone()
    (of_item,) = connection.execute(f"{count} AND item = ?", (suite, item)).fetchone()
    return (
        f"nothing like it was ever asked: the store holds {of_arm:,} requests of arm {arm} about other items and "
        f"{of_item:,} of item {item} in other arms"
    )


def _compare(
    entry: ModelEntry, provider: Provider, ask: Ask, stored: Sequence[_Stored], asked: Sequence[Asked]
) -> list[str]:
    """Say how a request differs from the nearest of those stored for its arm and item."""
    call = ask.call
    wanted = json.loads(call.body)

    def distance(one: _Stored) -> tuple[int, float, int]:
        found = differences(one.body, wanted)
        return len(found), sum(_unlike(each_one) for each_one in found), abs(one.rep - call.rep)

    nearest = min(stored, key=distance)
    lines = [f"nearest stored request: rep {nearest.rep}, key {nearest.key[:12]}…"]
    lines += [line for one in differences(nearest.body, wanted) for line in described(one)]
    if nearest.rep != call.rep:
        reps = sorted({one.rep for one in stored if one.text == call.body})
        lines.append(
            f"rep: stored {nearest.rep}, wanted {call.rep}"
            + (f" (this very body was asked as rep {', '.join(map(str, reps))})" if reps else "")
        )
    lines += _beside_the_body(entry, provider, nearest, asked)
    return lines


def _beside_the_body(
    entry: ModelEntry, provider: Provider, nearest: _Stored, asked: Sequence[Asked]
) -> list[str]:
    """Say what of the provider, the endpoint and the protocol token differs from the nearest stored request."""
    here = (provider.kind, entry.base_url)
    for token in earlier_tokens():
        for kind, url in dict.fromkeys((here, *asked)):
            if key(kind, url, nearest.text, nearest.rep, token) == nearest.key:
                found = (
                    ("provider", kind, here[0]),
                    ("endpoint", url, here[1]),
                    ("protocol token", token, PROTOCOL_TOKEN),
                )
                return [f"{name}: stored {old!r}, wanted {new!r}" for name, old, new in found if old != new]
    return [
        "it was asked at a provider or endpoint that the registry no longer names; wanted "
        f"{here[0]} at {here[1] or 'this process'}"
    ]


def differences(stored: Any, wanted: Any, path: str = "") -> list[Difference]:
    """Return the fields in which two bodies differ, in the order of their paths.

    A field of an object is named ``a.b``, an entry of a list ``a[0]``; numbers written differently (1, 1.0) differ,
    as they do in a key.
    """
    if isinstance(stored, Mapping) and isinstance(wanted, Mapping):
        found: list[Difference] = []
        for name in sorted({*stored, *wanted}):
            there = f"{path}.{name}" if path else str(name)
            found += differences(stored.get(name, ABSENT), wanted.get(name, ABSENT), there)
        return found
    if isinstance(stored, list) and isinstance(wanted, list):
        found = []
        for place in range(max(len(stored), len(wanted))):
            left = stored[place] if place < len(stored) else ABSENT
            right = wanted[place] if place < len(wanted) else ABSENT
            found += differences(left, right, f"{path}[{place}]")
        return found
    same = type(stored) is type(wanted) and stored == wanted
    return [] if same else [Difference(path or "the body", stored, wanted)]


def _unlike(one: Difference) -> float:
    """Return how unlike two values are, from 0 to 1."""
    if not (isinstance(one.stored, str) and isinstance(one.wanted, str)):
        return 1.0
    head, tail = _shared_ends(one.stored, one.wanted)
    return 1.0 - (head + tail) / max(len(one.stored), len(one.wanted), 1)


def described(one: Difference) -> list[str]:
    """Return a difference in words: both values, or for long texts only the places that changed."""
    texts = isinstance(one.stored, str) and isinstance(one.wanted, str)
    if not texts or max(len(one.stored), len(one.wanted)) <= SHORT:
        return [f"{one.path}: stored {_shown(one.stored)}, wanted {_shown(one.wanted)}"]
    changes = list(_changes(one.stored, one.wanted))
    lines = [f"{one.path}: {len(one.stored):,} characters stored, {len(one.wanted):,} wanted"]
    for number, left, right in changes[:CHANGES]:
        lines += [f"  line {number}: stored {left}", f"  line {number}: wanted {right}"]
    if len(changes) > CHANGES:
        lines.append(f"  and {len(changes) - CHANGES:,} more places")
    return lines


def _changes(stored: str, wanted: str) -> Iterator[tuple[int, str, str]]:
    """Give the places where two texts differ: the line of the wanted one, and a piece of each around it."""
    left, right = stored.splitlines(keepends=True), wanted.splitlines(keepends=True)
    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            old, new = "".join(left[a:b]), "".join(right[c:d])
            yield c + 1, *_window(old, new)


def _window(old: str, new: str) -> tuple[str, str]:
    head, tail = _shared_ends(old, new)
    start = max(0, head - AROUND)
    return tuple(  # type: ignore[return-value]
        ("…" if start else "")
        + repr(_cut(text[start : len(text) - tail + AROUND if tail > AROUND else len(text)]))
        + ("…" if tail > AROUND else "")
        for text in (old, new)
    )


def _shared_ends(old: str, new: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginning, and then at their end."""
    most = min(len(old), len(new))
    head = next((place for place in range(most) if old[place] != new[place]), most)
    tail = next((place for place in range(most - head) if old[-1 - place] != new[-1 - place]), most - head)
    return head, tail


def _shown(value: Any) -> str:
    return "nothing" if value is ABSENT else _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 2 * SHORT else f"{text[:SHORT]} … {text[-SHORT:]}"
