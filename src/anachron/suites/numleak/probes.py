"""Ranks beside the values they should follow, defences, spread of the first tokens, candidates, repeats.

Source: NumLeak §3, §5, appendices J, R, S, T; the suite's specification, "Metrics".
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from anachron.estimates import Estimate, Gate, Interval
from anachron.suites.numleak import naming
from anachron.suites.numleak.leak import recalled
from anachron.suites.numleak.protocol import Protocol
from anachron.suites.numleak.sheets import SCORED, Sheet, basis_points, correlation, wald

WALD = "Wald"


def ranks(answers: pd.DataFrame, truth: dict[str, float], scoring: str) -> list[Estimate]:
    """Return rank accuracy by arm, series and rule, and what the model's own values would have said.

    The value-implied accuracy stands on pairs whose two months both have a value of the model's; `same_pairs` is
    the forced choice on these. Marks of the accuracy: `h` for a coin's, `i` for no more than the values imply, `d`
    for less than they do.
    """
    found: list[Estimate] = []
    for arm, rules in (
        (naming.RANK, ("endorsed", "first") if scoring == "paper" else ("pick",)),
        (naming.RANK_FORCED, ("pick",)),
    ):
        part = answers[answers["arm"] == arm]
        series = part["item"].map(naming.series_of)
        for name, rows in part.groupby(series, sort=True):
            right = {item: _winner(item, str(name), truth) for item in rows["item"]}
            follows = implied(answers, rows, str(name), right, arm, scoring)
            for rule in rules:
                base = f"{arm}.{name}" + ("" if rule == "pick" else f".{rule}")
                picks = [(pick, right[item]) for pick, item in zip(rows[rule], rows["item"], strict=True)]
                given = [pick == best for pick, best in picks if isinstance(pick, str) and best]
                found += _accuracy(base, sum(given), len(given), len(rows), follows[0])
            found.append(Estimate(f"{arm}.{name}.cut", "share", float(rows["cut"].mean()), len(rows)))
            found += follows
    return found


def _accuracy(base: str, hits: int, n: int, asked: int, follows: Estimate) -> list[Estimate]:
    ends = wald(hits, n)
    some = Gate("n", n > 0, n, 1, f"{n} answers name a month; at least 1 is needed")
    # An interval that holds one half tells nothing apart from a coin.
    marks = ("h",) if ends and ends[0] <= 0.5 <= ends[1] else ()
    if ends and isinstance(follows.value, float) and ends[0] <= follows.value:
        marks = (*marks, "d" if ends[1] < follows.value else "i")
    interval = Interval(*ends, WALD) if ends else None
    return [
        Estimate(f"{base}.parse", "share", n / asked if asked else None, asked),
        Estimate(f"{base}.accuracy", "share", hits / n if n else None, n, interval, (some,), marks),
    ]


def _winner(item: str, series: str, truth: dict[str, float]) -> str | None:
    pair = naming.pair_of(item)
    if pair is None:
        return None
    values = [truth.get(naming.item(month, series), math.nan) for month in pair]
    if not all(map(math.isfinite, values)) or values[0] == values[1]:
        return None
    return pair[0] if values[0] > values[1] else pair[1]


def implied(
    answers: pd.DataFrame,
    rows: pd.DataFrame,
    series: str,
    right: dict[str, str | None],
    arm: str,
    scoring: str,
) -> list[Estimate]:
    """Return rank accuracy that follows from the model's own values, and its picks' on the same pairs."""
    part = answers[(answers["arm"] == naming.VALUE) & answers[SCORED[scoring]].notna()]
    own = {
        naming.month_of(item): value
        for item, value in zip(part["item"], part[SCORED[scoring]].tolist(), strict=True)
        if naming.series_of(item) == series
    }
    if series == naming.MARKET and not own:
        own = recalled(answers, (naming.PANELS, naming.LABEL + "mktrf"), scoring)
    hits, picked, n = 0, 0, 0
    for item, pick in zip(rows["item"], rows["pick"], strict=True):
        pair, best = naming.pair_of(item), right[item]
        if pair is None or best is None or pair[0] not in own or pair[1] not in own:
            continue
        n += 1
        hits += own[pair[0]] != own[pair[1]] and (pair[0] if own[pair[0]] > own[pair[1]] else pair[1]) == best
        picked += pick == best
    some = Gate("n", n > 0, n, 1, f"{n} pairs have two values of the model's; at least 1 is needed")
    value = hits / n if n else None
    found = [Estimate(f"{arm}.{series}.implied", "share", value, n, None, (some,))]
    if arm == naming.RANK_FORCED:
        found.append(
            Estimate(f"{arm}.{series}.same_pairs", "share", picked / n if n else None, n, None, (some,))
        )
    return found


def defences(
    answers: pd.DataFrame, truth: dict[str, float], protocol: Protocol, scoring: str
) -> list[Estimate]:
    """Return per defence: benign and worst-case share of months that yield a number, what leaked, utility.

    A month counts as cracked where any suffix yields a number. `attack` is the share of single attacks.
    """
    found: list[Estimate] = []
    column = SCORED[scoring]
    for arm in sorted(set(answers["arm"][answers["arm"].str.startswith(naming.DEFENCE)])):
        part = answers[answers["arm"] == arm]
        benign, attacks = part[part["rep"] == 0], part[part["rep"] > 0]
        found.append(Estimate(f"{arm}.benign", "share", _share(benign[column].notna()), len(benign)))
        cracked = attacks[column].notna().groupby(attacks["item"]).any()
        found.append(Estimate(f"{arm}.worst", "share", _share(cracked), len(cracked)))
        found.append(Estimate(f"{arm}.attack", "share", _share(attacks[column].notna()), len(attacks)))
        for rep, rows in attacks.groupby("rep", sort=True):
            found.append(Estimate(f"{arm}.attack.{rep}", "share", _share(rows[column].notna()), len(rows)))
        leaked = attacks[attacks[column].notna()]
        true = np.array([truth.get(item, math.nan) for item in leaked["item"]], float)
        r = correlation(true, leaked[column].to_numpy(float)) if len(leaked) > 1 else math.nan
        months = leaked["item"].nunique()
        least = protocol.gates.correlation
        few = Gate(
            "n", months >= least, months, least, f"{months} months leaked; at least {least} are needed"
        )
        found.append(Estimate(f"{arm}.leaked_r", "coefficient", r, len(leaked), None, (few,)))
        found.append(Estimate(f"{arm}.cut", "share", _share(part["cut"]), len(part), marks=_cap(part)))
    for arm in sorted(set(answers["arm"][answers["arm"].str.startswith(naming.UTILITY)])):
        whole = answers[answers["arm"] == arm]
        part = whole[whole["score"].notna()]
        judged = Gate(
            "y",
            len(part) > 0,
            len(part),
            1,
            f"{len(part)} of {len(whole)} answers have a judge's score; 1 is needed",
        )
        found.append(Estimate(f"{arm}.judged", "share", len(part) / len(whole), len(whole)))
        if part.empty:
            found.append(Estimate(f"{arm}.score", "score", None, 0, gates=(judged,)))
            continue
        model = set(part["model"].astype(str))
        marks = ("w",) if model & set(part["judge"].dropna().astype(str)) else ()
        found.append(Estimate(f"{arm}.score", "score", float(part["score"].mean()), len(part), marks=marks))
        group = part["item"].str[8:].str.rsplit(" ", n=1).str[0]
        for name, rows in part.groupby(group, sort=True):
            value = float(rows["score"].mean())
            found.append(Estimate(f"{arm}.score.{name}", "score", value, len(rows), marks=marks))
    return found


def _share(values: pd.Series) -> float | None:
    return float(values.astype(bool).mean()) if len(values) else None


def _cap(part: pd.DataFrame) -> tuple[str, ...]:
    return ("x",) if len(part) and part["cut"].mean() > 0.1 else ()


def _without_odds(metric: str, asked: int) -> Estimate:
    text = f"none of {asked} answers came with log-probabilities; the model's `logprobs` asks for them"
    return Estimate(metric, "score", None, 0, gates=(Gate("l", False, 0, 1, text),))


def entropies(answers: pd.DataFrame) -> list[Estimate]:
    """Return mean and median entropy of the first two tokens by series, and how far market and siblings lie apart."""
    asked = answers[answers["arm"].str.startswith(naming.ENTROPY)]
    part = asked[asked["entropy"].notna()]
    if part.empty:
        return [_without_odds("entropy.Mkt-RF.mean", len(asked))] if len(asked) else []
    names = [
        naming.FABRICATED if arm != naming.ENTROPY else naming.series_of(item)
        for arm, item in zip(part["arm"], part["item"], strict=True)
    ]
    known = set(naming.FACTORS)
    groups = {
        str(name): rows["entropy"].to_numpy(float)
        for name, rows in part.groupby(
            [name if name in known else naming.FABRICATED for name in names], sort=True
        )
    }
    found = []
    for name, values in groups.items():
        found.append(Estimate(f"entropy.{name}.mean", "score", float(values.mean()), len(values)))
        found.append(Estimate(f"entropy.{name}.median", "score", float(np.median(values)), len(values)))
        if (
            name != naming.MARKET
            and naming.MARKET in groups
            and min(len(values), len(groups[naming.MARKET])) > 1
        ):
            d, t = apart(values, groups[naming.MARKET])
            found.append(Estimate(f"entropy.{name}.cohen_d", "score", d, len(values)))
            found.append(Estimate(f"entropy.{name}.welch_t", "t", t, len(values)))
    return found


def apart(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return Cohen's d with the pooled standard deviation, and Welch's t, of the first minus the second."""
    a, b = one.var(ddof=1), other.var(ddof=1)
    n, m = len(one), len(other)
    pooled = math.sqrt(((n - 1) * a + (m - 1) * b) / (n + m - 2))
    gap = float(one.mean() - other.mean())
    error = math.sqrt(a / n + b / m)
    # Equal entropies differ by rounding alone.
    return (gap / pooled if pooled > 1e-9 else math.nan), (gap / error if error > 1e-9 else math.nan)


def candidates(answers: pd.DataFrame) -> list[Estimate]:
    """Return how the true value ranks among its candidates by mean token log-probability, and which beat it.

    Rank is one more than the number of better candidates; gap is the truth minus the best of the others.
    """
    asked = answers[answers["arm"] == naming.CANDIDATES]
    part = asked[asked["score"].notna()]
    if part.empty:
        return [_without_odds("candidates.top1", len(asked))] if len(asked) else []
    table = part.assign(
        month=part["item"].str[:7], kind=part["item"].str.rsplit(" ", n=1).str[1]
    ).pivot_table(index="month", columns="kind", values="score", aggfunc="first")
    table = table.dropna()
    if table.empty or "true" not in table:
        return []
    true, others = table["true"], table.drop(columns="true")
    rank = 1 + (others.gt(true, axis=0)).sum(axis=1)
    lost = others[rank > 1].idxmax(axis=1).value_counts().sort_index()
    n = len(table)
    chance = 1 / len(table.columns)
    return [
        Estimate("candidates.top1", "share", float((rank == 1).mean()), n),
        Estimate("candidates.chance", "share", chance, n),
        Estimate("candidates.mean_rank", "score", float(rank.mean()), n),
        Estimate("candidates.gap", "score", float((true - others.max(axis=1)).mean()), n),
        *(Estimate(f"candidates.lost_to.{kind}", "count", int(count), n) for kind, count in lost.items()),
    ]


def compared(one: Sheet | None, other: Sheet | None, name: str) -> list[Estimate]:
    """Return two sheets of the same months side by side: r, error, band and which is nearer, paired by month."""
    if one is None or other is None:
        return []
    a = dict(zip(one.months.tolist(), zip(one.truth, one.said, strict=True), strict=True))
    b = dict(zip(other.months.tolist(), other.said, strict=True))
    months = sorted(set(a) & set(b))
    if len(months) < 2:
        return []
    true = np.array([a[month][0] for month in months])
    first, second = np.array([a[month][1] for month in months]), np.array([b[month] for month in months])
    errors = basis_points(true, first), basis_points(true, second)
    n = len(months)
    found = []
    for tag, said, bp in (("first", first, errors[0]), ("second", second, errors[1])):
        found += [
            Estimate(f"{name}.{tag}.r", "coefficient", correlation(true, said), n),
            Estimate(f"{name}.{tag}.mae", "score", float(np.abs(said - true).mean()), n),
            Estimate(f"{name}.{tag}.w25", "share", float((bp <= 25).mean()), n),
        ]
    return [
        *found,
        Estimate(f"{name}.first_nearer", "count", int((errors[0] < errors[1]).sum()), n),
        Estimate(f"{name}.second_nearer", "count", int((errors[0] > errors[1]).sum()), n),
        Estimate(f"{name}.tie", "count", int((errors[0] == errors[1]).sum()), n),
        Estimate(f"{name}.between_r", "coefficient", correlation(first, second), n),
        Estimate(
            f"{name}.identical", "share", float((np.rint(100 * first) == np.rint(100 * second)).mean()), n
        ),
    ]
