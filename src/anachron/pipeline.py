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

from anachron import blocks, config, fingerprint
from anachron.errors import ConfigError
from anachron.files import canonical_json, digest
from anachron.llm.keys import PROTOCOL_TOKEN
from anachron.sources.snapshot import digest_until
from anachron.suites import load_protocol


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
        self.models = {entry.slug: entry for entry in self.config.selected(self.registry)}
        self.protocols = {suite: load_protocol(suite, path) for suite, path in self.config.protocols.items()}
        for entry in self.models.values():
            for suite in self.suites_of(entry.slug):
                self.arms_of(entry.slug, suite)

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
        """Everything a panel span depends on: its months, the protocol, the lags, the data visible by then."""
        months = self.months(suite, span)
        return digest(
            {
                "months": months,
                "protocol": self.protocols[suite].panel_digest(),
                "lags": self.config.macro.publication_lag_days,
                "data": digest_until(Path(self.config.macro.path), months[-1]),
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
        entry = self.models[model]
        asked = entry.model_dump(
            mode="json",
            include={
                "name",
                "provider",
                "model_id",
                "endpoint",
                "tier",
                "temperature",
                "max_output_tokens",
                "thinking",
                "tools",
                "source",
                "planted",
            },
        )
        return digest({"entry": asked, "suite": suite, "token": PROTOCOL_TOKEN})

    def stage_params(self, stage: str, model: str, suite: str) -> str:
        """Everything parse and estimate depend on beside their input files."""
        entry = self.models[model]
        return digest(
            {
                "protocol": self.protocols[suite].sha256,
                "tier": entry.tier,
                "arms": self.arms_of(model, suite),
                "planted": entry.planted.get(suite),
                "code": fingerprint.of_stage(stage, (suite,)),
            }
        )

    def row_params(self, model: str) -> str:
        """Everything a row depends on beside the estimates."""
        entry = self.models[model]
        return digest(
            {
                "entry": entry.model_dump(mode="json", exclude={"block"}),
                "margin": self.config.safe_margin_months,
                "code": fingerprint.of_stage("row", tuple(self.suites)),
            }
        )

    def publish_params(self) -> str:
        """Everything the tables and figures depend on beside the rows."""
        return digest(
            {
                "order": list(self.models),
                "scoring": self.config.scoring,
                "code": fingerprint.of_stage("publish", tuple(self.suites)),
            }
        )

    # --- accounts ---

    def account(self, model: str) -> str:
        """The account a model is collected on: jobs of one account run one at a time.

        Providers that cost nothing have no limits to share, but a store of their own: the model is the account.
        """
        entry = self.models[model]
        text = model if entry.free else f"{entry.provider}:{entry.endpoint}"
        return "account_" + digest(text)[:12]

    @cached_property
    def accounts(self) -> dict[str, list[str]]:
        """The accounts of this run and the models collected on each."""
        found: dict[str, list[str]] = {}
        for model in self.models:
            found.setdefault(self.account(model), []).append(model)
        return found

    def macro_json(self) -> str:
        """The macro source as the `panel` command takes it."""
        return canonical_json(self.config.macro.model_dump(mode="json"))


def environment(root: Path, settings: config.Config, own_python: bool = True) -> None:
    """Let jobs find this checkout's package, this interpreter and the budget.

    Through the environment, because a changed parameter would rerun what it stands in. With `own_python`
    false (rules run in environments of their own) the interpreter is left to them.
    """
    _prepend("PYTHONPATH", str(root / "src"))
    if own_python:
        _prepend("PATH", str(Path(sys.executable).parent))
    os.environ["ANACHRON_BUDGET_USD"] = repr(settings.budget_usd)


def _prepend(variable: str, folder: str) -> None:
    others = [part for part in os.environ.get(variable, "").split(os.pathsep) if part and part != folder]
    os.environ[variable] = os.pathsep.join([folder, *others])


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names; matches nothing when there are none."""
    return "|".join(re.escape(name) for name in names) or r"(?!)"
