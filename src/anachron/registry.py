"""The model registry, `config/models.yaml`: which models are audited, and how each is asked."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from anachron.errors import ConfigError
from anachron.files import slug
from anachron.validation import StrictModel, nearest

Month = Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$", description="A calendar month, YYYY-MM.")]
ReadOn = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="A date, YYYY-MM-DD.")]
BlockRule = Literal["span", "month", "all"]


TokenCap = Annotated[int, Field(gt=0)] | dict[str, Annotated[int, Field(gt=0)]]
Thinking = Literal["off", "on", "locked"] | Annotated[int, Field(gt=0)]


class Limits(StrictModel):
    """What an account allows. None of it decides an answer, so none of it is part of a request's key."""

    concurrency: int = Field(32, ge=1, le=1024, description="Requests in flight at most.")
    requests_per_minute: float | None = Field(None, gt=0, description="Requests a minute at most.")
    tokens_per_minute: float | None = Field(
        None, gt=0, description="Tokens a minute at most, prompt and cap on the answer counted."
    )
    timeout_s: float = Field(600.0, gt=0, description="Seconds to wait for an answer.")


class VendorCutoff(StrictModel):
    """What the vendor says about where the training data ends."""

    value: Month | None = Field(None, description="The stated month; null when none is published.")
    kind: Literal["official", "two-tier", "none"] = Field("none", description="What kind of statement it is.")
    read_on: ReadOn | None = Field(None, description="When the statement was read.")
    url: str | None = Field(None, description="Where it was read.")


class ModelEntry(StrictModel):
    """One model of `config/models.yaml`."""

    name: str = Field(min_length=1, description="Display name; may hold `:`, `/` and spaces.")
    provider: str = Field(description="Provider kind: openai_chat, anthropic, gemini, planted or replay.")
    model_id: str | None = Field(
        None,
        description="Identifier sent to the provider, best a dated snapshot; the name when absent.",
    )
    endpoint: str | None = Field(
        None,
        description="Base URL of the provider, version path included; openai_chat needs one, anthropic and "
        "gemini have their vendor's. http is for loopback only.",
    )
    api_key_env: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the API key; null for anthropic and gemini takes "
        "ANTHROPIC_API_KEY and GEMINI_API_KEY, and for openai_chat sends no key.",
    )
    price: str | None = Field(
        None, description="Price key, a line of `config/prices.csv`; without one the cost is unknown."
    )
    default_run: bool = Field(
        True,
        description="Whether a run that names no models audits this one. Models that cost are best named.",
    )
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
    temperature_locked: bool = Field(
        False, description="The provider refuses any temperature but its own: none is sent."
    )
    max_output_tokens: dict[str, TokenCap] = Field(
        default_factory=dict,
        description="Per suite, the cap on an answer's tokens: one number for all arms, or one per arm.",
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="Provider openai_chat: the name under which the cap is sent."
    )
    json_mode: dict[str, list[str]] = Field(
        default_factory=dict,
        description="Per suite, the arms asked for a JSON object as the answer's format.",
    )
    logprobs: bool = Field(False, description="Ask for token log-probabilities, where the endpoint has them.")
    thinking: Thinking = Field(
        "off", description="Reasoning regime: off, on, locked (the provider decides), or a budget in tokens."
    )
    extra_body: dict[str, Any] = Field(
        default_factory=dict,
        description="Further fields of the wire body, such as an upstream provider's pin; no tools, no search.",
    )
    limits: Limits = Field(default_factory=lambda: Limits(), description="Limits of the account.")
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
                + nearest(self.provider, PROVIDER_KINDS)
            )
        if self.provider == "replay" and not self.source:
            raise ValueError("provider replay needs `source`, the Parquet that `anachron import` wrote")
        if self.provider == "planted" and not self.planted:
            raise ValueError("provider planted needs `planted`, the respondent's parameters per suite")
        if self.provider == "openai_chat" and not self.endpoint:
            raise ValueError(
                "provider openai_chat needs `endpoint`, the base URL, for instance https://api.openai.com/v1"
            )
        if self.endpoint is not None:
            _check_endpoint(self.endpoint)
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
    def base_url(self) -> str | None:
        """The base URL asked, without a slash at its end; None for providers that are not asked over HTTP."""
        url = self.endpoint or DEFAULT_ENDPOINTS.get(self.provider)
        return url.rstrip("/") if url else None

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the API key; None when no key is sent."""
        return self.api_key_env or DEFAULT_KEY_VARIABLES.get(self.provider)

    def cap(self, suite: str, arm: str, default: int) -> int:
        """The cap on an answer's tokens in an arm, `default` where the entry names none."""
        caps = self.max_output_tokens.get(suite, default)
        return caps if isinstance(caps, int) else caps.get(arm, default)

    @property
    def block_rule(self) -> BlockRule:
        """The unit of collecting that holds for this model."""
        return self.block or ("all" if self.free else "span")


PROVIDER_KINDS = ("openai_chat", "anthropic", "gemini", "planted", "replay")
FREE_PROVIDERS = ("planted", "replay")
DEFAULT_ENDPOINTS = {
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}
DEFAULT_KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
LOOPBACK = ("localhost", "::1")


def _check_endpoint(endpoint: str) -> None:
    """Raise `ValueError` for a base URL that is none, holds credentials, or would send a key in the clear."""
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"`endpoint` is no URL ({error}); write https://host/path") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"`endpoint` is {endpoint!r}; write a base URL such as https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            "`endpoint` holds credentials, a query or a fragment; write the base URL alone and name the key's "
            "variable in `api_key_env`"
        )
    if parts.path.rstrip("/").endswith(("/chat/completions", "/messages")):
        raise ValueError(f"`endpoint` is {endpoint!r}; write the base URL, without the path of the call")
    loopback = host in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host)
    if parts.scheme == "http" and not loopback:
        raise ValueError(
            f"`endpoint` {endpoint!r} would send prompts and key unencrypted; use https (http is allowed for "
            "loopback addresses only)"
        )


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
            f"model {name!r} is not in the registry; known models: {', '.join(known)}" + nearest(name, known)
        )
