"""The suites. A suite is a folder here plus a protocol file; this registry is the only shared line it needs.

Each suite package has these modules, imported only when a stage needs them:

``protocol``   pydantic model of the protocol file (class `Protocol`, a `protocols.SuiteProtocol`), light: it is
               imported at parse time. Has `suite`, `months`, `arms` (each with `default`), `panel_digest()`,
               `ask_digest()` and `data_digest(sources, month)`. Where it reads facts: `macro_series` and `tickers`
               (what is fetched for it), `sources` (whose tables its items rest on; ALFRED alone when absent)
``items``      ``build(protocol, sources, months) -> frame`` (fulfils the module's `Contract`, sorted by `ORDER`): what
               is asked about, and what is true; ``names(frame)``, ``memory(frame)``, `IMPORTED`. The name of an
               item begins with its month, ``YYYY-MM``: that puts it into a block
``ask``        ``build(protocol, frame, arm, items) -> Requests``; ``smoke(protocol)``: (arm, item) of the few requests
               that are printed for reading before a run
``planted_parameters``  `Parameters` of a planted respondent, light: every entry is checked at parse time
``planted``    `Parameters`, ``respond(request, parameters, protocol, memory) -> str`` and
               ``truth(parameters, protocol, memory, tier, scoring) -> dict``
``artifact``   ``each(folder, protocol)``, ``panel(folder, protocol)``, ``tier(transcripts, protocol)``: published
               records of this suite, for import and replay; only where records are published
``judging``    ``build(protocol, transcripts) -> Requests`` of one arm's answers to a judge; only where the protocol has
               `judged_arms` and `judges` (names of the registry; the first that is not the judged model judges)
``parse``      ``VERSION`` and ``parse(transcripts, protocol) -> frame`` (fulfils the module's `Contract`)
``estimate``   ``VERSION`` and ``estimate(answers, panel, protocol, tier, arms) -> Result``; with `KNOWS_CUTOFF`
               it takes the vendor's stated ``cutoff`` too (a month or None)
``forecasts``  ``table(answers, panel, cutoffs)``: the answers as a table of forecasts (`backtest.contract`); only where
               answers are forecasts. The models of a run are then audited against each other (`snakemake audits`)
``table``      ``cells(metrics)``: how a row's estimates are printed; `SCORINGS`, `QUESTIONS` (what each
               column asks), `LABELS` (metrics in words), `MARKS`, `MACHINE`; ``measured_ends``.
               ``further(rows, scoring)``: further tables, each with its title; only where a suite has them
``figures``    ``figures(block, out, scoring)``: draws the figures that the package's `FIGURES` names, from rows
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

from anachron.config import load
from anachron.errors import AnachronError, ConfigError

SUITES = {
    "hindsightbench": "anachron.suites.hindsightbench",
    "findendro": "anachron.suites.findendro",
    "numleak": "anachron.suites.numleak",
    "leakage": "anachron.suites.leakage",
}


def module(suite: str, name: str) -> ModuleType:
    """Return module `name` (`ask`, `parse`, …) of a suite; an unknown suite raises `AnachronError`."""
    if suite not in SUITES:
        raise AnachronError(f"suite {suite!r} is not known; known suites: {', '.join(SUITES)}")
    return importlib.import_module(f"{SUITES[suite]}.{name}")


def figures(suite: str) -> tuple[str, ...]:
    """Return the names of a suite's figures."""
    return tuple(importlib.import_module(SUITES[suite]).FIGURES)


def forecasts(suite: str) -> bool:
    """Return whether a suite's answers are forecasts: it has a module `forecasts`."""
    return importlib.util.find_spec(f"{SUITES[suite]}.forecasts") is not None


def load_protocol(suite: str, path: Any) -> Any:
    """Read and validate the protocol file of a suite (see its `protocol` module)."""
    from pathlib import Path

    where = Path(path)
    protocol = load(module(suite, "protocol").Protocol, where)
    if protocol.suite != suite:
        raise ConfigError(f"{where}: `suite` is {protocol.suite!r}, but the file is used for {suite!r}")
    return protocol
