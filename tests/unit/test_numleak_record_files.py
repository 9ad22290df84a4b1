"""Records of NumLeak in odd forms: what reads the same does, and what cannot be read is named with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anachron.errors import AnachronError, ImportFailure
from anachron.suites import load_protocol
from anachron.suites.numleak import artifact, estimate, parse
from anachron.suites.numleak.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
Tables = dict[str, pd.DataFrame]
MONTHS = [f"{1990 + place // 12}-{place % 12 + 1:02d}" for place in range(24)]
TRUE = [round(((place * 7) % 23 - 11) / 3, 2) for place in range(24)]
TEXTS = [f"{value + 0.1 * (place % 3 - 1):+.2f}%" for place, value in enumerate(TRUE)]


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    shipped = load_protocol("numleak", ROOT / "config/protocols/numleak.yaml")
    rule = shipped.bootstrap.model_copy(update={"draws": 20, "paper_draws": 20, "permutations": 20})
    changed: Protocol = shipped.model_copy(update={"bootstrap": rule})
    return changed


def records() -> Tables:
    common = {"file": "runs/one.jsonl", "line": range(1, 25), "model": "one", "month": MONTHS}
    steps = '[{"token": "+", "logprob": -0.1, "top_logprobs": [{"token": "+", "logprob": -0.1}]}]'
    return {
        "truth": pd.DataFrame({"series": "Mkt-RF", "month": MONTHS, "value": TRUE, "unit": "percent"}),
        "probes": pd.DataFrame(
            {
                **common,
                "series": "Mkt-RF",
                "variant": "A",
                "condition": "",
                "response": TEXTS,
                "month_sample_seed": 42.0,
            }
        ),
        "mitigation": pd.DataFrame(
            {
                **common,
                "kind": "recall_adv",
                "defense": "soft",
                "response": TEXTS,
                "adv_idx": [float(place % 6) for place in range(24)],
                "utility_group": None,
                "utility_idx": None,
            }
        ),
        "entropy": pd.DataFrame(
            {**common, "condition": "Mkt-RF", "series": "Mkt-RF", "response": TEXTS, "tokens": steps}
        ),
        "logprob_ranking": pd.DataFrame(
            {
                "file": "ranks.jsonl",
                "line": range(1, 6),
                "model_tag": "open",
                "date": "1990-01",
                "candidate": ["true", "sign_flip", "adjacent_month", "wrong_series", "random_decoy"],
                "candidate_text": ["+1.00", "-1.00", "+2.00", "+3.00", "-8.00"],
                "mean_logprob": [-0.1, -0.2, -0.3, -0.4, -0.5],
            }
        ),
    }


def metrics(folder: Path, tables: Tables, protocol: Protocol) -> dict[str, dict[tuple[str, str], Any]]:
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet")
    truth = artifact.panel(folder, protocol)
    assert truth is not None
    found = {}
    for model in artifact.each(folder, protocol):
        result = estimate.estimate(parse.parse(model.transcripts, protocol), truth, protocol)
        found[model.name] = {(one["scoring"], one["metric"]): one["value"] for one in result.records}
    return found


def changed(table: str, column: str, value: Any, row: int = 2) -> Tables:
    found = records()
    cells = found[table][column].astype(object).tolist()
    cells = [str(cell) for cell in cells] if column == "line" else cells
    cells[row] = value
    found[table][column] = cells if isinstance(value, str | type(None)) else pd.Series(cells)
    return found


ALIKE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "rows in another order": lambda table: table.sample(frac=1, random_state=3),
    "columns of one's own": lambda table: table.assign(arm="x", cost=0.1, note=None),
    "lines as fractions": lambda table: table.assign(line=table["line"].astype(float)),
    "lines as text": lambda table: table.assign(line=table["line"].astype(str)),
    "texts as categories": lambda table: table.assign(
        **{
            name: table[name].astype("category")
            for name in ("file", "month", "series", "date")
            if name in table
        }
    ),
    "an index of its own": lambda table: table.set_index(pd.Index(range(100, 100 + len(table)))),
}


@pytest.mark.parametrize("way", ALIKE)
def test_what_says_the_same_is_scored_the_same(tmp_path: Path, protocol: Protocol, way: str) -> None:
    plain = metrics(tmp_path / "plain", records(), protocol)
    assert plain["one"]["anachron", "value.Mkt-RF.w25"] == 1.0
    assert plain["one"]["anachron", "value.Mkt-RF.r"] == pytest.approx(
        pd.Series([float(text[:-1]) for text in TEXTS]).corr(pd.Series(TRUE))
    )
    other = {
        name: table if name == "truth" and "lines" in way else ALIKE[way](table)
        for name, table in records().items()
    }
    assert metrics(tmp_path / "other", other, protocol) == plain


def test_a_name_of_any_form_names_its_model(tmp_path: Path, protocol: Protocol) -> None:
    plain = metrics(tmp_path / "plain", records(), protocol)
    name = "größe/模型: 9 (β)"
    other = {table: rows.assign(model=name) if "model" in rows else rows for table, rows in records().items()}
    found = metrics(tmp_path / "other", other, protocol)
    assert found[name] == plain["one"] and set(found) == {name, "open"}


@pytest.mark.parametrize("table", ["probes", "mitigation", "entropy", "logprob_ranking"])
def test_a_table_that_is_missing_takes_its_own_metrics_with_it(
    tmp_path: Path, protocol: Protocol, table: str
) -> None:
    plain = metrics(tmp_path / "plain", records(), protocol)
    rest = {name: rows for name, rows in records().items() if name != table}
    found = metrics(tmp_path / "rest", rest, protocol)
    kept = {key for cells in found.values() for key in cells}
    assert kept and all(found[model][key] == plain[model][key] for model in found for key in found[model]), (
        "what is still recorded is scored as before"
    )
    assert {key for cells in plain.values() for key in cells} - kept, "and what is not is not made up"


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (changed("probes", "line", "seven"), r"probes\.parquet: row 3 has the line 'seven'"),
        (changed("probes", "month", "2020-3"), r"probes\.parquet: row 3 has '2020-3' as `month`"),
        (changed("probes", "model", None), r"row 3 has .* as `model`"),
        (changed("truth", "month", "May 2020"), r"truth\.parquet: row 3 has 'May 2020' as `month`"),
        (changed("mitigation", "adv_idx", None), r"line 3 \(recall_adv\) has nan as `adv_idx`"),
        (changed("logprob_ranking", "candidate", "other"), "candidate 'other' is not known"),
        *(
            ({**records(), table: records()[table].drop(columns=column)}, f"lacks the column '{column}'")
            for table, column in (
                ("probes", "month_sample_seed"),
                ("mitigation", "month"),
                ("mitigation", "utility_idx"),
                ("entropy", "tokens"),
                ("truth", "unit"),
            )
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(
    tmp_path: Path, protocol: Protocol, tables: Tables, words: str
) -> None:
    with pytest.raises(ImportFailure, match=words):
        metrics(tmp_path / "records", tables, protocol)


@pytest.mark.parametrize(
    "tokens", ["nope", "[" * 100_000, '{"a": 1}', '[{"token": "+"}]', "[1]", '[{"token": 1, "logprob": "x"}]']
)
def test_odd_log_probabilities_are_named_with_their_line(
    tmp_path: Path, protocol: Protocol, tokens: str
) -> None:
    with pytest.raises(ImportFailure, match=r"entropy\.parquet: .*, line 0*3: `tokens` holds"):
        metrics(tmp_path / "records", changed("entropy", "tokens", tokens), protocol)


def test_log_probabilities_that_were_not_recorded_give_no_entropy(tmp_path: Path, protocol: Protocol) -> None:
    tables = records()
    tables["entropy"]["tokens"] = ""
    found = metrics(tmp_path / "records", tables, protocol)["one"]
    assert found.get(("anachron", "entropy.Mkt-RF.mean")) is None


def test_damaged_and_missing_files(tmp_path: Path, protocol: Protocol) -> None:
    with pytest.raises(ImportFailure, match="no such folder"):
        list(artifact.each(tmp_path / "nowhere", protocol))
    with pytest.raises(ImportFailure, match="holds no table of records"):
        list(artifact.each(tmp_path, protocol))
    with pytest.raises(ImportFailure, match=r"holds no truth\.parquet"):
        artifact.panel(tmp_path, protocol)
    metrics(tmp_path / "records", records(), protocol)
    probes = tmp_path / "records" / "probes.parquet"
    probes.write_bytes(probes.read_bytes()[:-200])
    with pytest.raises(AnachronError, match=r"probes\.parquet: cannot be read as Parquet"):
        list(artifact.each(tmp_path / "records", protocol))


def test_an_answer_of_a_million_digits_is_no_number_and_no_fault(tmp_path: Path, protocol: Protocol) -> None:
    found = metrics(tmp_path / "records", changed("probes", "response", "9" * 1_000_000), protocol)["one"]
    assert found["anachron", "value.Mkt-RF.parse"] == pytest.approx(23 / 24)
