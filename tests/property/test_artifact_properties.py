"""Whatever a model wrote goes through import unharmed, and the same records give the same transcripts."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from anachron.files import slug, unslug
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import artifact

PROTOCOL = load_protocol(
    "hindsightbench", Path(__file__).resolve().parents[2] / "config" / "protocols" / "bm1.yaml"
)
TEXT = st.one_of(
    st.text(max_size=40), st.sampled_from(["", " ", "\r\n", "\u2028", "\x00", "a\nb", "nan", "None"])
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1, max_size=20).filter(
    lambda name: not name.startswith(".") and name != "bench"
)
PLACES = st.tuples(
    st.sampled_from(["R", "D", "M", "W", "W72"]),
    st.sampled_from(PROTOCOL.decision_dates[::60]),
    st.integers(1, 3),
)


def write_tree(
    root: Path, name: str, arms: dict[tuple[str, str, int], str], lap: list[dict[str, Any]]
) -> None:
    model = root / "outputs" / "bench" / name
    model.mkdir(parents=True)
    for (arm, date, rep), text in arms.items():
        cell = model / arm / f"rep{rep}" / date
        cell.mkdir(parents=True)
        (cell / "04_raw_response.txt").write_bytes(text.encode())
    (model / "lap_probe_results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lap))
    (model / "date_probe_results.jsonl").write_text("")


def write_tables(
    root: Path, name: str, arms: dict[tuple[str, str, int], str], lap: list[dict[str, Any]]
) -> None:
    columns = ["model_key", "arm", "decision_date", "rep", "raw_response"]
    rows = [(name, *place, text) for place, text in arms.items()]
    pd.DataFrame(rows, columns=columns).to_parquet(root / "arms.parquet")
    pd.DataFrame([{"model_key": name, **line} for line in lap]).to_parquet(root / "lap.parquet")
    empty = pd.DataFrame(columns=["model_key", "decision_date", "estimated_date", "raw"], dtype="str")
    empty.to_parquet(root / "rec.parquet")


@settings(max_examples=30, deadline=None)
@given(
    NAMES,
    st.dictionaries(PLACES, TEXT, min_size=1, max_size=5),
    st.lists(
        st.fixed_dictionaries(
            {
                "decision_date": st.sampled_from(PROTOCOL.decision_dates[::60]),
                "rep": st.integers(0, 2),
                "answer": st.sampled_from(["up", "down", "unknown", "invalid"]),
                "raw": TEXT,
            }
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_texts_survive_and_both_forms_agree(
    name: str, arms: dict[tuple[str, str, int], str], lap: list[dict[str, Any]]
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        write_tree(Path(one), name, arms, lap)
        write_tables(Path(two), name, arms, lap)
        from_tree, from_tables = (artifact.read(Path(place), PROTOCOL).transcripts for place in (one, two))
    assert list(from_tree) == list(from_tables) == [name]
    pd.testing.assert_frame_equal(from_tree[name], from_tables[name])
    found = from_tree[name]
    cells = found[~found["arm"].isin(["LAP", "REC"])]
    assert {(row.arm, row.item, row.rep): row.text for row in cells.itertuples()} == arms
    probes = found[found["arm"] == "LAP"]
    assert sorted(probes["text"]) == sorted(line["raw"] for line in lap)
    assert found["key"].is_unique
    assert unslug(slug(name)) == name
