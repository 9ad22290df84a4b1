"""What a user may write in `config/`: the run's settings and the model registry.

Every file is validated before anything runs. An error names the file, the key, what was found and what is
allowed; an unknown key names the nearest known one. The defaults and the JSON Schemas in
`workflow/schemas/` are generated from these models (`anachron schema`), and a test fails when they drift.
"""

from __future__ import annotations

import difflib
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from anachron.errors import ConfigError
from anachron.files import slug

Month = Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$", description="A calendar month, YYYY-MM.")]
ReadOn = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="A date, YYYY-MM-DD.")]
BlockRule = Literal["span", "month", "all"]


class StrictModel(BaseModel):
    """A model that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


T = TypeVar("T", bound=BaseModel)


# --- the registry -------------------------------------------------------------------------------------


class VendorCutoff(StrictModel):
    """What the vendor says about where the training data ends."""

    value: Month | None = Field(None, description="The stated month; null when none is published.")
    kind: Literal["official", "two-tier", "none"] = Field("none", description="What kind of statement it is.")
    read_on: ReadOn | None = Field(None, description="When the statement was read.")
    url: str | None = Field(None, description="Where it was read.")


class ModelEntry(StrictModel):
    """One model of `config/models.yaml`."""

    name: str = Field(min_length=1, description="Display name; may hold `:`, `/` and spaces.")
    provider: str = Field(description="Provider kind: planted or replay.")
    model_id: str | None = Field(None, description="Identifier sent to the provider; the name when absent.")
    endpoint: str | None = Field(None, description="Base URL of the provider, where it has one.")
    generation: str = Field("unstated", description="Generation the leaderboard sorts by.")
    vendor: str = Field("unstated", description="Who makes the model.")
    serving: dict[str, str] = Field(
        default_factory=dict, description="Quantization, engine, upstream: what is known of the serving."
    )
    tier: Literal["full", "full-1rep", "reduced"] = Field("full", description="Protocol tier.")
    block: BlockRule | None = Field(
        None, description="Unit of collecting; null: `all` for providers that cost nothing, else `span`."
    )
    arms: dict[str, list[str]] = Field(
        default_factory=dict, description="Per suite, the arms to ask; the protocol's default when absent."
    )
    temperature: dict[str, float] = Field(
        default_factory=dict, description="Per suite, a temperature that replaces the protocol's."
    )
    temperature_locked: bool = Field(False, description="The provider refuses any other temperature.")
    max_output_tokens: dict[str, int] = Field(
        default_factory=dict, description="Per suite, the cap on an answer's tokens."
    )
    thinking: str = Field("off", description="Reasoning regime: off, on, locked, or a budget.")
    tools: Literal["off"] = Field("off", description="Retrieval and tools; the protocol allows only off.")
    vendor_cutoff: VendorCutoff = VendorCutoff()
    disclosures: list[str] = Field(default_factory=list, description="Notes printed beside the row.")
    source: str | None = Field(None, description="Provider replay: the Parquet that `anachron import` wrote.")
    panel: str | None = Field(
        None, description="Provider replay: the panel the records were asked on; the run's own when absent."
    )
    planted: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Provider planted: per suite, the parameters of the respondent."
    )

    @field_validator("name")
    @classmethod
    def _name_has_a_path(cls, name: str) -> str:
        slug(name)
        return name

    @model_validator(mode="after")
    def _provider_has_what_it_needs(self) -> ModelEntry:
        if self.provider not in PROVIDER_KINDS:
            raise ValueError(
                f"provider {self.provider!r} is not known; allowed: {', '.join(PROVIDER_KINDS)}"
                + _nearest(self.provider, PROVIDER_KINDS)
            )
        if self.provider == "replay" and not self.source:
            raise ValueError("provider replay needs `source`, the Parquet that `anachron import` wrote")
        if self.provider == "planted" and not self.planted:
            raise ValueError("provider planted needs `planted`, the respondent's parameters per suite")
        return self

    @property
    def slug(self) -> str:
        """The model's name in paths."""
        return slug(self.name)

    @property
    def free(self) -> bool:
        """Whether asking this model costs nothing."""
        return self.provider in FREE_PROVIDERS

    @property
    def block_rule(self) -> BlockRule:
        """The unit of collecting that holds for this model."""
        return self.block or ("all" if self.free else "span")


PROVIDER_KINDS = ("planted", "replay")
FREE_PROVIDERS = ("planted", "replay")


class Registry(StrictModel):
    """`config/models.yaml`."""

    models: list[ModelEntry] = Field(min_length=1, description="The models, in the order tables print them.")

    @model_validator(mode="after")
    def _names_are_unique(self) -> Registry:
        seen: dict[str, str] = {}
        for entry in self.models:
            key = entry.slug.casefold()
            if key in seen:
                raise ValueError(f"two models share the name {entry.name!r} (case does not tell them apart)")
            seen[key] = entry.name
        return self

    def get(self, name: str) -> ModelEntry:
        """Return the entry called `name`, or raise `ConfigError` with the nearest known name."""
        for entry in self.models:
            if entry.name == name:
                return entry
        known = [entry.name for entry in self.models]
        raise ConfigError(
            f"model {name!r} is not in the registry; known models: {', '.join(known)}" + _nearest(name, known)
        )


# --- the run ------------------------------------------------------------------------------------------


class MacroSource(StrictModel):
    """Where the macro panel's facts come from."""

    path: str = Field("resources/snapshot", description="Folder of the embedded snapshot.")
    publication_lag_days: dict[str, int] = Field(
        default_factory=lambda: dict(DEFAULT_PUBLICATION_LAG_DAYS),
        description="Days from the first day of a reference period to its publication, for series known "
        "only in their latest vintage.",
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
    models: list[str] | None = Field(None, description="These models of the registry; null for all of them.")
    protocols: dict[str, str] = Field(
        default_factory=lambda: {"hindsightbench": "config/protocols/bm1.yaml"},
        description="Suites to run and the protocol file of each.",
    )
    macro: MacroSource = MacroSource()
    budget_usd: float = Field(
        0.0, ge=0, description="Stop of the whole run, in US dollars. At 0 no provider that costs is asked."
    )
    store: str = Field("store", description="Folder of the paid answers; never deleted by the pipeline.")
    results: str = Field("results", description="Folder of everything that can be regenerated for free.")
    frozen: str = Field("resources/frozen", description="Folder of the frozen rows.")
    scoring: Literal["anachron", "bm1"] = Field("anachron", description="Scoring that the tables print.")
    safe_margin_months: int = Field(
        3, ge=0, le=60, description="Months between the latest measured end and `safe_from`."
    )
    reason: str | None = Field(None, description="`snakemake freeze`: why a frozen row is superseded.")

    def selected(self, registry: Registry) -> list[ModelEntry]:
        """Return the entries this run audits, in registry order; unknown names raise `ConfigError`."""
        if self.model is not None:
            return [registry.get(self.model)]
        if self.models is None:
            return list(registry.models)
        wanted = {registry.get(name).name for name in self.models}
        return [entry for entry in registry.models if entry.name in wanted]


# --- reading and explaining ---------------------------------------------------------------------------


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML that refuses a key written twice (the second would silently win)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} is written twice", problem_mark=key_node.start_mark
                )
            seen.add(key if isinstance(key, str | int | float | bool) else id(key_node))
        return super().construct_mapping(node, deep)


# A month such as 2024-12 or a date stays the text that was written: YAML would make dates of some of them.
_UniqueKeyLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        When the file is missing, not UTF-8, not YAML, or writes a key twice; the text names file and line.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder, not a YAML file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}: not valid YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None


def load(model: type[T], path: Path) -> T:
    """Read and validate one configuration file as `model`; every fault is named in one `ConfigError`."""
    return validate(model, read_yaml(path), str(path))


def validate(model: type[T], value: Any, where: str) -> T:
    """Validate `value` as `model`.

    Parameters
    ----------
    model
        A pydantic model.
    value
        What was read; None counts as an empty mapping.
    where
        The file, for the error text.

    Raises
    ------
    ConfigError
        One line per fault: file, key, what was found, what is allowed.
    """
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as error:
        lines = [_explain(model, value, fault) for fault in error.errors()]
        raise ConfigError("\n".join(f"{where}: {line}" for line in lines)) from None


def _explain(model: type[BaseModel], value: Any, fault: Any) -> str:
    loc: tuple[Any, ...] = tuple(fault["loc"])
    key = _key(loc, value)
    found = _short(fault.get("input"))
    kind = fault["type"]
    if kind == "extra_forbidden":
        known = sorted(_known_keys(model, loc[:-1]))
        return (
            f"unknown key `{key}`" + _nearest(str(loc[-1]), known) + f"; known keys here: {', '.join(known)}"
        )
    if kind == "missing":
        return f"`{key}` is missing; add it"
    if kind == "value_error":
        message = str(fault["ctx"]["error"])
        return f"`{key}`: {message}" if key else message
    return f"`{key or 'the file'}`: found {found}; allowed: {_allowed(fault)}"


def _allowed(fault: Any) -> str:
    ctx = fault.get("ctx", {})
    if "expected" in ctx:
        return str(ctx["expected"])
    if "pattern" in ctx:
        return f"text of the form {ctx['pattern']}"
    message = str(fault["msg"])
    prefix = "Input should be "
    return message[len(prefix) :] if message.startswith(prefix) else message


def _key(loc: tuple[Any, ...], value: Any) -> str:
    """Write a location as a path, naming a list's entry by its `name` or `id` where it has one."""
    parts: list[str] = []
    here = value
    for step in loc:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            here = None
        if isinstance(step, int):
            label = None
            if isinstance(here, dict):
                label = here.get("name") or here.get("id")
            parts.append(f"[{label or step}]")
        else:
            parts.append(("." if parts else "") + str(step))
    return "".join(parts)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _nearest(word: str, known: typing.Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""


def _known_keys(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """Return the field names allowed at a location of `model`."""
    current: Any = model
    for step in loc:
        models = list(_models_in(current))
        if not models:
            return []
        current = models[0]
        if isinstance(step, str) and step in current.model_fields:
            current = current.model_fields[step].annotation
    models = list(_models_in(current))
    return list(models[0].model_fields) if models else []


def _models_in(annotation: Any) -> typing.Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    if isinstance(annotation, types.GenericAlias | types.UnionType) or typing.get_origin(annotation):
        for part in typing.get_args(annotation):
            yield from _models_in(part)
