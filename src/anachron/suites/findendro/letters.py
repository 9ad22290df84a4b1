"""Reading one option letter out of an answer, and a month out of an answer about the model's own cutoff.

Source: the suite's specification, "Parsing".
"""

from __future__ import annotations

import re
from functools import lru_cache

from anachron.blocks import from_ordinal, ordinal

READINGS = (
    *("letter", "refusal", "truncated", "empty", "no letter", "letter not offered", "no answer"),
    *("scored", "not scored"),
)
"""What became of an answer; only the first is a choice. The last two are of texts whose likelihood was asked."""

SHORT = 80
"""Characters: an answer on one line up to this long is read from its first letter on."""

# What is taken is not given back (`*+`): a letter never follows from less, and a run of blanks would be tried in every
# split.
_WRAP = r"[\s*_`\"'“”‘’(\[{<$\\]*+"
_END = r"(?![A-Za-z0-9]|['’][a-z])"
_BARE = re.compile(rf"^{_WRAP}(?:\\?boxed\{{|\\?text\{{)*+\s*+([A-Za-z]){_END}[\s*_`\"'“”‘’)\]}}>$.:,;!]*$")
_LEADING = re.compile(rf"^{_WRAP}([A-Z])(?:[*_`]*[).:\]]|[*_`]+(?:\s|$)|\s*$|\s+[-–—]\s)")
_ALONE = re.compile(rf"(?<![A-Za-z0-9.'’])([A-Z]){_END}")
_CUE = re.compile(
    r"(?i:\b(?:answer|option|choice|choose|select|pick|letter)\b(?:\s++(?:is|would\s++be|was|letter|option|for\s++me))*+)"
    rf"\s*+[:=\-–—]?{_WRAP}(?:\\?boxed\{{|\\?text\{{)*+\s*+([A-Z]){_END}"
)
_REFUSAL = re.compile(
    r"(?i)\b(?:i(?:\s*+['’]m|\s++am)\s+(?:sorry|unable|not\s+able)|i\s+(?:can(?:not|['’]t|\s+not)|won['’]t|will\s+not|"
    r"must\s+decline)|sorry\b|as\s+an\s+ai\b|unable\s+to\b)"
)
_WORDS = ("A", "I")
"""Letters that are words as well: beside a word in lower case they are not taken for an option."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NAMES = "|".join(
    "Sep(?:t(?:ember)?)?" if name == "september" else f"{name[:3]}(?:{name[3:]})?" for name in MONTHS
)
_ISO = re.compile(r"(?<!\d)((?:19|20)\d{2})[-/.](0?[1-9]|1[0-2])(?!\d)")
_SPOKEN = re.compile(rf"(?i)\b({_MONTH_NAMES})\b\.?,?\s*(?:of\s+)?((?:19|20)\d{{2}})(?!\d)")
_TURNED = re.compile(rf"(?i)(?<!\d)((?:19|20)\d{{2}}),?\s+({_MONTH_NAMES})\b")


@lru_cache(maxsize=8192)
def read(text: str, offered: int) -> tuple[str, str | None]:
    """Return how an answer's text reads, and its letter.

    Parameters
    ----------
    text
        The answer.
    offered
        How many options there were, lettered from A.

    Returns
    -------
    tuple
        A reading (one of `READINGS`) and the letter: for "letter not offered" the one that was given, for all
        other readings but "letter" None.
    """
    letter = _letter(text.strip(), offered)
    if letter is None:
        return ("refusal" if _REFUSAL.search(text) else "no letter"), None
    return ("letter" if ord(letter) - ord("A") < offered else "letter not offered"), letter


def _letter(text: str, offered: int) -> str | None:
    bare = _BARE.match(text)
    if bare:
        return bare.group(1).upper()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and len(text) <= SHORT:
        cued = _CUE.findall(text)
        return cued[-1] if cued else _first(text, offered)
    if not lines:
        return None
    listed = {match.group(1) for line in lines if (match := _LEADING.match(line))}
    # Three lines or more that begin with letters of their own repeat the options, and choose none.
    forms = (_BARE,) if len(listed) >= 3 else (_BARE, _LEADING)
    for form, line in [*((form, lines[-1]) for form in forms), (_BARE, lines[0])]:
        match = form.match(line)
        if match:
            return match.group(1).upper()
    cued = _CUE.findall(text)
    if cued:
        return str(cued[-1])
    # A letter with a bracket or a point after it at the very beginning is an answer with its reasons behind it.
    opened = _LEADING.match(lines[0]) if len(listed) < 3 else None
    return opened.group(1) if opened else None


def _first(text: str, offered: int) -> str | None:
    """Return the first standalone letter of a short answer, an offered one before any other."""
    found = [
        match.group(1)
        for match in _ALONE.finditer(text)
        if not (match.group(1) in _WORDS and re.match(r"[ ][a-z]", text[match.end() :]))
    ]
    inside = [letter for letter in found if ord(letter) - ord("A") < offered]
    return (inside or found or [None])[0]


def opening(text: str, offered: int) -> str | None:
    """Return the letter that an answer that was cut off begins with, None where it begins otherwise."""
    match = _LEADING.match(text.strip())
    letter = match.group(1) if match else None
    return letter if letter is not None and ord(letter) - ord("A") < offered else None


def month(text: str) -> str | None:
    """Return the latest month that an answer names (``YYYY-MM``), None where it names none.

    >>> month("My training data goes up to October 2023."), month("2024-6"), month("unknown")
    ('2023-10', '2024-06', None)
    """
    found = [(int(year), int(number)) for year, number in _ISO.findall(text)]
    found += [(int(year), _number(name)) for name, year in _SPOKEN.findall(text)]
    found += [(int(year), _number(name)) for year, name in _TURNED.findall(text)]
    months = [from_ordinal(12 * year + number - 1) for year, number in found]
    return max(months, key=ordinal) if months else None


def _number(name: str) -> int:
    return next(place for place, full in enumerate(MONTHS, 1) if full.startswith(name.lower()[:3]))
