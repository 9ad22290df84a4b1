"""Forecasts with planted leakage: the synthetic study T1 to T6, and panels for studies of size and power.

All arms share one way of making forecasts: a crowd probability c ~ U(0.15, 0.85), an outcome Y ~ Bernoulli(c), an
honest forecast that is better than the crowd by a skill and noisier by a little, and a pull towards the outcome
by the extraction weight. Scores are crowd-anchored reductions of squared error. Arms return one value a replicate;
arrays are (replicates, questions).

Source: the paper, §E.1 to §E.3; the suite's specification, Synthetic validation, where its choices stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anachron.stats.gaps import Floats
from anachron.stats.local_linear import local_linear_jumps
from anachron.stats.recalibrate import EDGE, apply, expit, fit, logit

SKILL = 0.3
NOISE = 0.05
# The overconfident forecasts of T4 come as close as 1e-12 to 0 and 1, and are not rounded.
UNROUNDED = 1e-15


class Questions(NamedTuple):
    """Crowd probability, outcome, and honest forecast, each of one shape."""

    crowd: Floats
    outcome: Floats
    honest: Floats


class Recovery(NamedTuple):
    """T1, per replicate: estimate, its interval, and the inflation of the replicate's own questions."""

    estimate: Floats
    low: Floats
    high: Floats
    own: Floats


class Complementarity(NamedTuple):
    """T3, per replicate: covariance without and with the finite-K term, and the leakage score."""

    covariance: Floats
    corrected: Floats
    score: Floats


class Panel(NamedTuple):
    """One backtest: days to the cutoff, crowd, outcome, honest forecast, forecast, cluster."""

    days: Floats
    crowd: Floats
    outcome: Floats
    honest: Floats
    forecast: Floats
    cluster: Floats

    @property
    def score(self) -> Floats:
        """Crowd-anchored reduction of squared error."""
        return brier_reduction(self.crowd, self.forecast, self.outcome)


def questions(
    generator: np.random.Generator,
    shape: tuple[int, ...],
    skill: float | Floats = SKILL,
    noise: float = NOISE,
) -> Questions:
    """Draw questions; `skill` is the share of the crowd's error that the honest forecast does away with."""
    crowd = generator.uniform(0.15, 0.85, shape)
    outcome = (generator.random(shape) < crowd).astype(float)
    honest = crowd + skill * (outcome - crowd) + generator.normal(0, noise, shape)
    return Questions(crowd, outcome, held(honest))


def held(forecast: Floats) -> Floats:
    """Return forecasts held a thousandth away from 0 and 1."""
    return np.clip(forecast, EDGE, 1 - EDGE)


def pulled(honest: Floats, outcome: Floats, weight: float | NDArray[np.floating[Any]]) -> Floats:
    """Return (1 - w) P0 + w Y, unclipped."""
    return np.asarray((1 - weight) * honest + weight * outcome)


def brier_reduction(crowd: Floats, forecast: Floats, outcome: Floats) -> Floats:
    """Return (c - Y)² - (P - Y)²; higher is better."""
    return np.asarray((crowd - outcome) ** 2 - (forecast - outcome) ** 2)


def recovery(
    seed: int, weights: Sequence[float], *, replicates: int = 300, n: int = 400, draws: int = 200
) -> dict[float, Recovery]:
    """T1: does the difference of leaked and clean scores recover the inflation, and its interval hold it.

    All weights share their questions and their resamples (problems, `draws` of each group).
    """
    generator = np.random.default_rng(seed)
    leaked, clean = questions(generator, (replicates, n)), questions(generator, (replicates, n))
    clean_score = brier_reduction(clean.crowd, clean.honest, clean.outcome)
    forecasts = [held(pulled(leaked.honest, leaked.outcome, weight)) for weight in weights]
    scores = np.stack([brier_reduction(leaked.crowd, one, leaked.outcome) for one in forecasts])
    estimates = scores.mean(axis=2) - clean_score.mean(axis=1)
    drawn = np.empty((len(weights), replicates, draws))
    for place in range(replicates):
        counts = [_counts(generator, draws, n) for _ in range(2)]
        drawn[:, place] = (scores[:, place] @ counts[0].T - clean_score[place] @ counts[1].T) / n
    low, high = np.percentile(drawn, [2.5, 97.5], axis=2)
    honest_loss = (leaked.honest - leaked.outcome) ** 2
    own = [(honest_loss - (one - leaked.outcome) ** 2).mean(axis=1) for one in forecasts]
    return {
        weight: Recovery(estimates[place], low[place], high[place], own[place])
        for place, weight in enumerate(weights)
    }


def population_inflation(seed: int, weight: float, n: int = 2_000_000) -> float:
    """Return the inflation of the population that T1 draws from, by `n` questions."""
    drawn = questions(np.random.default_rng(seed), (n,))
    forecast = held(pulled(drawn.honest, drawn.outcome, weight))
    return float(np.mean((drawn.honest - drawn.outcome) ** 2 - (forecast - drawn.outcome) ** 2))


def jumps(
    seed: int, weight: float, *, replicates: int = 300, n: int = 1500, half_width: float = 120
) -> Floats:
    """T2: the jump at the cutoff where skill falls off on either side of it and only the older side leaks.

    Weight 0 is the placebo: recency without leakage.
    """
    generator = np.random.default_rng(seed)
    days = generator.uniform(-180, 180, (replicates, n))
    drawn = questions(generator, (replicates, n), skill=recency(days))
    forecast = held(pulled(drawn.honest, drawn.outcome, weight * (days < 0)))
    return local_linear_jumps(days, -((forecast - drawn.outcome) ** 2), half_width)


def recency(days: Floats) -> Floats:
    """Return a skill that is 0.4 at the cutoff and falls by 0.25 over 180 days on either side, without a jump."""
    return np.asarray(0.4 - 0.25 * np.abs(days) / 180)


def complementarity(
    seed: int,
    weight: float,
    *,
    replicates: int = 100,
    n: int = 8000,
    paraphrases: int = 12,
    spread: float = 0.12,
) -> Complementarity:
    """T3: residual covariance and leakage score of the mean over paraphrases; the honest forecast is the crowd's."""
    generator = np.random.default_rng(seed)
    found = np.empty((3, replicates))
    for place in range(replicates):
        drawn = questions(generator, (n,), skill=0.0, noise=0.0)
        wording = drawn.crowd[:, None] + generator.normal(0, spread, (n, paraphrases))
        forecast = np.clip(pulled(wording, drawn.outcome[:, None], weight), 0, 1)
        mean = forecast.mean(axis=1)
        covariance = np.cov(mean, drawn.outcome - mean)[0, 1]
        corrected = covariance + forecast.var(axis=1, ddof=1).mean() / paraphrases
        found[:, place] = covariance, corrected, brier_reduction(drawn.crowd, mean, drawn.outcome).mean()
    return Complementarity(*found)


def overconfidence(
    seed: int,
    temperature: float,
    anchors: int | None,
    *,
    replicates: int = 200,
    n: int = 600,
    weight: float = 0.8,
) -> Floats:
    """T4: the error of the difference of leaked and clean scores under overconfidence.

    Parameters
    ----------
    temperature
        Factor on the logits of what is reported.
    anchors
        Size of the leakage-free set that the temperature is fitted on; None reports without calibration.
    """
    generator = np.random.default_rng(seed)
    errors = np.empty(replicates)
    for place in range(replicates):
        leaked, clean = (questions(generator, (n,), skill=0.0, noise=0.0) for _ in range(2))
        forecast = pulled(leaked.crowd, leaked.outcome, weight)
        own = np.mean((leaked.crowd - leaked.outcome) ** 2 - (forecast - leaked.outcome) ** 2)
        reported = [expit(temperature * logit(one, UNROUNDED)) for one in (forecast, clean.crowd)]
        if anchors is not None:
            known = questions(generator, (anchors,), skill=0.0, noise=0.0)
            stated = expit(temperature * logit(known.crowd, UNROUNDED))
            calibrator = fit("temperature", stated, known.outcome, edge=UNROUNDED)
            reported = [apply(calibrator, one) for one in reported]
        gains = [
            brier_reduction(group.crowd, one, group.outcome).mean()
            for group, one in zip((leaked, clean), reported, strict=True)
        ]
        errors[place] = gains[0] - gains[1] - own
    return errors


def no_free_inflation(seed: int, spread: float, *, replicates: int = 300, n: int = 400) -> Floats:
    """T5: the estimate where noise on the logit, independent of the outcome, stands in for leakage."""
    generator = np.random.default_rng(seed)
    noisy, clean = questions(generator, (replicates, n)), questions(generator, (replicates, n))
    forecast = expit(logit(noisy.honest) + generator.normal(0, spread, (replicates, n)))
    gained = brier_reduction(noisy.crowd, forecast, noisy.outcome).mean(axis=1)
    return np.asarray(gained - brier_reduction(clean.crowd, clean.honest, clean.outcome).mean(axis=1))


def concentration(
    seed: int, *, replicates: int = 300, n: int = 4000, weight: float = 0.5
) -> tuple[Floats, Floats]:
    """T6: estimate and prediction b0 w (2 - w) by quartile of the crowd's surprise (c - Y)².

    Quartiles are cut on leaked and clean questions together; a surprise on a cut belongs to the lower one.

    Returns
    -------
    tuple of ndarray
        Both of shape (replicates, 4).
    """
    generator = np.random.default_rng(seed)
    observed, predicted = np.empty((replicates, 4)), np.empty((replicates, 4))
    for place in range(replicates):
        leaked, clean = questions(generator, (n,)), questions(generator, (n,))
        forecast = held(pulled(leaked.honest, leaked.outcome, weight))
        surprise = [(one.crowd - one.outcome) ** 2 for one in (leaked, clean)]
        cuts = np.quantile(np.concatenate(surprise), [0.25, 0.5, 0.75])
        strata = [np.searchsorted(cuts, one, side="left") for one in surprise]
        means = [
            _means(strata[0], brier_reduction(leaked.crowd, forecast, leaked.outcome)),
            _means(strata[1], brier_reduction(clean.crowd, clean.honest, clean.outcome)),
            _means(strata[0], (leaked.honest - leaked.outcome) ** 2 * weight * (2 - weight)),
        ]
        observed[place], predicted[place] = means[0] - means[1], means[2]
    return observed, predicted


def panel(
    generator: np.random.Generator,
    *,
    n: int = 1500,
    weight: float = 0.0,
    sources: int = 4,
    days_a_cluster: int = 7,
    cluster_spread: float = 0.0,
    reach: int = 180,
    drift: float = 0.0,
) -> Panel:
    """Draw a backtest with recency, whole days, clusters that share luck, and leakage before day 0.

    Parameters
    ----------
    sources, days_a_cluster
        A cluster is one source in so many consecutive days; none spans the cutoff.
    cluster_spread
        Standard deviation of the skill that the questions of a cluster share, beyond recency.
    drift
        How much better (in skill) the honest forecast is at the old end of the panel than at the new one: a
        straight line in time, which moves gaps and makes no jump.
    """
    days = np.floor(generator.uniform(-reach, reach, n))
    span = np.floor(days / days_a_cluster)
    cluster = (span - span.min()) * sources + generator.integers(0, sources, n)
    luck = generator.normal(0, cluster_spread, int(cluster.max()) + 1)[cluster.astype(int)]
    drawn = questions(generator, (n,), skill=recency(days) - drift * days / (2 * reach) + luck)
    forecast = held(pulled(drawn.honest, drawn.outcome, weight * (days < 0)))
    return Panel(days, *drawn, forecast, cluster)


def _counts(generator: np.random.Generator, draws: int, n: int) -> Floats:
    """Return how often each of `n` problems is taken in each draw."""
    taken = generator.integers(0, n, (draws, n)) + np.arange(draws)[:, None] * n
    return np.bincount(taken.ravel(), minlength=draws * n).reshape(draws, n).astype(float)


def _means(strata: Floats | np.ndarray, values: Floats) -> Floats:
    return np.asarray(np.bincount(strata, values, minlength=4) / np.bincount(strata, minlength=4))
