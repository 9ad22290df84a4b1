"""What an entry of the registry says of suites, arms and respondents, held against those there are.

A name misspelt here would hold for nothing, or fail in a job that asks: it is refused when the run is planned.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence

from anachron import suites
from anachron.errors import ConfigError
from anachron.registry import ModelEntry
from anachron.validation import nearest, validate


def refuse_unknown_suites(entry: ModelEntry, protocols: Iterable[str], where: str) -> None:
    """Raise `ConfigError` for a suite's name misspelt in an entry: its settings would hold for nothing."""
    known = sorted({*suites.SUITES, *protocols})
    for name in ("arms", "temperature", "max_output_tokens", "json_mode", "planted"):
        for suite in getattr(entry, name):
            if suite not in known:
                raise ConfigError(
                    f"{where}: model {entry.name!r}: `{name}` names suite {suite!r}; known suites: "
                    f"{', '.join(known)}" + nearest(suite, known)
                )


def refuse_unknown_parameters(entry: ModelEntry, where: str) -> None:
    """Raise `ConfigError` for parameters that a planted respondent has not, before any job starts."""
    for suite, written in entry.planted.items():
        # Where the respondent itself imports arrays, its parameters are a module of their own.
        own = importlib.util.find_spec(f"{suites.SUITES[suite]}.planted_parameters")
        parameters = suites.module(suite, "planted_parameters" if own else "planted").Parameters
        validate(parameters, written, f"{where}: model {entry.name!r}: planted.{suite}")


def refuse_settings_of_no_arm(entry: ModelEntry, suite: str, known: Sequence[str], where: str) -> None:
    """Raise `ConfigError` for an arm misspelt in `json_mode` or `max_output_tokens`: it would hold for nothing."""
    caps = entry.max_output_tokens.get(suite, {})
    settings = {
        "json_mode": entry.json_mode.get(suite, []),
        "max_output_tokens": caps if isinstance(caps, dict) else {},
    }
    for name, arms in settings.items():
        for arm in arms:
            if arm not in known:
                raise ConfigError(
                    f"{where}: model {entry.name!r}: `{name}.{suite}` holds {arm!r}; allowed: {', '.join(known)}"
                    + nearest(arm, known)
                )


def same_model(one: ModelEntry, other: ModelEntry) -> bool:
    """Whether two entries ask the same model: the same entry, or the same identifier of the same endpoint."""
    if one.name == other.name:
        return True
    asked = [(entry.provider, entry.base_url, entry.model_id or entry.name) for entry in (one, other)]
    return asked[0] == asked[1]
