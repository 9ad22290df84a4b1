"""Writing files so that a reader never sees half of one, and reading them so that an error names the file."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from anachron.errors import AnachronError, ContractError

ROW_DIGITS = 10
"""Significant digits of a number in an audit row: two processors agree on these."""


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it takes the place of `path`, on failure it goes.

    Parameters
    ----------
    path
        Final place of the file. Its folder is created when missing.

    Yields
    ------
    Path
        Where to write. Durable (fsync) before it is renamed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically, with line feeds as line ends on every platform."""
    with atomic_path(path) as part:
        part.write_bytes(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as stable, readable JSON (sorted keys, two-space indent, no NaN), atomically."""
    write_text(path, readable_json(value))


def readable_json(value: Any) -> str:
    """Return `value` as sorted, indented JSON with a final newline; NaN and infinity raise `ValueError`."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted keys, no spaces, no NaN; equal values give equal text."""
    return _CANONICAL.encode(value)


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    ContractError
        When the file is missing, cannot be read, is not UTF-8, or is not JSON; the text names
        the file, and line and column where it can.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ContractError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise ContractError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ContractError(
            f"{path}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise ContractError(f"{path}: JSON nested too deeply to read") from None
    except ValueError as error:  # an integer of thousands of digits
        raise ContractError(f"{path}: not JSON that this program writes: {error}") from None
    except OSError as error:
        raise ContractError(f"{path}: cannot be read: {error.strerror}") from None


def sha256_text(text: str) -> str:
    """Return the hexadecimal SHA-256 of UTF-8 text; lone surrogates are hashed as they stand."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`."""
    return sha256_text(canonical_json(value))


def rounded(value: Any, digits: int = ROW_DIGITS) -> Any:
    """Return `value` with every float inside cut to `digits` significant digits; NaN and infinity become None.

    Negative zero becomes zero, so that rows do not differ by the sign of nothing.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(f"{value:.{digits}g}") + 0.0
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    return value


def slug(name: str) -> str:
    """Return a file-system-safe, reversible name.

    Everything but letters, digits, ``-``, ``_`` and inner dots is percent-encoded, so ``llama3.2:3b`` becomes
    ``llama3.2%3A3b`` and ``..`` becomes ``%2E%2E``.

    Raises
    ------
    AnachronError
        When the name is empty or its slug is longer than 200 characters (file systems stop at 255).
    """
    if not name:
        raise AnachronError("a model name is empty; give it at least one character")
    text = quote(name, safe="").replace("~", "%7E")
    if text.startswith("."):
        text = "%2E" + text[1:].replace(".", "%2E")
    if PERIODIC_END.search(text) and text[-3] != "%":
        text = f"{text[:-1]}%{ord(text[-1]):02X}"
    if PERIODIC_END.search(text):
        raise AnachronError(
            f"the model name {name[:60]!r}… ends in one sign twenty times or more; shorten it"
        )
    if len(text) > 200:
        raise AnachronError(
            f"the model name {name[:60]!r}… is too long for a file name; use under 200 characters "
            "(signs and letters beyond a-z count three or more each)"
        )
    return text


PERIODIC_END = re.compile(r"(?P<part>.{1,10})(?P=part){19}$", re.DOTALL)
"""Snakemake refuses a file name that ends so: it takes it for a rule that calls itself without end."""


def unslug(text: str) -> str:
    """Return the name that `slug` was given."""
    return unquote(text)
