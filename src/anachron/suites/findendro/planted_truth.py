"""What the estimators should find on a planted respondent: exact expectations, none of them simulated.

Facts, candidates and the order of options stay; what the respondent knows, claims, guesses and how it writes is
redrawn. A ratio's truth is the ratio of the expectations of its two counts. The end of knowledge is where the
rule puts it on the expected curve; what is inside and after is held against that end.

Source: the suite's specification, "Checks without published data"; DESIGN, law 8.
"""

from __future__ import annotations

import numpy as np

from anachron.blocks import ordinal
from anachron.suites.findendro.cells import CLASSES, NUMERIC, POLICY, Ints, Scoring, chance_of
from anachron.suites.findendro.draws import ratio
from anachron.suites.findendro.ends import (
    Curve,
    balanced,
    baseline_quarters,
    class_weights,
    first_fall,
    last_above,
)
from anachron.suites.findendro.measures import within
from anachron.suites.findendro.planted import Memory
from anachron.suites.findendro.planted_parameters import Form, Parameters
from anachron.suites.findendro.planted_setting import Behaviour, Floats, Setting, behaviour, setting
from anachron.suites.findendro.protocol import Protocol, Tier, quarter_end

DECIMALS = 10


def truth(
    parameters: Parameters,
    protocol: Protocol,
    memory: Memory,
    tier: Tier = "full",
    scoring: Scoring = "anachron",
) -> dict[str, float | str]:
    """Return the expected value of every measure that a planted respondent has one for.

    Parameters
    ----------
    parameters, protocol
        The respondent and its task.
    memory
        What `items.memory` gives.
    tier
        The protocol tier it is asked on.
    scoring
        A respondent gives no log-probabilities with its letters: `likelihood` has no truth. Texts are scored whatever
        the form of its answers is.

    Returns
    -------
    dict
        Metric to value; shares as fractions, ends as months. An end is left out where there is none: a
        respondent that never knew, or never claimed.
    """
    if scoring == "likelihood":
        return {}
    listed = scoring == "anachron"
    if not listed:
        parameters = parameters.model_copy(update={"form": Form()})
    here = setting(protocol, memory, tier, listed=listed)
    expected = Expectation(parameters, here, behaviour(parameters, here))
    found = headline(expected) | ends(expected, protocol)
    located = found.get("knowledge_end")
    if isinstance(located, str):
        found |= safeguards(expected, located)
    found |= by_claim(expected) | families(expected)
    if parameters.self_report is not None:
        found["self_report"] = parameters.self_report
        for name in ("knowledge", "claims"):
            end = found.get(f"{name}_end")
            if isinstance(end, str):
                apart = ordinal(end) - ordinal(parameters.self_report)
                found[f"{name}_end.minus_self_report"] = float(apart)
    return {
        name: value if isinstance(value, str) else round(value, DECIMALS) + 0.0
        for name, value in sorted(found.items())
    }


class Expectation:
    """Expected indicators of a respondent by fact: choices, claims, and both at once."""

    def __init__(self, who: Parameters, here: Setting, acts: Behaviour) -> None:
        self.who, self.here, self.acts, self.grid = who, here, acts, here.grid
        self.read = 1.0 - who.form.unread
        self.guessed = acts.guess[np.arange(len(here.grid)), here.grid.truth]

    def right(self, arm: str, known: bool) -> Floats:
        """Return the chance that a choice is right, given that the fact is known or not, bias aside."""
        forgets = self.acts.forgets[arm]
        return (1 - forgets) + forgets * self.guessed if known else self.guessed

    def says(self, arm: str, known: bool) -> Floats:
        """Return the chance of a claim, given that the fact is known or not, bias aside."""
        return self.acts.claims[arm][0 if known else 1]

    def choice(self, arm: str, known: bool, right: bool | None = None, says: bool | None = None) -> Floats:
        """Return the chance of an answer that is right, and claims to know, or not; None asks for neither."""
        bias = self.who.position_bias
        candidate, claim = self.here.first[arm]
        first = np.ones(len(self.grid))
        meant = np.ones(len(self.grid))
        if right is not None:
            first = first * ((candidate == self.grid.truth) == right)
            hits = self.right(arm, known)
            meant = meant * (hits if right else 1 - hits)
        if says is not None:
            first = first * (claim == says)
            claims = self.says(arm, known)
            meant = meant * (claims if says else 1 - claims)
        return np.asarray(self.read * (bias * first + (1 - bias) * meant))

    def mean(self, *answers: tuple[str, bool | None, bool | None]) -> Floats:
        """Return the chance that some answers (arm, right, says) all happen."""
        found = np.zeros(len(self.grid))
        for known, share in ((True, self.acts.knows), (False, 1 - self.acts.knows)):
            together = share
            for arm, right, says in answers:
                together = together * self.choice(arm, known, right, says)
            found = found + together
        return found


def binned(places: Ints, values: Floats, size: int) -> Floats:
    """Return the sums of values by place, shape (size,)."""
    return np.asarray(np.bincount(places, values, size), dtype=float)


def by_class(values: Floats, expected: Expectation) -> Floats:
    """Return sums of values by class, shape (1, classes)."""
    return binned(expected.grid.klass, values, CLASSES)[None, :]


def knows_over(expected: Expectation, arm: str, inside: Floats) -> float:
    """Return *Knows* over some facts."""
    right = by_class(expected.mean((arm, True, None)) * inside, expected)
    return float(balanced(by_class(inside, expected), right)[0])


def headline(expected: Expectation) -> dict[str, float | str]:
    """Return the truth of measure 1."""
    every = np.ones(len(expected.grid))
    found: dict[str, float | str] = {
        "knows": knows_over(expected, "value", every),
        "says": float(expected.mean(("recall", None, True)).mean()),
    }
    for arm in ("predict", "dated"):
        found[f"accuracy.{arm}"] = knows_over(expected, arm, every)
        found[f"says.{arm}"] = float(expected.mean((arm, None, True)).mean())
    for name in ("accuracy", "says"):
        found[f"{name}.change"] = float(found[f"{name}.dated"]) - float(found[f"{name}.predict"])
    return found


def by_claim(expected: Expectation) -> dict[str, float | str]:
    """Return the truth of measure 2; what no answer is expected for is left out."""
    grid = expected.grid
    sets = [
        expected.mean(("recall", None, says), *((("value", True, None),) if right else ()))
        for says in (True, False)
        for right in (False, True)
    ]
    periods = int(grid.period.max()) + 1
    counts = np.stack([binned(grid.period, one * grid.controlled, periods) for one in sets], axis=1)[None]
    whole = counts.sum(axis=1)[0]
    found: dict[str, float | str] = {}
    for name, at in (("acc_says", 0), ("acc_denies", 2)):
        if whole[at] > 0:
            found[name] = float(whole[at + 1] / whole[at])
    gap = float(within(counts)[0][0])
    return found if np.isnan(gap) else found | {"gap": gap}


def expected_curves(expected: Expectation) -> dict[str, Curve]:
    """Return the expected shares by quarter of knowledge and claims."""
    grid = expected.grid
    every = np.ones(len(grid))
    inside = baseline_quarters(grid)
    weight = class_weights(by_class(every, expected))[0][grid.klass]
    numeric, policy = (grid.klass == NUMERIC).sum(), (grid.klass >= POLICY).sum()
    found = {}
    for name, hits, weights, floor in (
        ("knowledge", expected.mean(("value", True, None)), weight, float(chance_of(numeric, policy))),
        ("claims", expected.mean(("recall", None, True)), every, 0.0),
    ):
        above, below = (binned(grid.quarter, one, grid.quarters)[None] for one in (hits * weights, weights))
        level = ratio(above[:, inside].sum(axis=1), below[:, inside].sum(axis=1))
        found[name] = Curve(above, below, level, np.array([floor]))
    return found


def ends(expected: Expectation, protocol: Protocol) -> dict[str, float | str]:
    """Return the truth of measure 3; an end without a baseline above its floor is left out."""
    grid, rule = expected.grid, protocol.ends
    found: dict[str, float | str] = {}
    place: dict[str, float] = {}
    after = int(np.flatnonzero(baseline_quarters(grid)).max(initial=-1))
    for name, curve in expected_curves(expected).items():
        found[f"baseline.{name}"] = float(curve.level[0])
        # Guesses may be lucky on these very facts; who never knew has no end of knowledge all the same.
        ever = expected.acts.knows[grid.baseline].max(initial=0.0) if name == "knowledge" else curve.level[0]
        if ever <= 0 or curve.level[0] <= curve.floor[0]:
            continue
        made = {
            f"{name}_end": last_above(curve, rule.threshold, rule.window),
            f"{name}_end.alternative": last_above(curve, rule.alternative, rule.window),
            f"{name}_fall": first_fall(curve, rule.threshold, rule.window, rule.sustained, after),
        }
        place[name] = float(made[f"{name}_end"][0])
        for metric, values in made.items():
            if not np.isnan(values[0]):
                found[metric] = quarter_end(grid.first_quarter + int(values[0]))
    if len(place) == 2 and not any(np.isnan(value) for value in place.values()):
        found["claims_minus_knowledge"] = 3 * (place["claims"] - place["knowledge"])
    return found


def safeguards(expected: Expectation, end: str) -> dict[str, float | str]:
    """Return the truth of measure 4 for an end of knowledge (a quarter's last month)."""
    grid = expected.grid
    cut = ordinal(end) // 3 - grid.first_quarter
    found: dict[str, float | str] = {}
    for side, inside in (("inside", grid.quarter <= cut), ("after", grid.quarter > cut)):
        here = inside & grid.controlled
        if not here.any():
            continue
        denied = expected.mean(("recall", None, False))[here].sum()
        hits = expected.mean(("recall", None, False), ("value", True, None))[here].sum()
        labelled = expected.mean(("dated", None, False))[here].sum()
        right = expected.mean(("dated", True, None))[here].sum()
        both = expected.mean(("dated", True, False))[here].sum()
        found[f"filter.{side}.denied"] = float(denied / here.sum())
        found[f"backtest.{side}.predicted"] = float(labelled / here.sum())
        found[f"backtest.{side}.accuracy"] = float(right / here.sum())
        if denied > 0:
            found[f"filter.{side}.accuracy"] = float(hits / denied)
        if labelled > 0:
            found[f"backtest.{side}.accuracy_predicted"] = float(both / labelled)
    return found


def families(expected: Expectation) -> dict[str, float | str]:
    """Return the truth of measure 5."""
    grid, macro = expected.grid, len(expected.grid.series) - 2
    says = expected.mean(("recall", None, True))
    groups = {
        "macro": grid.series_of < macro,
        "stock": grid.series_of == macro,
        "policy": grid.series_of > macro,
    }
    groups |= {name: grid.series_of == at for at, name in enumerate(grid.series[:macro])}
    found: dict[str, float | str] = {}
    for name, inside in groups.items():
        if not (inside & grid.controlled).any():
            continue
        found[f"knows.{name}"] = knows_over(expected, "value", inside.astype(float))
        found[f"says.{name}"] = float(says[inside].mean())
        found[f"difference.{name}"] = float(found[f"knows.{name}"]) - float(found[f"says.{name}"])
    return found
