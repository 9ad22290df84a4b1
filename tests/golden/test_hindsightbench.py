"""Scoring `bm1` equals the published records; scoring `anachron` gives the corrected figures."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from published_cells import COLUMNS, PRINTED

from anachron import frames
from anachron.suites.hindsightbench import parse
from anachron.suites.hindsightbench.table import cells

pytestmark = pytest.mark.golden

MODELS = (
    "claude-haiku-4-5",
    "gemini-2.5-flash",
    "gpt-5.4-mini",
    "kimi-k2.6",
    "llama-3.1-70b-awq",
    "llama3.2:3b",
)
EXACT, REGRESSION = 1e-12, 1e-9


def figure(record: dict[str, Any], field: str = "value") -> Any:
    """What the formula gave, whether the gate let it stand or not."""
    for name in (field, f"before_{field}", f"{field}_month", f"before_{field}_month"):
        if record.get(name) is not None:
            return record[name]
    return math.nan


@pytest.mark.parametrize("model", MODELS)
def test_every_answer_is_read_as_published(records: Any, model: str) -> None:
    answers = records.answers(model)
    arms = answers[answers["arm"].isin(list("RDMW"))].reset_index(drop=True)
    published = pd.read_parquet(
        records.folder / "arms.parquet",
        filters=[("model_key", "==", model)],
        columns=["parse_error", "pub_valid_count", "pub_invalid_count", "pub_directions"],
    )
    assert arms["directions"].tolist() == published["pub_directions"].fillna("").tolist()
    assert arms["n_valid"].tolist() == published["pub_valid_count"].fillna(0).astype(int).tolist()
    assert arms["n_invalid"].tolist() == published["pub_invalid_count"].fillna(0).astype(int).tolist()
    assert arms["parse_error"].notna().tolist() == published["parse_error"].tolist()
    transcripts = records.transcripts(model)
    asked = transcripts["arm"] == "REC"
    assert (
        answers[answers["arm"] == "REC"]["estimated_month"].tolist()
        == transcripts[asked]["recorded"].tolist()
    )


@pytest.mark.parametrize("model", MODELS)
def test_repairs_are_counted_as_in_the_independent_recomputation(records: Any, model: str) -> None:
    names = {"trail": "comma"}
    expected = {
        names.get(name, name): n
        for name, n in records.published(model)["full_precision"]["stats"]["how"].items()
    }
    found: dict[str, int] = {}
    for arm in "RDMW":
        for name, number in records.result(model).counts[arm]["repairs"]["bm1"].items():
            found[name] = found.get(name, 0) + number
    assert found == expected


@pytest.mark.parametrize("model", MODELS)
def test_contrasts_and_their_intervals(records: Any, model: str) -> None:
    exact, found = records.published(model)["full_precision"], records.metrics(model, "bm1")
    for metric, value, interval, draws in (
        ("E1", "E1wb", "E1wbci", None),
        ("E2", "E2", "E2ci", "E2nv"),
        ("E3", "E3", "E3ci", "E3nv"),
    ):
        record = found[metric]
        assert figure(record) == pytest.approx(exact[value], abs=EXACT)
        assert [figure(record, "low"), figure(record, "high")] == pytest.approx(exact[interval], abs=EXACT)
        if draws and record["valid_draws"] is not None:
            assert record["valid_draws"] == exact[draws]
    for metric, value in (("D", "gap_D"), ("M", "gap_M"), ("W.fake", "gap_fake"), ("W.true", "gap_true")):
        assert found[f"gap.{metric}"]["value"] == pytest.approx(exact[value], abs=EXACT)
    assert figure(found["P1.calendar"]) == pytest.approx(exact["P1cal"], abs=EXACT)
    if exact["P1_in_window"] and not math.isnan(exact["P1rel"]):
        assert found["P1.relative"]["value"] == pytest.approx(exact["P1rel"], abs=EXACT)
        assert found["P1"]["value"] == found["P1.relative"]["value"]
        assert found["P1"]["marks"] == "m"
    else:
        assert "P1.relative" not in found


@pytest.mark.parametrize("model", MODELS)
def test_published_row(records: Any, model: str) -> None:
    row, found = records.published(model)["published"], records.metrics(model, "bm1")
    for metric, name in (("E2", "E2_date_trigger"), ("E3", "E3_transplant")):
        assert figure(found[metric]) == pytest.approx(row[name]["est"], abs=EXACT)
        ends = [figure(found[metric], "low"), figure(found[metric], "high")]
        assert ends == pytest.approx(row[name]["ci95"], abs=EXACT)
    assert found["VALID"]["value"] == pytest.approx(row["VALID"]["sketch_rate"], abs=EXACT)
    assert found["VALID"]["n"] == row["VALID"]["cells"]
    assert figure(found["cutoff"]) == row["LAP"]["empirical_cutoff"]
    assert found["hit_rate"]["n"] == row["LAP"]["recall_n"]


@pytest.mark.parametrize("model", MODELS)
def test_probes(records: Any, model: str) -> None:
    exact, found = records.published(model)["full_precision"], records.metrics(model, "bm1")
    for metric, value in (("LAP.pre", "lap_pre"), ("LAP.post", "lap_post"), ("hit_rate", "hit")):
        assert found[metric]["value"] == pytest.approx(exact[value], abs=EXACT)
    for window in ("pre", "post"):
        block = exact[f"rec_{window}"]
        for metric, value in (("year", "year"), ("month", "ym"), ("offset", "med")):
            record = found[f"REC.{window}.{metric}"]
            assert record["n"] == block["n"]
            if block[value] is None:
                assert (record["value"], record["marks"]) == (None, "r")
            else:
                assert record["value"] == pytest.approx(block[value], abs=EXACT)
    assert records.result(model).counts["LAP"]["answered"] == exact["lap_n"]


@pytest.mark.parametrize("model", MODELS)
def test_dissociation(records: Any, model: str) -> None:
    exact, found = records.published(model)["full_precision"], records.metrics(model, "bm1")
    design = records.result(model).side["bm1"]["delta_design"]
    assert (found["delta"]["n"], design["minus"]) == (exact["dn"], exact["dneg"])
    assert design["variance"] == pytest.approx(exact["dvar"], abs=EXACT)
    if exact["delta"] is None:
        assert found["delta"]["value"] is None
        assert "v" in found["delta"]["marks"]
    else:
        assert found["delta"]["value"] == pytest.approx(exact["delta"], abs=REGRESSION)
        assert found["delta.t"]["value"] == pytest.approx(exact["t"], abs=REGRESSION)
        assert design["rank"] == exact["drank"]


@pytest.mark.parametrize("model", MODELS)
def test_coverage(records: Any, model: str) -> None:
    exact = records.published(model)["full_precision"]["cov"]
    found = records.result(model).side["bm1"]["coverage"]
    for ours, theirs in (("D", "D"), ("M", "M"), ("R", "R"), ("W.true", "Wt"), ("W.fake", "Wf")):
        assert [found[ours]["crisis"], found[ours]["calm"]] == exact[theirs]
    assert [found["D"]["placebo"], found["M"]["placebo"]] == [exact["Dpost"], exact["Mpost"]]


@pytest.mark.parametrize("model", MODELS)
def test_answers_print_as_the_published_table(records: Any, model: str) -> None:
    printed = cells(records.metrics(model, "bm1"))
    assert " | ".join(printed[column] for column in COLUMNS) == PRINTED[model]


def test_corrected_figures(records: Any) -> None:
    small = records.metrics("llama3.2:3b", "anachron")
    assert small["VALID"]["value"] == pytest.approx(2008 / 2080, abs=EXACT)
    # The published correction is the contrast of all dates that either side covers; the estimate keeps to the
    # 45 dates both cover, and both are shown.
    beside = records.result("llama3.2:3b").side["anachron"]["percentile_intervals"]["E2"]
    everywhere = beside["all_dates"]
    assert [round(everywhere[key], 3) for key in ("value", "low", "high")] == [0.158, -0.028, 0.347]
    assert (small["E2"]["n"], small["E2"]["gate_passed"]) == (45, True)
    assert small["E2"]["value"] == pytest.approx(beside["shared_dates"]["value"], abs=EXACT)
    assert "+0.158 on all dates" in small["E2"]["gate_text"]
    assert (small["E3"]["value"], small["E3"]["marks"]) == (None, "k")

    large = records.metrics("llama-3.1-70b-awq", "anachron")
    design = records.result("llama-3.1-70b-awq").side["anachron"]["delta_design"]
    assert (design["rank"], design["plus"], design["n"]) == (3, 238, 239)
    assert (large["delta"]["value"], large["delta"]["marks"]) == (None, "v")
    assert round(large["kappa"]["value"], 2) == 0.30

    flash = records.metrics("gemini-2.5-flash", "anachron")
    assert round(flash["LAP.pre"]["value"], 3) == 0.430
    assert [round(flash[name]["value"], digits) for name, digits in (("delta", 3), ("delta.t", 2))] == [
        -0.250,
        -2.09,
    ]


def test_repeated_recall_lines_count_once(records: Any) -> None:
    counts = records.result("kimi-k2.6").counts["LAP"]
    share = records.result("kimi-k2.6").side["lap_by_month"]
    assert counts["duplicates"] > 0
    assert share["bm1"] != share["anachron"]


def test_recorded_words_stand_only_where_the_text_was_cut(records: Any) -> None:
    for model in MODELS:
        answers = records.answers(model)
        stands = (answers["recall_source"] == "recorded").fillna(False)
        assert set(records.transcripts(model)[stands.to_numpy(dtype=bool)]["text"].str.len()) <= {60, 80}
    assert records.result("llama3.2:3b").counts["LAP"]["recall_source"]["recorded"] == 1


def test_answers_fulfil_their_contract(records: Any) -> None:
    answers = records.answers("llama3.2:3b")
    checked = frames.check(answers, parse.Contract, "answers")
    assert len(checked) == len(answers)
    with pytest.raises(frames.ContractError):
        frames.check(pd.concat([answers, answers.head(1)]), parse.Contract, "answers")
