"""What a backtest brings, counted from its table of scores: who is audited, against whom, and around which date.

No score is looked at here but to see whether it is there.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anachron.backtest.convert import date_of, day_number
from anachron.backtest.gap import median_day
from anachron.backtest.options import Options
from anachron.backtest.routes import Control, Supplied
from anachron.errors import AnachronError

if TYPE_CHECKING:
    from anachron.backtest.score import ScoreTable


def target_of(table: ScoreTable, options: Options) -> str:
    """Return the model to audit: the one named, the one whose role is target, or the only one.

    Raises
    ------
    AnachronError
        When it is not clear which model that is, or the table has no model of that name.
    """
    known = ", ".join(table.models)
    for name in (options.target, *options.controls, *options.clean_controls, *options.cutoffs):
        if name is not None and name not in table.models:
            raise AnachronError(f"model {name!r} has no forecast in the table; its models are: {known}")
    if options.target is not None:
        return options.target
    named = [model for model in table.models if table.roles.get(model) == "target"]
    if not named:
        others = {*options.controls, *options.clean_controls}
        named = [
            model for model in table.models if table.roles.get(model) != "control" and model not in others
        ]
    if len(named) != 1:
        found = ", ".join(named) or "none"
        raise AnachronError(
            f"one model is audited at a time, and the table leaves open which (candidates: {found}); "
            "name it with --target, or give the others the role `control`"
        )
    return named[0]


def candidates(table: ScoreTable, target: str, options: Options) -> list[str]:
    """Return the models that may serve as controls: those named, those with that role, or else all others."""
    named = [*options.controls, *options.clean_controls]
    named += [model for model in table.models if table.roles.get(model) == "control"]
    found = list(dict.fromkeys(named)) or [model for model in table.models if table.roles.get(model) is None]
    return sorted(model for model in found if model != target)


def split_of(table: ScoreTable, target: str, options: Options) -> int:
    """Return the first day of the later side: the cutoff where questions lie on both sides, or the median.

    Days since 1970-01-01, as everywhere in the table.
    """
    days = resolved(table, target)
    cutoff = table.cutoffs.get(target)
    if cutoff is not None and days.min() < cutoff <= days.max():
        return int(cutoff)
    if options.split is not None:
        return day_number(options.split)
    return median_day(days)


def resolved(table: ScoreTable, model: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the resolution days of a model's questions, in the table's order."""
    return np.asarray(table.days)[~np.isnan(table.column(model))]


def supplied(table: ScoreTable, frame: pd.DataFrame, target: str, options: Options) -> Supplied:
    """Return what the choice of a route depends on.

    Parameters
    ----------
    table
        Scores by question and model.
    frame
        The forecasts (`contract.Forecasts`), for paraphrases.
    target
        Model to audit.
    options
        The user's choices.
    """
    there = ~np.isnan(table.column(target))
    days = np.asarray(table.days)
    split, cutoff = split_of(table, target, options), table.cutoffs.get(target)
    own = days[there]
    centre = split if cutoff is None else int(cutoff)
    paraphrased = _paraphrased(table, frame, target) & there
    clean = days >= centre + options.clean_days
    edge = split if cutoff is None else centre
    return Supplied(
        target=target,
        cutoff=_date(cutoff),
        questions=len(own),
        before=int((own < edge).sum()),
        after=int((own >= edge).sum()),
        grey=int(((own >= edge) & (own < edge + options.clean_days)).sum()),
        near_before=int(_near(own, centre, options.window_days, before=True).sum()),
        near_after=int(_near(own, centre, options.window_days, before=False).sum()),
        window_days=options.window_days,
        clean_days=options.clean_days,
        span_before=max(0, edge - int(own.min())),
        span_after=max(0, int(own.max()) - edge),
        controls=tuple(
            _control(table, there, one, centre, options) for one in candidates(table, target, options)
        ),
        paraphrased=int((paraphrased & (days < edge)).sum()),
        anchors=int((paraphrased & clean).sum()) if cutoff is not None else 0,
        binary=table.anchor != "score",
        extrapolate=options.extrapolate,
    )


def clean_from(table: ScoreTable, control: str, options: Options) -> int | None:
    """Return the first day whose answers a control cannot know; None where that is not known.

    A control that is declared clean is clean from the first day on.
    """
    cutoff = table.cutoffs.get(control)
    if control in options.clean_controls:
        return int(np.min(table.days))
    return None if cutoff is None else int(cutoff) + options.clean_days


def _control(
    table: ScoreTable,
    target: np.ndarray[tuple[int], np.dtype[np.bool_]],
    name: str,
    centre: int,
    options: Options,
) -> Control:
    common = np.asarray(table.days)[target & ~np.isnan(table.column(name))]
    first = clean_from(table, name, options)
    clean = common[common >= first] if first is not None else common[:0]
    cutoff = table.cutoffs.get(name)
    declared = name in options.clean_controls
    return Control(
        name=name,
        cutoff=_date(cutoff),
        declared_clean=declared,
        clean_before=int((clean < centre).sum()),
        clean_after=int((clean >= centre).sum()),
        left_out=len(common) - len(clean),
        near_before=int(_near(common, centre, options.window_days, before=True).sum()),
        near_after=int(_near(common, centre, options.window_days, before=False).sum()),
        smooth=declared or (cutoff is not None and abs(int(cutoff) - centre) > options.window_days),
    )


def _near(
    days: np.ndarray[tuple[int], np.dtype[np.int64]], centre: int, width: int, *, before: bool
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (
        (days >= centre - width) & (days < centre) if before else (days >= centre) & (days < centre + width)
    )


def _paraphrased(
    table: ScoreTable, frame: pd.DataFrame, target: str
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which of the table's questions have two forecasts of the target or more, by wording."""
    own = frame.loc[(frame["model"] == target) & frame["forecast"].notna(), "question"]
    counts = own.value_counts()
    return np.asarray([counts.get(question, 0) >= 2 for question in table.questions], dtype=bool)


def _date(day: float | None) -> datetime.date | None:
    return None if day is None else date_of(day)
