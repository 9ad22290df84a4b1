"""Fingerprints of the source code a stage runs, so that editing a stage reruns it and what follows.

The paid stage has none: its answers are keyed by the request, and a hand-bumped protocol token
(`anachron.llm.keys`) says when the way of asking changed.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from anachron.files import sha256_text

PACKAGE = "anachron"
ROOT = Path(__file__).resolve().parent
DATA = (".css", ".csv", ".js")
"""Ends of names of files that belong to the module beside them."""

STAGES: dict[str, tuple[str, ...]] = {
    "panel": ("anachron.suites.{suite}.items",),
    "ask": ("anachron.suites.{suite}.ask",),
    "parse": ("anachron.suites.{suite}.parse",),
    "estimate": ("anachron.suites.{suite}.estimate", "anachron.stages_estimate"),
    "forecasts": ("anachron.suites.{suite}.forecasts", "anachron.stages_forecasts"),
    "row": ("anachron.publish.row", "anachron.suites.{suite}.table"),
    "browse": ("anachron.publish.browse",),
    "backtest": ("anachron.backtest.audit", "anachron.backtest.render"),
    "publish": (
        "anachron.publish.tables",
        "anachron.publish.figures",
        "anachron.publish.page",
        "anachron.suites.{suite}.table",
        "anachron.suites.{suite}.figures",
    ),
}


def of_stage(stage: str, suites: tuple[str, ...]) -> str:
    """Return the fingerprint of a stage for the given suites.

    Parameters
    ----------
    stage
        A key of `STAGES`.
    suites
        The suites whose modules the stage runs.

    Returns
    -------
    str
        SHA-256 over the names and texts of every module of this package that the stage imports,
        directly or through others, wherever in a module the import stands.
    """
    names = [name.format(suite=suite) for name in STAGES[stage] for suite in suites]
    return of_modules(tuple(sorted(set(names))))


def of_planted(suite: str) -> str:
    """Return the fingerprint of a suite's planted respondent: its own modules, not those they share."""
    prefix = f"{PACKAGE}.suites.{suite}.planted"
    names = [name for name in closure((prefix,)) if name.startswith(prefix)]
    return sha256_text("\0".join(f"{name}\n{_source(name)}" for name in names))


@functools.cache
def of_modules(names: tuple[str, ...]) -> str:
    """Return the fingerprint of the import closure of `names`."""
    parts = [f"{name}\n{_source(name)}" for name in closure(names)]
    return sha256_text("\0".join(parts))


@functools.cache
def closure(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the modules of this package that `names` reach by import statements, sorted."""
    seen: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name in seen or _path(name) is None:
            continue
        seen.add(name)
        queue.extend(_imports(name))
    return tuple(sorted(seen))


def _path(name: str) -> Path | None:
    parts = name.split(".")
    if parts[0] != PACKAGE:
        return None
    base = ROOT.joinpath(*parts[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _text(name: str) -> str:
    path = _path(name)
    return path.read_text(encoding="utf-8") if path else ""


def _source(name: str) -> str:
    """Return a module's text, and those of the data files beside it that bear its name: it reads them."""
    path = _path(name)
    beside = sorted(path.parent.glob(f"{path.stem}.*")) if path and path.stem != "__init__" else []
    return _text(name) + "".join(one.read_text(encoding="utf-8") for one in beside if one.suffix in DATA)


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in ast.walk(ast.parse(_text(name))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(module for module in found if module.split(".")[0] == PACKAGE)
