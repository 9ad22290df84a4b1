"""A copy of the workflow in a temporary folder, and what a user does with it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Snakefile", "workflow", "config", "profiles", "envs", "src", "resources")


class Checkout:
    """A copy of the workflow and what a user does with it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def snakemake(self, *args: str, ok: bool = True) -> str:
        """Run Snakemake in the copy; return everything it printed."""
        run = subprocess.run(
            [
                sys.executable,
                "-m",
                "snakemake",
                *args,
                "--cores",
                "2",
                "--configfile",
                "config/test/config.yaml",
            ],
            cwd=self.path,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        text = run.stdout + run.stderr
        assert (run.returncode == 0) == ok, text[-4000:]
        return text

    def anachron(self, *args: str, ok: bool = True) -> str:
        """Run a command of the copy's own package; return everything it printed."""
        run = subprocess.run(
            [sys.executable, "-m", "anachron", *args],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.path / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        text = run.stdout + run.stderr
        assert (run.returncode == 0) == ok, text[-4000:]
        assert "Traceback" not in text
        return text

    def planned(self, *args: str) -> Counter[str]:
        """Return how many jobs of each rule a dry run would run; collecting jobs count as `collect`."""
        text = self.snakemake("--dry-run", *args)
        names = re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)
        return Counter("collect" if name.startswith("collect_") else name for name in names)

    def asks(self) -> int:
        """Return how many times any model was asked, by the stores' own records."""
        total = 0
        for path in sorted((self.path / "store").glob("*.sqlite")):
            with sqlite3.connect(path) as connection:
                total += connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
        return total

    def results(self) -> dict[str, bytes]:
        """Return every file below `results`, by name."""
        folder = self.path / "results"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def copy(self, to: Path) -> Checkout:
        """Copy this checkout with everything in it, times included."""
        shutil.copytree(self.path, to, symlinks=True)
        return Checkout(to)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the one occurrence of `old` in a file."""
        path = self.path / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name}: {old!r} stands {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")


def fresh(to: Path, source_root: Path = ROOT) -> Checkout:
    """Copy what a clone holds, without anything a run has made."""
    to.mkdir(parents=True)
    for name in COPIED:
        source = source_root / name
        if source.is_dir():
            shutil.copytree(
                source, to / name, ignore=shutil.ignore_patterns("__pycache__", "raw", "imported")
            )
        else:
            shutil.copy2(source, to / name)
    return Checkout(to)
