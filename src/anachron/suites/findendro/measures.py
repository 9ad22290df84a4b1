"""The measures of one model under one scoring, each with n, interval and gates.

Source: FinDendro §3.4, Tables 4, 6, 7, Figure 4; the suite's specification, "Measures".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anachron.estimates import Estimate, Gate, Unit
from anachron.suites.findendro.cells import CLASSES, POLICY, Arm, Bools, Grid
from anachron.suites.findendro.draws import Draws, Floats, ratio
from anachron.suites.findendro.ends import balanced, overall
from anachron.suites.findendro.protocol import Protocol


@dataclass(frozen=True)
class Model:
    """What one model's estimates are made from."""

    grid: Grid
    arms: Mapping[str, Arm]
    draws: Draws
    protocol: Protocol

    def gates(self, *arms: str) -> tuple[Gate, ...]:
        """Return the gates that every estimate of these arms passes or fails: answers enough, no favourite letter."""
        found: list[Gate] = []
        rule = self.protocol.gates
        for name in arms:
            read = int((self.arms[name].letter >= 0).sum())
            enough = read >= rule.min_answers
            text = f"{read} answers of arm {name} hold a choice; at least {rule.min_answers} are needed"
            found.append(Gate("f", enough, float(read), float(rule.min_answers), text))
            if enough:
                share = favourite(self.arms[name])
                text = f"one letter is {share:.2f} of the choices in arm {name}; at most {rule.position:.2f} may be"
                found.append(Gate("p", share <= rule.position, share, rule.position, text))
        return tuple(found)

    def has(self, *arms: str) -> bool:
        """Whether the model was asked these arms."""
        return all(name in self.arms for name in arms)

    def share(
        self, metric: str, values: Floats, n: int, gates: Iterable[Gate] = (), unit: Unit = "share"
    ) -> Estimate:
        """Return an estimate from values of the sample (row 0) and of the draws."""
        held = tuple(gates)
        if n == 0:
            held = (*held, Gate("f", False, 0.0, 1.0, "no fact to estimate it from"))
        return Estimate(metric, unit, float(values[0]), n, self.draws.interval(values), held)


def letter_shares(arm: Arm) -> Floats:
    """Return the share of each option's letter among the choices of an arm."""
    chosen = arm.letter[arm.letter >= 0]
    return np.bincount(chosen, minlength=arm.options) / max(1, len(chosen))


def favourite(arm: Arm) -> float:
    """Return the share of the letter chosen most."""
    return float(letter_shares(arm).max())


def headline(model: Model) -> list[Estimate]:
    """Return *Knows*, *Says*, and what a stated date changes of both (measure 1)."""
    grid, draws, arms = model.grid, model.draws, model.arms
    everything = np.ones(len(grid), dtype=bool)
    found: list[Estimate] = []
    shares: dict[str, Floats] = {}
    for arm, metric in (("value", "knows"), ("predict", "accuracy.predict"), ("dated", "accuracy.dated")):
        if model.has(arm):
            shares[metric] = overall(arms[arm], grid, draws, everything)
            n = int((arms[arm].asked & grid.controlled).sum())
            found.append(model.share(metric, shares[metric], n, model.gates(arm)))
    for arm, metric in (("recall", "says"), ("predict", "says.predict"), ("dated", "says.dated")):
        if model.has(arm):
            counts = draws.sums(np.column_stack([arms[arm].says, arms[arm].asked]))
            shares[metric] = ratio(counts[:, 0], counts[:, 1])
            found.append(model.share(metric, shares[metric], int(arms[arm].asked.sum()), model.gates(arm)))
    if model.has("predict", "dated"):
        for metric, n in (("accuracy", int(grid.controlled.sum())), ("says", len(grid))):
            values = shares[f"{metric}.dated"] - shares[f"{metric}.predict"]
            gates = model.gates("predict", "dated")
            found.append(model.share(f"{metric}.change", values, n, gates, "share difference"))
    return found


def by_claim(model: Model) -> list[Estimate]:
    """Return the accuracy of facts claimed and denied, and the gap within periods (measure 2)."""
    if not model.has("value", "recall"):
        return []
    grid, draws = model.grid, model.draws
    value, recall = model.arms["value"], model.arms["recall"]
    asked = value.asked & grid.controlled
    groups = [asked & recall.says, asked & recall.denies]
    sets = [one for group in groups for one in (group, group & value.right)]
    periods = int(grid.period.max()) + 1
    cells = grid.period
    # Facts lie by quarter, and periods are made of quarters, so that their numbers ascend.
    counts = np.stack([draws.by_cell(one, cells, periods) for one in sets], axis=2)
    whole = counts.sum(axis=1)
    gates = model.gates("value", "recall")
    found = [
        model.share(metric, ratio(whole[:, at + 1], whole[:, at]), int(whole[0, at]), gates)
        for metric, at in (("acc_says", 0), ("acc_denies", 2))
    ]
    gap, used = within(counts)
    held = int(used[0].sum())
    both = Gate("g", held > 0, float(held), 1.0, f"{held} of {periods} periods hold both claims and denials")
    n = int((counts[0, :, 0] + counts[0, :, 2])[used[0]].sum())
    estimate = model.share("gap", gap, n, (*gates, both), "share difference")
    occupied = int((counts[0, :, 0] + counts[0, :, 2] > 0).sum())
    marks = ("d",) if 0 < held < occupied else ()
    found.append(
        Estimate(estimate.metric, estimate.unit, estimate.value, n, estimate.interval, estimate.gates, marks)
    )
    found.append(Estimate("gap.periods_dropped", "count", occupied - held, occupied))
    return found


def within(counts: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the accuracy of claimed minus denied facts within periods, weighted by period size.

    Parameters
    ----------
    counts
        Shape (draws + 1, periods, 4): claimed facts, right ones among them, denied facts, right ones among them.

    Returns
    -------
    tuple
        The gap, shape (draws + 1,), NaN where no period holds both groups; and which periods hold both.
    """
    claimed, denied = counts[..., 0], counts[..., 2]
    used = (claimed > 0) & (denied > 0)
    size = np.where(used, claimed + denied, 0.0)
    apart = np.nan_to_num(ratio(counts[..., 1], claimed) - ratio(counts[..., 3], denied))
    return ratio((size * apart).sum(axis=1), size.sum(axis=1)), used


def safeguards(model: Model, end: int | None) -> list[Estimate]:
    """Return the filter table and the simulated dated backtest, inside and after the end of knowledge (measure 4).

    The end is the estimated one, held fixed over the draws.
    """
    grid, draws = model.grid, model.draws
    located = Gate(
        "e",
        end is not None,
        None,
        None,
        "the end of knowledge is " + ("located" if end is not None else "undefined"),
    )
    cut = grid.quarters if end is None else end
    found: list[Estimate] = []
    for side, inside in (("inside", grid.quarter <= cut), ("after", grid.quarter > cut)):
        if model.has("value", "recall"):
            value, recall = model.arms["value"], model.arms["recall"]
            here = value.asked & grid.controlled & inside
            denied = here & recall.denies
            counts = draws.sums(np.column_stack([here, denied, denied & value.right]))
            gates = (*model.gates("value", "recall"), located)
            found += [
                model.share(
                    f"filter.{side}.denied", ratio(counts[:, 1], counts[:, 0]), int(here.sum()), gates
                ),
                model.share(
                    f"filter.{side}.accuracy", ratio(counts[:, 2], counts[:, 1]), int(denied.sum()), gates
                ),
            ]
        if model.has("dated"):
            dated = model.arms["dated"]
            here = dated.asked & grid.controlled & inside
            labelled = here & dated.denies
            counts = draws.sums(np.column_stack([here, labelled, here & dated.right, labelled & dated.right]))
            gates = (*model.gates("dated"), located)
            n, few = int(here.sum()), int(labelled.sum())
            found += [
                model.share(f"backtest.{side}.predicted", ratio(counts[:, 1], counts[:, 0]), n, gates),
                model.share(f"backtest.{side}.accuracy", ratio(counts[:, 2], counts[:, 0]), n, gates),
                model.share(
                    f"backtest.{side}.accuracy_predicted", ratio(counts[:, 3], counts[:, 1]), few, gates
                ),
            ]
    return found


def families(model: Model) -> list[Estimate]:
    """Return *Knows* minus *Says* by family and by macro series (measure 5)."""
    if not model.has("value", "recall"):
        return []
    grid = model.grid
    macro = len(grid.series) - 2
    groups = {
        "macro": grid.series_of < macro,
        "stock": grid.series_of == macro,
        "policy": grid.series_of > macro,
    }
    groups |= {name: grid.series_of == at for at, name in enumerate(grid.series[:macro])}
    found: list[Estimate] = []
    gates = model.gates("value", "recall")
    for name, inside in groups.items():
        if inside.any():
            found += _family(model, name, inside, gates)
    return found


def _family(model: Model, name: str, inside: Bools, gates: tuple[Gate, ...]) -> list[Estimate]:
    grid, value, recall = model.grid, model.arms["value"], model.arms["recall"]
    classes = range(POLICY, CLASSES) if name == "policy" else range(1)
    sets = [here & inside & (grid.klass == klass) for here in (value.asked, value.right) for klass in classes]
    sets += [recall.says & inside, recall.asked & inside]
    counts = model.draws.sums(np.column_stack(sets))
    size = len(classes)
    asked, right = (np.zeros((len(counts), CLASSES)) for _ in range(2))
    asked[:, list(classes)], right[:, list(classes)] = counts[:, :size], counts[:, size : 2 * size]
    knows, says = balanced(asked, right), ratio(counts[:, -2], counts[:, -1])
    n, sampled = int(asked[0].sum()), int(counts[0, -1])
    return [
        model.share(f"knows.{name}", knows, n, gates),
        model.share(f"says.{name}", says, sampled, gates),
        model.share(f"difference.{name}", knows - says, min(n, sampled), gates, "share difference"),
    ]


def position(model: Model) -> list[Estimate]:
    """Return per arm the share of choices that are one letter, those that are the first, and those read (measure 7)."""
    found: list[Estimate] = []
    for name, arm in model.arms.items():
        chose = arm.letter >= 0
        n, asked = int(chose.sum()), int(arm.asked.sum())
        sets = [arm.letter == place for place in range(arm.options)] + [chose, arm.asked]
        counts = model.draws.sums(np.column_stack(sets))
        letters = ratio(counts[:, :-2], counts[:, -2:-1])
        top = int(np.argmax(letters[0])) if n else 0
        found += [
            model.share(f"position.{name}", letters[:, top], n),
            model.share(f"first_option.{name}", letters[:, 0], n),
            model.share(f"read.{name}", ratio(counts[:, -2], counts[:, -1]), asked),
        ]
    return found
