"""Who grades whom: a second model, never the one that answered, and nobody where the protocol names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from anachron import frames, stages_judge
from anachron.errors import ConfigError
from anachron.pipeline import Plan

ROOT = Path(__file__).resolve().parents[2]
ARM = "utility-soft"
ASKED = {"provider": "openai_chat", "endpoint": "https://api.example.com/v1", "model_id": "m-1"}
MODELS: list[dict[str, Any]] = [
    {"name": "answers", **ASKED, "arms": {"numleak": ["value", ARM]}},
    {"name": "answers under another name", **ASKED, "default_run": False},
    {"name": "grades", **ASKED, "model_id": "m-2", "default_run": False},
]


def settings(folder: Path, by: list[str]) -> dict[str, Any]:
    (folder / "models.yaml").write_text(yaml.safe_dump({"models": MODELS}), encoding="utf-8")
    shipped = yaml.safe_load((ROOT / "config/protocols/numleak.yaml").read_text(encoding="utf-8"))
    shipped["judging"]["by"] = by
    (folder / "numleak.yaml").write_text(yaml.safe_dump(shipped), encoding="utf-8")
    return {"registry": f"{folder}/models.yaml", "protocols": {"numleak": f"{folder}/numleak.yaml"}}


def test_the_first_judge_that_is_another_model_grades(tmp_path: Path) -> None:
    plan = Plan(settings(tmp_path, ["answers", "answers under another name", "grades"]))
    judge = plan.judge_of("answers", "numleak", ARM)
    assert judge is not None and judge.name == "grades"
    assert plan.judge_of("answers", "numleak", "value") is None
    assert plan.judge_accounts == [plan.account_of(judge)] == [plan.account("answers")]
    assert [plan.sealed_in("answers", "numleak", arm) for arm in ("value", ARM)] == ["transcripts", "judged"]


def test_the_protocol_decides_the_judge_and_changes_no_request(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = (
        Plan(settings(tmp_path, ["grades"])),
        Plan(settings(tmp_path / "other", ["answers", "grades"])),
    )
    assert one.ask_params("numleak", "all") == other.ask_params("numleak", "all")
    assert one.judge_params("answers", "numleak", ARM) != other.judge_params("answers", "numleak", ARM)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ([], "names none"),
        (["answers", "answers under another name"], "names only the model itself"),
        (["nobody"], "is not in the registry"),
    ],
)
def test_a_graded_arm_without_a_second_model_is_refused(tmp_path: Path, by: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Plan(settings(tmp_path, by))


def test_the_command_too_refuses_a_model_as_its_own_judge(tmp_path: Path) -> None:
    given = settings(tmp_path, ["grades"])
    frames.write(frames.empty(frames.Transcripts), tmp_path / "sealed.parquet", frames.Transcripts)
    with pytest.raises(ConfigError, match="is the same model"):
        stages_judge.judge(
            "numleak",
            Path(given["protocols"]["numleak"]),
            Path(given["registry"]),
            "answers",
            "answers under another name",
            tmp_path / "sealed.parquet",
            tmp_path / "store",
            tmp_path / "judged.parquet",
        )


def test_grades_stand_beside_the_answers_they_belong_to() -> None:
    sealed = pd.DataFrame(
        {"item": ["a", "b"], "rep": [0, 0], "recorded": pd.Series([None, None], dtype="str")}
    )
    said = pd.DataFrame({"item": ["b"], "rep": [0], "text": ["3"], "outcome": ["answer"], "key": ["k"]})
    first, second = stages_judge.with_judgement(sealed, said, "grades")["recorded"].tolist()
    assert stages_judge.judgement(first) is None
    assert stages_judge.judgement(second) == {
        "judge": "grades",
        "judge_said": "3",
        "judge_outcome": "answer",
        "judge_key": "k",
    }
