"""Answers beside facts, as arrays: one place per fact, in the same order for every model.

Facts are sorted by quarter and class, so that sums over quarters are sums over neighbours. The *class* of a fact
says how it counts toward knowledge: a numerical fact that persistence answers wrongly (controlled), one that it
answers rightly or whose month before is not known, or a policy fact by its outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.blocks import months as months_between
from anachron.blocks import ordinal
from anachron.errors import ContractError
from anachron.suites.findendro.layout import LETTERS, candidate_count, in_order
from anachron.suites.findendro.protocol import Protocol, Tier, quarter
from anachron.suites.findendro.protocol_parts import OUTCOMES, PROMPTS, TEXTS

Scoring = Literal["anachron", "likelihood", "texts", "texts_raw"]
"""The letter given; the letter that the first token makes most likely; the option whose text is most likely, by its
mean log-probability per byte and by its sum."""
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

NUMERIC, UNCONTROLLED, POLICY = 0, 1, 2
"""Classes; policy outcomes follow as POLICY + place in `OUTCOMES`."""
CLASSES = POLICY + len(OUTCOMES)


@dataclass(frozen=True)
class Grid:
    """The facts, shape (facts,) each.

    Attributes
    ----------
    items
        Names.
    quarter, period
        Places among `quarters` and among the protocol's periods.
    klass
        See the module.
    series
        Place among `series`: macro series, then "stock", then "policy".
    truth
        Place of the true candidate.
    first_quarter
        Running number of the first quarter.
    quarters
        How many quarters there are, empty ones included.
    baseline
        Whether a fact lies in the baseline window.
    """

    items: list[str]
    quarter: Ints
    period: Ints
    klass: Ints
    series_of: Ints
    series: list[str]
    truth: Ints
    first_quarter: int
    quarters: int
    baseline: Bools

    def __len__(self) -> int:
        return len(self.items)

    @property
    def controlled(self) -> Bools:
        """Whether a fact counts toward knowledge."""
        return np.asarray(self.klass != UNCONTROLLED)


@dataclass(frozen=True)
class Arm:
    """What a model answered in one arm, shape (facts,) each: a fact not asked is false in all of them."""

    asked: Bools
    right: Bools
    says: Bools
    denies: Bools
    letter: Ints
    """Place of the option chosen; −1 for none."""
    options: int
    """Most options that a fact of this arm has."""


def grid_of(facts: pd.DataFrame, protocol: Protocol, tier: Tier) -> Grid:
    """Return the facts that a tier asks about (see `Grid`).

    Raises
    ------
    ContractError
        When the tier asks about none of the facts.
    """
    asked = facts[facts["missing"].isna() & (facts["family"] != "cutoff")]
    if tier == "reduced":
        asked = asked[[protocol.reduced(item) for item in asked["item"]]]
    if asked.empty:
        raise ContractError(
            f"no fact of protocol {protocol.name} is asked in tier {tier}: the sources hold none of the sample"
        )
    months = asked["month"].to_numpy(dtype=str)
    truth, near = (asked[name].fillna(-1).to_numpy(dtype=np.intp) for name in ("truth", "nearest"))
    family = asked["family"].to_numpy(dtype=str)
    klass = np.where((near >= 0) & (near != truth), NUMERIC, UNCONTROLLED)
    klass = np.where(family == "policy", POLICY + truth, klass)
    quarters = np.array([quarter(month) for month in months], dtype=np.intp)
    order = np.lexsort((asked["item"].to_numpy(dtype=str), klass, quarters))
    series = [entry.id for entry in protocol.series] + ["stock", "policy"]
    named = np.where(family == "macro", asked["name"].to_numpy(dtype=str), family)
    place = {name: at for at, name in enumerate(series)}
    starts = np.array([ordinal(month) for month in period_starts(protocol)])
    numbers = np.array([ordinal(month) for month in months])
    low, high = ordinal(protocol.baseline.start), ordinal(protocol.baseline.end)
    first = quarter(protocol.dates.start)
    return Grid(
        items=asked["item"].to_numpy(dtype=object)[order].tolist(),
        quarter=quarters[order] - first,
        period=(np.searchsorted(starts, numbers, side="right") - 1)[order],
        klass=klass[order],
        series_of=np.array([place[name] for name in named])[order],
        series=series,
        truth=truth[order],
        first_quarter=first,
        quarters=quarter(protocol.dates.end) - first + 1,
        baseline=((numbers >= low) & (numbers <= high))[order],
    )


def period_starts(protocol: Protocol) -> list[str]:
    """Return the first months of all periods: those of the protocol, then every half-year."""
    last = protocol.periods[-1]
    later = [month for month in months_between(last, protocol.dates.end) if month[5:7] in ("01", "07")]
    return [*protocol.periods[:-1], *(later or [last])]


def arms_of(answers: pd.DataFrame, grid: Grid, scoring: Scoring, policy: str) -> dict[str, Arm]:
    """Return what a model answered, by arm; arms without answers are left out.

    Under the scorings of texts an arm is named as the prompt whose question it puts, and an option's place among the
    options in order stands for its letter.
    """
    prefix = "likely_" if scoring == "likelihood" else ""
    if scoring in ("texts", "texts_raw"):
        answers = likeliest_texts(answers, policy, raw=scoring == "texts_raw")
    place = {item: at for at, item in enumerate(grid.items)}
    found: dict[str, Arm] = {}
    for arm, part in answers.groupby("arm", sort=True):
        if arm not in PROMPTS:
            continue
        where = part["item"].map(place)
        known = where.notna().to_numpy()
        if not known.any():
            continue
        at: Ints = np.asarray(where[known].to_numpy(), dtype=np.intp)
        found[str(arm)] = _arm(part[known], at, grid, prefix, str(arm))
    return found


def likeliest_texts(answers: pd.DataFrame, policy: str, *, raw: bool) -> pd.DataFrame:
    """Return the option whose text is most likely, one row per item and prompt, with the columns of a given letter.

    Parameters
    ----------
    answers
        The parser's `Contract`.
    policy
        Name of the policy fact, which has fewer candidates than the others.
    raw
        Whether the sum of the log-probabilities decides; else their mean per byte.

    Returns
    -------
    DataFrame
        Columns arm (a prompt), item, letter, candidate, knows; no choice where an option was not scored, or two are
        the likeliest.
    """
    asked = answers[answers["arm"].isin(list(TEXTS)) & (answers["duplicate"] == 0)]
    length = 1.0 if raw else asked["text_bytes"].astype("float64")
    scored = asked.assign(score=asked["text_logprob"] / length).sort_values(["arm", "item", "rep"])
    rows: list[tuple[object, ...]] = []
    for place, part in scored.groupby(["arm", "item"], sort=False):
        arm, item = map(str, place)
        offered = len(in_order(arm, candidate_count(item, policy)))
        choice = likeliest(part["score"].to_numpy(dtype=float), part["rep"].tolist(), offered)
        if choice is None:
            rows.append((TEXTS[arm], item, None, None, None))
        else:
            candidate, knows = in_order(arm, candidate_count(item, policy))[choice]
            rows.append((TEXTS[arm], item, LETTERS[choice], candidate, knows))
    found = pd.DataFrame(rows, columns=["arm", "item", "letter", "candidate", "knows"])
    return found.astype({"candidate": "Int64", "knows": "boolean"})


def likeliest(scores: NDArray[np.float64], reps: list[int], offered: int) -> int | None:
    """Return the place of the highest score; None where two are highest, or one of those offered has none."""
    if reps != list(range(offered)) or np.isnan(scores).any():
        return None
    best = np.flatnonzero(scores == scores.max())
    return int(best[0]) if len(best) == 1 else None


def _arm(part: pd.DataFrame, at: Ints, grid: Grid, prefix: str, arm: str) -> Arm:
    size = len(grid)
    asked, says, denies = (np.zeros(size, dtype=bool) for _ in range(3))
    letter, candidate = np.full(size, -1), np.full(size, -1)
    asked[at] = True
    candidate[at] = part[f"{prefix}candidate"].fillna(-1).to_numpy(dtype=np.intp)
    knows = part[f"{prefix}knows"].astype("Int8").fillna(-1).to_numpy(dtype=np.intp)
    says[at], denies[at] = knows == 1, knows == 0
    named = part[f"{prefix}letter"].fillna("").tolist()
    chose = candidate[at] >= 0
    letter[at] = [LETTERS.index(one) if ok else -1 for one, ok in zip(named, chose, strict=True)]
    right = (candidate == grid.truth) & asked
    return Arm(asked, right, says, denies, letter, 4 if arm == "value" else 8)


def scorings_of(answers: pd.DataFrame) -> list[Scoring]:
    """Return the scorings that a model's answers allow."""
    texts = answers["arm"].isin(list(TEXTS)).any()
    found: list[Scoring] = [] if texts and not answers["arm"].isin(PROMPTS).any() else ["anachron"]
    if answers["likely_letter"].notna().any():
        found.append("likelihood")
    return [*found, "texts", "texts_raw"] if texts else found


def chance_of(
    numeric: NDArray[np.float64] | float, policy: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the share that blind guessing gets right: a quarter of numerical facts, a third of policy facts."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (np.asarray(numeric) / 4 + np.asarray(policy) / len(OUTCOMES)) / (
            np.asarray(numeric) + np.asarray(policy)
        )
    return np.asarray(found, dtype=float)
