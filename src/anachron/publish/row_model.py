"""What an audit row holds, key by key, and the check that every row passes when it is written and read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from anachron.config import Month, StrictModel
from anachron.errors import ContractError


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
    level: float | None = Field(
        None, gt=0, le=1, description="Coverage the interval aims at; 1 for the extremes of the draws."
    )
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
    kind: Literal["measured", "self-reported", "vendor-stated"]
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


class LedgerPrice(RowModel):
    """The price that a ledger's dollars are counted at, per million tokens, in US dollars."""

    key: str = Field(description="Price key, a line of the price file.")
    valid_from: str = Field(description="Day from which it holds.")
    input: float = Field(ge=0)
    cached_input: float | None = Field(ge=0, description="Null charges cached input as other input.")
    output: float = Field(ge=0)
    reasoning: float | None = Field(ge=0, description="Null charges reasoning as other output.")
    sha256: str = Field(description="Hash of all that the price file says of this key.")


class Ledger(RowModel):
    """What the audit cost."""

    calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    dollars: float | None = Field(description="US dollars; null where the price is not known.")
    price: LedgerPrice | None = Field(
        None, description="What `dollars` is counted at; absent where no price is used."
    )
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
    planted_truth: dict[str, dict[str, dict[str, float | str | None]]] | None = Field(
        description="Per suite and scoring, the true metrics by that scoring's definition; null for a model that "
        "is not planted."
    )
    side: dict[str, dict[str, Any]] = Field(description="Per suite, results beside the row.")

    @model_validator(mode="after")
    def _parts_agree(self) -> Row:
        if not self.estimates:
            raise ValueError("`estimates` holds no suite")
        if self.identity.model != self.model:
            raise ValueError(f"`identity.model` is {self.identity.model!r}, `model` is {self.model!r}")
        for suite, scorings in self.estimates.items():
            if not scorings or not all(scorings.values()):
                raise ValueError(f"`estimates.{suite}` holds a scoring without estimates, or none")
        for name in ("provenance", "counts", "side"):
            if set(getattr(self, name)) != set(self.estimates):
                raise ValueError(
                    f"`{name}` and `estimates` name different suites: "
                    f"{sorted(getattr(self, name))} and {sorted(self.estimates)}"
                )
        return self


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
