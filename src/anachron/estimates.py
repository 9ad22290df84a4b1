"""Building the estimates of a suite: one record per scoring and metric, with its gate decided in one place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from anachron.errors import ContractError

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["share", "share difference", "months", "month", "count", "coefficient", "t", "p", "score"]


@dataclass(frozen=True)
class Interval:
    """An interval and how it was made; ends in the estimate's unit, or months for a month estimate."""

    low: float | str
    high: float | str
    method: str
    level: float = 0.95
    draws: int | None = None
    valid_draws: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Gate:
    """A stated condition without which an estimate is undefined.

    `figure` is the number the condition was held against, `threshold` the bound, `text` the condition in
    words with both numbers.
    """

    mark: str
    passed: bool
    figure: float | None
    threshold: float | None
    text: str


@dataclass(frozen=True)
class Estimate:
    """A number with n, interval and gate status; see `frames.Estimates` for the columns it becomes."""

    metric: str
    unit: Unit
    value: float | int | str | None
    n: int | None = None
    interval: Interval | None = None
    gates: tuple[Gate, ...] = ()
    marks: tuple[str, ...] = field(default=())

    def record(self, suite: str, scoring: str) -> dict[str, Any]:
        """Return the record: the first failed gate (or the last passed one) decides whether `value` stands.

        A value that is not finite is None even where no gate failed.
        """
        failed = [gate for gate in self.gates if not gate.passed]
        gate = failed[0] if failed else (self.gates[-1] if self.gates else None)
        number, month = _split(self.value)
        low, low_month = _split(self.interval.low if self.interval else None)
        high, high_month = _split(self.interval.high if self.interval else None)
        stands = not failed
        interval = self.interval if self.interval and stands else None
        marks = sorted({*self.marks, *(gate.mark for gate in failed)})
        return {
            "suite": suite,
            "scoring": scoring,
            "metric": self.metric,
            "unit": self.unit,
            "value": number if stands else None,
            "value_month": month if stands else None,
            "n": self.n,
            "low": low if stands else None,
            "high": high if stands else None,
            "low_month": low_month if stands else None,
            "high_month": high_month if stands else None,
            "level": interval.level if interval else None,
            "method": interval.method if interval else None,
            "draws": interval.draws if interval else None,
            "valid_draws": interval.valid_draws if interval else None,
            "seed": interval.seed if interval else None,
            "gate": gate.mark if gate else None,
            "gate_passed": gate.passed if gate else None,
            "gate_figure": gate.figure if gate else None,
            "gate_threshold": gate.threshold if gate else None,
            "gate_text": gate.text if gate else None,
            "marks": "".join(marks),
            "before_value": None if stands else number,
            "before_value_month": None if stands else month,
            "before_low": None if stands else low,
            "before_high": None if stands else high,
        }


def _split(value: float | int | str | None) -> tuple[float | None, str | None]:
    """Return (number, None) or (None, month); a number that is not finite is (None, None)."""
    if isinstance(value, str):
        return None, value
    if value is None or not math.isfinite(value):
        return None, None
    return float(value), None


def records(estimates: Iterable[Estimate], suite: str, scoring: str) -> list[dict[str, Any]]:
    """Return the records of one scoring, in the order given; a metric written twice raises `ValueError`."""
    found = [estimate.record(suite, scoring) for estimate in estimates]
    names = [record["metric"] for record in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"metrics written twice: {sorted(twice)}")
    return found


def require_one_model(answers: pd.DataFrame) -> None:
    """Raise `ContractError` when answers are those of several models: estimates are of one."""
    models = sorted(answers["model"].unique())
    if len(models) > 1:
        raise ContractError(
            f"answers of several models in one table: {', '.join(models[:5])}; estimate one at a time"
        )


def count_readings(answers: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many answers of each arm read how (column `reading`), both sorted."""
    counted = Counter(zip(answers["arm"].tolist(), answers["reading"].tolist(), strict=True))
    found: dict[str, dict[str, int]] = {}
    for (arm, reading), number in sorted(counted.items()):
        found.setdefault(str(arm), {})[str(reading)] = number
    return found


def arm_counts(answers: pd.DataFrame, arms: Sequence[str] | None) -> dict[str, Any]:
    """Return readings, asked and answered by arm, for a suite whose answers are all that it asked.

    The latter two are the same then: a block is sealed when every request is answered.

    Parameters
    ----------
    answers
        Columns arm and reading.
    arms
        Arms the model was asked; those that have answers when None.
    """
    readings = count_readings(answers)
    held = {arm: sum(readings.get(arm, {}).values()) for arm in (arms or sorted(readings))}
    return {"readings": readings, "asked": held, "answered": dict(held)}


@dataclass(frozen=True)
class Result:
    """What a suite's `estimate` returns.

    Attributes
    ----------
    records
        Records of every scoring (`frames.Estimates`).
    counts
        Whole numbers that are not estimates: asked, answered, outcomes, repairs, per arm.
    side
        Beside the row: nested plain values (perturbation ablation, transcript audit, sweeps, coverage).
    """

    records: list[dict[str, Any]]
    counts: dict[str, Any]
    side: dict[str, Any]
