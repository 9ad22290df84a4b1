"""What calls cost: the price file, the price that holds on a day, and the dollars of an answer.

The file is CSV with the columns of `COLUMNS`; prices are in US dollars per million tokens. A key without a line,
or a line without prices, is a price that is not known: it is never taken for 0.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from pathlib import Path

from anachron.errors import ConfigError
from anachron.files import digest

COLUMNS = (
    "price",
    "input",
    "cached_input",
    "output",
    "reasoning",
    "batch_discount",
    "currency",
    "valid_from",
    "read_on",
    "source",
)
NUMBERS = ("input", "cached_input", "output", "reasoning", "batch_discount")
DATES = ("valid_from", "read_on")
MILLION = 1_000_000

FRAME_TOKENS = 64
"""Tokens that the chat format may add to a request's own text, at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the price file: what a million tokens cost from a day on, in US dollars."""

    price: str
    input: float | None
    cached_input: float | None
    """None charges what the provider had cached as other input."""
    output: float | None
    reasoning: float | None
    """None charges reasoning as other output."""
    batch_discount: float | None
    """Share taken off in a batch, 0 to 1; recorded, for calls are made one by one."""
    valid_from: str
    read_on: str
    source: str

    @property
    def known(self) -> bool:
        """Whether the line says a price; one without says that from its day on it is not known."""
        return self.input is not None

    @property
    def free(self) -> bool:
        """Whether calls at this price cost nothing."""
        rates = (self.input, self.cached_input or 0.0, self.output, self.reasoning or 0.0)
        return all(rate == 0.0 for rate in rates)


def read(path: Path) -> list[Line]:
    """Read a price file.

    Returns
    -------
    list of Line
        Sorted by price key and first day.

    Raises
    ------
    ConfigError
        The text names the file, and line, column and what was found: a missing or unknown column, a value that
        is no price, day or share, a currency other than USD, a missing source, two lines of one key and day.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `prices` in config/config.yaml names it") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: dict[tuple[str, str], tuple[int, Line]] = {}
    try:
        header = next(rows, [])
        _check_header(path, header)
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}, line {rows.line_num}"
            if len(cells) != len(header):
                raise ConfigError(
                    f"{where}: has {len(cells)} fields, the header has {len(header)}; put a field that holds a "
                    "comma in double quotes"
                )
            line = _line(where, dict(zip(header, (cell.strip() for cell in cells), strict=True)))
            place = (line.price, line.valid_from)
            if place in found:
                raise ConfigError(
                    f"{where}, column valid_from: {line.price!r} has a price from {line.valid_from} on in line "
                    f"{found[place][0]} already; remove one"
                )
            found[place] = (rows.line_num, line)
    except csv.Error as error:
        raise ConfigError(f"{path}, line {rows.line_num}: not CSV ({error})") from None
    return [found[place][1] for place in sorted(found)]


def _check_header(path: Path, header: Sequence[str]) -> None:
    for name in COLUMNS:
        if header.count(name) != 1:
            fault = "is missing" if name not in header else "stands twice"
            raise ConfigError(f"{path}, line 1: column {name!r} {fault}; the columns are {','.join(COLUMNS)}")
    for name in header:
        if name not in COLUMNS:
            raise ConfigError(
                f"{path}, line 1: column {name!r} is not known; the columns are {','.join(COLUMNS)}"
            )


def _line(where: str, cells: Mapping[str, str]) -> Line:
    for name in ("price", "source"):
        if not cells[name]:
            raise ConfigError(f"{where}, column {name}: is empty; every price has a key and a source")
    if cells["currency"] != "USD":
        raise ConfigError(
            f"{where}, column currency: found {cells['currency']!r}; prices are in USD, because exchange rates change "
            "and no rate is applied here: convert it, and name the rate in `source`"
        )
    numbers = {name: _number(where, name, cells[name]) for name in NUMBERS}
    for name in DATES:
        _day(where, name, cells[name])
    priced, unpriced = ("input", "output") if numbers["input"] is not None else ("output", "input")
    if numbers[priced] is not None and numbers[unpriced] is None:
        raise ConfigError(
            f"{where}, column {unpriced}: is empty while {priced} is not; give both, or neither where the price is "
            "not known"
        )
    if numbers["input"] is None and any(value is not None for value in numbers.values()):
        raise ConfigError(
            f"{where}, column input: is empty while other prices are given; give input and output"
        )
    if (numbers["batch_discount"] or 0.0) > 1.0:
        raise ConfigError(
            f"{where}, column batch_discount: found {cells['batch_discount']!r}; it is a share, 0 to 1"
        )
    return Line(
        price=cells["price"],
        valid_from=cells["valid_from"],
        read_on=cells["read_on"],
        source=cells["source"],
        **numbers,
    )


def _number(where: str, name: str, text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0.0):
        raise ConfigError(
            f"{where}, column {name}: found {text!r}; write a number of 0 or more with a decimal point, or nothing"
        )
    return value


def _day(where: str, name: str, text: str) -> None:
    try:
        if date.fromisoformat(text).isoformat() == text:
            return
    except ValueError:
        pass
    raise ConfigError(f"{where}, column {name}: found {text!r}; write a day as YYYY-MM-DD")


def at(lines: Sequence[Line], key: str | None, day: str) -> Line | None:
    """Return the line of a price key that holds on a day (YYYY-MM-DD); None when the price is not known."""
    held = [line for line in lines if line.price == key and line.valid_from <= day]
    newest = max(held, key=lambda line: line.valid_from, default=None)
    return newest if newest is not None and newest.known else None


def newest(lines: Sequence[Line], key: str | None) -> list[Line]:
    """Return every line of a price key, the newest first."""
    return sorted(
        (line for line in lines if line.price == key), key=lambda line: line.valid_from, reverse=True
    )


def fingerprint(lines: Sequence[Line], key: str | None) -> str:
    """Return the SHA-256 of all that the file says of one price key."""
    every = [{field.name: getattr(line, field.name) for field in fields(line)} for line in newest(lines, key)]
    return digest(every)


def dollars(
    line: Line,
    input_tokens: float | None,
    cached_tokens: float | None,
    output_tokens: float | None,
    reasoning_tokens: float | None,
) -> float | None:
    """Return what tokens cost at a known price, in US dollars; None when a count that matters is missing.

    Cached tokens are part of the input's, reasoning of the output's (`providers.Reply`). Costs are linear, so
    sums of many calls may be given for their counts.
    """
    if line.free:
        return 0.0
    if line.input is None or line.output is None or input_tokens is None or output_tokens is None:
        return None
    cached = min(cached_tokens or 0, input_tokens)
    reasoned = min(reasoning_tokens or 0, output_tokens)
    cached_rate = line.input if line.cached_input is None else line.cached_input
    reasoning_rate = line.output if line.reasoning is None else line.reasoning
    return (
        (input_tokens - cached) * line.input
        + cached * cached_rate
        + (output_tokens - reasoned) * line.output
        + reasoned * reasoning_rate
    ) / MILLION


def at_most(line: Line, prompt_bytes: float, max_tokens: float) -> float:
    """Return what a call can cost at most at a known price, in US dollars; arrays give an array.

    Parameters
    ----------
    line
        The price.
    prompt_bytes
        UTF-8 bytes of system and user prompt: no tokenizer in use makes more tokens than these.
    max_tokens
        The cap on the answer, reasoning included.
    """
    assert line.input is not None and line.output is not None
    input_rate = max(line.input, line.cached_input or 0.0)
    output_rate = max(line.output, line.reasoning or 0.0)
    return ((prompt_bytes + FRAME_TOKENS) * input_rate + max_tokens * output_rate) / MILLION


def prompt_bytes(system: str, prompt: str) -> int:
    """Return the UTF-8 bytes of a request's two texts."""
    return len(f"{system}{prompt}".encode("utf-8", "surrogatepass"))


def today() -> str:
    """Return this day in UTC, YYYY-MM-DD."""
    return datetime.now(UTC).date().isoformat()
