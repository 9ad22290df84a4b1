"""What stands beside the row: the transcript audit of the dated text, and the counts of the answers.

Source: HindsightBench §3.1 (transcript audit), §7.3 (repairs disclosed per row).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from anachron.suites.hindsightbench.cells import Grid
from anachron.suites.hindsightbench.protocol import ARMS, Protocol


def transcript_audit(answers: pd.DataFrame, protocol: Protocol) -> dict[str, Any]:
    """Return, per arm, the share of answers that name the shown year, the true year, or a known event.

    A year counts wherever its four digits stand alone, and so does a level of a series that looks like one.
    `names_event_when_shown_crisis` is the share over answers whose shown date is a crisis date. The masked
    arm shows no date; there the true year is the leak to look for.
    """
    crisis = set(protocol.crisis_dates)
    fakes = {
        "W": protocol.fake_dates(protocol.shift.months),
        "W72": protocol.fake_dates(protocol.shift.alternative_months),
    }
    found: dict[str, Any] = {}
    for arm in ("M", "W", "W72"):
        part = answers[(answers["arm"] == arm) & (answers["outcome"] != "error")]
        if len(part) == 0:
            continue
        entry: dict[str, Any] = {"n": len(part), "names_true_year": _share(part["names_true_year"])}
        entry["names_event"] = _share(part["names_event"])
        if arm != "M":
            default = part["item"].map(fakes[arm])
            shown = part["shown_date"].where(part["shown_date"].notna(), default)
            dated = part[shown.isin(crisis).to_numpy()]
            entry["names_shown_year"] = _share(part["names_shown_year"])
            entry["names_event_when_shown_crisis"] = _share(dated["names_event"])
            entry["n_shown_crisis"] = len(dated)
        found[arm] = entry
    return found


def _share(flags: pd.Series) -> float | None:
    known = flags.dropna()
    return float(known.astype(float).mean()) if len(known) else None


def answer_counts(answers: pd.DataFrame, grid: Grid, asked: dict[str, int]) -> dict[str, Any]:
    """Return the whole numbers of the row by arm: asked, answered, outcomes, repairs, faults, sketches.

    Parameters
    ----------
    asked
        Requests per arm, as the tier and the reps found say.
    """
    known = set(grid.dates)
    found: dict[str, Any] = {}
    for arm, part in sorted(answers.groupby("arm", sort=True)):
        entry: dict[str, Any] = {
            "asked": asked.get(str(arm), 0),
            "answered": len(part),
            "duplicates": int((part["duplicate"] > 0).sum()),
            "outside_protocol": int((~part["item"].isin(known)).sum()),
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
                    "valid": int(part[f"n_valid{suffix}"].sum()),
                    "invalid": int(part[f"n_invalid{suffix}"].sum()),
                }
            entry["full_schema"] = int(part["n_compliant"].sum())
            entry["as_many_as_asked"] = int(part["as_many_as_asked"].sum())
        elif arm == "LAP":
            entry["recall"] = {"bm1": _tally(part["recall"]), "anachron": _tally(part["recall_uniform"])}
            entry["recall_source"] = _tally(part["recall_source"])
            entry["parsers_differ"] = int((part["recall"] != part["recall_uniform"]).sum())
        else:
            entry["accepted_months"] = int(part["estimated_month"].notna().sum())
            entry["accepted_years"] = int(part["estimated_year"].notna().sum())
        found[str(arm)] = entry
    return found


def _tally(column: pd.Series) -> dict[str, int]:
    counts = column.dropna().value_counts()
    return {str(name): int(counts[name]) for name in sorted(counts.index)}


def _repairs(column: pd.Series) -> dict[str, int]:
    """Return how many answers each repair touched; an answer that took two counts under both."""
    found: dict[str, int] = {}
    for repair, number in _tally(column).items():
        for name in repair.split("+"):
            found[name] = found.get(name, 0) + number
    return dict(sorted(found.items()))
