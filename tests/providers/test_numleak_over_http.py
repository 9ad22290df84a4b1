"""Every probe of NumLeak asked over HTTP as a real model is: what comes back, where a defence stands, what is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from serving import FREE, QUICK, served

from anachron import frames, stages_judge, stages_serve, suites
from anachron.config import ModelEntry, Sources
from anachron.llm.collect import collect
from anachron.suites.numleak import ask, items, judging, naming, parse
from anachron.suites.numleak.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "config/protocols/numleak-generated.yaml"
SUITE = "numleak"
WHO: dict[str, Any] = {
    "seed": 3,
    "series": {"Mkt-RF": {"knows": "value", "error_bp": {"1926-07": 20}}},
    "fabrication": 1.0,
    "obeys": {"soft": 0.5, "strong": 1.0},
    "useful": 0.5,
}
ITEMS = 2
"""Items of each arm that are asked; all their reps are."""


def protocol_file(folder: Path, placing: str) -> Path:
    written = yaml.safe_load(SHIPPED.read_text(encoding="utf-8")) | {"placing": placing}
    path = folder / "protocol.yaml"
    path.write_text(yaml.safe_dump(written), encoding="utf-8")
    return path


def requests_of(protocol: Protocol, known: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Requests of all arms, a few items each."""
    found = {}
    for arm in protocol.known_arms():
        wanted = items.of_arm(protocol, arm)[-ITEMS:]
        found[arm] = ask.build(protocol, known, arm, wanted)
    return found


def registry(folder: Path) -> Path:
    planted = {"name": "planted one", "provider": "planted", "planted": {SUITE: WHO}}
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump({"models": [planted]}), encoding="utf-8")
    return path


def asked_of(url: str, folder: Path, table: pd.DataFrame, **fields: Any) -> pd.DataFrame:
    entry = ModelEntry(
        name="served", provider="openai_chat", endpoint=url, model_id="planted one", tier="full", **fields
    )
    return collect(entry, SUITE, table, folder / "store", price=FREE, patience=QUICK, progress=False)


def test_every_arm_is_asked_over_http_and_read_as_in_this_process(tmp_path: Path) -> None:
    path = protocol_file(tmp_path, "system")
    protocol = suites.load_protocol(SUITE, path)
    known = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    frames.write(known, tmp_path / "items.parquet", items.Contract)
    tables = requests_of(protocol, known)
    assert set(tables) == set(protocol.known_arms()) and all(len(table) for table in tables.values())
    # Arms share prompts, and only a weighed answer differs by the arm: those are served apart, and so are texts that
    # are scored, in another dialect.
    alone = {naming.ENTROPY, naming.CANDIDATES}
    whole = pd.concat([table for arm, table in tables.items() if arm not in alone], ignore_index=True)
    local = ModelEntry(name="planted one", provider="planted", planted={SUITE: WHO}, tier="full")
    respond, remembers = suites_respondent(local, protocol, tmp_path)
    for number, table in enumerate((whole, tables[naming.ENTROPY], tables[naming.CANDIDATES])):
        asked = tmp_path / f"requests-{number}.parquet"
        frames.write(table, asked, frames.Requests)
        (model,) = stages_serve.models(registry(tmp_path), [], [path], [asked], [tmp_path / "items.parquet"])
        logprobs = number == 1
        with served(model.answer) as server:
            over = asked_of(server.url, tmp_path / f"over-{number}", table, logprobs=logprobs)
            assert server.hits.answered == len(table) and server.hits.unknown == 0
        direct = collect(
            local, SUITE, table, tmp_path / f"direct-{number}", respond, respondent=remembers, progress=False
        )
        place = ["arm", "item", "rep"]
        over, direct = (one.sort_values(place, ignore_index=True) for one in (over, direct))
        assert over["text"].tolist() == direct["text"].tolist()
        read = [
            parse.parse(one, protocol).drop(columns=["model", "key", "provenance"], errors="ignore")
            for one in (over, direct)
        ]
        pd.testing.assert_frame_equal(*(one[sorted(one)] for one in read))
        if number == 2:
            assert over["logprobs"].notna().all() and read[0]["score"].notna().all()
            continue
        assert read[0]["value"].notna().any()
        assert logprobs or {"value", "verdict", "refusal"} <= set(read[0]["reading"])
        if logprobs:
            assert all(len(json.loads(text)[0]["top"]) == 5 for text in over["logprobs"])
            assert read[0]["entropy"].notna().all()


def suites_respondent(entry: ModelEntry, protocol: Protocol, folder: Path) -> tuple[Any, Any]:
    from anachron import stages

    return stages.planted_respondent(entry, SUITE, protocol, [folder / "items.parquet"])


@pytest.mark.parametrize("placing", ["system", "prefix"])
def test_a_defence_stands_on_the_wire_where_the_protocol_puts_it(tmp_path: Path, placing: str) -> None:
    protocol = suites.load_protocol(SUITE, protocol_file(tmp_path, placing))
    known = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    heard: list[tuple[str, str]] = []

    def answer(system: str, prompt: str, before: int) -> Any:
        from anachron.llm.providers import Reply

        heard.append((system, prompt))
        return Reply(text="+1.00", finish_reason="stop", input_tokens=9, output_tokens=3)

    arm = naming.DEFENCE + "strong"
    table = ask.build(protocol, known, arm, items.of_arm(protocol, arm)[:1])
    with served(answer) as server:
        asked_of(server.url, tmp_path, table)
    defence = protocol.defences["strong"]
    assert len(heard) == len(protocol.suffixes) + 1 == 7
    for system, prompt in heard:
        assert (defence in system, prompt.startswith(defence)) == (placing == "system", placing == "prefix")
    for suffix in protocol.suffixes:
        assert sum(prompt.endswith(suffix.text) for _, prompt in heard) == 1


def test_a_second_model_grades_over_http_what_the_first_said(tmp_path: Path) -> None:
    protocol = suites.load_protocol(SUITE, SHIPPED)
    known = items.build(protocol, Sources(snapshot=str(ROOT / "resources/snapshot")), protocol.months)
    arm = naming.UTILITY + "none"
    table = ask.build(protocol, known, arm, items.of_arm(protocol, arm))
    local = ModelEntry(name="planted one", provider="planted", planted={SUITE: WHO}, tier="full")
    frames.write(known, tmp_path / "items.parquet", items.Contract)
    respond, remembers = suites_respondent(local, protocol, tmp_path)
    sealed = collect(local, SUITE, table, tmp_path / "store", respond, respondent=remembers, progress=False)
    assert len(sealed) == 18

    def grade(system: str, prompt: str, before: int) -> Any:
        from anachron.llm.providers import Reply

        said = "Score: 1" if "I cannot verify" in prompt else "Score: 4"
        return Reply(text=said, finish_reason="stop", input_tokens=9, output_tokens=3)

    with served(grade) as server:
        said = asked_of(server.url, tmp_path / "judge", judging.build(protocol, sealed))
    graded = parse.parse(stages_judge.with_judgement(sealed, said, "served"), protocol)
    declined = sealed["text"].str.startswith("I cannot verify")
    assert 0 < declined.sum() < 18
    by_item = dict(zip(graded["item"], graded["score"], strict=True))
    assert [by_item[item] for item in sealed["item"]] == [1.0 if one else 4.0 for one in declined]
