"""The suite from questions to estimates: made by rule, from a table, asked, read, audited with and without controls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from leakage_forecasters import ROOT, answers, shipped

from anachron.backtest.audit import audit
from anachron.backtest.options import Options
from anachron.config import Sources
from anachron.errors import AnachronError, ConfigError, ContractError
from anachron.suites import load_protocol
from anachron.suites.leakage import ask, estimate, forecasts, items, own, planted, planted_truth, table
from anachron.suites.leakage.marks import MARKS
from anachron.suites.leakage.planted_parameters import Parameters
from anachron.suites.leakage.protocol import ARMS, FORECAST, PARAPHRASE, Protocol

SOURCES = Sources(snapshot=str(ROOT / "resources/snapshot"))
ENTRIES = yaml.safe_load((ROOT / "config/models.yaml").read_text(encoding="utf-8"))["models"][:3]
PLANTED = {entry["name"]: entry["planted"]["leakage"] for entry in ENTRIES}
CUTOFFS = {entry["name"]: entry.get("vendor_cutoff", {}).get("value") for entry in ENTRIES}
HEADER = "question,text,source,frozen_on,crowd,resolved_on,outcome\n"
ROW = "q1,Will it rain?,manifold,2024-01-02,0.4,2024-02-01,1\n"


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    return shipped()


@pytest.fixture(scope="module")
def known(protocol: Protocol) -> pd.DataFrame:
    return items.build(protocol, SOURCES, protocol.months)


@pytest.fixture(scope="module")
def said(protocol: Protocol, known: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {name: answers(protocol, known, name, who, ARMS) for name, who in PLANTED.items()}


def test_questions_rest_on_what_was_published_before_they_are_asked(known: pd.DataFrame) -> None:
    assert len(known) > 1000
    assert known["item"].is_unique
    assert (known["asked_on"] < known["resolved_on"]).all()
    assert (known["month"] == known["resolved_on"].str[:7]).all()
    brier = ((known["crowd"] - known["outcome"]) ** 2).mean()
    base = known["outcome"].mean()
    assert brier < base * (1 - base), "base rates of a series say more than that of all"


def test_a_question_made_by_rule_is_recomputed_from_the_snapshot(known: pd.DataFrame) -> None:
    whole = pd.read_parquet(ROOT / "resources/snapshot/alfred.parquet")
    rate = whole[(whole["series_id"] == "GS10") & ~whole["synthetic"]]
    values = dict(zip(rate["reference_period"].astype(str).str[:7], rate["value"], strict=True))
    # February's figure came out after the first of March: the last one known is two months old.
    before = [month for month in sorted(values) if month <= "2024-01"]
    changes = [values[after] - values[month] for month, after in zip(before, before[2:], strict=False)][-120:]
    spread = float(np.std(changes, ddof=1))
    asked = known[(known["source"] == "GS10") & (known["reference"] == "2024-03")]
    assert asked["asked_on"].tolist() == ["2024-03-01", "2024-03-01"]
    for offset, row in zip((-0.4, 0.4), asked.itertuples(), strict=True):
        threshold = round(values["2024-01"] + offset * spread, 2)
        assert row.threshold == f"{threshold:.2f}"
        assert row.outcome == float(values["2024-03"] > threshold)
        above = sum(values["2024-01"] + change > threshold for change in changes)
        assert row.crowd == pytest.approx((above + 0.5) / 121)


def test_wordings_keep_question_date_and_threshold(protocol: Protocol, known: pd.DataFrame) -> None:
    some = items.names(known)[:40]
    first, others = (ask.build(protocol, known, arm, some) for arm in ARMS)
    assert len(first) == 40 and len(others) == 40 * (len(protocol.task.wordings) - 1)
    held = known.set_index("item")
    for frame in (first, others):
        assert not frame["prompt"].duplicated().any()
        for row in frame.itertuples():
            question = held.loc[row.item]
            assert all(question[name] in row.prompt for name in ("threshold", "asked_on", "resolved_on"))
            assert row.shown_date == question["asked_on"]
    assert set(others["rep"]) == set(range(1, len(protocol.task.wordings)))
    few = first["tiers"].str.contains("reduced").mean()
    assert 0 < few < 0.5
    with pytest.raises(ContractError, match="is not among the questions"):
        ask.build(protocol, known, FORECAST, ["2024-01 nothing"])
    with pytest.raises(AnachronError, match="forecast, paraphrase"):
        ask.build(protocol, known, "dated", some)


def test_planted_forecasters_are_found_by_estimates_with_their_truth_inside(
    protocol: Protocol, known: pd.DataFrame, said: dict[str, pd.DataFrame]
) -> None:
    found = {}
    for name, read in said.items():
        result = estimate.estimate(read, known, protocol, cutoff=CUTOFFS[name])
        found[name] = {record["metric"]: record for record in result.records}
        truth = planted.truth(PLANTED[name], protocol, items.memory(known))
        for metric, value in truth.items():
            record = found[name][metric]
            assert record["low"] is None or record["low"] <= value <= record["high"], (name, metric)
        assert result.counts["answered"] == {FORECAST: len(known), PARAPHRASE: 2 * len(known)}
        printed = table.cells(
            {metric: record | {"marks": record["marks"]} for metric, record in found[name].items()}
        )
        assert set(printed) == set(table.QUESTIONS)
        assert set("".join(record["marks"] for record in found[name].values())) <= set(MARKS)
    trigger, memory, amnesiac = (found[name] for name in PLANTED)
    for metric in ("gap", "gap.mix", "jump", "prc"):
        assert trigger[metric]["low"] > 0, "reads answers"
    assert memory["gap"]["low"] > 0, "is fresh, which the naive gap takes for leakage"
    for metric in ("jump", "prc"):
        assert memory[metric]["low"] <= 0 <= memory[metric]["high"], "and reads none"
    assert (amnesiac["jump"]["value"], amnesiac["jump"]["marks"]) == (None, "k")
    assert "c" in amnesiac["gap"]["marks"]
    original = forecasts.table(said["planted-trigger"], known, CUTOFFS).query("paraphrase == 0")
    score = (original["crowd"] - original["outcome"]) ** 2 - (0.15 - original["outcome"]) ** 2
    early = original["resolved_on"] < "2024-11-01"
    assert trigger["placebo.p15"]["value"] == pytest.approx(score[early].mean() - score[~early].mean())


def test_target_and_control_of_one_run_are_audited_together(
    known: pd.DataFrame, said: dict[str, pd.DataFrame]
) -> None:
    joined = forecasts.table(pd.concat(said.values(), ignore_index=True), known, CUTOFFS)
    found = audit(
        forecasts.backtest(joined, "this run"),
        Options(target="planted-trigger", panels=0, draws=500, thorough=False),
    )
    assert found.route.route == "did"
    assert found.route.controls == ["planted-memory"]
    difference = next(one for one in found.findings if one.name == "did")
    who, memory = Parameters.model_validate(PLANTED["planted-trigger"]), items.memory(known)
    plan = planted_truth.questions(who, memory)
    # The control may know what was resolved within 30 days of its own cutoff, 2024-01-01: 275 days before the target's.
    inside = (plan.days < 0) & (plan.days >= -275)
    assert difference.number.low is not None and difference.number.high is not None
    assert difference.number.low <= plan.leakage[inside].mean() <= difference.number.high
    assert difference.number.low > 0


def test_who_answers_nothing_has_no_estimate_and_no_error(protocol: Protocol, known: pd.DataFrame) -> None:
    silent = answers(protocol, known.head(30), "silent", {"seed": 1, "refusal": 1.0})
    result = estimate.estimate(silent, known, protocol, cutoff="2024-10")
    assert [(record["metric"], record["value"]) for record in result.records] == [("valid", 0.0)]
    assert result.counts["readings"] == {FORECAST: {"refusal": 30}}


def write(folder: Path, text: str) -> Path:
    path = folder / "questions.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_questions_takes_the_place_of_those_made(protocol: Protocol, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "question,text,frozen_on,crowd,resolved_on,outcome,url\n"
        "q1,Will it rain?,2024-01-02,0.4,2024-02-01,1,\n"
        "q 2/a,Will {braces} do?,2024-01-03,,2024-03-01,0,\n"
        "q3,Too early?,2004-01-03,,2004-03-01,0,\n",
    )
    changed = protocol.model_copy(update={"questions": str(path)})
    built = items.build(changed, SOURCES, changed.months)
    assert built["item"].tolist() == ["2024-02 question-q1", "2024-03 question-q-2-a"]
    assert built["crowd"].isna().tolist() == [False, True]
    requests = ask.build(changed, built, FORECAST, items.names(built))
    assert requests["prompt"].tolist()[1].startswith("Will {braces} do?\n\n")
    assert changed.macro_series == []
    assert changed.data_digest(SOURCES, "2024-03") != protocol.data_digest(SOURCES, "2024-03")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEADER.replace("frozen_on", "asked") + ROW, "no column 'frozen_on'"),
        (HEADER, "holds no row below its header"),
        (HEADER + ROW.replace("0.4", "40"), "line 2, column 'crowd': found '40'; allowed is a fraction"),
        (HEADER + ROW.replace(",1\n", ",yes\n"), "line 2, column 'outcome': found 'yes'"),
        (HEADER + ROW.replace(",1\n", ",0.5\n"), "allowed is 0 or 1"),
        (HEADER + ROW.replace("2024-02-01", "2024-02-31"), "column 'resolved_on': found '2024-02-31'"),
        (HEADER + ROW.replace("2024-02-01", "2099-02-01"), "allowed is up to today"),
        (
            HEADER + ROW.replace("2024-01-02", "2024-03-02"),
            "up to 2024-02-01, when the question was resolved",
        ),
        (
            HEADER + ROW.replace("2024-01-02", ""),
            "column 'frozen_on': found nothing; allowed is the day as of which",
        ),
        (HEADER + ROW.replace("Will it rain?", ""), "column 'text': found nothing"),
        (HEADER + ROW + ROW, "line 3, column 'question': found 'q1'; allowed is each once"),
        (
            HEADER + ROW.replace("2024-0", "2004-0"),
            "no question is resolved in the protocol's months, 2021-01 to",
        ),
    ],
)
def test_faulty_tables_of_questions_are_told(
    protocol: Protocol, tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(AnachronError) as raised:
        own.read(write(tmp_path, text), protocol.months, protocol.months)
    assert told in str(raised.value)


def test_a_missing_table_of_questions_is_told(protocol: Protocol, tmp_path: Path) -> None:
    changed = protocol.model_copy(update={"questions": str(tmp_path / "gone.csv")})
    with pytest.raises(AnachronError, match="no such file"):
        items.build(changed, SOURCES, changed.months)
    assert changed.data_digest(SOURCES, "2024-03") == "not there"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("above {threshold} {unit}?", "above {treshold} {unit}?", "wordings.0"),
        ('    - "{question}"\n', "", "differ in number"),
        ("settled on {resolved_on}", "settled soon", "{resolved_on} is missing"),
        ("  paraphrase: {max_tokens: 512}\n", "", "`arms` are forecast, paraphrase"),
        ("id: UNRATE", "id: GS10", "names an id twice"),
    ],
)
def test_faulty_protocols_are_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = (ROOT / "config/protocols/leakage.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "leakage.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load_protocol("leakage", path)
    assert told in str(raised.value)


def test_the_quick_audit_leaves_the_checks_out_and_changes_no_number(
    known: pd.DataFrame, said: dict[str, pd.DataFrame]
) -> None:
    name = "planted-trigger"
    joined = forecasts.backtest(forecasts.table(said[name], known, CUTOFFS), "this run")
    quick = Options(target=name, panels=0, draws=200, thorough=False)
    brief, whole = (audit(joined, one) for one in (quick, dataclasses.replace(quick, thorough=True)))
    assert [one.number for one in brief.findings] == [one.number for one in whole.findings]
    assert {"density"} <= {one.name for one in whole.checks} - {one.name for one in brief.checks}
