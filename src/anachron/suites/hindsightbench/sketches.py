"""From the raw text of an arm's answer to its list of sketches, by one rule for every model.

`read_sketches` is the published rule (scoring `bm1`); `recover_sketches` is what `anachron` adds to it.
Both work in time linear in the text, whatever the text is: an answer is data, and a hostile one must not
stop an audit. The standard library's JSON reader is used on purpose: it defines what the published records
call a parse error. Source: the suite's specification, Parsing; HindsightBench §7.3.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

LEADING_FENCE = re.compile(r"\A```[A-Za-z0-9_-]*[ \t]*\n?")
THINK_END = "</think>"
TRAILING_COMMA = re.compile(r",(\s*[\]}])")
LIST_OF_OBJECTS = re.compile(r"\[\s*\{")
BETWEEN_OBJECTS = re.compile(r"[\s,]*")
MAX_CANDIDATES = 200
WORK_PER_CHARACTER = 8
LIST_OR_FLAG = (list, bool)

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Reading:
    """What an answer was read as.

    Attributes
    ----------
    items
        The list's items; None when the answer is a parse error.
    repairs
        What it took: any of fence, think, scan, comma, recovered; empty for a plain list.
    error
        Name of the parse error: empty, not JSON, not a list, nested too deeply; None when there is none.
    """

    items: list[Any] | None
    repairs: tuple[str, ...]
    error: str | None

    @property
    def repair(self) -> str:
        """The repairs as one word: ``plain``, ``error``, or their names joined by ``+``."""
        if self.items is None:
            return "error"
        return "+".join(self.repairs) or "plain"


def read_sketches(text: str | None) -> Reading:
    """Read an answer by the published rule; never raises."""
    body, repairs = unwrap(text or "")
    if not body:
        return Reading(None, (), "empty")
    if body[0] not in "[{":
        longest = scan(body)
        if longest is not None:
            return Reading(longest, (*repairs, "scan"), None)
    value, error = load(body)
    if error:
        value, retried = load(TRAILING_COMMA.sub(r"\1", body))
        if retried:
            return Reading(None, (), error)
        repairs = (*repairs, "comma")
    if not isinstance(value, list):
        return Reading(None, (), "not a list")
    return Reading(value, repairs, None)


def recover_sketches(text: str | None, published: Reading) -> Reading:
    """Read an answer by object-wise recovery where the published rule found a parse error.

    The objects of a list count from its first to the last complete one: a missing bracket at the end costs
    nothing, and nothing after a fault inside the list is guessed at. Of several lists the longest counts.
    """
    if published.items is not None or published.error == "empty":
        return published
    body, repairs = unwrap(text or "")
    best = longest_run(body)
    bare = TRAILING_COMMA.sub(r"\1", body)
    if bare != body:
        other = longest_run(bare)
        if len(other) > len(best):
            best, repairs = other, (*repairs, "comma")
    return Reading(best, (*repairs, "recovered"), None) if best else published


def longest_run(body: str) -> list[Any]:
    """Return the longest run of complete objects that follows an opening bracket, the first of equals."""
    best: list[Any] = []
    place = 0
    for _ in range(MAX_CANDIDATES):
        start = LIST_OF_OBJECTS.search(body, place)
        if start is None:
            break
        found, place = complete_objects(body, start.end() - 1)
        if len(found) > len(best):
            best = found
    return best


def complete_objects(body: str, place: int) -> tuple[list[Any], int]:
    """Return the objects that follow one another from `place` on, and where the first fault stands."""
    found: list[Any] = []
    while place < len(body) and body[place] == "{":
        try:
            value, end = _DECODER.raw_decode(body, place)
        except json.JSONDecodeError as error:
            return found, max(error.pos, place + 1)
        except (ValueError, RecursionError):
            return found, len(body)
        found.append(value)
        gap = BETWEEN_OBJECTS.match(body, end)
        place = gap.end() if gap else end
    return found, max(place, 1)


def unwrap(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without outer white space, code fences and reasoning, and which of them it had."""
    repairs: list[str] = []
    body = text.strip()
    body = _drop_fences(body, repairs)
    if THINK_END in body:
        repairs.append("think")
        body = _drop_fences(body[body.rfind(THINK_END) + len(THINK_END) :].strip(), repairs)
    return body, tuple(dict.fromkeys(repairs))


def _drop_fences(body: str, repairs: list[str]) -> str:
    bare = LEADING_FENCE.sub("", body, count=1) if body.startswith("```") else body
    if bare.endswith("```"):
        bare = bare[:-3]
    if len(bare) == len(body):
        return body
    repairs.append("fence")
    return bare.strip()


def load(text: str) -> tuple[Any, str | None]:
    """Return (value, None), or (None, name of the fault); a number too long to convert is a fault too."""
    try:
        return json.loads(text), None
    except RecursionError:
        return None, "nested too deeply"
    except ValueError:
        return None, "not JSON"


def scan(body: str) -> list[Any] | None:
    """Return the longest list of objects that stands anywhere in the text, the first of equals; else None.

    Only a bracket followed by a brace can open one. A bracket that fails is passed by and the next is tried;
    the characters read in vain are bounded by a multiple of the text's length.
    """
    best: list[Any] | None = None
    place, budget = 0, WORK_PER_CHARACTER * len(body) + 10_000
    for _ in range(MAX_CANDIDATES):
        start = LIST_OF_OBJECTS.search(body, place)
        if start is None or budget < 0:
            break
        try:
            value, place = _DECODER.raw_decode(body, start.start())
        except json.JSONDecodeError as error:
            budget -= max(error.pos - start.start(), 1)
            place = start.start() + 1
            continue
        except (ValueError, RecursionError):
            break
        for found in lists_of_objects(value):
            if best is None or len(found) > len(best):
                best = found
    return best


def lists_of_objects(value: Any) -> list[list[Any]]:
    """Return every non-empty list of objects inside a value, outer ones first, without recursion."""
    found, waiting = [], [value]
    for item in waiting:
        if isinstance(item, list):
            if item and all(isinstance(member, dict) for member in item):
                found.append(item)
            waiting.extend(member for member in item if isinstance(member, list | dict))
        elif isinstance(item, dict):
            waiting.extend(member for member in item.values() if isinstance(member, list | dict))
    return found


def is_valid(sketch: Any) -> bool:
    """Whether an item counts as a sketch: direction, narrative, proxies and regime, and nothing more."""
    return (
        isinstance(sketch, dict)
        and sketch.get("direction") in ("+", "-")
        and isinstance(sketch.get("mechanism_narrative"), str)
        and isinstance(sketch.get("candidate_proxies"), list)
        and isinstance(sketch.get("regime_hint"), str)
    )


@dataclass(frozen=True)
class Schema:
    """What a task allows in a sketch's closed fields."""

    domains: frozenset[str]
    horizons: frozenset[int]
    catalog: frozenset[str]


def is_compliant(sketch: dict[str, Any], schema: Schema) -> bool:
    """Whether a valid sketch fulfils the whole schema of the task; reported, never a condition of anything."""
    get = sketch.get
    proxies = sketch["candidate_proxies"]
    try:
        known = schema.catalog.issuperset(proxies) and get("dominant_domain") in schema.domains
    except TypeError:  # a list or an object where a name belongs
        return False
    horizon = get("candidate_horizon_hint")
    return (
        known
        and 1 <= len(proxies) <= 4
        and type(horizon) is int
        and horizon in schema.horizons
        and isinstance(get("hypothesis_id"), str)
        and isinstance(get("candidate_trigger"), str)
        and isinstance(get("failure_condition"), str)
        and isinstance(get("candidate_interactions"), LIST_OR_FLAG)
        and isinstance(get("evidence_refs"), list)
    )
