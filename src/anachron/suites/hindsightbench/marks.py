"""What the marks beside a printed cell mean.

Marks follow from gates and counts by rule and are never set by hand. Source: HindsightBench Table 1, §3.3.
"""

from __future__ import annotations

MARKS: dict[str, str] = {
    "c": "Arm not generated: no answer was asked for on these dates.",
    "g": "Outcome recall is at chance, or shows no month to locate: cutoff and dissociation are undefined.",
    "k": "Sample parity fails: the two sides of the contrast do not both cover the protocol's dates.",
    "m": "Placebo on the model's own window: its measured cutoff lies inside the calendar window.",
    "p": "Some answers were read after commas before a closing bracket were removed.",
    "r": "Date-recovery probe not convergent: too few answers were accepted.",
    "v": "Dissociation unidentified: few dates, no variance of recall, or a design short of rank or signals.",
}
