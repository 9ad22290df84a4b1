"""The laws of the pipeline, on a real run: paid once, nothing rerun without cause, the same bytes twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml
from workflow_checkout import Checkout, fresh

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def only(rules: Counter[str]) -> set[str]:
    return set(rules)


def test_second_run_does_nothing(finished: Checkout) -> None:
    assert "Nothing to be done" in finished.snakemake("leaderboard")


def test_suites_named_for_a_run_are_all_that_run(finished: Checkout) -> None:
    shipped = yaml.safe_load((finished.path / "config/config.yaml").read_text(encoding="utf-8"))["protocols"]
    assert set(shipped) > {"hindsightbench"}
    assert {path.name for path in finished.path.glob("results/panel/*")} == {"hindsightbench"}
    only_one = "protocols={hindsightbench: config/protocols/bm1-treasury.yaml}"
    asked = finished.snakemake("--dry-run", "leaderboard", "--config", only_one)
    assert "bm1-treasury.yaml" in asked
    assert not [suite for suite in set(shipped) - {"hindsightbench"} if f"suite={suite}" in asked]


def test_results_hold_a_row_for_every_model_and_the_tables(finished: Checkout) -> None:
    names = set(finished.results())
    assert {
        "leaderboard/leaderboard.csv",
        "leaderboard/leaderboard.md",
        "leaderboard/index.html",
    } <= names
    assert [name for name in names if name.startswith("rows/")]
    assert finished.asks() > 0


def test_a_second_checkout_gives_the_same_bytes(finished: Checkout, tmp_path: Path) -> None:
    other = fresh(tmp_path / "elsewhere", finished.path)
    other.snakemake("leaderboard")
    assert other.results() == finished.results()


def test_forceall_asks_nothing(checkout: Checkout) -> None:
    asked, before = checkout.asks(), checkout.results()
    checkout.snakemake("--forceall", "leaderboard")
    assert checkout.asks() == asked
    assert checkout.results() == before


@pytest.mark.parametrize(
    ("module", "rerun"),
    [
        (
            "src/anachron/suites/hindsightbench/parse.py",
            {"parse", "estimate", "row", "browse", "leaderboard"},
        ),
        ("src/anachron/suites/hindsightbench/estimate.py", {"estimate", "row", "leaderboard"}),
        ("src/anachron/publish/row.py", {"row", "leaderboard"}),
        ("src/anachron/publish/tables.py", {"leaderboard"}),
        ("src/anachron/publish/browse.py", {"browse", "leaderboard"}),
        ("src/anachron/publish/page.css", {"leaderboard"}),
        ("src/anachron/llm/collect.py", set()),
    ],
)
def test_editing_a_stage_reruns_it_and_what_follows(checkout: Checkout, module: str, rerun: set[str]) -> None:
    path = checkout.path / module
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert only(checkout.planned("leaderboard")) == rerun


def test_a_new_month_touches_the_last_block_only(checkout: Checkout) -> None:
    registry = "config/test/models.yaml"
    text = (checkout.path / registry).read_text(encoding="utf-8")
    (checkout.path / registry).write_text(
        text.replace("    provider: planted\n", "    provider: planted\n    block: span\n"), encoding="utf-8"
    )
    checkout.snakemake("leaderboard")
    asked = checkout.asks()
    before = {
        name: (checkout.path / "results" / name).stat().st_mtime_ns
        for name in checkout.results()
        if name.startswith(("requests/", "transcripts/", "panel/"))
    }
    protocol = checkout.path / "config/test/protocol.yaml"
    text = protocol.read_text(encoding="utf-8")
    assert "end: 2015-12" in text
    protocol.write_text(text.replace("end: 2015-12", "end: 2016-01"), encoding="utf-8")
    checkout.snakemake("leaderboard")
    changed = {
        name
        for name, time in before.items()
        if (checkout.path / "results" / name).stat().st_mtime_ns != time and "all" not in Path(name).stem
    }
    assert changed
    assert {Path(name).stem for name in changed} == {"2015-2019"}
    per_model = checkout.asks() - asked
    assert per_model == new_requests(checkout)


def new_requests(checkout: Checkout) -> int:
    """Count the requests of the new date over all models, from the request files themselves."""
    import pandas as pd
    import yaml

    registry = yaml.safe_load((checkout.path / "config/test/models.yaml").read_text(encoding="utf-8"))
    total = 0
    for entry in registry["models"]:
        for path in (checkout.path / "results/requests/hindsightbench").glob("*/2015-2019.parquet"):
            frame = pd.read_parquet(path)
            wanted = entry.get("arms", {}).get("hindsightbench")
            if wanted is not None and path.parent.name not in wanted:
                continue
            tiers = frame["tiers"].str.split(",").map(lambda names, tier=entry["tier"]: tier in names)
            total += int((tiers & (frame["item"] == "2016-01-15")).sum())
    return total


def test_changing_the_wording_of_one_probe_asks_that_probe_only(checkout: Checkout) -> None:
    asked = checkout.asks()
    protocol = checkout.path / "config/test/protocol.yaml"
    text = protocol.read_text(encoding="utf-8")
    assert "lap_system:" in text
    protocol.write_text(text.replace("lap_system: ", "lap_system: Note. ", 1), encoding="utf-8")
    checkout.snakemake("leaderboard")
    lap = sum(1 for name in checkout.results() if name.startswith("transcripts/") and "/LAP/" in name)
    assert lap
    assert checkout.asks() > asked


def test_lint_and_dry_run(finished: Checkout) -> None:
    assert "Congratulations" in finished.snakemake("--lint")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("config/test/config.yaml", "budget_usd", "budget_us", "did you mean `budget_usd`"),
        ("config/test/models.yaml", "provider: planted", "provider: plantd", "did you mean `planted`"),
    ],
)
def test_a_misspelt_key_stops_with_one_readable_message(
    checkout: Checkout, file: str, old: str, new: str, says: str
) -> None:
    path = checkout.path / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    text = checkout.snakemake("leaderboard", ok=False)
    assert says in text
    assert "Traceback" not in text


def test_an_unknown_model_is_named(checkout: Checkout) -> None:
    text = checkout.snakemake("leaderboard", "--config", "model=no-such-model", ok=False)
    assert "no-such-model" in text
    assert "known models" in text
