"""What the Snakefile needs to know at parse time: which jobs there are and what each depends on.

Light on purpose: it is imported on every Snakemake invocation, and once more in every job.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from anachron import blocks, config, fingerprint, registry_checks, suites, validation
from anachron.errors import ConfigError
from anachron.files import canonical_json, digest
from anachron.llm import prices
from anachron.llm.keys import PROTOCOL_TOKEN
from anachron.sources import choice


class Plan:
    """The run that a configuration describes.

    Parameters
    ----------
    settings
        The merged Snakemake configuration.
    where
        Name of the configuration for error texts.
    """

    def __init__(self, settings: Mapping[str, Any], where: str = "config/config.yaml") -> None:
        self.config = config.validate(config.Config, dict(settings), where)
        self.registry = config.load(config.Registry, Path(self.config.registry))
        self.sources, self.vintages = choice.decide(self.config.sources, os.environ, paid=self._paid())
        self.models = {entry.slug: entry for entry in self.config.selected(self.registry)}
        self.protocols = {
            suite: suites.load_protocol(suite, path) for suite, path in self.config.protocols.items()
        }
        known = dict.fromkeys(
            name for suite in self.suites for name in suites.module(suite, "table").SCORINGS
        )
        if self.config.scoring not in known:
            raise ConfigError(
                f"{where}: `scoring`: found {self.config.scoring!r}; allowed: {', '.join(known)}"
                + validation.nearest(self.config.scoring, known)
            )
        for entry in self.models.values():
            registry_checks.refuse_unknown_suites(entry, self.protocols, self.config.registry)
            registry_checks.refuse_unknown_parameters(entry, self.config.registry)
            for suite in self.suites_of(entry.slug):
                for arm in self.arms_of(entry.slug, suite):
                    self.judge_of(entry.slug, suite, arm)
                arms = list(self.protocols[suite].arms)
                registry_checks.refuse_settings_of_no_arm(entry, suite, arms, self.config.registry)
        self.prices = prices.read(Path(self.config.prices)) if any(map(self.priced, self.models)) else []

    @property
    def suites(self) -> list[str]:
        """The suites this run has protocols for."""
        return list(self.protocols)

    def suites_of(self, model: str) -> list[str]:
        """The suites a model is audited with: all, or those a planted or replayed model has answers for."""
        entry = self.models[model]
        if entry.provider == "planted":
            return [suite for suite in self.suites if suite in entry.planted]
        return self.suites

    def figures(self) -> list[tuple[str, str, str]]:
        """Suite, protocol and name of every figure that this run draws."""
        audited = {suite for model in self.models for suite in self.suites_of(model)}
        return [
            (suite, self.protocols[suite].name, name)
            for suite in self.suites
            if suite in audited
            for name in suites.figures(suite)
        ]

    def arms_of(self, model: str, suite: str) -> list[str]:
        """The arms asked of a model, in protocol order."""
        entry = self.models[model]
        known = list(self.protocols[suite].arms)
        wanted = entry.arms.get(suite)
        if wanted is None:
            every = entry.provider == "replay"
            return [arm for arm in known if every or self.protocols[suite].arms[arm].default]
        for arm in wanted:
            if arm not in known:
                raise ConfigError(
                    f"{self.config.registry}: model {entry.name!r}: `arms.{suite}` holds {arm!r}; "
                    f"allowed: {', '.join(known)}"
                )
        return [arm for arm in known if arm in wanted]

    def judge_of(self, model: str, suite: str, arm: str) -> config.ModelEntry | None:
        """The model that grades an arm's answers; None where no one does. Records bring their grades along.

        Raises
        ------
        ConfigError
            When the arm is judged and the protocol names nobody, or nobody but the model itself.
        """
        protocol, entry = self.protocols[suite], self.models[model]
        if entry.provider == "replay" or arm not in getattr(protocol, "judged_arms", ()):
            return None
        for name in protocol.judges:
            found = self.registry.get(name)
            if not registry_checks.same_model(entry, found):
                if found.provider == "replay":
                    raise ConfigError(
                        f"{self.config.protocols[suite]}: judge {name!r} holds records; it cannot be asked"
                    )
                return found
        raise ConfigError(
            f"model {entry.name!r}: arm {arm!r} of {suite} is graded by a second model, and "
            f"{self.config.protocols[suite]} names {'only the model itself' if protocol.judges else 'none'}; name a "
            "model of the registry in its `judging.by`, or leave the arm out of the model's `arms`"
        )

    def sealed_in(self, model: str, suite: str, arm: str) -> str:
        """The folder of the results that an arm's sealed answers are read from."""
        return "transcripts" if self.judge_of(model, suite, arm) is None else "judged"

    def judge_params(self, model: str, suite: str, arm: str) -> str:
        """Everything a judge's answers depend on beside the judged ones."""
        found = self.judge_of(model, suite, arm)
        asked = _asked(found) if found else None
        code = fingerprint.of_modules((f"{suites.SUITES[suite]}.judging",))
        return digest(
            {"judge": asked, "code": code, "protocol": self.protocols[suite].sha256, "token": PROTOCOL_TOKEN}
        )

    def blocks_of(self, model: str, suite: str) -> list[str]:
        """The blocks of a model's transcripts."""
        return blocks.blocks(self.protocols[suite].months, self.models[model].block_rule)

    def spans(self, suite: str) -> list[str]:
        """The spans of a suite's panel."""
        return blocks.blocks(self.protocols[suite].months, "span")

    def spans_of(self, suite: str, block: str) -> list[str]:
        """The panel spans that a block reaches into."""
        return blocks.blocks(self.months(suite, block), "span")

    def months(self, suite: str, block: str) -> list[str]:
        """The decision months of a block."""
        return blocks.months_in(block, self.protocols[suite].months)

    # --- what a job depends on beside its input files ---

    def panel_params(self, suite: str, span: str) -> str:
        """Everything a panel span depends on: its months, the protocol, and the data visible by then."""
        months = self.months(suite, span)
        return digest(
            {
                "months": months,
                "protocol": self.protocols[suite].panel_digest(),
                "data": self.protocols[suite].data_digest(self.sources, months[-1]),
                "code": fingerprint.of_stage("panel", (suite,)),
            }
        )

    def ask_params(self, suite: str, block: str) -> str:
        """Everything a block's requests depend on beside the panel."""
        return digest(
            {
                "months": self.months(suite, block),
                "protocol": self.protocols[suite].ask_digest(),
                "code": fingerprint.of_stage("ask", (suite,)),
            }
        )

    def collect_params(self, model: str, suite: str) -> str:
        """Everything a model's answers depend on beside the requests."""
        return digest({"entry": _asked(self.models[model]), "suite": suite, "token": PROTOCOL_TOKEN})

    def stage_params(self, stage: str, model: str, suite: str) -> str:
        """Everything parse and estimate depend on beside their input files."""
        entry = self.models[model]
        return digest(
            {
                "protocol": self.protocols[suite].sha256,
                "tier": entry.tier,
                "arms": self.arms_of(model, suite),
                "planted": entry.planted.get(suite),
                "cutoff": entry.vendor_cutoff.value,
                "code": fingerprint.of_stage(stage, (suite,)),
            }
        )

    def browse_params(self, suite: str) -> str:
        """Everything the transcripts beside the page depend on beside their input files."""
        return fingerprint.of_stage("browse", (suite,))

    def row_params(self, model: str) -> str:
        """Everything a row depends on beside the estimates."""
        entry = self.models[model]
        return digest(
            {
                "entry": entry.model_dump(
                    mode="json", exclude={"block", "limits", "api_key_env", "default_run"}
                ),
                "margin": self.config.safe_margin_months,
                **self._price_params(model),
                "code": fingerprint.of_stage("row", tuple(self.suites_of(model))),
            }
        )

    def priced(self, model: str) -> bool:
        """Whether a row's dollars come from the price file: the model has a price, and is asked for it."""
        entry = self.models[model]
        return entry.provider != "planted" and entry.price is not None

    def _price_params(self, model: str) -> dict[str, str]:
        """What a row depends on of the price file: the lines of its own price, and none for what is free."""
        if not self.priced(model):
            return {}
        return {"price": prices.fingerprint(self.prices, self.models[model].price)}

    def publish_params(self) -> str:
        """Everything the tables and figures depend on beside the rows."""
        return digest(
            {
                "order": list(self.models),
                "scoring": self.config.scoring,
                "code": fingerprint.of_stage("publish", tuple(self.suites)),
            }
        )

    def backtest_params(self) -> str:
        """Everything the audit of a backtest depends on beside its table."""
        return digest({"code": fingerprint.of_stage("backtest", ("",))})

    @property
    def forecasting(self) -> list[str]:
        """The suites of this run whose answers are forecasts, and are audited together."""
        return [suite for suite in self.suites if suites.forecasts(suite)]

    def forecasters(self, suite: str) -> list[str]:
        """The models of this run that are asked a suite."""
        return [model for model in self.models if suite in self.suites_of(model)]

    def forecasts_params(self, suite: str) -> str:
        """Everything a run's table of forecasts depends on beside answers and panel."""
        stated = {model: self.models[model].vendor_cutoff.value for model in self.forecasters(suite)}
        return digest({"cutoffs": stated, "code": fingerprint.of_stage("forecasts", (suite,))})

    # --- accounts ---

    def account(self, model: str) -> str:
        """The account a model is collected on: jobs of one account run one at a time.

        Providers that cost nothing have no limits to share, but a store of their own: the model is the account.
        """
        return self.account_of(self.models[model])

    def account_of(self, entry: config.ModelEntry) -> str:
        """The account of any entry of the registry."""
        text = entry.slug if entry.free else f"{entry.provider}:{entry.base_url}:{entry.key_variable}"
        return "account_" + digest(text)[:12]

    @cached_property
    def judge_accounts(self) -> list[str]:
        """The accounts that judges are asked on."""
        judges = (
            self.judge_of(model, suite, arm)
            for model in self.models
            for suite in self.suites_of(model)
            for arm in self.arms_of(model, suite)
        )
        return sorted({self.account_of(entry) for entry in judges if entry is not None})

    @cached_property
    def accounts(self) -> dict[str, list[str]]:
        """The accounts of this run and the models collected on each."""
        found: dict[str, list[str]] = {}
        for model in self.models:
            found.setdefault(self.account(model), []).append(model)
        return found

    def settings_json(self) -> str:
        """The whole configuration as the `cost` and `status` commands take it."""
        return canonical_json(self.config.model_dump(mode="json"))

    # --- sources ---

    def _paid(self) -> bool:
        """Whether the store holds answers of a model that costs."""
        store = Path(self.config.store)
        return any(
            (store / f"{entry.slug}.sqlite").is_file() for entry in self.registry.models if not entry.free
        )

    def sources_json(self) -> str:
        """The sources as the `panel` command takes them."""
        return canonical_json(self.sources.model_dump(mode="json"))

    def tables(self, suite: str) -> list[str]:
        """The tables that a suite's panel is built from, beside the snapshot."""
        read = getattr(self.protocols[suite], "sources", ("alfred",))
        return [path for path in (getattr(self.sources, source) for source in read) if path is not None]

    def asked_of_sources(self, what: str) -> list[str]:
        """What the suites of this run need of a source: `macro_series` of ALFRED, `tickers` of Yahoo."""
        return sorted({name for held in self.protocols.values() for name in getattr(held, what, ())})


def _asked(entry: config.ModelEntry) -> dict[str, Any]:
    """Return what of an entry decides its answers."""
    return entry.model_dump(
        mode="json",
        include={
            "name",
            "provider",
            "model_id",
            "endpoint",
            "tier",
            "temperature",
            "temperature_locked",
            "max_output_tokens",
            "max_tokens_field",
            "json_mode",
            "logprobs",
            "thinking",
            "extra_body",
            "tools",
            "source",
            "planted",
        },
    )


def environment(root: Path, settings: config.Config, own_python: bool = True) -> None:
    """Let jobs find this checkout's package, this interpreter, the budget, the prices and the preregistered plans.

    Through the environment, because a changed parameter would rerun what it stands in. With `own_python`
    false (rules run in environments of their own) the interpreter is left to them.
    """
    _prepend("PYTHONPATH", str(root / "src"))
    if own_python:
        _prepend("PATH", str(Path(sys.executable).parent))
    os.environ["ANACHRON_BUDGET_USD"] = repr(settings.budget_usd)
    os.environ["ANACHRON_UNKNOWN_PRICES"] = settings.unknown_prices
    os.environ["ANACHRON_PRICES"] = settings.prices
    os.environ["ANACHRON_PREREGISTERED"] = settings.preregistered


def _prepend(variable: str, folder: str) -> None:
    others = [part for part in os.environ.get(variable, "").split(os.pathsep) if part and part != folder]
    os.environ[variable] = os.pathsep.join([folder, *others])


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names; matches nothing when there are none."""
    return "|".join(re.escape(name) for name in names) or r"(?!)"
