"""Stage `estimate`: one model's answers through the audit of a backtest, as far as one model alone can be audited.

Differences against controls need several models; `snakemake audits` makes them from all answers of a run. Source:
the suite's specification; Temporal Leakage, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anachron.estimates import Estimate, Gate, Interval, Result, arm_counts, records, require_one_model
from anachron.suites.leakage.forecasts import backtest, table
from anachron.suites.leakage.protocol import Protocol, Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anachron.backtest.result import Audit, Finding, Number
    from anachron.stats.gaps import Floats

VERSION = "1"
SUITE = "leakage"
SCORING = "anachron"
KNOWS_CUTOFF = True
"""`estimate` takes the cutoff that the vendor states."""
NAMES = {"P = 0.1": "p10", "P = 0.15": "p15", "P = 0.2": "p20", "P = 0.5": "p50", "0.5·c0": "half_crowd"}
"""Metrics of the placebos."""
MARK_OF = {"few_clusters": "f", "stable": "d"}


def estimate(
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    protocol: Protocol,
    tier: Tier = "full",
    arms: Sequence[str] | None = None,
    cutoff: str | None = None,
) -> Result:
    """Estimate gaps, placebos, the jump at the cutoff and the residual covariance of one model.

    Parameters
    ----------
    answers
        The parser's `Contract`, one model.
    panel
        `items.IMPORTED` columns: the questions with crowd and outcome.
    protocol
        Choices of the audit.
    tier
        Not looked at: what was asked is what there are answers to.
    arms
        Arms the model was asked; those that have answers when None.
    cutoff
        Month that the vendor states as the end of training data; None where none is stated.
    """
    require_one_model(answers)
    counts = arm_counts(answers, arms)
    read = int((answers["reading"] == "probability").sum())
    found = [Estimate("valid", "share", read / len(answers) if len(answers) else None, len(answers))]
    model = str(answers["model"].iloc[0]) if len(answers) else ""
    forecasts = table(answers, panel, {model: cutoff})
    if forecasts.loc[forecasts["paraphrase"] == 0, "question"].nunique() < 2:
        return Result(records(found, SUITE, SCORING), counts, {})
    audited = audit_of(forecasts, model, protocol)
    found += [*scores(forecasts, model, protocol), *gaps(audited), *at_cutoff(audited, cutoff)]
    side = {"route": audited.route.route, "opening": audited.opening.says, "summary": audited.summary}
    return Result(
        records(found, SUITE, SCORING),
        counts,
        {**side, "checks": [one.model_dump(mode="json") for one in audited.checks]},
    )


def audit_of(forecasts: pd.DataFrame, target: str, protocol: Protocol) -> Audit:
    """Return the audit of one model of a table of forecasts, by the protocol's choices.

    For a row: what could have been found by the normal formula, and without the checks of continuity, which
    `snakemake audits` makes.
    """
    from anachron.backtest.audit import audit
    from anachron.backtest.options import Options

    chosen = protocol.audit.model_dump()
    options = Options(target=target, panels=0, thorough=False, **chosen)
    return audit(backtest(forecasts, "forecasts of this run"), options)


def scores(forecasts: pd.DataFrame, model: str, protocol: Protocol) -> list[Estimate]:
    """Return the mean score before the cutoff, and of clean questions, with intervals of whole clusters."""
    from anachron.backtest import score

    scored = score.table(forecasts)
    cutoff = scored.cutoffs[model]
    if cutoff is None:
        return [
            Estimate(name, "score", None, gates=(_no_cutoff(),)) for name in ("score.before", "score.clean")
        ]
    days = np.asarray(scored.days) - cutoff
    return [
        _mean("score.before", scored.take(days < 0).column(model), scored.cluster[days < 0], protocol),
        _mean(
            "score.clean",
            scored.take(days >= protocol.audit.clean_days).column(model),
            scored.cluster[days >= protocol.audit.clean_days],
            protocol,
        ),
    ]


def _mean(name: str, values: Floats, clusters: NDArray[np.str_], protocol: Protocol) -> Estimate:
    from anachron.stats.cluster import FEWEST_CLUSTERS, cluster_weights, codes, sums

    chosen, number = protocol.audit, len(values)
    gate = Gate("n", number >= 2, float(number), 2.0, f"{number} questions")
    if not gate.passed:
        return Estimate(name, "score", None, number, gates=(gate,))
    group = codes(clusters)
    width = int(group.max()) + 1
    parts = sums(np.stack([values, np.ones(number)], axis=1), group, width)
    drawn = cluster_weights(width, chosen.draws, chosen.seed).astype(float) @ parts
    tail = 50 * (1 - chosen.level)
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [tail, 100 - tail])
    how = "percentile bootstrap of whole clusters"
    interval = Interval(float(low), float(high), how, chosen.level, chosen.draws, chosen.draws, chosen.seed)
    marks = ("f",) if width < FEWEST_CLUSTERS else ()
    return Estimate(name, "score", float(values.mean()), number, interval, (gate,), marks)


def gaps(audited: Audit) -> list[Estimate]:
    """Return the naive gap, the one at the same mix, and the largest that a forecaster without knowledge shows."""
    from anachron.backtest.convert import null

    opened = audited.opening
    mixed = opened.target.standardised
    gone = opened.verdict == "partly" and mixed is not None and null(mixed)
    marks = ("c",) if opened.verdict == "explained" or gone else ()
    sign = -1 if (opened.target.raw.estimate or 0) < 0 else 1
    known = [one for one in opened.placebos if one.raw.estimate is not None]
    found = [_estimate("gap", opened.target.raw, marks)]
    if opened.target.standardised is not None:
        found.append(_estimate("gap.mix", opened.target.standardised))
    if known:
        largest = max(known, key=lambda one: sign * (one.raw.estimate or 0.0))
        found.append(_estimate("placebo", largest.raw))
        found += [_estimate(f"placebo.{NAMES.get(one.name, one.name)}", one.raw) for one in known]
    by_name = {one.name: one for one in audited.findings}
    return [*found, *_detectable("gap", by_name.get("naive"))]


def at_cutoff(audited: Audit, cutoff: str | None) -> list[Estimate]:
    """Return the jump at the cutoff, the difference of means beside it, and the residual covariance."""
    by_name = {one.name: one for one in audited.findings}
    found: list[Estimate] = []
    for metric, name in (("jump", "jump"), ("window", "window means")):
        held = by_name.get(name)
        found.append(_missing(metric, "score", cutoff) if held is None else _estimate(metric, held.number))
    found += _detectable("jump", by_name.get("jump"))
    covariance = by_name.get("prc platt")
    if covariance is None:
        return [*found, _missing("prc", "coefficient", cutoff)]
    return [*found, _estimate("prc", covariance.number, unit="coefficient")]


def _detectable(metric: str, held: Finding | None) -> list[Estimate]:
    if held is None or held.mde is None:
        return []
    return [Estimate(f"{metric}.mde", "score", held.mde, held.number.n_before)]


def _missing(metric: str, unit: Any, cutoff: str | None) -> Estimate:
    few = Gate("n", False, None, None, "too few questions on a side of the cutoff, or too few paraphrases")
    return Estimate(metric, unit, None, gates=(_no_cutoff() if cutoff is None else few,))


def _no_cutoff() -> Gate:
    return Gate("k", False, None, None, "the registry states no cutoff for this model")


def _estimate(metric: str, held: Number, marks: tuple[str, ...] = (), unit: Any = "score") -> Estimate:
    failed = [one for one in held.gates if one.passed is False]
    marks = (*marks, *(MARK_OF[one.name] for one in failed if one.name in MARK_OF))
    gates: tuple[Gate, ...] = ()
    if held.estimate is None:
        text = failed[0].text if failed else "a side has no question"
        gates = (Gate("n", False, failed[0].figure if failed else None, None, text),)
    interval = None
    if held.low is not None and held.high is not None:
        interval = Interval(
            held.low, held.high, held.method, held.level or 0.95, held.draws, held.draws, held.seed
        )
    number = None if held.n_before is None else held.n_before + (held.n_after or 0)
    return Estimate(metric, unit, held.estimate, number, interval, gates, tuple(dict.fromkeys(marks)))
