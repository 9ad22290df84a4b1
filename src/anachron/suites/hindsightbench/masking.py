"""Fail closed: a prompt that still holds a hidden date, latest value or base rate is never written.

Wording and filled-in fields are judged apart. Wording (task text, labels, units, the protocol's constants) is
searched with every field cut out, so that a value which looks like a year neither stops a sound prompt nor
hides a year beside it. Fields are compared with the panel: a value must be exactly the number the one format
rule gives, a lag exactly the months of lag, a date exactly the one date the arm states.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

from anachron.errors import ContractError
from anachron.suites.hindsightbench.prompts import Node, Piece, lag_months, number

MASKED_ARMS = ("D", "M", "W", "W72", "REC")
"""Arms whose prompts are checked: all that hide reference dates, latest values and base rates."""

CUT = "￼"
"""Stands where a field was cut out: no digit, no letter, so that the two sides do not run together."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"
DATE_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a date", re.compile(rf"(?<!\d){_YEAR}\s?[-/.]\s?(?:0?[1-9]|1[0-2])(?!\d)(?:[-/.]\d\d?)?")),
    ("a date", re.compile(rf"(?<!\d){_YEAR}(?:0[1-9]|1[0-2])(?:[0-3]\d)?(?!\d)")),
    (
        "a month with its year",
        re.compile(
            rf"(?<![a-z]){_MONTH}\b[\s.,'’/-]*(?:of\s+)?(?:\d\d?(?:st|nd|rd|th)?,?\s+)?{_YEAR}(?!\d)", re.I
        ),
    ),
    ("a month with its year", re.compile(rf"(?<![a-z]){_MONTH}[\s.,'’/-]*\d\d(?!\d)", re.I)),
    (
        "a quarter with its year",
        re.compile(r"(?<![a-z0-9])(?:q[1-4][\s'’/-]*\d\d|\d\d\s?q[1-4])(?!\d)", re.I),
    ),
    ("a year", re.compile(rf"(?<!\d){_YEAR}(?!\d)")),
    ("a year", re.compile(r"['’]\d\d(?![\d'’])")),
    ("digits that touch a filled-in field", re.compile(rf"\d+{CUT}|{CUT}\d+")),
)
"""What counts as a date in wording: the name of the form, and how it is found."""

_NUMBER = re.compile(r"(?<![\d.])(\d+)(?:\.(\d+))?(\s?%|\s?per\s?cent)?", re.I)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def check(
    pieces: Sequence[Piece],
    system: str,
    node: Node,
    arm: str,
    shown: str | None,
    own_numbers: frozenset[str] = frozenset(),
) -> None:
    """Stop the build when a prompt shows more than its arm may.

    Parameters
    ----------
    pieces
        The prompt of one of `MASKED_ARMS`.
    system
        The system prompt that goes with it.
    node
        The decision date the prompt was made for.
    arm
        The arm, for the error text.
    shown
        The one date that the prompt states; None when it states none.
    own_numbers
        See `find_outcome`.

    Raises
    ------
    ContractError
        Names the item, the arm, the found text and what it is.
    """
    _check_fields(pieces, node, arm, shown)
    for where, parts in (("prompt", pieces), ("system prompt", [Piece("text", system)])):
        skeleton = "".join(piece.text if piece.kind in ("text", "constant") else CUT for piece in parts)
        dated = find_date(skeleton)
        if dated is not None:
            _stop(node, arm, f"the {where} holds {dated[0]}, {dated[1]!r}")
        wording = "".join(piece.text if piece.kind == "text" else CUT for piece in parts)
        outcome = find_outcome(wording, node, own_numbers)
        if outcome is not None:
            _stop(node, arm, f"the {where} holds {outcome[0]}, {outcome[1]!r}")


@lru_cache(maxsize=1024)
def find_date(text: str) -> tuple[str, str] | None:
    """Return the form and the text of the first date that wording holds, or None.

    Digits of any script count, and invisible characters do not part them.
    """
    plain = _plain(text)
    for form, pattern in DATE_FORMS:
        found = pattern.search(plain)
        if found:
            return form, found.group()
    return None


def find_outcome(
    wording: str, node: Node, own_numbers: frozenset[str] = frozenset()
) -> tuple[str, str] | None:
    """Return the name and the text of a latest value or base rate of `node` that wording holds, or None.

    A number counts as a latest value when it has at least the decimals of the series' format and rounds to
    the same text; as the base rate when it rounds to the same percentage, written with a percent sign, with a
    decimal, or as a fraction of at least two decimals.

    Parameters
    ----------
    wording
        A prompt's text with all fields cut out.
    node
        The decision date.
    own_numbers
        Whole numbers that the task itself names (the 500 of a target's name, the horizons); they stand in the
        wording of every date, so that a latest value which equals one by chance is no leak.
    """
    latest = {
        (number(abs(seen.latest), seen.entry.decimals), seen.entry.decimals): seen.entry.id
        for seen in node.observations
    }
    share = 100 * node.base_rate_up if node.base_rate_up is not None and node.base_rate_n else None
    for text, whole, fraction, is_percent in _numbers(wording):
        places = len(fraction)
        if not places and not is_percent and whole in own_numbers:
            continue
        value = float(f"{whole}.{fraction or '0'}")
        for decimals in range(places + 1):
            series = latest.get((number(value, decimals), decimals))
            if series is not None:
                return f"the latest value of {series}", text
        if share is not None:
            written = number(value, places)
            as_percent = bool(is_percent or places) and written == number(share, places)
            if as_percent or (places >= 2 and written == number(share / 100, places)):
                return "the base rate", text
    return None


def _check_fields(pieces: Sequence[Piece], node: Node, arm: str, shown: str | None) -> None:
    for kind, text in pieces:
        if kind in ("latest", "base_rate", "reference", "end"):
            _stop(node, arm, f"the prompt shows a field this arm hides ({kind}), {text!r}")
        if kind == "date" and text != shown:
            _stop(node, arm, f"the prompt shows a date it should not, {text!r}")
    for kind, wanted in (
        ("value", [number(seen.value, seen.entry.decimals) for seen in node.observations]),
        ("lag", [f"t-{lag_months(node.date, seen.reference)}mo" for seen in node.observations]),
    ):
        found = [piece.text for piece in pieces if piece.kind == kind]
        if found != wanted:
            first = next((f"{f!r}, not {w!r}" for f, w in zip(found, wanted, strict=False) if f != w), None)
            count = f"{len(found)} of {len(wanted)}"
            _stop(node, arm, f"a {kind} is not the panel's: found {first or count}")


def _stop(node: Node, arm: str, what: str) -> NoReturn:
    raise ContractError(
        f"item {node.date}, arm {arm}: {what}; nothing was written. Remove it from the wording of the "
        "protocol file (`task`, `target`, `series` labels and units), or mend the panel"
    )


@lru_cache(maxsize=1024)
def _numbers(text: str) -> tuple[tuple[str, str, str, bool], ...]:
    """Return every unsigned number of a text: as written, whole part, decimals, whether a percentage."""
    plain = _THOUSANDS.sub("", _plain(text))
    return tuple(
        (found.group(), found[1].lstrip("0") or "0", found[2] or "", bool(found[3]))
        for found in _NUMBER.finditer(plain)
    )


@lru_cache(maxsize=1024)
def _plain(text: str) -> str:
    """Return the text with every script's digits as 0-9 and without invisible characters."""
    folded = unicodedata.normalize("NFKC", text)
    return "".join(
        str(unicodedata.decimal(letter, letter)) for letter in folded if unicodedata.category(letter) != "Cf"
    )
