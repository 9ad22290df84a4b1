"""Option texts of the suite `findendro` are scored over HTTP, and read as those of a respondent in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from serving import FREE, QUICK, served

from anachron import frames, stages, stages_serve, suites
from anachron.config import ModelEntry, Sources
from anachron.errors import CollectError
from anachron.llm.collect import collect
from anachron.llm.providers import Reply
from anachron.suites.findendro import ask, items
from anachron.suites.findendro.parse import parse
from anachron.suites.findendro.protocol_parts import TEXTS

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "config/protocols/findendro.yaml"
SUITE = "findendro"
WHO: dict[str, Any] = {
    "seed": 3,
    "knowledge": {"1999-01": 0.5},
    "claims_known": {"1999-01": 0.5},
    "claims_unknown": {"1999-01": 0.5},
}
FACTS = 3


def asked_of(url: str, folder: Path, table: pd.DataFrame) -> pd.DataFrame:
    entry = ModelEntry(
        name="served", provider="openai_chat", endpoint=url, model_id="planted one", tier="full"
    )
    return collect(entry, SUITE, table, folder, price=FREE, patience=QUICK, progress=False)


@pytest.fixture
def requests(tmp_path: Path) -> pd.DataFrame:
    protocol = suites.load_protocol(SUITE, SHIPPED)
    facts = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    frames.write(facts, tmp_path / "items.parquet", items.Contract)
    names = [name for name in items.names(facts) if name != protocol.cutoff_item][:FACTS]
    return pd.concat([ask.build(protocol, facts, arm, names) for arm in TEXTS], ignore_index=True)


def test_texts_are_scored_over_http_once(tmp_path: Path, requests: pd.DataFrame) -> None:
    protocol = suites.load_protocol(SUITE, SHIPPED)
    local = ModelEntry(name="planted one", provider="planted", planted={SUITE: WHO}, tier="full")
    registry = tmp_path / "models.yaml"
    listed = {"name": "planted one", "provider": "planted", "planted": {SUITE: WHO}}
    registry.write_text(yaml.safe_dump({"models": [listed]}), encoding="utf-8")
    asked = tmp_path / "requests.parquet"
    frames.write(requests, asked, frames.Requests)
    (model,) = stages_serve.models(registry, [], [SHIPPED], [asked], [tmp_path / "items.parquet"])
    with served(model.answer) as server:
        over = asked_of(server.url, tmp_path / "over", requests)
        asked_of(server.url, tmp_path / "over", requests)
        assert server.hits.answered == len(requests) and server.hits.unknown == 0
    respond, remembers = stages.planted_respondent(local, SUITE, protocol, [tmp_path / "items.parquet"])
    direct = collect(
        local, SUITE, requests, tmp_path / "direct", respond, respondent=remembers, progress=False
    )
    place = ["arm", "item", "rep"]
    over, direct = (
        one.sort_values(place, ignore_index=True).assign(model="one", key="k") for one in (over, direct)
    )
    read = [parse(one, protocol) for one in (over, direct)]
    pd.testing.assert_frame_equal(*read)
    assert set(read[0]["reading"]) == {"scored"} and read[0]["text_logprob"].notna().all()


def test_an_endpoint_that_scores_no_prompt_is_told_and_left_alone(
    tmp_path: Path, requests: pd.DataFrame
) -> None:
    def answer(system: str, prompt: str, before: int) -> Reply:
        return Reply(text=prompt, finish_reason="stop", input_tokens=9, output_tokens=1)

    with (
        served(answer) as server,
        pytest.raises(CollectError, match="log-probabilities of the prompt's tokens"),
    ):
        asked_of(server.url, tmp_path / "over", requests.head(40))
    assert server.hits.total < 40
