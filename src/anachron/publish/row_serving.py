"""What a row says of how its model was served, when that is not as it was asked.

Only answers that came over HTTP are spoken of: planted ones are served as asked, and of imported ones nobody here
saw the serving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anachron.config import ModelEntry
from anachron.llm.served import served_is_asked

DRIFT = "serving_drift"
"""Mark of a row whose answers did not all come from one served model and fingerprint."""

MOST_NAMES = 6
"""Names listed in words; the row holds all of them."""


@dataclass(frozen=True)
class Serving:
    """How a model was served, where that is not as it was asked."""

    said: list[str]
    """Disclosures, in sentences; none where all was as asked."""
    drift: str | None
    """Why the row is gated as `serving_drift`: what changed inside it; None where nothing did."""


def serving(entry: ModelEntry, parts: Mapping[str, Mapping[str, Any]]) -> Serving:
    """Return what was served otherwise than asked.

    Parameters
    ----------
    entry
        The model's registry entry.
    parts
        Per suite, its estimates document.

    Notes
    -----
    Another model than the one asked; several models or fingerprints inside the row (a drift); answers that ended
    for a reason nobody documents; reasoning that was counted although `thinking` is off.
    """
    mine = [part for _, part in sorted(parts.items()) if "api" in (part.get("provenances") or [])]
    if not mine:
        return Serving([], None)
    asked = entry.model_id or entry.name
    models = sorted({name for part in mine for name in part.get("served_models") or []})
    prints = sorted({name for part in mine for name in part.get("fingerprint_values") or []})
    said = []
    others = [name for name in models if served_is_asked(asked, name) is False]
    if others:
        said.append(f"Asked was {asked}; the provider says that it served {_listed(others)}.")
    changed = [
        f"the {what} changed inside this row: {_listed(names)}"
        for what, names in (("served model", models), ("system fingerprint", prints))
        if len(names) > 1
    ]
    said += [f"{DRIFT}: {change}." for change in changed]
    said += _unknown_endings(mine)
    thought = sum((part.get("usage") or {}).get("reasoning_tokens") or 0 for part in mine)
    if entry.thinking == "off" and thought:
        said.append(
            f"Thinking is off in the registry, and the provider counted {thought:,} reasoning tokens."
        )
    return Serving(said, "; ".join(changed) or None)


def _unknown_endings(parts: list[Mapping[str, Any]]) -> list[str]:
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(part.get("unknown_endings") or {})
    if not counted:
        return []
    names = _listed([f"{reason!r} ({counted[reason]:,})" for reason in sorted(counted)])
    return [
        f"{counted.total():,} answers ended for a reason that no provider documents, and count as answers: {names}."
    ]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
