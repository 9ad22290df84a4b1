"""Money from end to end, against the planted server: estimate, budget stop in the middle, going on, reconciliation."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from collecting import requests
from serving import (
    NAME,
    QUICK,
    Running,
    call,
    entry,
    rows,
    says,
    served,
    settled,
    statuses,
    store_path,
    stored,
)
from typer.testing import CliRunner

from anachron import frames, stages_cost, stages_estimate
from anachron.cli import app
from anachron.errors import CollectError, ContractError
from anachron.files import canonical_json, slug
from anachron.llm import cost, ledger, prices, providers
from anachron.llm import status as states
from anachron.llm.budget import price_of
from anachron.llm.collect import collect
from anachron.llm.plan import plan as plan_requests
from anachron.llm.serve_faults import Fault
from anachron.pipeline import Plan
from anachron.publish import row_ledger

ROOT = Path(__file__).resolve().parents[2]
SUITE = "hindsightbench"
DAY = "2026-06-01"
LINE = prices.Line("m", 100.0, 10.0, 1000.0, None, None, "2026-01-01", "2026-01-02", "a test")
"""$100 a million tokens read, $1,000 a million written."""
CAP = 64


def price_file(folder: Path, lines: str = "m,100,10,1000,,,USD,2026-01-01,2026-01-02,a test") -> Path:
    path = folder / "prices.csv"
    path.write_text(",".join(prices.COLUMNS) + "\n" + lines + "\n", encoding="utf-8")
    return path


def table(items: int = 20) -> pd.DataFrame:
    return requests(items, reps=1, suite=SUITE)


def gather(
    server: Running, folder: Path, items: int = 20, *, price: str | None = "m", **options
) -> pd.DataFrame:
    """Collect one block at the prices of the file, as a run does."""
    model = entry(server.url, price=price, limits={"concurrency": 3})
    return collect(
        model,
        SUITE,
        table(items),
        folder,
        price=price_of(model, price_file(folder), DAY),
        patience=QUICK,
        progress=False,
        **options,
    )


def run_of(server: Running, folder: Path, **fields) -> Plan:
    """Return a run of one model of one arm, whose request table is there."""
    model = {
        "name": NAME,
        "provider": "openai_chat",
        "endpoint": server.url,
        "model_id": "planted one",
        "price": "m",
        "arms": {SUITE: ["R"]},
        "block": "all",
        **fields,
    }
    (folder / "models.yaml").write_text(json.dumps({"models": [model]}), encoding="utf-8")
    frames.write(table(), folder / "results/requests" / SUITE / "R/all.parquet", frames.Requests)
    return Plan(
        {
            "registry": str(folder / "models.yaml"),
            "protocols": {SUITE: str(ROOT / "config/test/protocol.yaml")},
            "prices": str(price_file(folder)),
            "store": str(folder),
            "results": str(folder / "results"),
            "budget_usd": 1.5,
        }
    )


def spent(folder: Path) -> float:
    return rows(folder, "SELECT coalesce(sum(cost_usd), 0) FROM attempts")[0][0]


def sizes(url: str = "http://127.0.0.1:1/v1", **fields) -> pd.DataFrame:
    model = entry(url, price="m", **fields)
    return cost.sizes(plan_requests(model, providers.get(model.provider), SUITE, table()))


def test_the_budget_stops_in_the_middle_and_a_larger_one_goes_on_without_paying_twice(tmp_path):
    with served(says("an answer of some length, said at some length")) as server:
        with pytest.raises(CollectError) as stop:
            gather(server, tmp_path, budget_usd=0.2)
        kept = stored(tmp_path)
        assert 3 < kept < 20 and settled(server) == kept, "what was sent was waited for and kept"
        assert 0.1 < spent(tmp_path) <= 0.2
        said = str(stop.value)
        for words in (
            f"{kept} of 20 answers",
            f"{20 - kept} are missing",
            "`budget_usd`",
            f"${spent(tmp_path):.4f}",
        ):
            assert words in said, said
        with pytest.raises(CollectError, match="budget"):
            gather(server, tmp_path, budget_usd=0.2)
        assert settled(server) == kept, "the same budget sends nothing more"
        assert len(gather(server, tmp_path, budget_usd=5.0)) == 20
        assert settled(server) == stored(tmp_path) == 20, "no request was paid twice"
        assert len(gather(server, tmp_path, budget_usd=0.0)) == 20, "what is stored needs no budget"


def test_the_worst_case_is_a_budget_that_always_suffices(tmp_path):
    figures = cost.estimate(sizes(), ledger.attempts(tmp_path / "none.sqlite"), LINE)
    with served(says("x " * 500)) as server:  # every answer is cut at its cap
        assert len(gather(server, tmp_path, budget_usd=figures.worst)) == 20
    assert set(rows(tmp_path, "SELECT output_tokens FROM attempts")) == {(CAP,)}
    assert spent(tmp_path) <= figures.worst


def test_a_model_of_unknown_price_is_refused_and_when_allowed_counted_as_unknown(tmp_path):
    with served() as server:
        for key in ("no-such-line", None):
            with pytest.raises(CollectError, match=r"20 requests.*unknown"):
                gather(server, tmp_path, price=key, budget_usd=5.0)
            with pytest.raises(CollectError, match=r"unknown price.*`budget_usd` is 0"):
                gather(server, tmp_path, price=key, unknown_prices="allow")
        assert settled(server) == 0
        gather(server, tmp_path, price=None, budget_usd=5.0, unknown_prices="allow")
    sums = ledger.spent(ledger.attempts(store_path(tmp_path)))
    assert (sums["answered"], sums["unpriced_answers"], sums["dollars"]) == (20, 20, 0.0)


def test_a_price_of_zeros_needs_no_budget(tmp_path):
    with served() as server:
        model = entry(server.url, price="local")
        zeros = price_file(tmp_path, "local,0,0,0,0,,USD,2000-01-01,2026-01-01,own")
        frame = collect(
            model,
            SUITE,
            table(3),
            tmp_path,
            price=price_of(model, zeros),
            patience=QUICK,
            progress=False,
        )
    assert len(frame) == 3 and spent(tmp_path) == 0.0


def test_the_estimate_without_a_store_is_what_it_says_it_is():
    wanted = sizes()
    figures = cost.estimate(wanted, ledger.attempts(Path("nowhere.sqlite")), LINE)
    characters = sum(len("Answer.") + len(f"Question {item}?") for item in range(20))
    assert wanted["characters"].sum() == characters
    read, written, short = characters / 4, 20 * CAP / 4, 20 * CAP / 8
    assert (figures.calls, figures.seen, figures.assumed) == (20, 0, 20)
    assert (figures.input_tokens, figures.output_tokens) == (round(read), round(written))
    assert figures.expected == pytest.approx((read * 100 + written * 1000) / 1e6)
    assert figures.low == pytest.approx((read * 100 + short * 1000) / 1e6)
    most = characters + 20 * prices.FRAME_TOKENS
    assert figures.worst == pytest.approx((most * 100 + 20 * CAP * 1000) / 1e6)
    unknown = cost.estimate(wanted, ledger.attempts(Path("nowhere.sqlite")), None)
    assert (unknown.low, unknown.expected, unknown.worst) == (None, None, None)
    assert unknown.output_tokens == figures.output_tokens, "tokens are known without a price"


def test_a_cap_of_the_models_own_bounds_the_worst_and_not_the_expected_case():
    def figures(**fields):
        return cost.estimate(sizes(**fields), ledger.attempts(Path("nowhere.sqlite")), LINE)

    plain, raised = figures(), figures(max_output_tokens={SUITE: 16384})
    assert raised.expected == plain.expected and raised.worst > 100 * plain.worst
    assert figures(max_output_tokens={SUITE: 4}).output_tokens == 20 * 4, "no answer is longer than its cap"


def test_lengths_come_from_the_stores_own_answers(tmp_path):
    with served(says("words " * 20)) as server:
        gather(server, tmp_path, 4, budget_usd=50.0)
    answers = ledger.attempts(store_path(tmp_path))
    mean = rows(tmp_path, "SELECT avg(input_tokens), avg(output_tokens) FROM attempts")[0]
    assert mean[1] > CAP / 4, "these answers are longer than assumed"
    lacking = sizes(server.url)[lambda wanted: ~wanted["key"].isin(answers["key"])]
    figures = cost.estimate(lacking, answers, LINE)
    assert (figures.calls, figures.seen, figures.assumed) == (16, 4, 0)
    assert figures.expected == pytest.approx(16 * (mean[0] * 100 + mean[1] * 1000) / 1e6)
    assert figures.low <= figures.expected <= figures.worst


def test_what_a_run_will_cost_is_printed_and_what_is_stored_is_paid(tmp_path):
    with served() as server:
        run = run_of(server, tmp_path)
        before = list(stages_cost.cost(run, DAY))
        assert re.search(rf"{NAME} +{SUITE} +20 +0 +20 .*\$", before[1]), before
        gather(server, tmp_path, 12, budget_usd=50.0)
        after = list(stages_cost.cost(run, DAY))
    assert re.search(rf"{NAME} +{SUITE} +20 +12 +8 .*\$", after[1]), after
    text = "\n".join(after)
    assert "12 answers in the store" in text and "`budget_usd` is 1.50" in text
    assert f"have spent {stages_cost.dollars(spent(tmp_path))}" in text
    assert server.hits.total == 12, "an estimate asks nothing"
    before_it_held = "\n".join(stages_cost.cost(run, "2025-01-01"))
    assert before_it_held.count("unknown") >= 4 and "Unknown, and in no total: " + NAME in before_it_held


def test_what_was_spent_is_held_against_the_estimate_and_the_gaps_are_said(tmp_path):
    with served(says("words " * 20)) as server:
        run = run_of(server, tmp_path)
        assert any("nothing was asked yet" in line for line in stages_cost.actual(run))
        server.faults(Fault(name="drop", count=2))
        gather(server, tmp_path, budget_usd=50.0)
        model = entry(server.url, price="m")
        strangers = requests(3, reps=1, suite=SUITE, prompt="Something asked before?")
        strangers["prompt"] += strangers["item"]
        collect(
            model,
            SUITE,
            strangers,
            tmp_path,
            price=price_of(model, price_file(tmp_path), DAY),
            budget_usd=50.0,
            patience=QUICK,
            progress=False,
        )
    said = "\n".join(stages_cost.actual(run))
    assert statuses(tmp_path) == {"answered": 23, "dropped": 2}
    sums = ledger.spent(ledger.attempts(store_path(tmp_path)))
    assert (sums["tries"], sums["answered"], sums["maybe_billed"]) == (25, 23, 2)
    row = re.search(rf"{NAME} +{SUITE} +25 +23 +0 +2 .*", said)
    assert row and row[0].split()[-3] == stages_cost.dollars(spent(tmp_path))
    assert (
        f"2 calls brought no answer and may be billed, up to {stages_cost.dollars(sums['maybe_dollars'])}"
        in said
    )
    assert "3 answers, $" in said and "this run does not ask" in said
    estimated = cost.estimate(sizes(), ledger.attempts(Path("nowhere.sqlite")), LINE).expected
    keys = set(sizes(server.url)["key"])
    tries = ledger.attempts(store_path(tmp_path))
    paid = tries.loc[tries["key"].isin(keys) & (tries["status"] == "answered"), "cost_usd"].sum()
    # The price that holds today is the same line.
    assert row[0].split()[-2:] == [stages_cost.dollars(estimated), stages_cost.dollars(float(paid))]


def test_the_rows_ledger_is_what_the_store_paid_when_every_call_answered(tmp_path):
    with served(says("words " * 9)) as server:
        sealed = gather(server, tmp_path, budget_usd=50.0)
    usage = stages_estimate._usage(sealed)
    model = entry(server.url, price="m")
    made = row_ledger.ledger(model, {SUITE: usage}, prices.read(price_file(tmp_path)))
    assert made["dollars"] == pytest.approx(spent(tmp_path)) and made["dollars"] > 0.1 and made["gaps"] == []


def test_a_run_without_request_tables_is_told_how_to_make_them(tmp_path):
    with served() as server:
        run = run_of(server, tmp_path)
        gather(server, tmp_path, 2, budget_usd=50.0)
    (tmp_path / "results/requests" / SUITE / "R/all.parquet").unlink()
    with pytest.raises(ContractError, match=r"R/all\.parquet: no such file \(1 of 1 .*snakemake"):
        list(stages_cost.cost(run, DAY))
    assert any("no estimate to hold this against" in line for line in stages_cost.actual(run)), (
        "sums need no tables"
    )


def test_status_says_what_is_sealed_stored_and_at_work(tmp_path):
    with served() as server:
        run = run_of(server, tmp_path)
        assert list(stages_cost.status(run)) == [f"{NAME}: 0 of 1 blocks sealed"]
        sealed = gather(server, tmp_path, budget_usd=50.0)
    frames.write(
        sealed, tmp_path / "results/transcripts" / slug(NAME) / SUITE / "R/all.parquet", frames.Transcripts
    )
    said = list(stages_cost.status(run))
    assert said[0] == f"{NAME}: 1 of 1 blocks sealed"
    assert (
        said[1].startswith("  store: 20 answers in 20 tries")
        and stages_cost.dollars(spent(tmp_path)) in said[1]
    )
    assert said[2].startswith("  last job: finished") and "20 of 20 answers" in said[2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, r"^collecting \(process \d+\): .*7 of 20 answers, 5 of them asked.*2 failed tries.*\$0\.2500"),
        ({"pid": 2**22 + 1}, r"^killed \(process 4194305 is gone; last sign 3 seconds ago\)"),
        ({"updated": "2026-06-01T11:50:00+00:00"}, r"^no sign since 10 minutes ago"),
        ({"state": "stopped", "updated": "2026-05-30T12:00:00+00:00"}, r"^stopped 2 days ago"),
        (
            {"updated": None, "state": "finished", "cost_usd": None},
            r"^finished at an unknown time.*cost unknown",
        ),
    ],
)
def test_a_heartbeat_is_read_for_what_it_is_worth(changes, said):
    beat = {
        "pid": os.getpid(),
        "state": "collecting",
        "label": "a model: a suite, R",
        "updated": "2026-06-01T11:59:57+00:00",
        "total": 20,
        "cached": 2,
        "done": 5,
        "failed": 2,
        "maybe_billed": 0,
        "cost_usd": 0.25,
        **changes,
    }
    assert re.search(said, states.told(beat, datetime(2026, 6, 1, 12, tzinfo=UTC)))


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"pid": "x"}'])
def test_no_heartbeat_is_no_error(tmp_path, content):
    if content is not None:
        (tmp_path / "m.status.json").write_text(content)
    assert states.beat_of(tmp_path / "m.sqlite") is None


def test_the_commands_take_a_file_a_model_and_the_settings_of_a_run(tmp_path, monkeypatch):
    with served() as server:
        run = run_of(server, tmp_path)
    settings = canonical_json(run.config.model_dump(mode="json"))
    (tmp_path / "config.yaml").write_text(settings, encoding="utf-8")
    by_settings = CliRunner().invoke(app, ["cost", "--settings", settings])
    by_file = CliRunner().invoke(app, ["cost", "--config", str(tmp_path / "config.yaml"), "--model", NAME])
    assert by_settings.exit_code == by_file.exit_code == 0, by_settings.output
    assert by_settings.output == by_file.output and "20" in by_file.output
    assert "0 of 1 blocks" in CliRunner().invoke(app, ["status", "--settings", settings]).output
    assert (
        "nothing was asked yet"
        in CliRunner().invoke(app, ["cost", "--actual", "--settings", settings]).output
    )
    refused = CliRunner().invoke(app, ["cost", "--settings", "{"])
    assert refused.exit_code != 0 and "--settings" in str(refused.exception)


def test_a_served_model_counts_what_it_read(tmp_path):
    # The sums above rest on the server's token counts: four characters a token.
    with served() as server:
        status, _, raw = call(
            server.url + "/chat/completions",
            {"model": "planted one", "messages": [{"role": "user", "content": "x" * 40}]},
            "POST",
        )
    assert status == 200 and json.loads(raw)["usage"]["prompt_tokens"] == 10
