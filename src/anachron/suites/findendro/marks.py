"""What the marks beside a printed cell mean.

Marks follow from gates and counts by rule and are never set by hand. Source: the suite's specification, "Measures".
"""

from __future__ import annotations

MARKS: dict[str, str] = {
    "b": "Never known: the baseline level of knowledge is not told apart from chance, so no end can be measured.",
    "c": "Never claimed: no claims in the baseline window whose end could be measured.",
    "d": "Some periods hold no claim, or no denial, and are left out of the gap.",
    "e": "The end of knowledge is undefined, so there is no inside and no after.",
    "f": "Too few facts or answers.",
    "g": "No period holds both claims and denials: there is no gap.",
    "o": "Still above the threshold in the last quarter asked: where it ends has not been seen.",
    "p": "Position: too many answers are one and the same letter.",
    "s": "The model states no cutoff.",
}
