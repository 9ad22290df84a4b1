"""Where a model stops giving recent values: found as planted, undefined where nothing stops, exact in coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from anachron.blocks import from_ordinal, ordinal
from anachron.estimates import Estimate
from anachron.suites.numleak import naming, table
from anachron.suites.numleak.release import METRIC, release_end, split_ratios

FIRST = "2025-01"


def months(count: int) -> list[str]:
    return [from_ordinal(ordinal(FIRST) + place) for place in range(count)]


def found(given: list[int]) -> Estimate:
    """Return the end of a model that gives a number where `given` is 1."""
    frame = pd.DataFrame(
        {
            "arm": naming.RECENT,
            "item": [naming.item(month, naming.MARKET) for month in months(len(given))],
            "value": [0.5 if one else np.nan for one in given],
        }
    )
    (one,) = release_end(frame, "anachron")
    return one


def test_the_end_is_the_last_month_with_numbers_and_its_neighbours_stay_possible():
    one = found([1] * 6 + [0] * 8).record("numleak", "anachron")
    assert (one["value_month"], one["low_month"], one["high_month"]) == ("2025-06", "2025-05", "2025-07")
    assert one["gate_passed"] and one["n"] == 14
    (end,) = table.measured_ends({"anachron": {METRIC: one}}, {})
    assert (end["month"], end["high"], end["open_ended"]) == ("2025-06", "2025-07", False)


@pytest.mark.parametrize("given", [[1] * 14, [0] * 14, [0] * 7 + [1] * 7, [1, 0] * 7])
def test_numbers_throughout_none_or_in_no_order_show_no_end(given):
    one = found(given).record("numleak", "anachron")
    assert one["value_month"] is None and one["high_month"] is None and one["marks"] == "r"
    (end,) = table.measured_ends({"anachron": {METRIC: one}}, {})
    assert end["month"] is None and "2025-01 to 2026-02" in end["note"]


def test_a_handful_of_months_is_too_few():
    one = found([1] * 4 + [0] * 4).record("numleak", "anachron")
    assert one["value_month"] is None and one["marks"] == "n" and one["gate_figure"] == 8


def test_the_ratio_is_that_of_two_shares_against_one():
    from scipy import stats

    given, asked = np.array([[3.0, 2, 1, 0]]), np.array([3.0, 3, 3, 3])
    table_of = np.array([[5, 1], [1, 5]])
    g = stats.chi2_contingency(table_of, correction=False, lambda_="log-likelihood").statistic
    assert split_ratios(given, asked)[0, 1] == pytest.approx(g)
    assert (split_ratios(given[:, ::-1], asked) == 0).all(), "a rise is no end"


def test_the_interval_covers_and_no_end_is_rarely_invented():
    chance = np.random.default_rng(7)
    covered = seen = invented = 0
    for turn in range(60):
        end = 4 + turn % 7
        given = (chance.random(14) < np.where(np.arange(14) < end, 0.9, 0.1)).astype(int)
        one = found(given.tolist()).record("numleak", "anachron")
        if one["value_month"]:
            seen += 1
            covered += one["low_month"] <= months(14)[end - 1] <= one["high_month"]
        flat = (chance.random(14) < 0.6).astype(int)
        invented += found(flat.tolist()).record("numleak", "anachron")["value_month"] is not None
    assert seen >= 45 and covered / seen >= 0.93 and invented <= 6
