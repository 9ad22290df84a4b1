"""The audit row: one JSON file per model, from the estimates of its suites and its registry entry.

A row is the only thing that tables, figures and frozen copies read. Its numbers carry ten significant digits,
so that two processors write the same bytes; full precision stays in the estimates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

import anachron
from anachron import files, suites
from anachron.blocks import from_ordinal, ordinal
from anachron.config import ModelEntry, Month, StrictModel
from anachron.errors import ContractError

SCHEMA_VERSION = 1
SAFE_MARGIN_MONTHS = 3
"""Months added after the latest measured upper bound before a backtest may start."""

TOKEN_KINDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


class RowModel(StrictModel):
    """A part of a row: unknown keys, text in place of numbers, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EstimateCell(RowModel):
    """One estimate; keys without a value are left out, apart from `value`."""

    value: float | None = Field(description="The number; null when gated, undefined, or a month.")
    unit: str = Field(description="Unit of value and interval.")
    value_month: Month | None = Field(None, description="The value of an estimate that is a month.")
    n: int | None = Field(None, ge=0, description="What the estimate rests on.")
    low: float | None = Field(None, description="Lower end of the interval.")
    high: float | None = Field(None, description="Upper end of the interval.")
    low_month: Month | None = Field(None, description="Lower end of a month's interval.")
    high_month: Month | None = Field(None, description="Upper end of a month's interval.")
    level: float | None = Field(None, gt=0, lt=1, description="Coverage the interval aims at.")
    method: str | None = Field(None, description="How the interval was made.")
    draws: int | None = Field(None, ge=0, description="Resampling draws.")
    valid_draws: int | None = Field(None, ge=0, description="Draws in which the estimate was defined.")
    seed: int | None = Field(None, description="Seed of the draws.")
    gate: str | None = Field(None, description="Mark of the gate that decides this estimate.")
    gate_passed: bool | None = Field(None, description="Whether the gate passed.")
    gate_figure: float | None = Field(None, description="The number held against the threshold.")
    gate_threshold: float | None = Field(None, description="The gate's threshold.")
    gate_text: str | None = Field(None, description="The gate in words, with its figure.")
    marks: str = Field("", description="Marks that hold for this estimate.")
    before_value: float | None = Field(None, description="Gated: what the formula gave. Never printed.")
    before_value_month: Month | None = Field(None, description="Gated: the month the formula gave.")
    before_low: float | None = Field(None, description="Gated: lower end.")
    before_high: float | None = Field(None, description="Gated: upper end.")


class Identity(RowModel):
    """Which model was asked, and how."""

    model: str
    vendor: str
    generation: str
    provider: str = Field(description="Provider kind; `planted` and `replay` cost nothing.")
    model_id: str = Field(description="Identifier sent to the provider.")
    served_models: list[str] = Field(description="Identifiers the provider said it served.")
    serving: dict[str, str]
    sampling: dict[str, dict[str, Any]] = Field(
        description="Per suite, what replaces the protocol's sampling."
    )
    temperature_locked: bool
    thinking: str
    tools: str
    tier: str
    reps: dict[str, Any] = Field(
        description="Per suite, repeated samples per arm; absent where not recorded."
    )


class Protocol(RowModel):
    """Which protocol was run."""

    name: str
    sha256: str
    title: str


class Panel(RowModel):
    """Which facts the model was shown and scored against."""

    sha256: str
    vintage_kinds: list[str]
    realised_kinds: list[str]


class Provenance(RowModel):
    """What a suite's part of the row was computed by and from."""

    package_version: str
    protocol: Protocol
    versions: dict[str, Any] = Field(description="Parser and estimator versions.")
    fingerprints: dict[str, str] = Field(description="Source fingerprints per stage.")
    panel: Panel
    transcripts_sha256: str
    fingerprint_values: list[str] = Field(description="System fingerprints the provider sent.")
    provenances: list[str] = Field(description="Where the answers come from: planted, imported, api.")


class Cutoff(RowModel):
    """One statement or measurement of where the model's knowledge ends."""

    label: str
    kind: Literal["measured", "vendor-stated"]
    suite: str | None = None
    scoring: str | None = None
    month: Month | None
    low: Month | None = None
    high: Month | None = None
    months_from_vendor: int | None = Field(None, description="This month minus the vendor's, in months.")
    open_ended: bool = Field(False, description="The end, or its upper bound, is the last month asked.")
    note: str | None = Field(None, description="Why undefined; or how the vendor states it, when and where.")


class SafeFrom(RowModel):
    """Advice on the first month from which a backtest of the model may start; never a certificate."""

    month: Month | None
    margin_months: int = Field(ge=0)
    text: str = Field(description="What the advice rests on, or why there is none.")


class Ledger(RowModel):
    """What the audit cost."""

    calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    dollars: float | None = Field(description="US dollars; null where the price is not known.")
    gaps: list[str] = Field(description="What the ledger does not know, in words.")


class Row(RowModel):
    """`results/rows/<model>.json`."""

    schema_version: Literal[1]
    model: str = Field(min_length=1)
    identity: Identity
    provenance: dict[str, Provenance]
    counts: dict[str, dict[str, Any]]
    estimates: dict[str, dict[str, dict[str, EstimateCell]]] = Field(
        description="Suite, scoring, metric: the estimate."
    )
    cutoffs: list[Cutoff]
    safe_from: SafeFrom
    ledger: Ledger
    marks: list[str] = Field(description="All marks of the row, in alphabetical order.")
    disclosures: list[str]
    planted_truth: dict[str, dict[str, float | str | None]] | None = Field(
        description="Per suite, the parameters' true metrics; null for a model that is not planted."
    )
    side: dict[str, dict[str, Any]] = Field(description="Per suite, results beside the row.")


def build(
    entry: ModelEntry, estimates: dict[str, dict[str, Any]], margin_months: int = SAFE_MARGIN_MONTHS
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
    row: dict[str, Any] = files.rounded(
        {
            "schema_version": SCHEMA_VERSION,
            "model": entry.name,
            "identity": _identity(entry, parts),
            "provenance": {suite: _provenance(part) for suite, part in parts.items()},
            "counts": {suite: part.get("counts") or {} for suite, part in parts.items()},
            "estimates": cells,
            "cutoffs": cutoffs,
            "safe_from": safe_from(cutoffs, margin_months),
            "ledger": _ledger(entry, parts),
            "marks": sorted(marks),
            "disclosures": list(entry.disclosures),
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
        "thinking": entry.thinking,
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


def _ledger(entry: ModelEntry, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Add up the suites; a total that lacks a suite is null rather than too small."""
    usages = {suite: part.get("usage") or {} for suite, part in parts.items()}
    gaps = []
    calls = 0
    for suite, usage in usages.items():
        asked = usage.get("calls") or 0
        calls += asked
        silent = usage.get("calls_without_usage") or 0
        if silent:
            gaps.append(f"{suite}: {silent:,} of {asked:,} calls carry no token counts")
    dollars: float | None = None
    if entry.provider == "planted":
        dollars = 0.0
    elif all(usage.get("dollars") is not None for usage in usages.values()):
        dollars = float(sum(usage["dollars"] for usage in usages.values()))
    else:
        gaps.append("the price of these calls is not known here")
    tokens: dict[str, int | None] = {}
    for kind in TOKEN_KINDS:
        amounts = [usage.get(kind) for usage in usages.values()]
        known = [int(amount) for amount in amounts if amount is not None]
        tokens[kind] = sum(known) if len(known) == len(amounts) else None
    return {"calls": calls, **tokens, "dollars": dollars, "gaps": gaps}


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


def safe_from(cutoffs: list[dict[str, Any]], margin_months: int = SAFE_MARGIN_MONTHS) -> dict[str, Any]:
    """Return the first month from which a backtest may start, or why no month can be named.

    It is the month after the latest upper bound of the measured ends that are defined, plus the margin. The
    vendor's statement never enters. An end at the last month asked is no end: then nothing is named.
    """
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


def validate(row: Any, where: str) -> None:
    """Check a row against `Row`.

    Raises
    ------
    ContractError
        One line per fault: where, key, what is wrong.
    """
    try:
        Row.model_validate(row)
    except ValidationError as error:
        lines = []
        for fault in error.errors():
            key = ".".join(str(step) for step in fault["loc"]) or "the row"
            found = "" if fault["type"] == "missing" else f" (found {str(fault['input'])[:60]!r})"
            lines.append(f"{where}: `{key}`: {fault['msg']}{found}")
        raise ContractError("\n".join(lines) + "\nRebuild the row from its estimates.") from None


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
