"""The audit row: one JSON file per model, from the estimates of its suites and its registry entry.

A row is the only thing that tables, figures and frozen copies read. Its numbers carry ten significant digits,
so that two processors write the same bytes; full precision stays in the estimates. `row_model` says what a
row holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anachron
from anachron import files, suites
from anachron.blocks import from_ordinal, ordinal
from anachron.config import ModelEntry
from anachron.errors import ContractError
from anachron.llm.prices import Line
from anachron.publish.row_ledger import ledger
from anachron.publish.row_model import Row, validate
from anachron.publish.row_serving import DRIFT, serving

__all__ = ["Row", "build", "read", "safe_from", "validate", "write"]

SCHEMA_VERSION = 1
SAFE_MARGIN_MONTHS = 3
"""Months added after the latest measured upper bound before a backtest may start."""


def build(
    entry: ModelEntry,
    estimates: dict[str, dict[str, Any]],
    margin_months: int = SAFE_MARGIN_MONTHS,
    price_lines: Sequence[Line] = (),
) -> dict[str, Any]:
    """Return the audit row of a model.

    Parameters
    ----------
    entry
        The model's registry entry.
    estimates
        Per suite, what the estimate stage wrote.
    margin_months
        Months that `safe_from` adds after the latest measured upper bound.
    price_lines
        The price file (`llm.prices.read`); without a line of the model's price its dollars are null.

    Returns
    -------
    dict
        The row, as `Row` describes it; floats have ten significant digits.

    Raises
    ------
    ContractError
        When there is no estimate, one belongs to another model, or the result breaks the row's contract.
    """
    if not estimates:
        raise ContractError(f"{entry.name}: no estimates to build a row from; run the estimate stage first")
    parts = {suite: estimates[suite] for suite in sorted(estimates)}
    for suite, part in parts.items():
        if part["model"] != entry.name or part["suite"] != suite:
            raise ContractError(
                f"row of {entry.name!r}: the estimates given for suite {suite!r} are those of "
                f"{part['model']!r}, suite {part['suite']!r}; rebuild that file"
            )
    cells = {suite: _cells(part["estimates"]) for suite, part in parts.items()}
    side = {suite: part.get("side") or {} for suite, part in parts.items()}
    cutoffs = _cutoffs(entry, cells, side)
    truth = {suite: part["truth"] for suite, part in parts.items() if part.get("truth") is not None}
    marks = {
        mark
        for scorings in cells.values()
        for metrics in scorings.values()
        for cell in metrics.values()
        for mark in cell.get("marks", "")
    }
    served = serving(entry, parts)
    row: dict[str, Any] = files.rounded(
        {
            "schema_version": SCHEMA_VERSION,
            "model": entry.name,
            "identity": _identity(entry, parts),
            "provenance": {suite: _provenance(part) for suite, part in parts.items()},
            "counts": {suite: part.get("counts") or {} for suite, part in parts.items()},
            "estimates": cells,
            "cutoffs": cutoffs,
            "safe_from": safe_from(cutoffs, margin_months, served.drift),
            "ledger": ledger(
                entry, {suite: part.get("usage") or {} for suite, part in parts.items()}, price_lines
            ),
            "marks": sorted({*marks, *((DRIFT,) if served.drift else ())}),
            "disclosures": [*entry.disclosures, *served.said],
            "planted_truth": truth or None,
            "side": side,
        }
    )
    validate(row, f"row of {entry.name!r}")
    return row


def _cells(records: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for record in records:
        metrics = cells.setdefault(record["scoring"], {})
        metrics[record["metric"]] = {
            key: value
            for key, value in record.items()
            if key == "value" or (value is not None and key not in ("suite", "scoring", "metric"))
        }
    return cells


def _identity(entry: ModelEntry, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    sampling: dict[str, dict[str, Any]] = {}
    for suite in parts:
        own = {
            "arms": entry.arms.get(suite),
            "temperature": entry.temperature.get(suite),
            "max_output_tokens": entry.max_output_tokens.get(suite),
        }
        sampling[suite] = {key: value for key, value in own.items() if value is not None}
    return {
        "model": entry.name,
        "vendor": entry.vendor,
        "generation": entry.generation,
        "provider": entry.provider,
        "model_id": entry.model_id or entry.name,
        "served_models": sorted({name for part in parts.values() for name in part.get("served_models", [])}),
        "serving": dict(entry.serving),
        "sampling": sampling,
        "temperature_locked": entry.temperature_locked,
        "thinking": str(entry.thinking),
        "tools": entry.tools,
        "tier": entry.tier,
        "reps": {suite: part["reps"] for suite, part in parts.items() if part.get("reps")},
    }


def _provenance(part: dict[str, Any]) -> dict[str, Any]:
    return {
        "package_version": anachron.__version__,
        "protocol": part["protocol"],
        "versions": part["versions"],
        "fingerprints": part["fingerprints"],
        "panel": part["panel"],
        "transcripts_sha256": part["transcripts_sha256"],
        "fingerprint_values": list(part.get("fingerprint_values") or []),
        "provenances": list(part.get("provenances") or []),
    }


def _cutoffs(
    entry: ModelEntry, cells: dict[str, dict[str, dict[str, Any]]], side: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the measured ends of every suite with their distance from the vendor's month, then that."""
    vendor = entry.vendor_cutoff
    found: list[dict[str, Any]] = []
    for suite in cells:
        for end in suites.module(suite, "table").measured_ends(cells[suite], side[suite]):
            found.append({"kind": "measured", "suite": suite, **end})
    for end in found:
        both = end["month"] is not None and vendor.value is not None
        end["months_from_vendor"] = ordinal(end["month"]) - ordinal(str(vendor.value)) if both else None
    stated = [f"statement: {vendor.kind}"]
    stated += [f"read on {vendor.read_on}"] if vendor.read_on else []
    stated += [vendor.url] if vendor.url else []
    found.append(
        {"label": "vendor-stated", "kind": "vendor-stated", "month": vendor.value, "note": "; ".join(stated)}
    )
    return found


def safe_from(
    cutoffs: list[dict[str, Any]], margin_months: int = SAFE_MARGIN_MONTHS, drift: str | None = None
) -> dict[str, Any]:
    """Return the first month from which a backtest may start, or why no month can be named.

    It is the month after the latest upper bound of the measured ends that are defined, plus the margin. The
    vendor's statement never enters. An end at the last month asked is no end: then nothing is named. Nor is it
    where the row is gated because its serving drifted (`drift` says what changed): its answers are not one model's.
    """
    if drift is not None:
        text = f"No month can be named: the row is gated as {DRIFT}, since {drift}."
        return {"month": None, "margin_months": margin_months, "text": text}
    measured = [end for end in cutoffs if end["kind"] == "measured"]
    defined = [end for end in measured if end["month"] is not None]
    if not defined:
        reasons = "; ".join(f"{end['label']}: {end.get('note') or 'undefined'}" for end in measured)
        text = f"No month can be named: no measured end is identified ({reasons or 'none was measured'})."
        return {"month": None, "margin_months": margin_months, "text": text}
    still_open = [end for end in defined if end.get("open_ended")]
    if still_open:
        end = still_open[0]
        text = (
            f"No month can be named: the {end['label']} ({_span(end)}) reaches the last month asked, "
            "so where it ends has not been seen."
        )
        return {"month": None, "margin_months": margin_months, "text": text}
    latest = max(defined, key=lambda end: str(end.get("high") or end["month"]))
    upper = str(latest.get("high") or latest["month"])
    month = from_ordinal(ordinal(upper) + 1 + margin_months)
    bound = "upper bound" if latest.get("high") else "measured month (no interval)"
    text = (
        f"Rests on the {latest['label']} ({_span(latest)}): the month after its {bound} {upper}, "
        f"plus {margin_months} months. Advice on where a backtest may start, not a certificate."
    )
    return {"month": month, "margin_months": margin_months, "text": text}


def _span(end: dict[str, Any]) -> str:
    interval = f" [{end['low']}, {end['high']}]" if end.get("low") and end.get("high") else ""
    return f"{end['month']}{interval}"


def write(row: dict[str, Any], path: Path) -> None:
    """Validate a row and write it atomically, sorted and indented."""
    validate(row, str(path))
    files.write_json(path, row)


def read(path: Path) -> dict[str, Any]:
    """Read and validate a row.

    Raises
    ------
    ContractError
        When the file is missing, is not JSON, or breaks the row's contract.
    """
    row = files.read_json(path)
    validate(row, str(path))
    checked: dict[str, Any] = row
    return checked
