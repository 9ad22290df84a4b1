"""Distributions of a planted respondent's counts, enumerated: what `planted_truth` takes expectations of.

Departures are uniform; the probabilities that depend on them are polynomials in them, which Gauss–Legendre
rules of enough nodes integrate exactly.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from anachron.suites.hindsightbench.planted_parameters import Parameters
from anachron.suites.hindsightbench.protocol import Protocol

Floats = NDArray[np.float64]
Scoring = Literal["anachron", "bm1"]


def slot_distribution(parameters: Parameters, protocol: Protocol, scoring: Scoring) -> Floats:
    """Return P(an answer yields 0, 1, …, `sketches` sketches that a parser can reach)."""
    form, most = parameters.form, protocol.sketches
    chances = np.zeros(most + 1)
    chances[0] = form.refusal + form.empty
    if scoring == "bm1":
        chances[0] += form.unterminated + form.truncated
    else:
        chances[:most] += form.truncated / most
    chances[most] = 1 - chances.sum()
    return chances


def valid_distribution(parameters: Parameters, slots: Floats, answers: int) -> Floats:
    """Return P(a date's `answers` answers hold 0, 1, … valid sketches)."""
    reached = np.array([1.0])
    for _ in range(answers):
        reached = np.convolve(reached, slots)
    valid = np.zeros_like(reached)
    for count, chance in enumerate(reached):
        if chance:
            valid[: count + 1] += chance * binomial(count, parameters.form.compliance)
    return valid


@lru_cache(maxsize=4096)
def net_direction(claim: float, width: float, up: float, reps: int) -> tuple[float, float]:
    """Return P(more down than up) and P(more up than down) among `reps` answers."""
    low = high = 0.0
    for chance, weight in zip(*uniform_nodes(claim, width, reps), strict=True):
        for count, share in enumerate(binomial(reps, float(chance))):
            ups = binomial(count, up)
            places = 2 * np.arange(count + 1) - count
            low += weight * share * ups[places < 0].sum()
            high += weight * share * ups[places > 0].sum()
    return float(low), float(high)


@lru_cache(maxsize=65536)
def net_signal(share: float, context: float, stated: float, valid_bytes: bytes) -> tuple[float, float]:
    """Return P(net −) and P(net +) of a date's sketches, over its two departures."""
    valid = np.frombuffer(valid_bytes)
    first, first_weight = uniform_nodes(share, context, len(valid))
    step, step_weight = uniform_nodes(0.0, stated, len(valid))
    shares = np.clip((first[:, None] + step[None, :]).ravel(), 0, 1)
    weights = (first_weight[:, None] * step_weight[None, :]).ravel()
    minus, plus = _net_signs(valid_bytes)
    most = len(valid) - 1
    powers = shares[:, None] ** np.arange(most + 1), (1 - shares[:, None]) ** np.arange(most + 1)
    both = powers[0][:, :, None] * powers[1][:, None, :]
    return float(weights @ np.einsum("nij,ij->n", both, minus)), float(
        weights @ np.einsum("nij,ij->n", both, plus)
    )


@lru_cache(maxsize=64)
def _net_signs(valid_bytes: bytes) -> tuple[Floats, Floats]:
    """Return the weights of p^i (1−p)^j in P(net −) and P(net +), i bearish and j bullish sketches."""
    valid = np.frombuffer(valid_bytes)
    most = len(valid) - 1
    minus, plus = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    for count, chance in enumerate(valid):
        for bearish in range(count + 1):
            into = minus if 2 * bearish > count else plus
            if 2 * bearish != count:
                into[bearish, count - bearish] += chance * comb(count, bearish)
    return minus, plus


@lru_cache(maxsize=65536)
def _binomial(count: int, share: float) -> Floats:
    places = np.arange(count + 1)
    ways = np.array([comb(count, int(place)) for place in places], dtype=float)
    return np.asarray(ways * share**places * (1 - share) ** (count - places))


def binomial(count: int, share: float) -> Floats:
    """Return P(0), …, P(count) of a binomial."""
    return _binomial(count, min(max(share, 0.0), 1.0))


@lru_cache(maxsize=256)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return np.asarray(points), np.asarray(weights / 2)


def uniform_nodes(middle: float, half_width: float, degree: int) -> tuple[Floats, Floats]:
    """Return nodes and weights that integrate polynomials of a degree over a uniform variable, exactly."""
    if half_width == 0:
        return np.array([middle]), np.array([1.0])
    points, weights = _legendre(degree // 2 + 1)
    return middle + half_width * points, weights
