"""What the marks beside a printed cell mean.

Marks follow from gates and counts by rule and are never set by hand. Source: the suite's specification, "Metrics".
"""

from __future__ import annotations

MARKS: dict[str, str] = {
    "d": "Decoupled: less often right than its own values imply.",
    "e": "A sibling series is answered as well as this one: there is no selectivity.",
    "h": "The interval holds one half: not told apart from a coin.",
    "i": "Its own values explain it: not more often right than they imply.",
    "j": "A null explains it: a predictor that does not recite reaches as much.",
    "l": "No log-probabilities came with the answers.",
    "m": "No control: the answers for invented factors follow the market.",
    "n": "Too few answers or months.",
    "o": "The interval holds zero: famous months are not answered better than ordinary ones.",
    "r": "No end of recent values is seen: there are numbers throughout, or none, or in no order of months.",
    "u": "Not informative: a signal that depends on the truth alone would score about as much.",
    "v": "Answers or truth do not vary.",
    "w": "The judge is the judged model.",
    "x": "More than a tenth of the answers ended at their token limit.",
    "y": "No answer was scored by a judge.",
    "z": "The null is zero, so there is no ratio.",
}
