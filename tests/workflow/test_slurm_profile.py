"""The Slurm profile: what it plans, and with a stand-in for Slurm's commands, which jobs leave the host."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from workflow_checkout import ROOT, Checkout, fresh

from anachron.config import read_yaml

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"

SBATCH = """\
import os, pathlib, subprocess, sys
here = pathlib.Path(__file__).parent
said = sys.argv[1:]
number = len(list(here.glob("*.state"))) + 1
command = next(part for part in said if part.startswith("--wrap=")).removeprefix("--wrap=")
rule, memory = (said[said.index(name) + 1] for name in ("--comment", "--mem"))
with (here / "submitted").open("a") as log:
    log.write(f"{rule} {memory}\\n")
done = subprocess.run(command, shell=True, env={**os.environ, "SLURM_JOB_ID": str(number)}, capture_output=True)
(here / f"{number}.state").write_text("FAILED" if done.returncode else "COMPLETED")
print(number)
"""
SACCT = """\
import pathlib, sys
states = sorted(pathlib.Path(__file__).parent.glob("*.state"))
print("\\n".join(f"{path.stem}|{path.read_text()}" for path in states) if "-X" in sys.argv else "none")
"""


def test_the_profile_speaks_of_rules_and_keys_that_exist(tmp_path: Path) -> None:
    profile = read_yaml(PROFILE)
    assert profile["executor"] == "slurm"
    assert {"mem_mb", "runtime"} <= set(profile["default-resources"])
    checkout = fresh(tmp_path / "clone")
    listed = checkout.snakemake("--list-rules").split()
    assert set(profile["set-resources"]) <= set(listed)
    # Another executor takes the place of Slurm's, so that no plugin is needed to try all other keys.
    planned = checkout.planned("--workflow-profile", "profiles/slurm", "--executor", "local", "leaderboard")
    assert planned == checkout.planned("leaderboard")


@pytest.mark.skipif(
    not importlib.util.find_spec("snakemake_executor_plugin_slurm"),
    reason="the extra `slurm` (snakemake-executor-plugin-slurm) is not installed",
)
def test_asking_never_leaves_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, commands = fresh(tmp_path / "clone"), tmp_path / "slurm"
    commands.mkdir()
    for name, program in {"sbatch": SBATCH, "sacct": SACCT, "sinfo": "", "squeue": "", "scancel": ""}.items():
        (commands / name).write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
        (commands / name).chmod(0o755)
    (commands / "srun").write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n', encoding="utf-8"
    )
    (commands / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    planned = run(checkout, "--dry-run", transcripts := first_transcripts(checkout))
    assert "collect_" in planned and not (commands / "submitted").exists()
    run(checkout, transcripts)
    submitted = (commands / "submitted").read_text(encoding="utf-8").splitlines()
    rules = {line.removeprefix("rule_").split("_")[0] for line in submitted}
    memory = str(read_yaml(PROFILE)["default-resources"]["mem_mb"])
    assert rules == {"panel", "ask"} and all(line.endswith(f" {memory}") for line in submitted)
    assert (checkout.path / transcripts).exists() and checkout.asks() > 0


def first_transcripts(checkout: Checkout) -> str:
    """Return one collecting job's output, by the name a dry run gives it."""
    text = checkout.snakemake("--dry-run", "leaderboard")
    return next(
        line.split("output: ")[1] for line in text.splitlines() if "output: results/transcripts/" in line
    )


def run(checkout: Checkout, *args: str) -> str:
    return checkout.snakemake(
        *("--workflow-profile", "profiles/slurm"),
        *("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1"),
        *args,
    )
