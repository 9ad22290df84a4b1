"""Numbers in free text: the published rule, and the rule that reads the final answer.

Source: the suite's specification, "Parsing"; NumLeak §2.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

DASHES = dict.fromkeys(
    map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\u208b\ufe58\ufe63\uff0d"), "-"
)
SHORT = 30
"""Characters up to which the published rule takes a bare number for the answer."""
LARGEST = 100.0
"""Bare numbers beyond this are no percentage to the published rule."""

# No attempt begins within a number or gives digits back: neither finds more, and a text of digits alone would be read
# as often as it has digits.
_SIGNED = r"(?:[+-]|(?<!\d))\d++(?:\.\d++)?"
_PERCENT = re.compile(rf"({_SIGNED})\s*(?:%|percent\b)", re.IGNORECASE)
_POINTS = re.compile(rf"({_SIGNED})\s*(?:bps\b|basis points?\b)", re.IGNORECASE)
_BARE = re.compile(rf"(?<![A-Za-z0-9.])({_SIGNED})(?![A-Za-z0-9])")

_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f' ]\d{3}){1,9}(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+"
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>\(?\s?[+-]?|minus |negative |plus |positive )\s?(?P<currency>[$€£]?)(?P<digits>{_DIGITS})"
    r"(?:\s?(?P<unit>%|percentage points?|percent|per cent|pct\b|pp\b|basis points?|bps?\b|°\s?[FC]\b))?"
    r"(?P<close>\)?)(?![\w%]|[.,]\d|-\d)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?:between\s+[^.\n]{1,24}?\d\S*\s+and\s+[+-]?[\d.,]+)|(?:\d\s?(?:%|bps?|percent)?\s*(?:-|to|through)\s*[+-]?[.,]?\d)",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"(?:final answer|best estimate|best guess|my estimate|my answer|the answer|answer|estimate)\b\**\s*"
    r"(?:is|was|would be|:|=|≈|~)+\s*",
    re.IGNORECASE,
)
_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_DATES = re.compile(
    rf"\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-\d\d)?\b|\b(?:{_MONTHS})\.?\s+(?:\d{{1,2}},?\s+)?(?:19|20)\d\d\b"
    r"|(?<![\d.,+-])(?:19|20)\d\d(?![\d%]|[.,]\d|\s?(?:%|bps?\b|percent))",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`$\\]+|\"")


class Found(NamedTuple):
    """A number in percent (or in the unit of its series), and what was wrong with it.

    Attributes
    ----------
    value
        None where there is no single number.
    fault
        None, ``range`` or ``unit``.
    """

    value: float | None
    fault: str | None = None


def plain(text: str) -> str:
    """Return text in normal form KC, every dash a hyphen-minus.

    >>> plain("−1.5")
    '-1.5'
    """
    return unicodedata.normalize("NFKC", text).translate(DASHES)


def published(text: str) -> float | None:
    """Return the number by the published rule, in percent; None for no number.

    The mean of all numbers that a percent sign or basis points follow (these in hundredths of a percent), in
    words or figures, whatever they stand for; where there is none, the first bare number of a short text.

    >>> published("about +3% to +4%"), published("-1.20"), published("I do not know what 2020 brought")
    (3.5, -1.2, None)
    """
    said = plain(text)
    marked = [float(one) for one in _PERCENT.findall(said)]
    marked += [float(one) / 100 for one in _POINTS.findall(said)]
    if marked:
        return sum(marked) / len(marked)
    if len(said.strip()) > SHORT:
        return None
    bare = _BARE.search(said)
    if bare is None:
        return None
    value = float(bare.group(1))
    return value if abs(value) <= LARGEST else None


def final(text: str, unit: str = "percent") -> Found:
    r"""Return the number that an answer ends on.

    The last line that holds anything decides where it holds one number and little else; then the number after
    the last answer cue; then a number that stands alone in the whole text. A range has no value.

    Parameters
    ----------
    text
        The answer.
    unit
        Unit of the series: ``percent``, ``bps`` or another name; percentages and basis points are converted
        into each other, and any other unit in the answer is a fault,
        and so is a percentage beyond a hundred.

    >>> final("Let me think: +5% is too much.\\n\\n**-1.25%**").value
    -1.25
    >>> final("2-3%"), final("(1.5)"), final("1,234.5", "bps")
    (Found(value=None, fault='range'), Found(value=-1.5, fault=None), Found(value=1234.5, fault=None))
    """
    said = _MARKUP.sub("", plain(text)).strip()
    lines = [line.strip() for line in said.splitlines() if line.strip(" \t-#>")]
    if not lines:
        return Found(None)
    for part, fits in ((lines[-1], _is_answer), (_after_cue(said), None), (said, _is_value)):
        if part is None:
            continue
        kept = _DATES.sub(" ", part)
        if _RANGE.search(kept):
            return Found(None, "range")
        numbers = list(_NUMBER.finditer(kept))
        if len(numbers) == 1 and (fits is None or fits(kept, numbers[0])):
            return _valued(numbers[0], unit)
    return Found(None)


def _is_value(_: str, number: re.Match[str]) -> bool:
    """Whether a number in running text reads as a value: it has a unit, or a sign and decimals."""
    signed = number["sign"].strip(" (") != ""
    return bool(number["unit"]) or (signed and bool(re.search(r"[.,]\d", number["digits"])))


def _after_cue(said: str) -> str | None:
    cues = list(_CUE.finditer(said))
    if not cues:
        return None
    rest = said[cues[-1].end() :].strip()
    return rest.splitlines()[0] if rest else None


def _is_answer(line: str, number: re.Match[str]) -> bool:
    """Whether a line is a number with at most a few words around it."""
    around = (line[: number.start()] + line[number.end() :]).strip()
    return len(around) <= 12 or bool(_CUE.search(line[: number.start()]))


def _valued(number: re.Match[str], unit: str) -> Found:
    digits, sign = number["digits"], number["sign"].strip().lower()
    value = _decimal(digits)
    if value is None:
        return Found(None)
    bracketed = sign.startswith("(") and number["close"] == ")" and "-" not in sign and "+" not in sign
    if "-" in sign or sign in ("minus", "negative") or bracketed:
        value = -value
    said = (number["unit"] or "").lower()
    if said.startswith(("°", "degree")) or number["currency"]:
        return Found(value) if unit not in ("percent", "bps") else Found(None, "unit")
    points = said.startswith(("bp", "basis"))
    if unit == "percent" and points:
        value /= 100
    elif unit == "percent" and abs(value) > LARGEST:
        return Found(None, "unit")
    if unit == "bps" and said and not points:
        value *= 100
    return Found(value)


def _decimal(digits: str) -> float | None:
    """Return a number whose thousands and decimals may be set off by commas, points, blanks or apostrophes.

    One comma with exactly three digits after it and at most three before sets off thousands, unless the number
    begins with zero; any other single comma is a decimal comma.
    """
    kept = re.sub(r"[\u00a0\u202f' ]", "", digits)
    if "." in kept and "," in kept:
        decimal = max(kept.rfind("."), kept.rfind(","))
        kept = kept[:decimal].replace(",", "").replace(".", "") + "." + kept[decimal + 1 :]
    elif kept.count(",") > 1 or re.fullmatch(r"[1-9]\d{0,2},\d{3}", kept):
        kept = kept.replace(",", "")
    else:
        kept = kept.replace(",", ".")
    try:
        return float(kept)
    except ValueError:
        return None
