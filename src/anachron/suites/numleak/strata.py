"""Answers by when their month was: by decade, famous months, and distance to the stated cutoff.

Source: NumLeak §2 and appendix I; the suite's specification, "Metrics".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anachron.blocks import ordinal
from anachron.estimates import Estimate, Gate, Interval
from anachron.suites.numleak import naming
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import Sheet, within
from anachron.suites.numleak.values import MONTHS

Which = NDArray[np.bool_]
BEFORE, NEAR, AFTER = "before_cutoff", "near_cutoff", "after_cutoff"


def strata(sheet: Sheet, protocol: Protocol, cutoff: str | None) -> list[Estimate]:
    """Return share within 25 basis points and mean absolute error of parts of a sheet's months.

    Named ``<sheet>.<1980s>.<measure>`` and so on; famous and ordinary months; and, where a cutoff is stated, months
    more than `dates.near_months` before it, the last ones up to it, and later ones, these with the share answered.
    """
    answered, asked = sheet.months, np.array(sheet.asked_months, dtype=str)
    found = []
    for name in np.unique([f"{month[:3]}0s" for month in answered.tolist()]):
        found += _part(sheet, str(name), np.char.startswith(answered, str(name)[:3]))
    famous = np.array(protocol.famous, dtype=str)
    known = np.isin(answered, famous)
    if np.isin(asked, famous).any():
        found += _part(sheet, "famous", known) + _part(sheet, "ordinary", ~known)
    if cutoff is None:
        return found
    for name, inside, of_asked in zip(
        (BEFORE, NEAR, AFTER),
        distances(answered, cutoff, protocol),
        distances(asked, cutoff, protocol),
        strict=True,
    ):
        count = int(of_asked.sum())
        if count:
            share = float(inside.sum()) / count
            found += _part(sheet, name, inside)
            found.append(Estimate(f"{sheet.name}.{name}.answered", "share", share, count))
    return found


def distances(months: NDArray[np.str_], cutoff: str, protocol: Protocol) -> tuple[Which, Which, Which]:
    """Return which months lie well before a cutoff, up to it, and after it."""
    away = np.array([ordinal(month) - ordinal(cutoff) for month in months.tolist()], int)
    near = protocol.dates.near_months
    return away <= -near, (away > -near) & (away <= 0), away > 0


def _part(sheet: Sheet, name: str, inside: Which) -> list[Estimate]:
    n = int(inside.sum())
    some = Gate("n", n >= 1, n, 1, f"{n} answers hold a number; at least 1 is needed")
    hits = within(sheet.truth[inside], sheet.said[inside])
    errors = np.abs(sheet.said[inside] - sheet.truth[inside])
    base = f"{sheet.name}.{name}"
    return [
        Estimate(f"{base}.w25", "share", float(hits.mean()) if n else None, n, gates=(some,)),
        Estimate(f"{base}.mae", "score", float(errors.mean()) if n else None, n, gates=(some,)),
    ]


def fame(sheets: list[Sheet], protocol: Protocol) -> list[Estimate]:
    """Return how much more often famous months are answered within 25 basis points than ordinary ones.

    All of the market's answers of the given sheets count, each month once: its share of hits. The interval resamples
    famous and ordinary months apart.
    """
    hits: dict[str, list[bool]] = {}
    for sheet in sheets:
        for month, hit in zip(sheet.months.tolist(), within(sheet.truth, sheet.said).tolist(), strict=True):
            hits.setdefault(month, []).append(hit)
    famous = set(protocol.famous)
    share = {month: float(np.mean(own)) for month, own in sorted(hits.items())}
    one = np.array([value for month, value in share.items() if month in famous])
    other = np.array([value for month, value in share.items() if month not in famous])
    least = protocol.gates.correlation
    fewest = min(len(one), len(other))
    text = f"{len(one)} famous and {len(other)} ordinary months; at least {least} of each are needed"
    few = Gate("n", fewest >= least, fewest, least, text)
    if not fewest:
        return []
    rule = protocol.bootstrap
    chance = np.random.default_rng(rule.seed)
    drawn = [
        part[chance.integers(0, len(part), (rule.draws, len(part)))].mean(axis=1) for part in (one, other)
    ]
    tail = 100 * (1 - rule.level) / 2
    low, high = np.percentile(drawn[0] - drawn[1], [tail, 100 - tail])
    interval = Interval(float(low), float(high), MONTHS, rule.level, rule.draws, rule.draws, rule.seed)
    gap = float(one.mean() - other.mean())
    marks = ("o",) if low <= 0 <= high else ()
    metric = f"{naming.FAMOUS}.{naming.MARKET}.gap"
    return [Estimate(metric, "share difference", gap, fewest, interval, (few,), marks)]
