"""The smoke run asks a handful of the real run's requests, prints them safely, and is not paid for twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from anachron import stages, stages_smoke
from anachron.errors import ConfigError
from anachron.files import canonical_json

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "config/test/protocol.yaml"
REGISTRY = ROOT / "config/test/models.yaml"
SUITE, MODEL = "hindsightbench", "tiny-trigger"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> tuple[list[Path], list[Path]]:
    folder = tmp_path_factory.mktemp("smoke")
    sources = canonical_json({"snapshot": str(ROOT / "resources/snapshot")})
    panels = []
    for span in ("2010-2014", "2015-2019"):
        panels.append(folder / f"{span}.parquet")
        stages.panel(SUITE, PROTOCOL, sources, span, panels[-1])
    tables = []
    for arm in ("R", "D", "M", "W", "LAP", "REC"):
        tables.append(folder / f"{arm}.parquet")
        stages.ask(SUITE, PROTOCOL, panels, arm, "all", tables[-1])
    return tables, panels


def asked(store: Path) -> int:
    with closing(sqlite3.connect(store / f"{MODEL}.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM attempts").fetchone()[0])


def test_two_dates_in_four_arms_and_three_probes_are_asked_once_and_not_again_by_the_run(inputs, tmp_path):
    tables, panels = inputs
    printed: list[str] = []
    for _ in range(2):
        printed.clear()
        stages_smoke.smoke(SUITE, PROTOCOL, REGISTRY, MODEL, tables, panels, tmp_path, printed.append)
        assert asked(tmp_path) == 2 * 4 + 3
    places = [text.splitlines()[0] for text in printed[:-1]]
    assert sorted(place.split()[1].strip(",") for place in places) == sorted(
        [*"RDMWRDMW", "LAP", "LAP", "REC"]
    )
    assert all("--- prompt ---" in text and "--- read as ---" in text for text in printed[:-1])
    assert printed[-1].startswith(f"11 requests of {MODEL}")
    sealed = tmp_path / "D.parquet"
    stages.collect(SUITE, PROTOCOL, REGISTRY, MODEL, "D", "all", tables[1], panels, tmp_path, sealed)
    assert asked(tmp_path) == 11 - 2 + 42 * 2


def test_a_model_that_asks_none_of_them_is_told_so(inputs, tmp_path):
    tables, panels = inputs
    with pytest.raises(ConfigError, match="none of the smoke requests"):
        stages_smoke.smoke(SUITE, PROTOCOL, REGISTRY, MODEL, tables[:0], panels, tmp_path)
    replayed = tmp_path / "models.yaml"
    entry = {"name": "old", "provider": "replay", "source": "x.parquet"}
    replayed.write_text(yaml.safe_dump({"models": [entry]}))
    with pytest.raises(ConfigError, match="replayed from records"):
        stages_smoke.smoke(SUITE, PROTOCOL, replayed, "old", tables, panels, tmp_path)


def test_what_a_model_wrote_cannot_command_the_terminal():
    said = stages_smoke.printable("a\x1b[2Jb\u202ec\r\nd\te\x00")
    assert said == "a\\x1b[2Jb\\u202ec\\r\nd\te\\x00"
