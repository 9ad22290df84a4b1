"""From the raw text of a probe's answer to what it recalls or dates, by one rule for every model.

Source: the suite's specification, Parsing; HindsightBench §3.2, §7.3.
"""

from __future__ import annotations

import re

from anachron.suites.hindsightbench.sketches import load, unwrap

RECALL_WORD = re.compile(r"\b(?:up|down|unknown)\b")
MONTH = re.compile(r"(?<!\d)(\d{4})-(0[1-9]|1[0-2])(?!\d)")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
FIELD_MONTH = re.compile(r"\A\s*(\d{4})-(0[1-9]|1[0-2])(?!\d)")

CUT_LENGTHS = (60, 80)
"""Lengths in characters at which the published records cut a probe's raw text."""


def read_recall(text: str | None) -> str:
    """Return the last standalone up, down or unknown, whatever its case; else ``invalid``."""
    words = RECALL_WORD.findall((text or "").casefold())
    return words[-1] if words else "invalid"


def was_cut(text: str | None) -> bool:
    """Whether an imported probe text has a length at which the artifact cut, so that its end may be lost."""
    return text is not None and len(text) in CUT_LENGTHS


def read_month(text: str | None) -> tuple[str | None, str | None]:
    """Return the estimated month and year of a date-recovery answer.

    Returns
    -------
    month
        ``YYYY-MM`` of the JSON field ``estimated_date``, else the last such month in the text, else None.
    year
        Year of that month; without a month, the last year that the field, else the text, names (an answer
        of a year or a quarter still says when).
    """
    body, _ = unwrap(text or "")
    value, error = load(body) if body[:1] == "{" else (None, "not JSON")
    field = str(value.get("estimated_date", "")) if not error and isinstance(value, dict) else ""
    exact = FIELD_MONTH.match(field)
    months = [exact.groups()] if exact else MONTH.findall(body)
    if months:
        year, month = months[-1]
        return f"{year}-{month}", year
    years = YEAR.findall(field) or YEAR.findall(body)
    return None, years[-1] if years else None
