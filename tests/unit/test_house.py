"""The house: locks and environments agree, schemas follow the models, fingerprints follow the imports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from anachron import fingerprint, suites
from anachron.schemas import schemas

ROOT = Path(__file__).resolve().parents[2]
CONDA_NAMES = {"matplotlib-base": "matplotlib", "python-duckdb": "duckdb"}


def pins(name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    text = (ROOT / name).read_text(encoding="utf-8")
    for package, version in re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.name)
def test_conda_environments_pin_the_versions_of_the_lock(path: Path) -> None:
    locked = pins("requirements.lock")
    entries = yaml.safe_load(path.read_text())["dependencies"]
    from_pip = [
        pin.replace("==", "=") for entry in entries if isinstance(entry, dict) for pin in entry["pip"]
    ]
    named = [entry for entry in entries if isinstance(entry, str) and entry != "pip"]
    checked = 0
    for entry in named + from_pip:
        package, version = entry.split("=", 1)
        if package == "python":
            continue
        assert locked[CONDA_NAMES.get(package, package)] == {version}, entry
        checked += 1
    assert checked >= 10


def test_the_development_lock_holds_the_runtime_lock() -> None:
    development = pins("requirements-dev.lock")
    for package, versions in pins("requirements.lock").items():
        assert development[package] == versions


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_locks_name_hashes_and_no_index(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|--(extra-)?index|--find-links|file:", text)
    for block in re.split(r"\n(?=[a-z0-9])", text.strip()):
        assert "--hash=sha256:" in block, block[:60]


def test_every_dependency_is_locked() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = pins("requirements.lock")
    for requirement in project["dependencies"]:
        assert re.split(r"[\[><=]", requirement)[0] in locked


def test_schemas_follow_the_models() -> None:
    for name, schema in schemas():
        path = ROOT / "workflow" / "schemas" / name
        committed = json.loads(path.read_text(encoding="utf-8"))
        committed.pop("$schema")
        assert committed == json.loads(json.dumps(schema)), f"{name}: run `anachron schema`"
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("config/config.yaml", "config"),
        ("config/models.yaml", "models"),
        ("config/protocols/bm1.yaml", "protocol.hindsightbench"),
        ("config/protocols/bm1-treasury.yaml", "protocol.hindsightbench"),
        ("config/test/config.yaml", "config"),
        ("config/test/models.yaml", "models"),
        ("config/test/protocol.yaml", "protocol.hindsightbench"),
    ],
)
def test_shipped_files_fulfil_their_schemas(file: str, schema: str) -> None:
    from anachron.config import read_yaml

    document = json.loads((ROOT / "workflow/schemas" / f"{schema}.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(read_yaml(ROOT / file), document)


def test_a_stage_is_fingerprinted_by_what_it_imports_and_nothing_more() -> None:
    suite = "anachron.suites.hindsightbench"
    parse = fingerprint.closure((f"{suite}.parse",))
    estimate = fingerprint.closure((f"{suite}.estimate",))
    ask = fingerprint.closure((f"{suite}.ask",))
    assert f"{suite}.sketches" in parse
    assert "anachron.stats.bootstrap" in estimate
    assert f"{suite}.ask" not in parse
    assert f"{suite}.parse" not in ask
    assert f"{suite}.estimate" not in parse
    for name in (*parse, *estimate, *ask):
        assert not name.startswith(("anachron.llm", "anachron.publish", "anachron.cli")), name


def test_floors_of_the_package() -> None:
    """`stats` knows no suite, `llm` knows nothing of finance, a suite never opens a socket."""
    for path in sorted((ROOT / "src/anachron").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        room = path.relative_to(ROOT / "src/anachron").parts[0]
        imported = re.findall(r"^\s*(?:from|import) (anachron[\w.]*)", text, re.MULTILINE)
        if room in ("stats", "llm", "items", "sources"):
            assert not [name for name in imported if name.startswith("anachron.suites.")], path
        if room == "suites":
            assert not re.search(r"^\s*(?:from|import) (socket|httpx|urllib\.request)", text, re.MULTILINE), (
                path
            )
        if room != "pipeline.py":
            assert not re.search(r"^\s*(?:from|import) snakemake", text, re.MULTILINE), path


def test_help_is_quick_to_load_and_names_every_command() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, anachron.cli; print([m for m in ('pandas','scipy','matplotlib') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"
    text = subprocess.run(
        [sys.executable, "-m", "anachron", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in (
        "panel",
        "ask",
        "collect",
        "parse",
        "estimate",
        "row",
        "publish",
        "check",
        "freeze",
        "import",
        "replay",
    ):
        assert f" {command} " in text


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config/protocols").glob("*.yaml")), ids=lambda path: path.stem
)
def test_the_workflow_can_name_every_arm(path: Path) -> None:
    common = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
    written = re.search(r'arm=r"([^"]+)"', common)
    assert written
    suite = yaml.safe_load(path.read_text(encoding="utf-8"))["suite"]
    arms = suites.load_protocol(suite, path).arms
    assert arms
    assert [arm for arm in arms if not re.fullmatch(written.group(1), arm)] == []
