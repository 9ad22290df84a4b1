"""What the marks beside a printed cell mean. Marks follow from gates and counts by rule and are never set by hand."""

from __future__ import annotations

MARKS: dict[str, str] = {
    "c": "Could be composition: a forecaster that knows nothing shows as much, or the gap is gone at the same mix of "
    "questions.",
    "d": "The calibrators do not agree.",
    "f": "Fewer than 20 clusters on a side: the interval may be too narrow.",
    "k": "No cutoff is stated.",
    "n": "Too few questions on a side.",
}
