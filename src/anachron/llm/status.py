"""How far a run is, told from another terminal: what each collecting job last wrote, and whether it still lives."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

STALE_S = 30.0
"""A job writes every two seconds while it collects; one that has not for this long hangs, or is on another host."""


def beat_of(store: Path) -> dict[str, Any] | None:
    """Return what the collecting job of a store last wrote beside it; None when it wrote nothing readable."""
    try:
        beat = json.loads(store.with_suffix(".status.json").read_text(encoding="utf-8"))
        return beat if isinstance(beat, dict) and isinstance(beat["pid"], int) else None
    except (OSError, ValueError, KeyError):
        return None


def told(beat: dict[str, Any], now: datetime | None = None) -> str:
    """Return in one line how far a job is, or how it ended.

    A job that says it is collecting and whose process is gone was killed.
    """
    total, cached, done = (int(beat.get(name) or 0) for name in ("total", "cached", "done"))
    parts = [f"{cached + done:,} of {total:,} answers, {done:,} of them asked by this job"]
    if beat.get("failed"):
        parts.append(f"{beat['failed']:,} failed tries")
    if beat.get("maybe_billed"):
        parts.append(f"{beat['maybe_billed']:,} without an answer may be billed")
    cost = beat.get("cost_usd")
    parts.append("cost unknown" if cost is None else f"${cost:,.4f}")
    return f"{_state(beat, now or datetime.now(UTC))}: {beat.get('label', '')}: {', '.join(parts)}"


def _state(beat: dict[str, Any], now: datetime) -> str:
    state = str(beat.get("state", "unknown"))
    age = _age(beat.get("updated"), now)
    if state != "collecting":
        return f"{state} {_ago(age)}"
    if not _alive(beat["pid"]):
        return f"killed (process {beat['pid']} is gone; last sign {_ago(age)})"
    if age is not None and age > STALE_S:
        return f"no sign since {_ago(age)} (process {beat['pid']})"
    return f"collecting (process {beat['pid']})"


def _age(updated: Any, now: datetime) -> float | None:
    try:
        return max(0.0, (now - datetime.fromisoformat(str(updated))).total_seconds())
    except (ValueError, TypeError):
        return None


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "at an unknown time"
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit} ago"
    return f"{seconds:,.0f} seconds ago"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
