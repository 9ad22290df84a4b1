"""Small, realistic rows for the tests of publishing, made through the same code as real ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.blocks import from_ordinal, ordinal
from anachron.config import ModelEntry
from anachron.estimates import Estimate, Gate, Interval, records

SUITE = "hindsightbench"
SHA = "0" * 64


def registry_entry(name: str = "some-model:2b", **changes: Any) -> ModelEntry:
    planted = changes.pop("planted", None)
    fields: dict[str, Any] = {"name": name, "generation": "2025", "vendor": "Example", "tier": "full"}
    if planted is not None:
        fields |= {"provider": "planted", "planted": planted}
    else:
        fields |= {"provider": "replay", "source": "imported.parquet"}
    return ModelEntry(**(fields | changes))


def metrics(scoring: str, **changes: Any) -> list[Estimate]:
    """Return estimates of a model that recalls up to 2024-10; a change of None gates a metric."""
    fine = Gate("k", True, 1.0, 0.95, "both sides hold 47 of 47 dates")
    reach = {"E1": 0.045, "E2": 0.0873, "E3": 0.1451, "P1": 0.085}
    values: dict[str, Any] = {
        "E1": -0.0041, "E2": 0.3829, "E3": 0.49513, "P1": -0.0625,
        "REC.pre.year": 0.205, "REC.post.year": 0.0, "LAP.pre": 0.83805, "LAP.post": 0.0,
        "cutoff": "2024-10", "hit_rate": 0.685, "kappa": 0.3,
        "delta": 0.16249, "delta.t": 1.345, "VALID": 0.99806,
    }  # fmt: skip
    plain = {name.replace(".", "_"): name for name in values}
    values |= {plain[key]: value for key, value in changes.items() if key != "marks"}
    marks = changes.get("marks", {"P1": "m", "VALID": "p"})
    units = {"cutoff": "month", "delta": "coefficient", "delta.t": "t", "kappa": "score"}
    letters = {"REC.pre.year": "r", "REC.post.year": "r", "cutoff": "g", "delta": "v", "delta.t": "v"}
    found = []
    for name, value in values.items():
        letter = letters.get(name, "k")
        gated = isinstance(value, Gate)
        interval = None
        if name in reach and not gated and (scoring == "anachron" or name != "P1"):
            ends = (value - reach[name], value + reach[name])
            interval = Interval(
                *ends, method="percentile bootstrap", draws=10_000, valid_draws=10_000, seed=2026
            )
        if name == "cutoff" and scoring == "anachron" and not gated and value is not None:
            interval = Interval(
                from_ordinal(ordinal(value) - 1),
                from_ordinal(ordinal(value) + 1),
                method="reps within months",
            )
        gate = value if gated else (fine if letter == "k" else Gate(letter, True, 99.0, 10.0, "enough"))
        if name in ("LAP.pre", "LAP.post", "hit_rate", "VALID", "kappa"):
            gate = None
        number = 0.25 if gated and name != "cutoff" else "2020-01" if gated else value
        unit = units.get(name, "share difference" if name in reach else "share")
        found.append(
            Estimate(name, unit, number, 47, interval, (gate,) if gate else (), tuple(marks.get(name, "")))  # type: ignore[arg-type]
        )
    return found


def failed(mark: str) -> Gate:
    """Return a gate that failed, as the value of a metric."""
    return Gate(mark, False, 3.0, 10.0, f"3 of 10 needed (gate {mark})")


def document(
    model: str,
    truth: Mapping[str, Any] | None = None,
    bm1_truth: Mapping[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return what the estimate stage writes for one suite of a model."""
    months = [from_ordinal(value) for value in range(ordinal("2005-01"), ordinal("2026-06") + 1)]
    end = changes.get("cutoff", "2024-10")
    recalled = {month: (0.85 if isinstance(end, str) and month <= end else 0.0) for month in months}
    return {
        "schema_version": 1,
        "model": model,
        "suite": SUITE,
        "protocol": {"name": "bm1", "sha256": SHA, "title": "Direction of an <index>"},
        "versions": {"parser": "1", "estimator": "1"},
        "fingerprints": {"parse": SHA, "estimate": SHA},
        "panel": {"sha256": SHA, "vintage_kinds": ["pseudo real time"], "realised_kinds": ["daily"]},
        "transcripts_sha256": SHA,
        "served_models": [f"{model}-001"],
        "fingerprint_values": [],
        "provenances": ["planted" if truth else "imported"],
        "usage": {
            "calls": 100, "input_tokens": 1000, "cached_tokens": 0, "output_tokens": 500,
            "reasoning_tokens": None, "calls_without_usage": 4,
        },
        "truth": {"anachron": dict(truth), "bm1": {**truth, **(bm1_truth or {})}} if truth else None,
        "counts": {"asked": {"D": 516}, "answered": {"D": 516}},
        "side": {"lap_by_month": {"anachron": recalled, "bm1": recalled}, "ablation": {"sign_flips": 0}},
        "estimates": [
            record
            for scoring in ("bm1", "anachron")
            for record in records(metrics(scoring, **changes), SUITE, scoring)
        ],
    }  # fmt: skip


def row(
    name: str = "some-model:2b", entry: Mapping[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return an audit row."""
    from anachron.publish.row import build

    return build(registry_entry(name, **(entry or {})), {SUITE: document(name, **changes)})


def planted_row(name: str = "planted-trigger", **changes: Any) -> dict[str, Any]:
    """Return the row of a planted respondent: E2 is 0.40 in truth, recall ends in 2024-09."""
    truth = {"E2": 0.40, "E3": 0.70, "cutoff": "2024-09", "LAP.pre": 0.85}
    return row(name, {"planted": {SUITE: {}}}, truth=truth, **changes)
