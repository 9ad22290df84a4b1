"""What both forms of published records share: the columns of a record, and text that may be damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anachron.files import canonical_json

RECORD_COLUMNS = [
    "arm",
    "item",
    "rep",
    "text",
    "recorded",
    "fake_date",
    "served_model",
    "upstream",
    "sampling",
    "prompt_sha256",
    "place",
]
"""A record before it is checked; `place` says where it was read, for error texts."""

REC_REP = 1
"""The date-recovery probe is asked once; its records carry no rep."""


def decoded(raw: bytes) -> tuple[str, bool]:
    """Return bytes as text, and whether some were not UTF-8 (each such byte becomes U+FFFD)."""
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), True


def encodable(text: str) -> tuple[str, bool]:
    """Return text that UTF-8 can hold, and whether it had lone surrogates (each becomes U+FFFD)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), True
    return text, False


def sampling_text(stated: Mapping[str, Any]) -> str | None:
    """Return what is recorded of the sampling as canonical JSON; None where nothing is.

    Numbers keep six decimals, so that a temperature kept in single precision reads as it was set.
    """
    known: dict[str, str | int | float] = {}
    for name, value in stated.items():
        if value is None or value != value:  # NaN alone differs from itself
            continue
        if isinstance(value, str):
            known[name] = value
        else:
            number = round(float(value), 6)
            known[name] = int(number) if number == int(number) else number
    return canonical_json(known) if known else None


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names for a sentence; those beyond `most` are counted."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
