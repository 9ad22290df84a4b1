"""The published records of six models, where they are; nothing of them is part of this repository."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from anachron.estimates import Result
from anachron.suites import load_protocol
from anachron.suites.hindsightbench import estimate, parse
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ANACHRON_TEST_DATA", ROOT.parent / "shared" / "data"))
FOLDER = DATA / "hindsightbench"
TIERS = {"llama3.2:3b": "reduced"}


@dataclass(frozen=True)
class Records:
    """Published records of several models, and what they are scored as."""

    folder: Path
    models: tuple[str, ...]
    protocol: Protocol

    def published(self, model: str) -> dict[str, Any]:
        """Return the published row and its independent recomputation."""
        path = self.folder / "rows" / f"{model.replace(':', '_')}.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def transcripts(self, model: str) -> pd.DataFrame:
        """Return a model's records as transcripts (the columns that parsing reads)."""
        return _transcripts(self.folder, model)

    def answers(self, model: str) -> pd.DataFrame:
        """Return a model's parsed answers."""
        return _answers(self.folder, model)

    def result(self, model: str) -> Result:
        """Return a model's estimates."""
        return _result(self.folder, model)

    def metrics(self, model: str, scoring: str) -> dict[str, dict[str, Any]]:
        """Return the records of one scoring by metric."""
        return {one["metric"]: one for one in self.result(model).records if one["scoring"] == scoring}


@pytest.fixture(scope="session")
def records() -> Records:
    """Published records; skips where the folder is absent, as on a user's machine."""
    if not (FOLDER / "arms.parquet").is_file():
        pytest.skip(f"no published records in {FOLDER}; set ANACHRON_TEST_DATA to the folder that holds them")
    names = pd.read_parquet(FOLDER / "arms.parquet", columns=["model_key"])["model_key"]
    return Records(FOLDER, tuple(sorted(names.unique())), _protocol())


def _protocol() -> Protocol:
    found: Protocol = load_protocol("hindsightbench", ROOT / "config" / "protocols" / "bm1.yaml")
    return found


@lru_cache(maxsize=1)
def _transcripts(folder: Path, model: str) -> pd.DataFrame:
    wanted = [("model_key", "==", model)]
    arms = pd.read_parquet(folder / "arms.parquet", filters=wanted)
    lap = pd.read_parquet(folder / "lap.parquet", filters=wanted).sort_values("line_no")
    rec = pd.read_parquet(folder / "rec.parquet", filters=wanted)
    parts = [
        pd.DataFrame(
            {
                "arm": arms["arm"],
                "item": arms["decision_date"],
                "rep": arms["rep"],
                "text": arms["raw_response"],
                "recorded": None,
                "shown_date": arms["fake_date"],
            }
        ),
        pd.DataFrame(
            {
                "arm": "LAP",
                "item": lap["decision_date"],
                "rep": lap["rep"],
                "text": lap["raw"],
                "recorded": lap["answer"],
                "shown_date": None,
            }
        ),
        pd.DataFrame(
            {
                "arm": "REC",
                "item": rec["decision_date"],
                "rep": 1,
                "text": rec["raw"],
                "recorded": rec["estimated_date"],
                "shown_date": None,
            }
        ),
    ]
    whole = pd.concat(parts, ignore_index=True).assign(model=model, suite="hindsightbench", outcome="answer")
    whole["duplicate"] = whole.groupby(["arm", "item", "rep"]).cumcount()
    return whole.assign(key=whole.index.astype(str), provenance="imported")


@lru_cache(maxsize=8)
def _answers(folder: Path, model: str) -> pd.DataFrame:
    return parse.parse(_transcripts(folder, model), _protocol())


@lru_cache(maxsize=8)
def _result(folder: Path, model: str) -> Result:
    panel = pd.read_parquet(folder / "panel.parquet", columns=["decision_date", "forward_return_20d_sign"])
    panel = panel.rename(columns={"forward_return_20d_sign": "realised"})
    return estimate.estimate(_answers(folder, model), panel, _protocol(), tier=TIERS.get(model, "full"))
