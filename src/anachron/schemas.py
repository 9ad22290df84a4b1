"""JSON Schemas of everything a user writes and of the audit row, generated from the pydantic models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anachron.config import Config, Registry
from anachron.files import readable_json, write_text
from anachron.suites import SUITES, module


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file name, JSON Schema) of the configuration, the registry, every protocol, the row and an audit."""
    from anachron.backtest.result import Audit
    from anachron.publish.row import Row

    yield "config.schema.json", Config.model_json_schema()
    yield "models.schema.json", Registry.model_json_schema()
    for suite in SUITES:
        yield f"protocol.{suite}.schema.json", module(suite, "protocol").Protocol.model_json_schema()
        yield f"planted.{suite}.schema.json", module(suite, "planted").Parameters.model_json_schema()
    yield "row.schema.json", Row.model_json_schema()
    yield "backtest.schema.json", Audit.model_json_schema()


def write(folder: Path) -> list[Path]:
    """Write every schema into `folder` and return the paths."""
    paths = []
    for name, schema in schemas():
        path = folder / name
        write_text(path, readable_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}))
        paths.append(path)
    return paths
