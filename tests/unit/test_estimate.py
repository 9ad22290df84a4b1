"""Estimates of answers whose figures are known by construction; every gate, and what it leaves of a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anachron.errors import ContractError
from anachron.estimates import Result
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import estimate, parse
from anachron.suites.hindsightbench.marks import MARKS
from anachron.suites.hindsightbench.protocol import Protocol
from anachron.suites.hindsightbench.recall import before_sustained_fall
from anachron.suites.hindsightbench.stability import stability

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL: Protocol = load_protocol("hindsightbench", ROOT / "config" / "protocols" / "bm1.yaml")
DATES, PRE = PROTOCOL.decision_dates, set(PROTOCOL.pre_dates)
CRISIS, CALM = set(PROTOCOL.crisis_dates), set(PROTOCOL.calm_dates)
FAKE = PROTOCOL.fake_dates(PROTOCOL.shift.months)
UP = {date: 1 if place % 3 else -1 for place, date in enumerate(DATES)}
PANEL = pd.DataFrame({"decision_date": DATES, "realised": [UP[date] for date in DATES]})
LAST_RECALLED = "2024-08"


def answer(bearish: int, valid: int = 8) -> str:
    common = {"mechanism_narrative": "m", "candidate_proxies": ["UNRATE"], "regime_hint": "r"}
    return json.dumps([{"direction": "-" if place < bearish else "+", **common} for place in range(valid)])


def bearish(arm: str, date: str) -> int:
    """A respondent that turns bearish on crisis dates it is shown: E2 = E3 = 1/2 by construction."""
    seen = {"M": None, "W": FAKE[date]}.get(arm, date)
    return 6 if seen in CRISIS else 2


def recalled(date: str, rep: int) -> str:
    if date[:7] > LAST_RECALLED or rep >= 8:
        return "unknown"
    return "up" if UP[date] > 0 else "down"


def respondent(
    arms: str = "RDMW",
    bearish: Callable[[str, str], int] = bearish,
    recalled: Callable[[str, int], str] = recalled,
    dates: list[str] = DATES,
) -> pd.DataFrame:
    rows = [(arm, date, 1, answer(bearish(arm, date))) for arm in arms for date in dates]
    rows += [("LAP", date, rep, recalled(date, rep)) for date in dates for rep in range(10)]
    rows += [("REC", date, 1, json.dumps({"estimated_date": date[:7]})) for date in dates]
    return transcripts(rows)


def transcripts(rows: list[tuple[str, str, int, str | None]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["arm", "item", "rep", "text"])
    shown = [
        FAKE[item] if arm == "W" else None for arm, item in zip(frame["arm"], frame["item"], strict=True)
    ]
    frame = frame.assign(
        model="planted", suite="hindsightbench", outcome="answer", recorded=None, shown_date=shown
    )
    frame["duplicate"] = frame.groupby(["arm", "item", "rep"]).cumcount()
    return frame.assign(key=frame.index.astype(str), provenance="planted")


def run(frame: pd.DataFrame, **options: Any) -> Result:
    return estimate.estimate(parse.parse(frame, PROTOCOL), PANEL, PROTOCOL, **options)


def metrics(result: Result, scoring: str = "anachron") -> dict[str, dict[str, Any]]:
    return {record["metric"]: record for record in result.records if record["scoring"] == scoring}


@pytest.fixture(scope="module")
def plain() -> Result:
    return run(respondent(), tier="full-1rep")


@pytest.mark.parametrize("scoring", ["bm1", "anachron"])
def test_a_date_triggered_respondent(plain: Result, scoring: str) -> None:
    found = metrics(plain, scoring)
    assert found["E1"]["value"] == 0
    assert found["E2"]["value"] == pytest.approx(0.5)
    crisis_true = [FAKE[date] in CRISIS for date in sorted(CRISIS)]
    calm_true = [FAKE[date] in CRISIS for date in sorted(CALM)]
    true_gap = 0.5 * (sum(crisis_true) / 11 - sum(calm_true) / 36)
    assert found["E3"]["value"] == pytest.approx(0.5 - true_gap)
    assert (found["P1"]["value"], found["P1"]["marks"]) == (0, "")
    assert found["LAP.pre"]["value"] == pytest.approx(0.8 * 236 / 240)
    assert (found["cutoff"]["value_month"], found["hit_rate"]["value"]) == (LAST_RECALLED, 1)
    assert (found["REC.pre.year"]["value"], found["REC.pre.offset"]["value"]) == (1, 0)
    assert found["VALID"]["value"] == 1


def test_marks_are_known(plain: Result) -> None:
    assert {mark for record in plain.records for mark in record["marks"]} <= set(MARKS)


def test_an_arm_that_was_not_asked_is_mark_c_and_no_number() -> None:
    found = metrics(run(respondent("RD")))
    for metric in ("E2", "E3", "P1"):
        assert (found[metric]["value"], found[metric]["gate"], found[metric]["marks"]) == (None, "c", "c")
    assert found["E1"]["value"] == 0
    found = metrics(run(respondent("DMW")))
    assert (found["delta"]["value"], found["delta"]["gate"]) == (None, "c")


@pytest.mark.parametrize(("lost", "stands"), [(1, True), (2, True), (3, False)])
def test_parity_is_strict_in_bm1_and_a_share_of_the_dates_in_anachron(lost: int, stands: bool) -> None:
    gone = sorted(CALM)[:lost]
    frame = respondent()
    frame.loc[(frame["arm"] == "M") & frame["item"].isin(gone), "text"] = "no list"
    result = run(frame)
    strict, ours = metrics(result, "bm1")["E2"], metrics(result)["E2"]
    assert (strict["value"], strict["marks"]) == (None, "k")
    assert strict["before_value"] == pytest.approx(0.5)
    assert ours["n"] == 47 - lost
    assert (ours["value"] is not None) is stands
    assert ours["marks"] == ("" if stands else "k")
    assert f"M {36 - lost} of 36" in ours["gate_text"]


def test_a_cutoff_inside_the_placebo_window_moves_the_window() -> None:
    def later(date: str, rep: int) -> str:
        return ("up" if UP[date] > 0 else "down") if date[:7] <= "2025-06" and rep < 8 else "unknown"

    def placebo(arm: str, date: str) -> int:
        return 8 if arm == "D" and "2025-02" <= date[:7] <= "2025-06" else 4

    found = metrics(run(respondent(bearish=placebo, recalled=later)))
    assert found["cutoff"]["value_month"] == "2025-06"
    assert (found["P1"]["value"], found["P1"]["n"], found["P1"]["marks"]) == (0, 12, "m")
    assert found["P1.calendar"]["value"] == pytest.approx(0.5 * 5 / 17)
    assert found["REC.post_relative.year"]["n"] == 12


def test_no_date_after_the_cutoff_leaves_no_placebo() -> None:
    def always(date: str, rep: int) -> str:
        return "up" if UP[date] > 0 else "down"

    found = metrics(run(respondent(recalled=always)))
    assert (found["P1"]["value"], found["P1"]["gate"]) == (None, "m")
    assert found["P1.calendar"]["value"] == 0
    assert found["cutoff"]["high_month"] == DATES[-1][:7]
    assert found["cutoff.sustained"]["value_month"] is None


def test_guessing_is_not_recall() -> None:
    def constant(date: str, rep: int) -> str:
        return "up"

    result = run(respondent(recalled=constant))
    strict, ours = metrics(result, "bm1"), metrics(result)
    assert strict["hit_rate"]["value"] == pytest.approx(160 / 240)
    assert strict["cutoff"][
        "gate_passed"
    ]  # an always-up answer passes the published gate: 2 in 3 months rise
    assert (ours["kappa"]["value"], ours["hit_rate"]["marks"]) == (0, "g")
    for metric in ("cutoff", "cutoff.sustained", "delta", "delta.t"):
        assert (ours[metric]["value"], ours[metric]["value_month"], ours[metric]["gate"]) == (None, None, "g")


def test_an_amnesiac_has_no_cutoff() -> None:
    found = metrics(run(respondent(recalled=lambda date, rep: "unknown")))
    assert found["LAP.pre"]["value"] == 0
    assert (found["cutoff"]["value_month"], found["cutoff"]["marks"]) == (None, "g")
    assert found["hit_rate"]["value"] is None


def test_one_sided_signals_leave_dissociation_undefined_in_anachron(plain: Result) -> None:
    flat = run(respondent(bearish=lambda arm, date: 2))
    assert (metrics(flat)["delta"]["value"], metrics(flat)["delta"]["marks"]) == (None, "v")
    assert flat.side["anachron"]["delta_design"]["minus"] == 0
    assert metrics(plain)["delta"]["gate"] == "v"


def test_few_accepted_dates_are_mark_r_and_all_asked_stand_beside() -> None:
    frame = respondent()
    rows = frame.index[frame["arm"] == "REC"]
    frame.loc[rows[9:240], "text"] = "I cannot say"
    found = metrics(run(frame))
    assert (found["REC.pre.year"]["value"], found["REC.pre.year"]["marks"]) == (None, "r")
    assert found["REC.pre.year_all"]["value"] == pytest.approx(9 / 240)
    assert found["REC.pre.best_constant"]["value"] == pytest.approx(12 / 240)
    assert found["REC.post.year"]["value"] == 1


def test_a_failed_call_counts_against_valid_in_anachron_only() -> None:
    frame = respondent()
    failed = frame.index[frame["arm"] == "D"][:129]
    frame.loc[failed, ["outcome", "text"]] = ["error", None]
    result = run(frame)
    assert metrics(result, "bm1")["VALID"]["value"] == 1
    assert metrics(result)["VALID"]["value"] == pytest.approx(1 - 129 / (4 * 258))
    assert result.counts["D"]["outcomes"] == {"answer": 129, "error": 129}


def test_repeated_recall_answers_count_once_in_anachron() -> None:
    frame = respondent()
    again = frame[(frame["arm"] == "LAP") & (frame["rep"] < 8)]
    both = transcripts(pd.concat([frame, again])[["arm", "item", "rep", "text"]].values.tolist())
    result = run(both)
    known = 236 / 240
    assert metrics(result)["LAP.pre"]["value"] == pytest.approx(0.8 * known)
    assert metrics(result, "bm1")["LAP.pre"]["value"] == pytest.approx(16 / 18 * known)
    assert result.counts["LAP"]["duplicates"] == len(again)


def test_commas_are_marked_and_counted(plain: Result) -> None:
    frame = respondent()
    frame.loc[0, "text"] = answer(2)[:-1] + ",]"
    result = run(frame)
    assert metrics(result, "bm1")["VALID"]["marks"] == "p"
    assert metrics(plain, "bm1")["VALID"]["marks"] == ""
    assert result.counts["R"]["repairs"]["bm1"] == {"comma": 1, "plain": 257}


def test_reduced_tier_asks_fewer_dates_of_the_arms() -> None:
    frame = respondent()
    wanted = PROTOCOL.tier_dates("reduced")
    frame = frame[frame["item"].isin(wanted) | frame["arm"].isin(["LAP", "REC"])]
    result = run(frame, tier="reduced")
    assert metrics(result)["VALID"]["value"] == 1
    assert (result.counts["D"]["asked"], result.counts["LAP"]["asked"]) == (65, 2580)
    assert metrics(result)["E2"]["value"] == pytest.approx(0.5)
    assert metrics(result)["E3"]["marks"] == "k"


def test_ablation_counts_sign_flips() -> None:
    def one_event(arm: str, date: str) -> int:
        return 8 if arm == "D" and date[:4] in ("2008", "2009") and date in CRISIS else 3 if arm == "D" else 4

    found = run(respondent(bearish=one_event)).side["anachron"]["ablation"]["E2"]
    assert found["perturbed"]["without financial crisis"]["value"] == pytest.approx(0, abs=1e-12)
    assert found["perturbed"]["without covid"]["value"] > 0
    assert found["cells"] == 47 + 3 + 3 + 1
    assert found["drop_one_date"]["low"] < found["base"] < found["drop_one_date"]["high"]


def test_nothing_answered_is_undefined_and_not_an_error() -> None:
    run(respondent().head(0))
    result = run(transcripts([("D", DATES[0], 1, None)]))
    for record in result.records:
        assert record["value"] is None or record["metric"] == "VALID"
    assert metrics(result)["VALID"]["value"] == 0


def test_two_runs_are_the_same_run(plain: Result) -> None:
    again = run(respondent(), tier="full-1rep")
    for part in ("records", "counts", "side"):
        assert json.dumps(getattr(plain, part), allow_nan=False) == json.dumps(
            getattr(again, part), allow_nan=False
        )


def test_answers_of_two_models_are_refused() -> None:
    frame = respondent("D")
    frame.loc[0, "model"] = "another"
    with pytest.raises(ContractError, match="another, planted"):
        run(frame)


def test_a_panel_that_contradicts_itself_is_refused() -> None:
    twice = pd.concat([PANEL, PANEL.head(1).assign(realised=-PANEL["realised"].iloc[0])])
    with pytest.raises(ContractError, match=DATES[0]):
        estimate.estimate(parse.parse(respondent("D"), PROTOCOL), twice, PROTOCOL)


def test_a_sustained_fall_needs_its_months() -> None:
    assert before_sustained_fall(pd.Series([0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5]).to_numpy(), 0.1, 3) == 3
    assert before_sustained_fall(pd.Series([0.0, 0.0, 0.0, 0.5, 0.0]).to_numpy(), 0.1, 3) is None


def serving(value: float, low: float, high: float, cutoff: str | None) -> dict[str, Any]:
    contrast = {"value": value, "low": low, "high": high}
    cells = {"E2": contrast, "E3": contrast, "cutoff": {"value_month": cutoff}}
    return {"estimates": {"hindsightbench": {"anachron": cells}}}


def test_serving_stability_is_mutual() -> None:
    # The published comparison: the quantized row holds and is held, the full-precision row is not.
    reference = serving(0.193, 0.108, 0.285, "2024-11")
    assert stability(reference, serving(0.172, 0.066, 0.280, "2024-12"))["stable"] is True
    unstable = stability(reference, serving(0.056, -0.023, 0.134, "2024-11"))
    assert (unstable["E2"], unstable["cutoff"], unstable["stable"]) == (False, True, False)
    assert stability(reference, serving(0.172, 0.066, 0.280, "2025-01"))["cutoff"] is False
    assert stability(reference, serving(0.172, 0.066, 0.280, None))["stable"] is None
