"""What a user may write in `config/`: the run's settings here, the models in `registry`.

Every file is validated before anything runs. An error names the file, the key, what was found and what is
allowed; an unknown key names the nearest known one. The defaults and the JSON Schemas in
`workflow/schemas/` are generated from these models (`anachron schema`), and a test fails when they drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from anachron.config_backtest import BacktestTable
from anachron.errors import ConfigError
from anachron.registry import BlockRule, ModelEntry, Month, Registry, VendorCutoff
from anachron.validation import StrictModel, load, read_yaml, validate

__all__ = [
    "BlockRule",
    "Config",
    "ModelEntry",
    "Month",
    "Registry",
    "Sources",
    "StrictModel",
    "VendorCutoff",
    "load",
    "read_yaml",
    "validate",
]


class Sources(StrictModel):
    """Where the facts come from."""

    snapshot: str = Field("resources/snapshot", description="Folder of the embedded snapshot.")
    publication_lag_days: dict[str, int] = Field(
        default_factory=lambda: dict(DEFAULT_PUBLICATION_LAG_DAYS),
        description="Days from the first day of a reference period to its publication, for series known "
        "only in their latest vintage.",
    )
    alfred: str | None = Field(
        "auto",
        description="Table of vintages: `auto`, null for the snapshot's latest values, or a file, Parquet or CSV. "
        "`auto` takes resources/alfred.parquet where it is there; where it is not and FRED_API_KEY is set, it is "
        "fetched first, unless the store already holds answers that were paid for; otherwise the snapshot.",
    )
    french: str | None = Field(
        None, description="Table of factors, Parquet or CSV; null for the snapshot's, which are generated."
    )
    yahoo: str | None = Field(
        None, description="Table of month-end prices, Parquet or CSV; null for the snapshot's."
    )
    fed: str | None = Field(
        None, description="Table of the Federal Reserve's target, Parquet or CSV; null for the snapshot's."
    )
    latest_on: str | None = Field(
        None,
        pattern=r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$",
        description="Day whose vintages count as the latest in a panel of true vintages, YYYY-MM-DD; null for the "
        "newest, so that an upstream revision asks again about the dates it touches.",
    )


DEFAULT_PUBLICATION_LAG_DAYS: dict[str, int] = {
    "GDPC1": 120,
    "CPIAUCSL": 44,
    "PAYEMS": 36,
    "INDPRO": 46,
    "RSAFS": 42,
    "UNRATE": 36,
    "HOUST": 49,
    "FEDFUNDS": 32,
    "GS10": 32,
    "TB3MS": 32,
}
"""Days from a period's first day to its publication: the usual calendars of the agencies, a weekend giving way
to the Friday before (docs/reference/snapshot.md tells how often they name the right period)."""


class Config(StrictModel):
    """`config/config.yaml`; `snakemake --config KEY=VALUE` overrides a key."""

    registry: str = Field("config/models.yaml", description="The model registry.")
    model: str | None = Field(
        None, description="Only this model of the registry; null for those in `models`."
    )
    models: list[str] | None = Field(
        None, min_length=1, description="These models of the registry; null for those of its default run."
    )
    protocols: dict[str, str] = Field(
        default_factory=lambda: {"hindsightbench": "config/protocols/bm1.yaml"},
        min_length=1,
        description="Suites to run and the protocol file of each.",
    )
    sources: Sources = Sources()
    budget_usd: float = Field(
        0.0, ge=0, description="Stop of the whole run, in US dollars. At 0 no provider that costs is asked."
    )
    prices: str = Field("config/prices.csv", description="What calls cost, per price key and date.")
    unknown_prices: Literal["refuse", "allow"] = Field(
        "refuse",
        description="Whether a model whose price is unknown may be asked. Its cost counts as unknown, not as 0, "
        "so `budget_usd` cannot stop it.",
    )
    store: str = Field("store", description="Folder of the paid answers; never deleted by the pipeline.")
    results: str = Field("results", description="Folder of everything that can be regenerated for free.")
    frozen: str = Field("resources/frozen", description="Folder of the frozen rows.")
    preregistered: str = Field(
        "resources/preregistered", description="Folder of the preregistered plans (`anachron prereg`)."
    )
    scoring: str = Field(
        "anachron",
        description="Scoring that the tables print first: `anachron`, or a published one such as `bm1`; a suite "
        "without it prints its own first one.",
    )
    backtest: BacktestTable | None = Field(
        None,
        description="`snakemake backtest`: a table of forecasts to audit, a path or a section with its options.",
    )
    safe_margin_months: int = Field(
        3, ge=0, le=60, description="Months between the latest measured end and `safe_from`."
    )
    reason: str | None = Field(None, description="`snakemake freeze`: why a frozen row is superseded.")

    @field_validator("model", mode="before")
    @classmethod
    def _as_it_was_typed(cls, model: Any) -> Any:
        # `--config` strips quotes and reads the rest as YAML: `a: b` becomes a mapping, `4.5` a number.
        if isinstance(model, Mapping) and len(model) == 1:
            [(before, after)] = model.items()
            return f"{before}: {after}"
        return str(model) if type(model) in (int, float) else model

    def selected(self, registry: Registry) -> list[ModelEntry]:
        """Return the entries this run audits, in registry order; unknown names, or none at all, raise `ConfigError`."""
        if self.model is not None:
            return [registry.get(self.model)]
        if self.models is None:
            chosen = [entry for entry in registry.models if entry.default_run]
            if not chosen:
                raise ConfigError(
                    f"{self.registry}: no model belongs to the default run; name some in `models`, or set "
                    "`default_run: true` at one"
                )
            return chosen
        wanted = {registry.get(name).name for name in self.models}
        return [entry for entry in registry.models if entry.name in wanted]
