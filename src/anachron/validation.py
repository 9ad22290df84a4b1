"""Reading what a user wrote: YAML into pydantic models, every fault named with file, key, found and allowed."""

from __future__ import annotations

import difflib
import math
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from anachron.errors import ConfigError


class StrictModel(BaseModel):
    """A model that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False, allow_inf_nan=False)


T = TypeVar("T", bound=BaseModel)


# Written in C where PyYAML was built with it: every job of a run reads the registry.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_Loader):  # type: ignore[misc]
    """YAML that refuses a key written twice (the second would silently win), and numbers that are none."""

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        value: float = super().construct_yaml_float(node)
        if not math.isfinite(value):
            raise yaml.MarkedYAMLError(
                problem=f"{node.value!r} is no finite number", problem_mark=node.start_mark
            )
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} is written twice", problem_mark=key_node.start_mark
                )
            seen.add(key if isinstance(key, str | int | float | bool) else id(key_node))
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:float", _UniqueKeyLoader.construct_yaml_float)

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
        if value is None:
            needed = [str(fault["loc"][0]) for fault in error.errors() if fault["loc"]]
            raise ConfigError(f"{where}: is empty; it needs {', '.join(needed)}") from None
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
            f"unknown key `{key}`" + nearest(str(loc[-1]), known) + f"; known keys here: {', '.join(known)}"
        )
    if kind == "literal_error" and loc[-1:] == ("[key]",):
        return f"unknown key `{_key(loc[:-1], value)}`; allowed: {_allowed(fault)}"
    if kind == "missing":
        return f"`{key}` is missing; add it"
    if kind == "value_error":
        message = str(fault["ctx"]["error"])
        return f"`{key}`: {message}" if key else message
    return f"`{key or 'the file'}`: found {found}; allowed: {_allowed(fault)}"


def _allowed(fault: Any) -> str:
    ctx = fault.get("ctx", {})
    if fault["type"] in SHAPES:
        return SHAPES[fault["type"]].format(**ctx)
    if "expected" in ctx:
        return str(ctx["expected"])
    if "pattern" in ctx:
        return f"text of the form {ctx['pattern']}"
    message = str(fault["msg"])
    prefix = "Input should be "
    return message[len(prefix) :] if message.startswith(prefix) else message


SHAPES = {
    "model_type": "a mapping (lines of the form `key: value`)",
    "dict_type": "a mapping (lines of the form `key: value`)",
    "list_type": "a list (`[a, b]`, or lines that begin with `- `)",
    "string_type": "text (in quotation marks if it looks like a number)",
    "too_short": "at least {min_length} in number",
    "too_long": "at most {max_length} in number",
    "string_too_short": "text of at least {min_length} character",
    "finite_number": "a finite number",
}
"""What is allowed, in the words of who writes YAML, where pydantic's own speak of Python."""


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


def nearest(word: str, known: typing.Iterable[str]) -> str:
    """Return "; did you mean `x`?" with the known word closest to `word`, or nothing."""
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
