"""The contracts of every table that crosses a stage; writers and readers both go through them.

A suite adds columns of its own to `Answers` in its own folder; the tables here are what stages share.
Text columns are pandas strings, whole numbers that may be missing are `Int64`. Months are `YYYY-MM`, dates
`YYYY-MM-DD`, shares are fractions of one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pandas as pd
import pandera.pandas as pa
import pyarrow as arrow
import pyarrow.parquet as parquet
from pandera.errors import SchemaErrors
from pandera.typing import Series

from anachron.errors import ContractError
from anachron.files import atomic_path

DATE = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"

OUTCOMES = ("answer", "truncated", "refusal", "content_filter", "empty", "malformed_body", "error")
"""What became of a request. All but `error` are what the model did; `error` is an imported record that says
the call failed for good."""

PROVENANCES = ("planted", "imported", "api")
VINTAGE_KINDS = ("real time", "pseudo real time", "synthetic")


class Contract(pa.DataFrameModel):
    """A table whose columns are exactly those declared."""

    class Config:
        """No other columns; columns in the declared order; values are cast to the declared types."""

        strict = True
        ordered = True
        coerce = True


class Panel(Contract):
    """What was true and known on each decision date: one row per decision date and series.

    The columns from `realised` on belong to the decision date and repeat on each of its rows.
    """

    decision_date: Series[str] = pa.Field(str_matches=DATE)
    series: Series[str]
    reference_period: Series[str] = pa.Field(str_matches=DATE)
    """First day of the newest period published on or before the decision date."""
    published: Series[str] = pa.Field(str_matches=DATE)
    value: Series[float]
    """The value as known on the decision date."""
    latest_value: Series[float]
    """The same period's value in the latest vintage."""
    unit: Series[str]
    vintage_kind: Series[str] = pa.Field(isin=VINTAGE_KINDS)
    realised: Series[pd.Int64Dtype] = pa.Field(isin=[-1, 1], nullable=True)
    """Sign of the target's realised move, a move of zero counted as up; missing where not known."""
    realised_kind: Series[str] = pa.Field(nullable=True)
    """How the realised direction was measured."""
    first_session: Series[str] = pa.Field(str_matches=DATE)
    """First trading session on or after the decision date."""
    lap_end: Series[str] = pa.Field(str_matches=DATE)
    """End of the outcome-recall window that opens on the decision date."""
    base_rate_up: Series[float] = pa.Field(ge=0, le=1, nullable=True)
    """Share of earlier decision months whose realised move, finished by the date, was up."""
    base_rate_n: Series[int] = pa.Field(ge=0)
    """How many such months that share rests on."""

    class Config:
        """One row per decision date and series."""

        unique = ["decision_date", "series"]


class Requests(Contract):
    """One prompt per item, arm and rep of one (suite, arm, block); the same for every model."""

    suite: Series[str]
    arm: Series[str]
    item: Series[str]
    rep: Series[int] = pa.Field(ge=0)
    system: Series[str]
    prompt: Series[str]
    shown_date: Series[str] = pa.Field(nullable=True)
    """The date the prompt states; missing where it states none."""
    temperature: Series[float] = pa.Field(ge=0)
    max_tokens: Series[int] = pa.Field(ge=0)
    """Cap on the answer's tokens; 0 asks for no answer but for the log-probabilities of the prompt's tokens."""
    tiers: Series[str]
    """The protocol tiers that ask this request, comma-separated."""

    class Config:
        """One row per arm, item and rep."""

        unique = ["arm", "item", "rep"]


class Transcripts(Contract):
    """A request's raw answer, sealed; one row per arm, item, rep and duplicate."""

    model: Series[str]
    suite: Series[str]
    arm: Series[str]
    item: Series[str]
    rep: Series[int] = pa.Field(ge=0)
    duplicate: Series[int] = pa.Field(ge=0)
    """0; imported records may repeat an (item, rep), which then count 1, 2, …"""
    key: Series[str]
    outcome: Series[str] = pa.Field(isin=OUTCOMES)
    text: Series[str] = pa.Field(nullable=True)
    reasoning: Series[str] = pa.Field(nullable=True)
    finish_reason: Series[str] = pa.Field(nullable=True)
    shown_date: Series[str] = pa.Field(nullable=True)
    input_tokens: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    cached_tokens: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    output_tokens: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    reasoning_tokens: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    served_model: Series[str] = pa.Field(nullable=True)
    fingerprint: Series[str] = pa.Field(nullable=True)
    upstream: Series[str] = pa.Field(nullable=True)
    request_id: Series[str] = pa.Field(nullable=True)
    sampling: Series[str] = pa.Field(nullable=True)
    """What is known of the sampling settings, as canonical JSON or as an artifact recorded it."""
    prompt_sha256: Series[str] = pa.Field(nullable=True)
    logprobs: Series[str] = pa.Field(nullable=True, default=None)
    """Log-probabilities of the answer's tokens with their alternatives, as canonical JSON
    (`llm.providers.logprobs_text`); missing where none were asked for or given."""
    recorded: Series[str] = pa.Field(nullable=True)
    """The answer that an imported artifact had already parsed; missing for answers of our own."""
    provenance: Series[str] = pa.Field(isin=PROVENANCES)

    class Config:
        """One row per arm, item, rep and duplicate. A frame without log-probabilities gets an empty column."""

        unique = ["arm", "item", "rep", "duplicate"]
        add_missing_columns = True


class Answers(Contract):
    """A parsed transcript: what every suite's answers have in common."""

    model: Series[str]
    suite: Series[str]
    arm: Series[str]
    item: Series[str]
    rep: Series[int] = pa.Field(ge=0)
    duplicate: Series[int] = pa.Field(ge=0)
    key: Series[str]
    outcome: Series[str] = pa.Field(isin=OUTCOMES)
    parser: Series[str]
    """Version of the parser."""

    class Config:
        """One row per arm, item, rep and duplicate."""

        unique = ["arm", "item", "rep", "duplicate"]
        add_missing_columns = True


class Estimates(Contract):
    """One estimate per suite, scoring and metric, with n, interval and gate.

    `value` and the interval are missing where the gate failed; `before_*` then keep what the formula gave,
    for diagnosis, never for printing. A value that is a month stands in the `*_month` columns.
    """

    suite: Series[str]
    scoring: Series[str]
    metric: Series[str]
    unit: Series[str] = pa.Field(
        isin=["share", "share difference", "months", "month", "count", "coefficient", "t", "p", "score"]
    )
    value: Series[float] = pa.Field(nullable=True)
    value_month: Series[str] = pa.Field(nullable=True)
    n: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    low: Series[float] = pa.Field(nullable=True)
    high: Series[float] = pa.Field(nullable=True)
    low_month: Series[str] = pa.Field(nullable=True)
    high_month: Series[str] = pa.Field(nullable=True)
    level: Series[float] = pa.Field(gt=0, le=1, nullable=True)
    method: Series[str] = pa.Field(nullable=True)
    """How the interval was made; missing when there is none."""
    draws: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    valid_draws: Series[pd.Int64Dtype] = pa.Field(ge=0, nullable=True)
    seed: Series[pd.Int64Dtype] = pa.Field(nullable=True)
    gate: Series[str] = pa.Field(nullable=True)
    """Mark of the gate that decides this estimate; missing when it has none."""
    gate_passed: Series[pd.BooleanDtype] = pa.Field(nullable=True)
    gate_figure: Series[float] = pa.Field(nullable=True)
    gate_threshold: Series[float] = pa.Field(nullable=True)
    gate_text: Series[str] = pa.Field(nullable=True)
    """The gate in words, with its figure."""
    marks: Series[str]
    """Marks that hold for this estimate, in alphabetical order; empty when none does."""
    before_value: Series[float] = pa.Field(nullable=True)
    before_value_month: Series[str] = pa.Field(nullable=True)
    before_low: Series[float] = pa.Field(nullable=True)
    before_high: Series[float] = pa.Field(nullable=True)

    class Config:
        """One row per suite, scoring and metric."""

        unique = ["suite", "scoring", "metric"]


C = TypeVar("C", bound=pa.DataFrameModel)


def check(frame: pd.DataFrame, contract: type[C], where: str) -> pd.DataFrame:
    """Return `frame` cast to `contract`.

    Raises
    ------
    ContractError
        Names `where`, and for each broken rule the column, the rule, the first row and the value found.
    """
    try:
        return contract.validate(frame.reset_index(drop=True), lazy=True)
    except SchemaErrors as error:
        raise ContractError(f"{where}: breaks the contract {contract.__name__}:\n" + _faults(error)) from None


def _faults(error: SchemaErrors) -> str:
    cases = error.failure_cases
    # A rule about whole rows lists every column of a row that breaks it; one is enough.
    whole = cases["schema_context"] == "DataFrameSchema"
    again = whole & cases.duplicated(["check", "index"])
    cases = cases.assign(column=cases["column"].mask(whole & cases["index"].notna()))[~again]
    lines = []
    for (column, rule), group in cases.groupby(["column", "check"], dropna=False, sort=False):
        first = group.iloc[0]
        place = f", first at row {first['index']}" if pd.notna(first["index"]) else ""
        named = f"column {column!r}: " if isinstance(column, str) and column else ""
        lines.append(
            f"  {named}{rule}{place}: found {str(first['failure_case'])[:120]!r} ({len(group)} in all)"
        )
    return "\n".join(lines[:12])


def write(frame: pd.DataFrame, path: Path, contract: type[C]) -> None:
    """Check `frame` against `contract` and write it to `path` as Parquet (zstd), atomically.

    The same frame gives the same bytes.
    """
    table = arrow.Table.from_pandas(check(frame, contract, str(path)), preserve_index=False)
    with atomic_path(path) as part:
        parquet.write_table(table.replace_schema_metadata(None), part, compression="zstd")


def read(path: Path, contract: type[C]) -> pd.DataFrame:
    """Read a Parquet file that another stage wrote.

    Raises
    ------
    ContractError
        When the file is missing, empty, truncated or not Parquet, or breaks the contract; the text names it.
    """
    return check(read_parquet(path), contract, str(path))


def read_parquet(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Read any Parquet file into a frame; faults name the file (see `read`)."""
    if not path.is_file():
        raise ContractError(f"{path}: no such file")
    try:
        return pd.read_parquet(path, columns=columns)
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ContractError(
            f"{path}: cannot be read as Parquet ({reason}); it may be cut short: restore or regenerate it"
        ) from None


def empty(contract: type[C]) -> pd.DataFrame:
    """Return a frame with no rows that fulfils `contract`."""
    columns = contract.to_schema().columns
    return check(
        pd.DataFrame({name: pd.Series(dtype=object) for name in columns}), contract, contract.__name__
    )
