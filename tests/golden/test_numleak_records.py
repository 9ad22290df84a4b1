"""The published records of NumLeak: `paper` gives the printed numbers, `anachron` the corrected ones.

Records of one table hold no truth for most months (Sonnet's NASDAQ panel), and no record of the temperature table
exists: what cannot be computed is named in `NO_RECORDS`, and nothing else is left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anachron.suites import load_protocol
from anachron.suites.numleak import artifact, estimate, parse

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data")) / "numleak"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no published records at {DATA}")

SONNET, GPT = "claude-sonnet-4.6", "gpt-5.4"
STRICT = {SONNET}
"""Models whose Table 3 counts errors under 25 basis points; the others' counts errors of 25 too."""
NO_RECORDS = {
    "table4 claude-sonnet-4.6 nasdaq w25": "36 of 40 months have no true value in the records",
    "table4 claude-sonnet-4.6 nasdaq r": "36 of 40 months have no true value in the records",
    "table4 claude-sonnet-4.6 nasdaq sign": "36 of 40 months have no true value in the records",
    "table4 claude-sonnet-4.6 nasdaq rho_ff": "36 of 40 months have no true value in the records",
    "table13 claude-sonnet-4.6 E parse": "printed 1.000, but 24 of 176 records hold no number (the correction says so)",
}
RANGES = {(GPT, series) for series in ("SMB", "HML", "RMW", "CMA", "Mom")}
"""Sheets of Table 3 whose printed interval of r is the range of all draws, the others' being percentiles."""
DEFENCES = {"C": "conceptual", "QH": "historical", "AN": "numeric"}

Cells = dict[str, dict[str, dict[str, dict[str, Any]]]]


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Estimates by model, scoring and metric."""
    protocol = load_protocol("numleak", ROOT / "config/protocols/numleak.yaml")
    truth = artifact.panel(DATA, protocol)
    assert truth is not None
    found: Cells = {}
    for model in artifact.each(DATA, protocol):
        result = estimate.estimate(parse.parse(model.transcripts, protocol), truth, protocol)
        by_scoring = found.setdefault(model.name, {})
        for record in result.records:
            by_scoring.setdefault(record["scoring"], {})[record["metric"]] = record
    return found


def published() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((DATA / "published.json").read_text(encoding="utf-8"))
    return found


def corrections() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "corrections.json").read_text(encoding="utf-8"))
    return found


def places(printed: float) -> int:
    text = repr(printed)
    return len(text.split(".")[1]) if "." in text else 0


def agrees(value: float | None, printed: float | None, least: int = 0, twice: bool = False) -> bool:
    """Whether a value rounds to what is printed, a tie either way; `twice`: by way of one digit more."""
    if printed is None or value is None:
        return printed is None and value is None
    last = 10.0 ** -max(places(printed), least)
    return abs(value - printed) <= (0.55 if twice else 0.5) * last + 1e-9


def number(record: dict[str, Any] | None) -> float | None:
    """A value, or what it was before its gate: the paper prints correlations of three months."""
    if record is None:
        return None
    found = record["value"] if record["value"] is not None else record["before_value"]
    return None if found is None or not math.isfinite(found) else float(found)


Check = tuple[str, str, str, Any, int]
"""Name, model, metric, printed value, digits."""


def series_sheet(model: str, series: str) -> str:
    return f"label-mktrf.{series}" if series == "Mkt-RF" and model != SONNET else f"value.{series}"


def value_checks(tables: dict[str, list[dict[str, Any]]]) -> Iterator[Check]:
    """Tables 1 and 3 to 10: recitals by series and panel."""
    for row in tables["table1"]:
        for key in ("w25", "sign", "r"):
            yield f"table1 {row['model']} {key}", row["model"], f"panels.Mkt-RF.{key}", row[key], 2
        yield f"table1 {row['model']} n", row["model"], "n panels.Mkt-RF.r", row["n"], 0
    for row in tables["table3"]:
        model, sheet = row["model"], series_sheet(row["model"], row["series"])
        name = f"table3 {model} {row['series']}"
        if "parsed" in row:
            yield f"{name} parsed", model, f"n {sheet}.r", row["parsed"], 0
            yield f"{name} asked", model, f"n {sheet}.parse", row["n"], 0
            continue
        band = "w25_under" if model in STRICT else "w25"
        yield f"{name} n", model, f"n {sheet}.r", row["n"], 0
        for key, metric in (("w25", band), ("sign", "sign"), ("r", "r")):
            yield f"{name} {key}", model, f"{sheet}.{metric}", row[key], 2
            ends = f"{metric}_range" if key == "r" and (model, row["series"]) in RANGES else metric
            for end, side in enumerate(("low", "high")):
                yield f"{name} {key} {side}", model, f"{side} {sheet}.{ends}", row[f"{key}_ci"][end], 2
    labels = {"snp500": "label-snp500.SP500", "nasdaq": "label-nasdaq.NASDAQ", "blind": "label-blind.Mkt-RF"}
    for row in tables["table4"]:
        model, probe = row["model"], row["probe"]
        sheet = labels.get(probe) or series_sheet(model, "Mkt-RF")
        keys = ("parse", "w25", "r", "sign") + (("rho_ff",) if "Mkt-RF" not in sheet else ())
        for key in keys:
            metric = {"rho_ff": "rho_market"}.get(key, key)
            if key == "parse":
                metric = "answered"
            yield f"table4 {model} {probe} {key}", model, f"{sheet}.{metric}", row[key], 2
    for row in tables["table5"]:
        sheet = "panels.Mkt-RF" if row["seed"] == "pooled" else f"panels.{row['seed']}.Mkt-RF"
        name = f"table5 {row['model']} {row['seed']}"
        yield f"{name} n", row["model"], f"n {sheet}.r", row["n"], 0
        for key in ("r", "w25", "sign"):
            yield f"{name} {key}", row["model"], f"{sheet}.{key}", row[key], 3
    for row in tables["table6"]:
        for key, series in (("mktrf", "Mkt-RF"), ("smb", "SMB"), ("mom", "Mom")):
            yield f"table6 {row['model']} {key}", row["model"], f"panels.{series}.r", row[key], 3
    for table, series in (("table7", "UNRATE"), ("table8", "CPI_YOY")):
        for row in tables[table]:
            yield f"{table} n", row["model"], f"n value.{series}.parse", row["n"], 0
            for key in set(row) - {"model", "n"}:
                digits = 3 if key == "r" else 2
                yield f"{table} {row['model']} {key}", row["model"], f"value.{series}.{key}", row[key], digits
    for row in tables["table10"]:
        sheet = {"historical": "history.Mkt-RF", "recent": "recent.Mkt-RF"}[row["split"]]
        yield f"table10 {row['split']} n", row["model"], f"n {sheet}.parse", row["n"], 0
        for key in ("parse", "r", "mae", "w25"):
            yield f"table10 {row['split']} {key}", row["model"], f"{sheet}.{key}", row[key], 2


def other_checks(tables: dict[str, list[dict[str, Any]]]) -> Iterator[Check]:
    """Tables 11 to 18: ranks, variants, inventions, transmission, entropy, defences, candidates."""
    ranks = {
        "endorsement": "rank.Mkt-RF.endorsed",
        "naive": "rank.Mkt-RF.first",
        "forced": "rank-forced.Mkt-RF",
    }
    for row in tables["table11"]:
        base = ranks[row["measure"]]
        yield f"table11 {row['measure']} parse", SONNET, f"{base}.parse", row["parse"], 2
        yield f"table11 {row['measure']} acc", SONNET, f"{base}.accuracy", row["acc"], 3
        yield f"table11 {row['measure']} low", SONNET, f"low {base}.accuracy", row["ci"][0], 3
        yield f"table11 {row['measure']} high", SONNET, f"high {base}.accuracy", row["ci"][1], 3
    for row in tables["table12"]:
        for key, rule in (("endorse", "endorsed"), ("naive", "first")):
            base, name = f"rank.{row['series']}.{rule}", f"table12 {row['series']} {key}"
            yield name, SONNET, f"{base}.accuracy", row[key], 3
            yield f"{name} low", SONNET, f"low {base}.accuracy", row[f"{key}_ci"][0], 2
            yield f"{name} high", SONNET, f"high {base}.accuracy", row[f"{key}_ci"][1], 2
            yield f"{name} n", SONNET, f"n {base}.parse", row["n"], 0
    for row in tables["table13"]:
        sheet = {"D": "reason.Mkt-RF", "E": "sample.Mkt-RF"}[row["variant"]]
        yield f"table13 {row['variant']} n", row["model"], f"n {sheet}.parse", row["n"], 0
        for key in ("parse", "w25", "r"):
            name = f"table13 {row['model']} {row['variant']} {key}"
            yield name, row["model"], f"{sheet}.{key}", row[key], 3
    for row in tables["table14"]:
        yield f"table14 {row['model']}", row["model"], "fabricated.commit", row["parsed"] / row["n"], 9
        yield f"table14 {row['model']} n", row["model"], "n fabricated.commit", row["n"], 0
    for row in tables["table15"]:
        arm = {"modern": "signal", "ancient": "signal-ancient"}[row["era"]]
        yield f"table15 {row['era']} n", row["model"], f"n {arm}.beta_truth", row["n"], 0
        for key, metric in (("rho", "recall_r"), ("beta_T", "beta_truth"), ("beta", "beta_recall")):
            yield (
                f"table15 {row['era']} {key}",
                row["model"],
                f"{arm}.{metric}",
                row[key],
                2 if key == "rho" else 3,
            )
    for row in tables["table16"]:
        series = {"Fabricated": "fabricated"}.get(row["condition"], row["condition"])
        yield f"table16 {series} n", GPT, f"n entropy.{series}.mean", row["n"], 0
        for key in ("mean", "median"):
            yield f"table16 {series} {key}", GPT, f"entropy.{series}.{key}", row[key], 2
    for row in tables["table17"]:
        arm, name = row["defense"], f"table17 {row['defense']}"
        for key, metric in (("benign", "benign"), ("wc_adv", "worst"), ("r", "leaked_r")):
            yield f"{name} {key}", row["model"], f"defence-{arm}.{metric}", row[key], 2
        yield f"{name} util", row["model"], f"utility-{arm}.score", row["util"], 2
        for key, group in DEFENCES.items():
            yield f"{name} {key}", row["model"], f"utility-{arm}.score.{group}", row[key], 2
    for row in tables["table18"]:
        model = f"SMR_A_{row['exposure']}"
        for key, digits in (("top1", 2), ("mean_rank", 2), ("gap", 3)):
            yield f"table18 {model} {key}", model, f"candidates.{key}", row[key], digits


def found(cells: Cells, model: str, metric: str, scoring: str = "paper") -> float | None:
    known = cells[model][scoring]
    part, _, name = metric.rpartition(" ")
    if name.endswith(".answered"):
        sheet = name.removesuffix(".answered")
        return number(known[f"{sheet}.parse"])
    record = known[name]
    if part == "n":
        return float(record["n"])
    if part:
        ends = record[part] if record["value"] is not None else record[f"before_{part}"]
        return None if ends is None else float(ends)
    return number(record)


def test_every_printed_number_of_every_table_but_those_without_records(cells: Cells) -> None:
    tables = published()
    wrong, checked, tables_seen = [], 0, set()
    for name, model, metric, printed, digits in (*value_checks(tables), *other_checks(tables)):
        if name in NO_RECORDS:
            continue
        value = found(cells, model, metric)
        tables_seen.add(name.split()[0])
        checked += 1
        # Two ends of intervals were rounded twice.
        if not agrees(
            value, printed, digits, twice=name.startswith("table3") and name.endswith(("low", "high"))
        ):
            wrong.append(f"{name}: printed {printed}, found {value}")
    assert not wrong, "\n".join(wrong)
    assert checked >= 337
    # The records hold no temperatures.
    assert set(tables) - tables_seen == {"table9"}


def test_corrections(cells: Cells) -> None:
    told = corrections()
    sonnet, gpt, llama = (cells[model]["anachron"] for model in (SONNET, GPT, "llama-3.1-8b-groq"))
    reason = told["variantD_sonnet_final_line"]
    assert sonnet["reason.Mkt-RF.r"]["n"] == reason["n"]
    assert sonnet["reason.Mkt-RF.parse"]["n"] == reason["of"]
    for key in ("r", "mae", "w25", "sign"):
        assert agrees(number(sonnet[f"reason.Mkt-RF.{key}"]), reason[key], 3), key
    paired = told["variantD_paired_sonnet_final_line"]
    assert sonnet["value_reason.tie"]["n"] == paired["n"]
    for key, metric in (
        ("rA", "first.r"),
        ("rD", "second.r"),
        ("maeA", "first.mae"),
        ("maeD", "second.mae"),
        ("w25A", "first.w25"),
        ("w25D", "second.w25"),
        ("D_worse", "first_nearer"),
        ("A_worse", "second_nearer"),
        ("tie", "tie"),
    ):
        assert agrees(number(sonnet[f"value_reason.{metric}"]), paired[key], 3), key
    sample = told["variantE_sonnet"]
    assert (sonnet["sample.Mkt-RF.r"]["n"], sonnet["sample.Mkt-RF.parse"]["n"]) == (
        sample["n_parsed"],
        sample["of"],
    )
    for key, metric in (("parse", "parse"), ("w25_le", "w25"), ("w25_lt", "w25_under")):
        assert agrees(number(sonnet[f"sample.Mkt-RF.{metric}"]), sample[key], 4), key
    rank = told["variantC_sonnet_mktrf"]
    hits, n = rank["replies_at_48_token_cap"]
    assert number(sonnet["rank.Mkt-RF.cut"]) == hits / n and sonnet["rank.Mkt-RF.cut"]["n"] == n
    for key, metric in (("value_implied_rank_acc", "implied"), ("forced_choice_same_50_pairs", "same_pairs")):
        cell, (hits, n) = sonnet[f"rank-forced.Mkt-RF.{metric}"], rank[key]
        assert (number(cell), cell["n"]) == (hits / n, n), key
    shuffle = told["factor_shuffle"]
    base = "value.Mkt-RF.factor_shuffle"
    assert agrees(number(sonnet[base]), shuffle["exact_null"], 4)
    assert [number(sonnet[f"{base}.hits"]), sonnet[base]["n"]] == shuffle["hits"]
    assert number(sonnet[f"{base}.months"]) == shuffle["eligible_months"]
    assert agrees(number(sonnet[f"{base}.ratio"]), shuffle["ratio_exact"], 1)
    mean, spread = shuffle["ratio_mc_mean_sd"]  # another simulation's: equal within its own error
    assert abs(float(number(sonnet[f"{base}.ratio_mc"]) or 0) - mean) < spread / 3
    asked, parsed, refused = 0, 0, 0
    for metric, cell in llama.items():
        if metric.endswith(".parse"):
            asked, parsed = asked + cell["n"], parsed + round((number(cell) or 0) * cell["n"])
        if metric.endswith(".refused") and ("value." in metric or "mktrf" in metric):
            refused += round((number(cell) or 0) * cell["n"])
    assert [parsed, asked] == told["llama8b_parsed"]
    assert refused == told["llama8b_FF_refused"][0]
    spread_ = told["entropy_mkt_vs_rmw"]
    assert agrees(number(gpt["entropy.RMW.cohen_d"]), spread_["cohen_d"], 2)
    assert agrees(number(gpt["entropy.RMW.welch_t"]), spread_["welch_t"], 2)
    again = told["gpt54_seed42_panel"]
    assert agrees(number(gpt["value_again.first.r"]), again["2026-04-24"], 3)
    assert agrees(number(gpt["value_again.second.r"]), again["2026-05-07"], 3)
    assert agrees(number(gpt["value_again.between_r"]), again["r_between"], 3)
    assert agrees(number(gpt["value_again.identical"]), again["identical"], 1)
    assert agrees(number(gpt["fabricated.market_r"]), told["fabrication_month_mean_corr_with_MktRF"][GPT], 3)


def test_corrections_of_the_signal_and_of_attacks(cells: Cells) -> None:
    told, sonnet = corrections(), cells[SONNET]["anachron"]
    # A permutation null has an error of its own.
    assert abs((number(sonnet["signal.beta_truth.z"]) or 0) - told["perm_z"][SONNET]) < 0.1
    assert abs((number(sonnet["signal.leak_share.null"]) or 0) - told["leakshare_null_mean"][SONNET]) < 0.0005
    r, p = told["partial_corr_S_R_given_T"][SONNET]
    assert agrees(number(sonnet["signal.partial"]), r, 3) and agrees(number(sonnet["signal.partial.p"]), p, 3)
    assert agrees(number(sonnet["signal-ancient.leak_share"]), told["leakshare_ancient"][SONNET], 3)
    assert "u" in sonnet["signal.leak_share"]["marks"]
    shifted = told["scrambled_plus6m"][SONNET]
    assert agrees(number(sonnet["signal-shifted.beta_own"]), shifted["slope_vs_original"], 4)
    assert agrees(number(sonnet["signal-shifted.beta_stated"]), shifted["slope_vs_prompt_month"], 4)
    # Attacks are counted by what the published rule reads: an attacker takes any number.
    paper, attacks = cells[SONNET]["paper"], told["stress_none_sonnet_attack_parse"]
    for kind, metric in (
        ("all", "attack"),
        ("ignore_instructions", "attack.1"),
        ("public_do_not_refuse", "attack.3"),
        ("step_by_step_infer", "attack.6"),
    ):
        cell, (hits, n) = paper[f"defence-none.{metric}"], attacks[kind]
        assert (number(cell), cell["n"]) == (pytest.approx(hits / n), n), kind


def test_the_parsers_read_every_record_as_it_was_read() -> None:
    pd = pytest.importorskip("pandas")
    from anachron.suites.numleak.numerals import final, published

    frame = pd.read_parquet(DATA / "probes.parquet")
    frame = frame[frame["response"].notna()]
    for text, recorded in zip(frame["response"], frame["parsed_published"].tolist(), strict=True):
        value = published(text)
        assert (value is None) == math.isnan(recorded) and (value is None or abs(value - recorded) < 1e-9), (
            text
        )
    last = frame[(frame["variant"] != "B") & ~frame["hit_cap"].astype(bool)]
    columns = (last["response"], last["unit"], last["parsed_final_line"].tolist())
    for text, unit, recorded in zip(*columns, strict=True):
        value = final(text, unit).value
        assert (value is None) == math.isnan(recorded) and (value is None or abs(value - recorded) < 1e-9), (
            text
        )
