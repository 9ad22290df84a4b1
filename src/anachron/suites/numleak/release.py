"""Where a model stops giving values of recent months: an end beside those that other suites measure.

Source: NumLeak, recent releases; specification "The row, the leaderboard, the page", "Cutoffs side by side".
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anachron.estimates import Estimate, Gate, Interval
from anachron.suites.numleak import naming
from anachron.suites.numleak.sheets import SCORED

METRIC = f"{naming.RECENT}.{naming.MARKET}.end"
FEWEST_MONTHS = 10
DRAWS, SEED, LEVEL = 999, 42, 0.95
METHOD = "splits that a permutation of the months on either side does not refute"

Numbers = NDArray[np.float64]


def release_end(answers: pd.DataFrame, scoring: str) -> list[Estimate]:
    """Return the last recent month for which a model gives values of the market, and the months it may be.

    The months are split where answers before and after differ most in how many hold a number (likelihood ratio). An
    end is seen only where this is more than the same answers show in a random order of months (gate `r`): one
    who gives numbers throughout, or declines throughout, shows none. The interval holds each split that the
    order of the answers on its two sides does not refute, which is an exact test whatever the two shares are.

    Parameters
    ----------
    answers
        The parser's `Contract`, one model.
    scoring
        Whose reading counts as a number.

    Returns
    -------
    list of Estimate
        None where the arm was not asked.
    """
    part = answers[answers["arm"] == naming.RECENT]
    part = part[[naming.series_of(item) == naming.MARKET for item in part["item"]]]
    if part.empty:
        return []
    months = np.array([naming.month_of(item) for item in part["item"]])
    held = np.isfinite(part[SCORED[scoring]].to_numpy(float))
    names, at = np.unique(months, return_inverse=True)
    asked = np.bincount(at).astype(float)
    given = np.bincount(at, weights=held).astype(float)
    count = len(names)
    enough = Gate(
        "n", count >= FEWEST_MONTHS, count, FEWEST_MONTHS,
        f"{count} recent months were asked; at least {FEWEST_MONTHS} are needed",
    )  # fmt: skip
    if count < FEWEST_MONTHS:
        return [Estimate(METRIC, "month", None, int(asked.sum()), gates=(enough,))]
    ratios = split_ratios(given[None, :], asked)[0]
    best = int(ratios.argmax())
    p = _share_as_large(_shuffled(given, asked, [count]).max(axis=1), ratios[best])
    share, level = given.sum() / asked.sum(), 1 - LEVEL
    seen = Gate(
        "r", bool(ratios[best] > 0 and p <= level), p, level,
        f"numbers in {share:.0%} of the recent answers, {names[0]} to {names[-1]}, and no month after which they are "
        f"fewer than in a random order (p = {p:.3f}; at most {level:.2f} is needed)"
        if p > level or ratios[best] <= 0
        else f"numbers become fewer after a month (p = {p:.3f}; at most {level:.2f} is needed)",
    )  # fmt: skip
    kept = [best] if not seen.passed else _accepted(given, asked, ratios)
    ends = Interval(
        str(names[min(kept)]), str(names[max(kept)]), METHOD, LEVEL, draws=DRAWS, valid_draws=DRAWS, seed=SEED
    )
    return [
        Estimate(METRIC, "month", str(names[best]), int(asked.sum()), interval=ends, gates=(enough, seen))
    ]


def split_ratios(given: Numbers, asked: Numbers) -> Numbers:
    """Return twice the log-likelihood ratio of a fall after each month but the last; 0 where numbers rise.

    Parameters
    ----------
    given
        Shape (orders, months): answers with a number.
    asked
        Answers by month.
    """
    before, all_given = given.cumsum(axis=1)[:, :-1], given.sum(axis=1, keepdims=True)
    n_before, n = asked.cumsum()[:-1], asked.sum()
    after, n_after = all_given - before, n - n_before
    gain = _loglik(before, n_before) + _loglik(after, n_after) - _loglik(all_given, n)
    return np.asarray(np.where(before / n_before > after / n_after, 2 * gain, 0.0))


def _loglik(hits: Numbers, n: Numbers | float) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hits / n
        terms = [np.where(x > 0, x * np.log(q), 0.0) for x, q in ((hits, share), (n - hits, 1 - share))]
    return np.asarray(terms[0] + terms[1])


def _accepted(given: Numbers, asked: Numbers, ratios: Numbers) -> list[int]:
    """Return the months after which a fall is not refuted, the best one among them."""
    kept = [int(ratios.argmax())]
    for place in range(len(ratios)):
        made = _shuffled(given, asked, [place + 1, len(given)])
        lacking = float(ratios.max() - ratios[place])
        if _share_as_large(made.max(axis=1) - made[:, place], lacking) > 1 - LEVEL:
            kept.append(place)
    return kept


def _shuffled(given: Numbers, asked: Numbers, parts: list[int]) -> Numbers:
    """Return the ratios of random orders of the months within parts that end before the given places."""
    chance = np.random.default_rng(SEED)
    orders, start = np.empty((DRAWS, len(given)), int), 0
    for end in parts:
        orders[:, start:end] = start + chance.random((DRAWS, end - start)).argsort(axis=1)
        start = end
    # Months were asked alike but for records with gaps, whose answers keep their number of samples.
    shares = (given / asked)[orders] * asked
    return split_ratios(shares, asked)


def _share_as_large(found: Numbers, figure: float) -> float:
    return float((1 + (found >= figure - 1e-9).sum()) / (1 + len(found)))
