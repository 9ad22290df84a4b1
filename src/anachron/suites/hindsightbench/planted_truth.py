"""What the estimators should find on a planted respondent: exact expectations, none of them simulated.

Truth is of the population a respondent belongs to: its departures per date, months known and answers are all
redrawn. A share of pooled counts is the ratio of the expectations of its two counts. Where an estimator is
not linear in counts, the distribution of the counts is enumerated, and departures are integrated by
Gauss–Legendre rules that are exact for the polynomials at hand.

Source: the suite's specification, "Metrics"; DESIGN, law 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from anachron.suites.hindsightbench.planted import Parameters, bearish_share
from anachron.suites.hindsightbench.planted_chances import (
    Floats,
    Scoring,
    net_direction,
    net_signal,
    slot_distribution,
    uniform_nodes,
    valid_distribution,
)
from anachron.suites.hindsightbench.protocol import Protocol, Tier

TRUTH_DECIMALS = 10


def truth(
    parameters: Parameters,
    protocol: Protocol,
    world: Mapping[str, int],
    tier: Tier = "full",
    scoring: Scoring = "anachron",
) -> dict[str, float | str]:
    """Return the expected value of every metric that a planted respondent has one for.

    Parameters
    ----------
    parameters, protocol
        The respondent and its task.
    world
        Realised direction (+1, −1) per decision date.
    tier
        The protocol tier it is asked on.
    scoring
        Whose definitions. `bm1` drops unterminated and truncated answers whole (VALID, δ), and takes recall for
        real where more than a fixed share of it is right: its cutoff, and the windows that follow from it, exist
        for a guesser who is often right, and not for one who knows but is often wrong. It has no kappa and no
        share over all REC answers.

    Returns
    -------
    dict
        Metric name to value: shares and share differences as fractions, the cutoff as a month. `cutoff` and
        the model-relative placebo are left out where there is none (`anachron`: for a respondent that knows
        nothing); δ where its regression is not identified in expectation.
    """
    found: dict[str, float | str] = {}
    found |= _gaps(parameters, protocol, world, tier)
    recalled = _recall(parameters, protocol, world, tier)
    cutoff = scored_cutoff(parameters, protocol, scoring, recalled.get("hit_rate"))
    found |= (
        recalled
        | _placebo(parameters, protocol, world, cutoff)
        | _recovery(parameters, protocol, tier, cutoff)
    )
    if cutoff is not None:
        found["cutoff"] = cutoff
    slots = slot_distribution(parameters, protocol, scoring)
    mean_slots = float(slots @ np.arange(len(slots)))
    found["VALID"] = parameters.form.compliance * mean_slots / protocol.sketches
    delta = _delta(parameters, protocol, world, tier, slots)
    if delta is not None:
        found["delta"] = delta
    if scoring == "bm1":
        found = {name: value for name, value in found.items() if _published(name, found)}
    return {name: _settled(value) for name, value in sorted(found.items())}


def _settled(value: float | str) -> float | str:
    """Return a value without the last digits of its arithmetic, in which two processors may differ."""
    return value if isinstance(value, str) else round(value, TRUTH_DECIMALS) + 0.0


def expected_share(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], arm: str, dates: Iterable[str]
) -> float:
    """Return the expected pooled bearish share of an arm over dates; NaN over none.

    Every answer has as many valid sketches in expectation as any other, so this is the mean of the dates'
    shares, and departures (of mean zero) drop out.
    """
    shares = [
        bearish_share(
            parameters,
            protocol,
            arm,
            date,
            stated_date(protocol, arm, date),
            parameters.recall.claim_at(date[:7])[0],
            world.get(date, 0),
        )
        for date in dates
    ]
    return float(np.mean(shares)) if shares else float("nan")


def stated_date(protocol: Protocol, arm: str, date: str) -> str | None:
    """Return the date that a prompt of an arm states, None where it states none."""
    if arm == "M":
        return None
    if arm in ("W", "W72"):
        return _fakes(protocol, arm)[date]
    return date


def _fakes(protocol: Protocol, arm: str) -> dict[str, str]:
    shift = protocol.shift.months if arm == "W" else protocol.shift.alternative_months
    key = (tuple(protocol.decision_dates), len(protocol.pre_dates), shift, protocol.sha256)
    if key not in _FAKES:
        _FAKES[key] = protocol.fake_dates(shift)
    return _FAKES[key]


_FAKES: dict[object, dict[str, str]] = {}


def _gaps(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], tier: Tier
) -> dict[str, float | str]:
    asked = set(protocol.tier_dates(tier))
    crisis = [date for date in protocol.crisis_dates if date in asked]
    calm = [date for date in protocol.calm_dates if date in asked]

    def gap(arm: str, high: Sequence[str], low: Sequence[str]) -> float:
        return expected_share(parameters, protocol, world, arm, high) - expected_share(
            parameters, protocol, world, arm, low
        )

    found: dict[str, float | str] = {f"gap.{arm}": gap(arm, crisis, calm) for arm in ("R", "D", "M")}
    found["E1"] = float(found["gap.R"]) - float(found["gap.D"])
    found["E2"] = float(found["gap.D"]) - float(found["gap.M"])
    for arm, metric in (("W", "E3"), ("W72", "E3_72")):
        if not protocol.arms[arm].reps[tier]:  # type: ignore[index]
            continue
        fakes = _fakes(protocol, arm)
        pre = [date for date in protocol.pre_dates if date in asked]
        fake = gap(
            arm,
            [date for date in pre if fakes[date] in set(protocol.crisis_dates)],
            [date for date in pre if fakes[date] in set(protocol.calm_dates)],
        )
        true = gap(arm, crisis, calm)
        found |= {f"gap.{arm}.fake": fake, f"gap.{arm}.true": true, metric: fake - true}
    return {name: value for name, value in found.items() if value == value}


def _placebo(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], cutoff: str | None
) -> dict[str, float | str]:
    def placebo(dates: Sequence[str]) -> float:
        return expected_share(parameters, protocol, world, "D", dates) - expected_share(
            parameters, protocol, world, "M", dates
        )

    found: dict[str, float | str] = {}
    if protocol.placebo_dates:
        found["P1.calendar"] = found["P1"] = placebo(protocol.placebo_dates)
    if cutoff is not None and cutoff >= protocol.dates.placebo_start:
        after = [date for date in protocol.post_dates if date[:7] > cutoff]
        if after:
            found["P1.relative"] = found["P1"] = placebo(after)
    return found


def cutoff_month(parameters: Parameters, protocol: Protocol, threshold: float | None = None) -> str | None:
    """Return the last month whose expected recall share exceeds the threshold; None if it knows nothing."""
    if parameters.recall.cutoff is None or parameters.recall.knows == 0:
        return None
    return _last_claimed(parameters, protocol, protocol.lap.threshold if threshold is None else threshold)


def _published(metric: str, found: Mapping[str, float | str]) -> bool:
    """Whether `bm1` has a metric: a year is read there from answers that name a month."""
    if metric.endswith(".year"):
        return f"{metric.removesuffix('year')}month" in found
    return metric != "kappa" and not metric.endswith("year_all")


def scored_cutoff(
    parameters: Parameters, protocol: Protocol, scoring: Scoring, hit_rate: float | str | None
) -> str | None:
    """Return the cutoff by a scoring's definition; None where it has none.

    `anachron` asks whether recall is told from guessing, which any that knows something passes given enough
    months; `bm1` whether the expected hit rate exceeds its bound.
    """
    if scoring == "anachron":
        return cutoff_month(parameters, protocol)
    if not isinstance(hit_rate, float) or hit_rate <= protocol.gates.hit_rate:
        return None
    return _last_claimed(parameters, protocol, protocol.lap.threshold)


def _last_claimed(parameters: Parameters, protocol: Protocol, bound: float) -> str | None:
    recalled = [month for month in protocol.months if _claim(parameters, month) > bound]
    return recalled[-1] if recalled else None


def _claim(parameters: Parameters, month: str) -> float:
    """Return the expected share of answers that claim an outcome, answers without a direction included."""
    return parameters.recall.claim_at(month)[0] * (1 - parameters.form.lap_invalid)


def _recall(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], tier: Tier
) -> dict[str, float | str]:
    asked = set(protocol.tier_dates(tier, "LAP"))
    pre = [date for date in protocol.pre_dates if date in asked]
    post = [date for date in protocol.post_dates if date in asked]
    found: dict[str, float | str] = {
        "LAP.pre": float(np.mean([_claim(parameters, date[:7]) for date in pre]))
    }
    if post:
        found["LAP.post"] = float(np.mean([_claim(parameters, date[:7]) for date in post]))
    table = _confusion(parameters, protocol, world, pre, protocol.arms["LAP"].reps[tier])
    total = table.sum()
    if total > 0:
        agree = float(np.trace(table) / total)
        chance = float(table.sum(0) @ table.sum(1) / total**2)
        found["hit_rate"] = agree
        if chance < 1:
            found["kappa"] = (agree - chance) / (1 - chance)
    return found


def _confusion(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], dates: Sequence[str], reps: int
) -> Floats:
    """Return expected counts of months by net recalled direction (rows down, up) and realised (columns)."""
    recall, table = parameters.recall, np.zeros((2, 2))
    heard = 1 - parameters.form.lap_invalid
    for date in dates:
        realised = world.get(date, 0)
        if not realised:
            continue
        mean, width = recall.claim_at(date[:7])
        knows = recall.knows if recall.familiar(date) else 0.0
        right = recall.accuracy if realised > 0 else 1 - recall.accuracy
        for weight, up in ((knows, right), (1 - knows, recall.guess_up)):
            net = net_direction(mean * heard, width * heard, up, reps)
            table[:, int(realised > 0)] += weight * np.array(net)
    return table


def _recovery(
    parameters: Parameters, protocol: Protocol, tier: Tier, cutoff: str | None
) -> dict[str, float | str]:
    part = parameters.recovery
    asked = set(protocol.tier_dates(tier, "REC"))
    windows = {
        "pre": [date for date in protocol.pre_dates if date in asked],
        "post": [date for date in protocol.placebo_dates if date in asked],
    }
    if cutoff is not None and cutoff >= protocol.dates.placebo_start:
        windows["post_relative"] = [date for date in protocol.post_dates if date[:7] > cutoff]
    found: dict[str, float | str] = {}
    for window, dates in windows.items():
        if not dates or part.silent == 1:
            continue
        known = float(np.mean([parameters.recall.familiar(date) for date in dates]))
        found[f"REC.{window}.year"] = known * part.year + (1 - known) * part.year_after
        if part.year_only + part.silent < 1:
            found[f"REC.{window}.month"] = known * part.month + (1 - known) * part.month_after
        found[f"REC.{window}.year_all"] = float(found[f"REC.{window}.year"]) * (1 - part.silent)
    return found


def _delta(
    parameters: Parameters, protocol: Protocol, world: Mapping[str, int], tier: Tier, slots: Floats
) -> float | None:
    """Return the coefficient of signal×LAP in the regression of expected moments, None if not identified.

    Sums E[x x'] and E[x y] over the dates, x = (1, s, L, sL): E[L²] holds the sampling noise of the recall
    share, which is what the estimator's attenuation comes from; dates without a net signal contribute their
    chance of having one.
    """
    asked = set(protocol.tier_dates(tier))
    valid = valid_distribution(parameters, slots, protocol.arms["R"].reps[tier])
    reps = protocol.arms["LAP"].reps[tier]
    heard = 1 - parameters.form.lap_invalid
    part = parameters.bearish
    moments, products = np.zeros((4, 4)), np.zeros(4)
    if not reps or len(valid) < 2:
        return None
    for date in protocol.pre_dates:
        realised = world.get(date, 0)
        if date not in asked or not realised:
            continue
        mean, width = parameters.recall.claim_at(date[:7])
        for claim, weight in zip(*uniform_nodes(mean, width, len(valid) + 3), strict=True):
            share = bearish_share(parameters, protocol, "R", date, date, float(claim), realised)
            minus, plus = net_signal(share, part.context_spread, part.date_spread, valid.tobytes())
            first = claim * heard
            second = first**2 + first * (1 - first) / reps
            for sign, chance in ((-1, minus), (1, plus)):
                pair = np.array([1.0, sign])
                lap = np.array([[1.0, first], [first, second]])
                moments += weight * chance * np.kron(lap, np.outer(pair, pair))
                if sign == realised:
                    products += weight * chance * np.kron(np.array([1.0, first]), pair)
    if np.linalg.matrix_rank(moments, tol=1e-9 * max(1.0, float(np.abs(moments).max()))) < 4:
        return None
    return float(np.linalg.solve(moments, products)[3])
