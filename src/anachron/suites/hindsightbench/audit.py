"""What stands beside the row: the transcript audit of the dated text, and the counts of the answers.

Source: HindsightBench §3.1 (transcript audit), §7.3 (repairs disclosed per row).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anachron.suites.hindsightbench.cells import Part, counted
from anachron.suites.hindsightbench.protocol import ARMS, Protocol


def transcript_audit(parts: dict[str, Part], protocol: Protocol) -> dict[str, Any]:
    """Return, per arm, the share of answers that name the shown year, the true year, or a known event.

    A year counts wherever its four digits stand alone, and so does a level of a series that looks like one.
    `names_event_when_shown_crisis` is the share over answers whose shown date is a crisis date. The masked
    arm shows no date; there the true year is the leak to look for.
    """
    crisis = set(protocol.crisis_dates)
    shifts = {"M": None, "W": protocol.shift.months, "W72": protocol.shift.alternative_months}
    found: dict[str, Any] = {}
    for arm, shift in shifts.items():
        part = counted(parts[arm], "bm1") if arm in parts else {}
        if not part or len(part["item"]) == 0:
            continue
        entry: dict[str, Any] = {
            "n": len(part["item"]),
            "names_true_year": _share(part["names_true_year"]),
        }
        if shift is not None:
            fakes = protocol.fake_dates(shift)
            pairs = zip(part["item"].tolist(), part["shown_date"].tolist(), strict=True)
            dated = np.array([(shown or fakes.get(item)) in crisis for item, shown in pairs])
            entry["names_event"] = _share(part["names_event"])
            entry["names_shown_year"] = _share(part["names_shown_year"])
            entry["names_event_when_shown_crisis"] = _share(part["names_event"][dated])
            entry["n_shown_crisis"] = int(dated.sum())
        found[arm] = entry
    return found


def _share(flags: NDArray[Any]) -> float | None:
    known = [bool(flag) for flag in flags if flag is not None]
    return sum(known) / len(known) if known else None


def answer_counts(parts: dict[str, Part], asked: dict[str, int]) -> dict[str, Any]:
    """Return the whole numbers of the row by arm: asked, answered, outcomes, repairs, faults, sketches.

    Parameters
    ----------
    asked
        Requests per arm, as the tier and the reps found say.
    """
    found: dict[str, Any] = {}
    for arm in sorted({*parts, *asked}):
        if arm not in parts:
            found[arm] = {"asked": asked[arm], "answered": 0}
            continue
        part = parts[arm]
        entry: dict[str, Any] = {
            "asked": asked.get(arm, 0),
            "answered": len(part["item"]),
            "duplicates": int((part["duplicate"] > 0).sum()),
            "outside_protocol": int((part["place"] < 0).sum()),
            "outcomes": _tally(part["outcome"]),
        }
        if arm in ARMS:
            entry["repairs"] = {
                "bm1": _repairs(part["repair"]),
                "anachron": _repairs(part["repair_recovered"]),
            }
            entry["parse_errors"] = _tally(part["parse_error"])
            for scoring, suffix in (("bm1", ""), ("anachron", "_recovered")):
                entry[f"sketches_{scoring}"] = {
                    "valid": _sum(part[f"n_valid{suffix}"]),
                    "invalid": _sum(part[f"n_invalid{suffix}"]),
                }
            entry["full_schema"] = _sum(part["n_compliant"])
            entry["as_many_as_asked"] = _sum(part["as_many_as_asked"])
        elif arm == "LAP":
            entry["recall"] = {"bm1": _tally(part["recall"]), "anachron": _tally(part["recall_uniform"])}
            entry["recall_source"] = _tally(part["recall_source"])
            entry["parsers_differ"] = int((part["recall"] != part["recall_uniform"]).sum())
        else:
            entry["accepted_months"] = sum(value is not None for value in part["estimated_month"])
            entry["accepted_years"] = sum(value is not None for value in part["estimated_year"])
        found[arm] = entry
    return found


def _sum(column: NDArray[Any]) -> int:
    return sum(int(value) for value in column if value is not None)


def _tally(column: NDArray[Any]) -> dict[str, int]:
    found = Counter(column.tolist())
    found.pop(None, None)
    return dict(sorted(found.items()))


def _repairs(column: NDArray[Any]) -> dict[str, int]:
    """Return how many answers each repair touched; an answer that took two counts under both."""
    found: Counter[str] = Counter()
    for repair, number in _tally(column).items():
        for name in repair.split("+"):
            found[name] += number
    return dict(sorted(found.items()))
