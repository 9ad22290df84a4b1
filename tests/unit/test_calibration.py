"""Estimators calibrated on planted respondents, small; `benchmarks/calibration.py` runs the large version."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from anachron.stats import calibration
from anachron.suites import load_protocol
from anachron.suites.hindsightbench.planted import Parameters
from anachron.suites.hindsightbench.planted_counts import simulate
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibration_benchmark", ROOT / "benchmarks/calibration.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    full = load_protocol("hindsightbench", ROOT / "config/protocols/bm1.yaml")
    return full.model_copy(update={"bootstrap": full.bootstrap.model_copy(update={"draws": 500})})


@pytest.mark.parametrize("name", ["planted-trigger", "flat", "uneven"])
def test_estimators_recover_what_was_planted(name: str, benchmark: ModuleType, protocol: Protocol) -> None:
    lines: list[str] = []
    misses = benchmark.calibrate(
        name,
        benchmark.respondents()[name],
        protocol,
        benchmark.planted_world(protocol),
        replicates=250,
        seed=1,
        say=lines.append,
    )
    assert not misses, "\n".join(lines)
    assert any("E2" in line and "bm1" in line and "covers" in line for line in lines)


def test_a_wrong_truth_is_noticed(
    benchmark: ModuleType, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The small version has the power to fail: half a standard error off in E2 is a miss."""
    right = benchmark.truth

    def off(*given: object) -> dict[str, float | str]:
        found = dict(right(*given))
        return found | {"E2": found["E2"] + 0.03}

    monkeypatch.setattr(benchmark, "truth", off)
    misses = benchmark.calibrate(
        "flat",
        benchmark.respondents()["flat"],
        protocol,
        benchmark.planted_world(protocol),
        replicates=250,
        seed=1,
        say=lambda _: None,
    )
    assert any(miss.startswith("flat E2: bias") for miss in misses)


def test_replicates_are_reproducible_and_keep_their_bounds(benchmark: ModuleType, protocol: Protocol) -> None:
    parameters = benchmark.respondents()["uneven"]
    world = benchmark.planted_world(protocol)
    first, again = (simulate(parameters, protocol, world, 5, seed=3, arms=("D", "W72")) for _ in range(2))
    other = simulate(parameters, protocol, world, 5, seed=4, arms=("D", "W72"))
    assert np.array_equal(first.bearish["D"], again.bearish["D"]) and np.array_equal(first.up, again.up)
    assert not np.array_equal(first.bearish["D"], other.bearish["D"])
    assert (first.bearish["D"] <= first.total["D"]).all() and first.total["D"].max() <= 16
    assert (first.up + first.down <= first.asked).all()
    pre = len(protocol.pre_dates)
    assert (first.total["W72"][:, pre:] == 0).all() and first.total["W72"][:, :pre].any()


def test_simulated_valid_counts_follow_the_forms(benchmark: ModuleType, protocol: Protocol) -> None:
    parameters = Parameters.model_validate(
        {"form": {"compliance": 0.7, "truncated": 0.3, "unterminated": 0.1, "empty": 0.1}}
    )
    world = benchmark.planted_world(protocol)
    for scoring, reached in (("anachron", 0.6 + 0.3 * 3.5 / 8), ("bm1", 0.5)):
        drawn = simulate(parameters, protocol, world, 40, seed=1, arms=("D",), scoring=scoring)
        # 20,640 answers: one standard error of the mean share is 0.003.
        assert drawn.total["D"].mean() / 16 == pytest.approx(0.7 * reached, abs=0.012), scoring


def test_bias_by_hand() -> None:
    found = calibration.bias(np.array([1.0, 2.0, 3.0, np.nan]), truth=1.5)
    assert (found.mean, found.spread, found.in_errors) == (2.0, 1.0, 0.5)
    assert (found.defined, found.replicates, found.error) == (3, 4, pytest.approx(1 / math.sqrt(3)))
    assert calibration.bias(np.array([0.3, 0.3]), 0.3).in_errors == 0
    assert calibration.bias(np.array([0.3, 0.3]), 0.4).in_errors == -math.inf
    with pytest.raises(ValueError, match="1 of 2 estimates"):
        calibration.bias(np.array([1.0, np.nan]), 0.0)


def test_coverage_by_hand() -> None:
    low, high = np.array([0.0, 1.0, 2.0, np.nan]), np.array([1.0, 2.0, 3.0, np.nan])
    found = calibration.coverage(low, high, 1.0)
    assert (found.share, found.defined, found.replicates) == (pytest.approx(2 / 3), 3, 4)
    assert calibration.coverage(low[:3], high[:3], np.array([0.5, 0.5, 2.5])).share == pytest.approx(2 / 3)
    assert 0 < calibration.rate(np.ones(100)).error < 0.02


def test_percentile_intervals_are_those_of_one_replicate(benchmark: ModuleType, protocol: Protocol) -> None:
    """The chunked matrix form gives what the statistics give for a single respondent."""
    from anachron.stats.bootstrap import bootstrap_gap, date_weights, percentile_interval

    world = benchmark.planted_world(protocol)
    drawn = simulate(benchmark.respondents()["uneven"], protocol, world, 3, seed=9)
    rows = benchmark.contrasts(protocol)["E2"]
    crisis, calm = rows[0][1], rows[1][1]
    weights = date_weights((len(crisis), len(calm)), 300, 2026)
    low, high = benchmark.percentile(drawn, rows, weights, 0.95, chunk=2)
    where = np.concatenate([crisis, calm])
    for number in range(3):
        gaps = [
            bootstrap_gap(
                weights, drawn.bearish[arm][number, where], drawn.total[arm][number, where], len(crisis)
            )
            for arm in ("D", "M")
        ]
        expected = percentile_interval(gaps[0] - gaps[1], 0.95, 0.5)
        assert expected is not None
        assert (low[number], high[number]) == pytest.approx(expected[:2], abs=1e-12)
