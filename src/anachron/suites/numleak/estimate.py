"""Stage `estimate`: answers to estimates under both scorings, every null, gate and mark by rule.

`paper` reads numbers by the published rule and gives the paper's intervals; `anachron` reads final answers and
resamples months. Source: NumLeak; the suite's specification, "Metrics".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from anachron.estimates import Estimate, Result, arm_counts, records, require_one_model
from anachron.suites.numleak import naming
from anachron.suites.numleak.leak import transmission
from anachron.suites.numleak.probes import candidates, compared, defences, entropies, ranks
from anachron.suites.numleak.protocol import Protocol, Tier
from anachron.suites.numleak.release import release_end
from anachron.suites.numleak.sheets import Sheet, correlation, sheets
from anachron.suites.numleak.signature import MEASURES, fabrication, factor_shuffle, selectivity, signature
from anachron.suites.numleak.strata import fame, strata
from anachron.suites.numleak.values import describe

VERSION = "1"
SUITE = "numleak"
SCORINGS = ("paper", "anachron")
KNOWS_CUTOFF = True
"""`estimate` takes the cutoff that the vendor states."""
MAIN = (naming.VALUE, naming.LABEL + "mktrf")
"""Arms that ask a series' value by its own name; the first that a model has stands for it."""
SIGNED = (*MAIN, naming.PANELS, naming.REASON)
"""Arms whose sheets are held against every null."""


def estimate(
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    protocol: Protocol,
    tier: Tier = "full",
    arms: Sequence[str] | None = None,
    cutoff: str | None = None,
) -> Result:
    """Estimate every measure of the suite for one model.

    Parameters
    ----------
    answers
        The parser's `Contract`, one model.
    panel
        `items.IMPORTED` columns: the true values.
    protocol
        Seeds, draws and gates.
    tier
        Not looked at: what was asked is what there are answers to.
    arms
        Arms the model was asked; those that have answers when None.
    cutoff
        Month that the vendor states as the end of training data; None where none is stated.

    Raises
    ------
    ContractError
        When the answers hold several models.
    """
    require_one_model(answers)
    truth = {
        str(item): float(value)
        for item, value in zip(panel["item"], panel["value"].tolist(), strict=True)
        if value == value
    }
    found: list[dict[str, Any]] = []
    for scoring in SCORINGS:
        found += records(score(answers, truth, protocol, scoring, cutoff), SUITE, scoring)
    return Result(found, arm_counts(answers, arms), {"scatter": scatter(answers, truth)})


def score(
    answers: pd.DataFrame,
    truth: dict[str, float],
    protocol: Protocol,
    scoring: str,
    cutoff: str | None = None,
) -> list[Estimate]:
    """Return the estimates of one scoring."""
    known = {sheet.name: sheet for sheet in sheets(answers, truth, scoring)}
    found: list[Estimate] = []
    for sheet in known.values():
        found += describe(sheet, protocol, scoring)
        if sheet.series != naming.MARKET:
            found += kinship(sheet, truth)
    main = {series: own for series in naming.FACTORS if (own := main_sheet(known, series)) is not None}
    target = main.get(naming.MARKET)
    siblings = [sheet for series, sheet in main.items() if series != naming.MARKET]
    if scoring == "anachron":
        for sheet in known.values():
            if sheet.arm in SIGNED and sheet.name.count(".") == 1:
                kin = family(sheet, list(known.values()), protocol)
                found = explained(found, signature(sheet, truth, protocol, kin), sheet.name)
            if sheet.arm in (*SIGNED, naming.RECENT) and sheet.name.count(".") == 1:
                found += strata(sheet, protocol, cutoff)
        read = (naming.FAMOUS, *MAIN, naming.PANELS)
        found += fame([known[name] for arm in read if (name := f"{arm}.{naming.MARKET}") in known], protocol)
    found += release_end(answers, scoring)
    found += factor_shuffle(target, siblings, truth, protocol)
    found += selectivity(target, siblings, protocol)
    found += ranks(answers, truth, scoring)
    found += fabrication(answers, truth, protocol, scoring)
    found += transmission(answers, truth, protocol, scoring)
    found += defences(answers, truth, protocol, scoring)
    found += entropies(answers)
    found += candidates(answers)
    market = naming.MARKET
    found += compared(target, known.get(f"{naming.REASON}.{market}"), "value_reason")
    found += compared(target, known.get(f"mitigation-control.{market}"), "value_again")
    return found


def family(sheet: Sheet, known: Sequence[Sheet], protocol: Protocol) -> list[Sheet]:
    """Return the sheets of a series' siblings: asked alike, of the same family in the protocol."""
    kind = {entry.id: entry.family for entry in protocol.series}
    alike = MAIN if sheet.arm in MAIN else (sheet.arm,)
    return [
        other
        for other in known
        if other.arm in alike
        and other.name.count(".") == 1
        and other.series != sheet.series
        and kind.get(other.series, other.series) == kind.get(sheet.series)
    ]


def explained(found: Sequence[Estimate], signed: Sequence[Estimate], sheet: str) -> list[Estimate]:
    """Return a scoring's estimates with a sheet's signature, mark `j` on every measure that a null explains."""
    cleared = {one.metric: one.value for one in signed}
    missed = {f"{sheet}.{name}" for name in MEASURES if cleared.get(f"{sheet}.clears.{name}") == 0}
    marked = [replace(one, marks=(*one.marks, "j")) if one.metric in missed else one for one in found]
    return [*marked, *signed]


def main_sheet(known: dict[str, Sheet], series: str) -> Sheet | None:
    """Return the sheet that stands for a series: the first main arm that has it."""
    return next((known[name] for arm in MAIN if (name := f"{arm}.{series}") in known), None)


def kinship(sheet: Sheet, truth: dict[str, float]) -> list[Estimate]:
    """Return how closely another series' true values follow the market's, on the months asked."""
    import numpy as np

    own = np.array(
        [truth.get(naming.item(month, sheet.series), np.nan) for month in sheet.asked_months], float
    )
    market = np.array(
        [truth.get(naming.item(month, naming.MARKET), np.nan) for month in sheet.asked_months], float
    )
    both = np.isfinite(market) & np.isfinite(own)
    r = correlation(own[both], market[both]) if both.sum() > 1 else None
    return [Estimate(f"{sheet.name}.rho_market", "coefficient", r, int(both.sum()))]


def scatter(answers: pd.DataFrame, truth: dict[str, float]) -> dict[str, list[list[float]]]:
    """Return truth and answer of the series asked by their own names, for figures."""
    known = {sheet.name: sheet for sheet in sheets(answers, truth, "anachron")}
    series = sorted({sheet.series for sheet in known.values()})
    return {
        name: [[float(t), float(s)] for t, s in zip(sheet.truth, sheet.said, strict=True)]
        for name in series
        if (sheet := main_sheet(known, name)) is not None
    }
