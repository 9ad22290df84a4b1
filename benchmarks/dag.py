"""Time and count the dry run of fifteen models on the full protocol, one job per arm and span.

Run by hand: ``python benchmarks/dag.py``. The baseline is the dry run of the three default models, in the same run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
MODELS = 15


def dry_run(folder: Path, *settings: str) -> tuple[float, int]:
    """Return (seconds, jobs) of a dry run from nothing."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--dry-run",
        "--quiet",
        "rules",
        "--snakefile",
        str(ROOT / "Snakefile"),
    ]
    command += ["--directory", str(folder), "--cores", "2"]
    links = ("config", "resources")
    for name in links:
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    start = time.perf_counter()
    run = subprocess.run([*command, "--config", *settings], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    text = run.stdout + run.stderr
    found = re.findall(r"^total\s+(\d+)", text, re.MULTILINE)
    if run.returncode or not found:
        raise SystemExit(text[-2000:])
    return seconds, int(found[-1])


def main() -> None:
    """Print both dry runs and their ratio."""
    known = yaml.safe_load((ROOT / "config/models.yaml").read_text(encoding="utf-8"))["models"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = [
            {**known[place % len(known)], "name": f"planted-{place:02d}", "block": "span"}
            for place in range(MODELS)
        ]
        (folder / "many.yaml").write_text(yaml.safe_dump({"models": many}), encoding="utf-8")
        base, base_jobs = dry_run(folder, "budget_usd=0")
        seconds, jobs = dry_run(folder, f"registry={folder / 'many.yaml'}")
    print(f"default models: {base_jobs} jobs, {base:.1f} s")
    print(f"{MODELS} models by span: {jobs} jobs, {seconds:.1f} s, ratio {seconds / base:.2f}")


if __name__ == "__main__":
    main()
