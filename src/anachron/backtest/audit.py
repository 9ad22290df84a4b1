"""One audit: a table of forecasts and the user's choices in, the whole result out.

The order is the one in which a result must be read: forecasters that know nothing; which route the backtest allows,
chosen from counts and dates alone; what the route and its checks give; the score without leakage, or why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anachron import __version__, files
from anachron.backtest import run_did, run_prc, run_rd, score
from anachron.backtest.adjusted import adjust
from anachron.backtest.boundaries import clean_gaps, every_cutoff, window_gap
from anachron.backtest.convert import date_of, finding, study_of_gap, study_of_width, told
from anachron.backtest.curves import by_month
from anachron.backtest.opening import opening
from anachron.backtest.options import Options
from anachron.backtest.outcome import Outcome
from anachron.backtest.result import (
    Adjusted,
    Audit,
    Check,
    Chosen,
    Finding,
    ModelNote,
    Opening,
    Read,
    RouteNote,
)
from anachron.backtest.route_words import DESCRIPTIONS, IDENTIFIES, Route
from anachron.backtest.routes import Choice, Considered, Thresholds, choose, controls_of, stronger
from anachron.backtest.supplied import candidates, split_of, supplied, target_of
from anachron.errors import AnachronError

if TYPE_CHECKING:
    from anachron.backtest.reader import Backtest
    from anachron.backtest.routes import Supplied
    from anachron.backtest.score import ScoreTable

BESIDE: dict[Route, tuple[Route, ...]] = {
    "did": ("did-boundary", "rd", "prc"),
    "extrapolation": ("rd", "prc"),
    "did-boundary": ("rd", "prc"),
    "rd": ("prc",),
}
"""What is run beside a route where the backtest allows it: other assumptions, another view of the same leakage."""


BRIEFLY = {
    "explained": "The naive gap could be composition alone: a forecaster that knows nothing shows as much.",
    "partly": "The naive gap could be composition in part.",
    "not seen": "The naive gap is not composition as far as forecasters that know nothing show; it may be recency.",
    "no gap": "There is no naive gap, which says nothing of leakage: leakage, recency and composition can cancel.",
    "untested": "Whether the naive gap is composition cannot be told.",
}


def audit(backtest: Backtest, options: Options) -> Audit:
    """Audit one model of a table of forecasts.

    Parameters
    ----------
    backtest
        What `reader.read` returned.
    options
        The user's choices.

    Returns
    -------
    Audit
        The same table and choices give the same result.

    Raises
    ------
    AnachronError
        When it is not clear which model is audited, or a name is not in the table.
    """
    table = score.table(backtest.frame, options.anchor)
    target = target_of(table, options)
    own = table.take(~np.isnan(table.column(target)))
    if not len(own.days):
        raise AnachronError(
            f"{backtest.path.name}: model {target!r} has no forecast that can be scored: its cells are empty, or no "
            "question that it answered has a crowd while the crowd anchors the score (--anchor none scores it alone)"
        )
    held = supplied(own, backtest.frame, target, options)
    choice = choose(held)
    split = split_of(own, target, options)
    opened = opening(own, target, split, options)
    edge = own.cutoffs.get(target)
    outcomes = [
        _run(route, choice, own, backtest, target, split, held, options)
        for route in (choice.route, *BESIDE.get(choice.route, ()))
        if route == choice.route or _usable(choice, route)
    ]
    ran = [one for one in outcomes if one is not None]
    warning = ran[0].warning if ran else ""
    adjusted = adjust(own, target, choice.route, edge, ran[0] if ran else None)
    checks = [check for one in ran for check in one.checks]
    findings = [
        *(one for outcome in ran for one in outcome.findings),
        *_naive(own, target, split, opened, options),
        *window_gap(own, target, options),
        *clean_gaps(own, target, options),
    ]
    curves = [
        *by_month(own, [target, *choice.controls]),
        *(curve for outcome in ran for curve in outcome.curves),
    ]
    return Audit(
        version=__version__,
        read=_read(backtest, own, target),
        models=_models(table, target, options),
        target=target,
        cutoff=None if edge is None else date_of(edge).isoformat(),
        options=options.plain(),
        summary=_summary(opened, choice, warning, findings, checks, adjusted),
        opening=opened,
        route=_chosen(choice, warning),
        checks=checks,
        findings=findings,
        matrix=every_cutoff(table, target, options),
        adjusted=adjusted,
        curves=curves,
    )


def _usable(choice: Choice, route: Route) -> bool:
    return any(one.route == route and one.usable for one in choice.considered)


def _run(
    route: Route,
    choice: Choice,
    table: ScoreTable,
    backtest: Backtest,
    target: str,
    split: int,
    held: Supplied,
    options: Options,
) -> Outcome | None:
    cutoff = table.cutoffs.get(target)
    if route in ("did", "did-split"):
        return run_did.run(table, target, choice.controls, split, options)
    if cutoff is None:
        return None
    if route == "did-boundary":
        names = tuple(one.name for one in controls_of(route, held, Thresholds()))
        return run_did.run_boundary(table, target, names, cutoff, options)
    if route == "rd":
        return run_rd.run(table, target, cutoff, options)
    if route == "prc":
        return run_prc.run(table, backtest.frame, target, cutoff, options)
    if route == "extrapolation" and options.extrapolate is not None:
        from anachron.backtest import run_extrapolation

        return run_extrapolation.run(table, target, cutoff, options.extrapolate, options)
    return None


def _naive(table: ScoreTable, target: str, split: int, opened: Opening, options: Options) -> list[Finding]:
    """Return the naive gap and the one at the same mix as findings, so that their nulls carry what they could find."""
    if opened.target.raw.estimate is None:
        return []
    before = np.asarray(table.days) < split
    study = study_of_gap(opened.target.raw, table.column(target), before, np.asarray(table.cluster), options)
    means = f"Mean score before {opened.split} minus mean score after it. Uninformative alone."
    found = [finding("naive", "Naive gap", means, opened.target.raw, study)]
    mixed = opened.target.standardised
    if mixed is not None:
        means = "The same within cells of like questions, weighted to the mix before the split."
        found.append(
            finding("naive same mix", "Naive gap at the same mix", means, mixed, study_of_width(mixed))
        )
    return found


def _chosen(choice: Choice, warning: str) -> Chosen:
    words = DESCRIPTIONS[choice.route]
    return Chosen(
        route=choice.route,
        title=words.title,
        identifies=words.identifies,
        does=words.does,
        assumes=list(words.assumes),
        controls=list(choice.controls),
        warning=warning,
        considered=_notes(choice.considered),
        stronger=_notes(stronger(choice)),
    )


def _notes(considered: Sequence[Considered]) -> list[RouteNote]:
    return [
        RouteNote(
            route=one.route, title=DESCRIPTIONS[one.route].title, usable=one.usable, lacking=list(one.lacking)
        )
        for one in considered
    ]


def _read(backtest: Backtest, table: ScoreTable, target: str) -> Read:
    frame = backtest.frame
    days = np.asarray(table.days)
    wordings = frame.loc[frame["model"] == target].groupby("question")["paraphrase"].nunique()
    left_out = [
        f"{number:,} questions left out: {reason}." for reason, number in sorted(table.dropped.items())
    ]
    return Read(
        file=backtest.path.name,
        sha256=files.sha256_file(backtest.path) if backtest.path.is_file() else "",
        kind="scores" if table.anchor == "score" else "forecasts",
        forecasts=len(frame),
        questions=int(frame["question"].nunique()),
        first_resolution=date_of(int(days.min())).isoformat(),
        last_resolution=date_of(int(days.max())).isoformat(),
        crowd=table.anchor == "crowd",
        source=bool((table.source != "").any()),
        difficulty=bool((table.difficulty != "").any()),
        paraphrases=int(wordings.max()) if len(wordings) else 0,
        clusters=len(np.unique(table.cluster)),
        warnings=[f"Score: {table.unit}.", *backtest.warnings, *left_out],
    )


def _models(table: ScoreTable, target: str, options: Options) -> list[ModelNote]:
    possible = candidates(table, target, options)
    notes = []
    for model in table.models:
        cutoff = table.cutoffs.get(model)
        number = int((~np.isnan(table.column(model))).sum())
        notes.append(
            ModelNote(
                model=model,
                role="target" if model == target else "control" if model in possible else "other",
                cutoff=None if cutoff is None else date_of(cutoff).isoformat(),
                forecasts=number,
                questions=number,
            )
        )
    return notes


def _summary(
    opened: Opening,
    choice: Choice,
    warning: str,
    findings: Sequence[Finding],
    checks: Sequence[Check],
    adjusted: Adjusted,
) -> list[str]:
    words = DESCRIPTIONS[choice.route]
    said = [BRIEFLY[opened.verdict]]
    main = findings[0] if findings and not findings[0].name.startswith("naive") else None
    route = f"Route: {words.title.lower()}. It identifies {IDENTIFIES[words.identifies]}."
    said.append(route if main is None else f"{route} {main.label}: {told(main.number)}. {main.says}")
    if warning:
        said.insert(1, f"Before the difference is read: {warning}.")
    failed = [one.label for one in checks if one.passed is False]
    if failed:
        said.append(f"{len(failed)} of {len(checks)} checks failed: {'; '.join(failed)}.")
    elif checks:
        untested = sum(1 for one in checks if one.passed is None)
        rest = f" ({untested} cannot be tested here)" if untested else ""
        said.append(f"None of {len(checks)} checks failed{rest}.")
    said.append(adjusted.says)
    return said
