"""The suites. A suite is a folder here plus a protocol file; this registry is the only shared line it needs.

Each suite package has these modules, imported only when a stage needs them:

``protocol``   pydantic model of the protocol file (class `Protocol`), light: it is imported at parse time
``ask``        ``build(protocol, panel, arm, items) -> Requests``
``planted``    ``respond(request, parameters) -> str`` and ``truth(parameters, protocol, panel) -> dict``
``artifact``   ``each(folder, protocol)``, ``panel(folder, protocol)``, ``tier(transcripts, protocol)``: published
               records of this suite, for import and replay
``parse``      ``VERSION`` and ``parse(transcripts, protocol) -> frame`` (fulfils the module's `Contract`)
``estimate``   ``VERSION`` and ``estimate(answers, panel, protocol) -> Result``
``table``      ``columns`` and ``cells``: how the suite's estimates are printed
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from anachron.config import load
from anachron.errors import AnachronError, ConfigError

SUITES = {
    "hindsightbench": "anachron.suites.hindsightbench",
}


def module(suite: str, name: str) -> ModuleType:
    """Return module `name` (`ask`, `parse`, …) of a suite; an unknown suite raises `AnachronError`."""
    if suite not in SUITES:
        raise AnachronError(f"suite {suite!r} is not known; known suites: {', '.join(SUITES)}")
    return importlib.import_module(f"{SUITES[suite]}.{name}")


def load_protocol(suite: str, path: Any) -> Any:
    """Read and validate the protocol file of a suite (see its `protocol` module)."""
    from pathlib import Path

    where = Path(path)
    protocol = load(module(suite, "protocol").Protocol, where)
    if protocol.suite != suite:
        raise ConfigError(f"{where}: `suite` is {protocol.suite!r}, but the file is used for {suite!r}")
    return protocol
