"""A model asked over HTTP gets the row that the same respondent gets in this process, through faults and reruns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from workflow_checkout import Checkout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

SERVED = "over/http:tiny"
ENTRY = f"""
  - name: "{SERVED}"
    provider: openai_chat
    endpoint: URL
    model_id: tiny-trigger
    api_key_env: PLANTED_SERVER_KEY
    price: local
    generation: planted
    tier: full
    limits: {{concurrency: 1}}
    arms: {{hindsightbench: [R, D, M, W, W72, LAP, REC]}}
"""
KEY = "sk-planted-abcdef0123456789"


@contextmanager
def serving(checkout: Checkout, *options: str) -> Iterator[str]:
    """Serve the tiny respondents on the tables of a finished checkout; gives the base URL."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "anachron", "serve-planted", "--config", "config/test/config.yaml"),
            *("--port", "0", "--api-key-env", "PLANTED_SERVER_KEY", *options),
        ],
        cwd=checkout.path,
        env={**os.environ, "PYTHONPATH": str(checkout.path / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().strip()
        assert url, process.stderr.read()
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def hits(url: str) -> dict:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url.removesuffix('/v1')}/hits", timeout=20) as response:
        return json.load(response)


def test_the_row_is_that_of_the_provider_in_this_process(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_SERVER_KEY", KEY)
    faults = ("--fault", "503=0.05", "--fault", "drop", "--fault-after", "40", "--fault-for", "1")
    with serving(checkout, *faults) as url:
        registry = checkout.path / "config/test/models.yaml"
        text = registry.read_text(encoding="utf-8") + ENTRY.replace("URL", url)
        registry.write_text(text, encoding="utf-8")
        row = "results/rows/over%2Fhttp%3Atiny.json"
        printed = checkout.snakemake("leaderboard", "--config", f"model={SERVED}")
        counted = hits(url)
        direct = json.loads((checkout.path / "results/rows/tiny-trigger.json").read_text(encoding="utf-8"))
        path = checkout.path / row
        served = json.loads(path.read_text(encoding="utf-8"))
        calls = direct["ledger"]["calls"]
        assert counted["answered"] == served["ledger"]["calls"] == calls > 500
        assert counted["total"] == calls + 2 and counted["faults"] == {"503": 1, "drop": 1}
        before = path.read_bytes()
        for sealed in (checkout.path / "results/transcripts/over%2Fhttp%3Atiny").rglob("*.parquet"):
            sealed.unlink()
        checkout.snakemake(row)
        assert path.read_bytes() == before
        assert hits(url)["total"] == counted["total"], "blocks are sealed anew from the store"
    for part in ("estimates", "cutoffs", "safe_from", "counts"):
        assert served[part] == direct[part], part
    for name in ("input_tokens", "output_tokens"):
        assert served["ledger"][name] == direct["ledger"][name]
    assert served["identity"]["served_models"] == ["tiny-trigger"]
    assert served["ledger"]["dollars"] in (0, 0.0)
    assert SERVED in (checkout.path / "results/leaderboard/leaderboard.md").read_text(encoding="utf-8")
    written = [one for one in checkout.path.rglob("*") if one.is_file() and "src" not in one.parts]
    assert KEY not in printed
    assert not [one for one in written if KEY.encode() in one.read_bytes()], "the key is on no disk"
