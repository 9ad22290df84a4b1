"""Requests: who is asked what, what each arm shows, and which faults stop the build."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from anachron.blocks import from_ordinal, months, ordinal
from anachron.config import load
from anachron.errors import AnachronError, ContractError
from anachron.frames import Panel, Requests, check
from anachron.suites.hindsightbench import ask, masking, prompts
from anachron.suites.hindsightbench.protocol import ALL_ARMS, Protocol, Task

ROOT = Path(__file__).resolve().parents[2]
LAGS = {
    "GDPC1": 6,
    "CPIAUCSL": 2,
    "PAYEMS": 1,
    "INDPRO": 2,
    "RSAFS": 2,
    "UNRATE": 1,
    "HOUST": 2,
    "FEDFUNDS": 1,
}
LEVELS = {
    "GDPC1": 11727.4,
    "CPIAUCSL": 218.88,
    "PAYEMS": 137318.0,
    "INDPRO": 110.3034,
    "RSAFS": 375473.0,
    "UNRATE": 6.1,
    "HOUST": 895.0,
    "FEDFUNDS": 1.81,
}


def read(name: str) -> Protocol:
    return load(Protocol, ROOT / "config" / "protocols" / f"{name}.yaml")


def panel_of(protocol: Protocol, dates: list[str]) -> pd.DataFrame:
    """A panel whose values drift with the date, so that no two dates have the same prompt."""
    rows = []
    for date in dates:
        place = ordinal(date) - ordinal(protocol.dates.start)
        for entry in protocol.series:
            level = LEVELS[entry.id] * (1 + place / 1000)
            rows.append(
                {
                    "decision_date": date,
                    "series": entry.id,
                    "reference_period": from_ordinal(ordinal(date) - LAGS[entry.id]) + "-01",
                    "published": date[:8] + "10",
                    "value": level,
                    "latest_value": level * 1.07,
                    "unit": entry.unit,
                    "vintage_kind": "real time",
                    "realised": 1 if place % 3 else -1,
                    "realised_kind": "made by hand",
                    "first_session": date,
                    "lap_end": date[:8] + "28",
                    "base_rate_up": 0.6123 if place else None,
                    "base_rate_n": place,
                }
            )
    return check(pd.DataFrame(rows), Panel, "hand-made panel")


@pytest.fixture(scope="module")
def bm1() -> Protocol:
    return read("bm1")


@pytest.fixture(scope="module")
def panel(bm1: Protocol) -> pd.DataFrame:
    return panel_of(bm1, bm1.decision_dates)


@pytest.fixture(scope="module")
def asked(bm1: Protocol, panel: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {arm: ask.build(bm1, panel, arm, bm1.decision_dates) for arm in ALL_ARMS}


def prompt(asked: dict[str, pd.DataFrame], arm: str, item: str) -> str:
    rows = asked[arm]
    return str(rows.loc[rows["item"] == item, "prompt"].iloc[0])


# --- who is asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "full", "one_rep", "reduced", "reps"),
    [
        ("R", 516, 258, 65, [1, 2]),
        ("D", 516, 258, 65, [1, 2]),
        ("M", 516, 258, 65, [1, 2]),
        ("W", 516, 258, 65, [1, 2]),
        ("W72", 240, 240, 0, [1]),
        ("LAP", 5160, 5160, 2580, list(range(20))),
        ("REC", 258, 258, 258, [1]),
    ],
)
def test_tiers_ask_the_counts_of_the_specification(asked, arm, full, one_rep, reduced, reps):
    tiers = asked[arm]["tiers"].str.split(",")
    for tier, count in (("full", full), ("full-1rep", one_rep), ("reduced", reduced)):
        assert tiers.map(lambda names, tier=tier: tier in names).sum() == count
    assert sorted(asked[arm]["rep"].unique()) == reps
    assert list(zip(asked[arm]["item"], asked[arm]["rep"], strict=True)) == sorted(
        zip(asked[arm]["item"], asked[arm]["rep"], strict=True)
    )


def test_reduced_tier_is_crisis_calm_and_post(asked):
    rows = asked["D"]
    reduced = set(rows.loc[rows["tiers"].str.contains("reduced"), "item"])
    assert {"2008-09-15", "2013-01-15", "2025-01-15"} <= reduced
    assert "2007-01-15" not in reduced


def test_items_no_tier_asks_have_no_row(bm1, panel):
    assert ask.build(bm1, panel, "W72", bm1.post_dates).empty
    assert list(ask.build(bm1, panel, "W72", []).columns) == list(Requests.to_schema().columns)


def test_a_block_is_a_slice_of_the_whole_in_any_order(bm1, panel, asked):
    block = [bm1.date(month) for month in months("2010-01", "2014-12")]
    for arm in ALL_ARMS:
        part = ask.build(bm1, panel, arm, [*reversed(block), block[3]])
        whole = asked[arm][asked[arm]["item"].isin(block)].reset_index(drop=True)
        pd.testing.assert_frame_equal(part, whole)


# --- what is shown --------------------------------------------------------------------------------


def test_shown_dates(asked):
    shown = {arm: dict(zip(rows["item"], rows["shown_date"], strict=True)) for arm, rows in asked.items()}
    for arm in ("R", "D", "LAP"):
        assert all(item == date for item, date in shown[arm].items())
    for arm in ("M", "REC"):
        assert asked[arm]["shown_date"].isna().all()
    assert shown["W"]["2008-10-15"] == "2014-04-15"  # 66 months on
    assert shown["W"]["2024-12-15"] == "2010-06-15"  # place 239 + 66 wraps to 65
    assert shown["W"]["2025-01-15"] == "2008-09-15"  # first crisis date
    assert shown["W"]["2025-02-15"] == "2013-02-15"  # first calm anchor
    assert shown["W72"]["2008-10-15"] == "2014-10-15"
    assert not set(asked["W72"]["item"]) & {"2025-01-15", "2026-06-15"}


def test_revealed_arm_shows_dates_latest_values_and_statistics(asked):
    text = prompt(asked, "R", "2008-10-15")
    # 45 months after 2005-01: level * 1.045, latest 7 percent higher
    assert "HOUST: asof=2008-08-01, value=935, latest=1001, unit: thousands of units, annual rate" in text
    assert "45 earlier months" in text
    assert "61.2%" in text
    assert "no earlier month had" in prompt(asked, "R", "2005-01-15")


def test_date_arm_hides_latest_values_and_statistics(asked):
    text = prompt(asked, "D", "2008-10-15")
    assert "HOUST: asof=t-2mo, value=935, unit: thousands of units, annual rate" in text
    assert "GDPC1: asof=t-6mo, value=12255.1, unit:" in text
    assert "latest" not in text
    assert "Statistics" not in text
    assert re.findall(r"\d{4}-\d\d(?:-\d\d)?", text) == ["2008-10-15", "2008-10-15"]


def test_masked_and_false_dates_change_the_date_and_nothing_else(asked, bm1):
    for item in ("2005-01-15", "2008-10-15", "2025-02-15"):
        dated = prompt(asked, "D", item)
        fake = bm1.fake_dates(66)[item]
        assert prompt(asked, "W", item) == dated.replace(item, fake)
        lines = dated.splitlines()
        masked = prompt(asked, "M", item).splitlines()
        assert masked[0] == bm1.task.undisclosed_line
        assert masked[1] == lines[1].replace(item, bm1.task.undisclosed_date)
        assert masked[2:] == lines[2:]


def test_date_recovery_is_the_eight_masked_lines_and_the_question(asked, bm1):
    lines, question = prompt(asked, "REC", "2008-10-15").split("\n\n")
    assert [line.split(":")[0] for line in lines.splitlines()] == [entry.id for entry in bm1.series]
    assert lines in prompt(asked, "M", "2008-10-15")
    assert question == bm1.task.rec.rstrip()
    assert '{"estimated_date": "YYYY-MM"}' in question


def test_outcome_recall_names_both_ends(asked):
    assert "Between 2008-10-15 and 2008-10-28," in prompt(asked, "LAP", "2008-10-15")


def test_system_prompt_and_sampling_are_constant(asked, bm1):
    for arm, rows in asked.items():
        assert rows["system"].nunique() == 1
        assert rows["temperature"].unique() == [bm1.arms[arm].temperature]
        assert rows["max_tokens"].unique() == [bm1.arms[arm].max_tokens]
    assert len({asked[arm]["system"].iloc[0] for arm in ("R", "D", "M", "W", "W72")}) == 1


def test_a_changed_value_changes_that_date_only(bm1, panel, asked):
    changed = panel.copy()
    changed.loc[(changed["decision_date"] == "2012-05-15") & (changed["series"] == "UNRATE"), "value"] += 1
    for arm in ("R", "D", "M", "W", "W72", "REC"):
        rows = ask.build(bm1, changed, arm, bm1.decision_dates)
        differs = rows["prompt"] != asked[arm]["prompt"]
        assert set(rows.loc[differs, "item"]) == {"2012-05-15"}


@pytest.mark.parametrize("name", ["bm1", "bm1-treasury"])
def test_the_example_has_every_field_and_no_lean(name):
    protocol = read(name)
    sketches = json.loads(protocol.task.example)
    fields = re.findall(r"^- (\w+):", protocol.task.schema_text, re.M)
    assert len(fields) == 11
    for sketch in sketches:
        assert list(sketch) == fields
        assert sketch["dominant_domain"] in protocol.domains
        assert sketch["candidate_horizon_hint"] in protocol.horizons
        assert {*sketch["candidate_proxies"], *sketch["evidence_refs"]} <= {e.id for e in protocol.series}
    assert sorted(sketch["direction"] for sketch in sketches) == ["+", "-"]
    for field in ("candidate_horizon_hint", "mechanism_narrative", "regime_hint", "failure_condition"):
        assert len({sketch[field] for sketch in sketches}) == 1


# --- the target comes from the task file ----------------------------------------------------------

EQUITY = r"S&P|equit|stock|index level|\bshares?\b|500|bull|bear"


def test_second_target_leaves_no_equity_wording(bm1, panel):
    treasury = read("bm1-treasury")
    equity_found = False
    for arm in ALL_ARMS:
        rows = ask.build(treasury, panel, arm, treasury.decision_dates)
        # the values are the only digits that may hold 500; cut the observations' lines
        texts = (rows["prompt"] + "\n" + rows["system"]).str.replace(
            r"(?m)^[A-Z0-9]+: asof=.*$", "", regex=True
        )
        hits = texts[texts.str.contains(EQUITY, case=False)]
        assert hits.empty, hits.iloc[0]
        own = ask.build(bm1, panel, arm, ["2008-10-15"])
        equity_found |= bool(own["prompt"].str.contains(EQUITY, case=False).any())
        assert arm == "REC" or rows["prompt"].str.contains("10-year").all()
    assert equity_found  # the pattern does find the other task's wording
    assert treasury.target.realised.series == "GS10"
    assert treasury.sets.crisis == bm1.sets.crisis


def test_no_target_wording_in_code():
    folder = Path(ask.__file__).parent
    for name in ("ask.py", "prompts.py", "masking.py"):
        text = (folder / name).read_text(encoding="utf-8")
        found = re.search(r"S&P|SPX|treasury|yield|equit|stock market|10-year", text, re.I)
        assert found is None, f"{name}: {found}"


# --- what stops the build -------------------------------------------------------------------------


def with_task(protocol: Protocol, **texts: str) -> Protocol:
    return protocol.model_copy(update={"task": protocol.task.model_copy(update=texts)})


def test_unknown_arm_and_item(bm1, panel):
    with pytest.raises(AnachronError, match="arm 'X' is not known; known arms: R, D"):
        ask.build(bm1, panel, "X", ["2008-10-15"])
    with pytest.raises(ContractError, match="item 2008-10-16, arm D: not a decision date"):
        ask.build(bm1, panel, "D", ["2008-10-16"])


def test_panel_faults_name_the_item(bm1, panel):
    at = panel["decision_date"] == "2008-10-15"
    houst = at & (panel["series"] == "HOUST")
    faults = {
        "has no such decision date": panel[~at],
        "lacks series HOUST": panel[~houst],
        "was not known on the date": panel.assign(published=panel["published"].mask(houst, "2008-10-16")),
        "`value` is nan": panel.assign(value=panel["value"].mask(houst)),
        "or the unit marks a period": panel.assign(unit=panel["unit"].mask(houst, "thousands")),
        "is not after the date": panel.assign(lap_end=panel["lap_end"].mask(at, "2008-10-15")),
    }
    for text, faulty in faults.items():
        with pytest.raises(ContractError, match=f"item 2008-10-15, arm M: .*{text}"):
            ask.build(bm1, faulty, "M", ["2008-10-15"])


def test_a_shift_that_is_no_shift_is_refused(bm1, panel):
    unshifted = bm1.model_copy(update={"shift": bm1.shift.model_copy(update={"months": 240})})
    with pytest.raises(ContractError, match="its false date is the true one"):
        ask.build(unshifted, panel, "W", ["2008-10-15"])


def test_revealed_arm_may_hold_what_masked_arms_may_not(bm1, panel):
    leaky = with_task(bm1, instruction=bm1.task.instruction + " Recall October 2008.")
    assert len(ask.build(leaky, panel, "R", ["2008-10-15"])) == 2
    with pytest.raises(ContractError, match=r"item 2008-10-15, arm D: .*'October 2008'"):
        ask.build(leaky, panel, "D", ["2008-10-15"])


def node_of(protocol: Protocol) -> prompts.Node:
    seen = tuple(prompts.Observation(entry, "2008-08-01", 2008.0, 1001.5) for entry in protocol.series)
    return prompts.Node("2008-10-15", "2008-11-12", seen, 0.6123, 45)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("latest", "1001.5", "field this arm hides"),
        ("base_rate", "45", "field this arm hides"),
        ("reference", "2008-08-01", "field this arm hides"),
        ("date", "2008-10-15", "a date it should not"),
        ("value", "2008", "a value is not the panel's"),
        ("lag", "t-9mo", "a lag is not the panel's"),
    ],
)
def test_fields_are_compared_with_the_panel(bm1, kind, text, message):
    node = node_of(bm1)
    sound = prompts.arm_prompt(bm1, prompts.filler(bm1), node, "2014-04-15", revealed=False)
    masking.check(sound, "system", node, "W", "2014-04-15")
    with pytest.raises(ContractError, match=message):
        masking.check([*sound, prompts.Piece(kind, text)], "system", node, "W", "2014-04-15")


# --- the protocol ---------------------------------------------------------------------------------


def test_task_refuses_fields_it_cannot_fill(bm1):
    texts = bm1.task.model_dump()
    for name, text, message in (
        ("instruction", "Decide on {date}.", r"`instruction` holds \{date\}"),
        ("statistics", "{base_rate_up}", r"`statistics` must hold \{base_rate_n\}"),
        ("example", "[", "`example` is not JSON"),
        ("example", "{}", "`example` must be a JSON list"),
    ):
        with pytest.raises(ValueError, match=message):
            Task.model_validate({**texts, name: text})


def test_ask_digest_follows_the_requests_and_nothing_else(bm1):
    def changed(path: str, value: object) -> Protocol:
        tree = bm1.model_dump(mode="json")
        *way, last = path.split(".")
        here = tree
        for step in way:
            here = here[step]
        assert here[last] != value
        here[last] = value
        return Protocol.model_validate(tree)

    same = {
        "gates.parity": 0.5,
        "bootstrap.seed": 1,
        "bootstrap.draws": 500,
        "dates.end": "2026-12",
        "lap.threshold": 0.2,
        "title": "Another title",
        "arms.W72.default": True,
        "sets.alternative_calm_years": [],
        "sets.event_words": {},
        "sets.events": bm1.sets.events | {"covid": ["2020-03"]},
    }
    other = {
        "task.instruction": "Write {sketches} sketches.",
        "task.lap": "Between {date} and {end}: up or down?",
        "target.plus": "it rises",
        "sets.calm_years": [2013, 2014],
        "shift.months": 72,
        "dates.day": 14,
        "arms.D.temperature": 0.3,
        "sketches": 7,
    }
    for path, value in same.items():
        assert changed(path, value).ask_digest() == bm1.ask_digest(), path
    for path, value in other.items():
        assert changed(path, value).ask_digest() != bm1.ask_digest(), path
    finer = bm1.model_dump(mode="json")
    finer["series"][0]["decimals"] = 3
    assert Protocol.model_validate(finer).ask_digest() != bm1.ask_digest()


def test_numbers_have_one_format():
    assert [prompts.number(value, 1) for value in (895.0, 895.04, -0.04, 1e6, -2.5)] == [
        "895.0",
        "895.0",
        "0.0",
        "1000000.0",
        "-2.5",
    ]


def test_the_reference_page_describes_every_text():
    page = (ROOT / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == list(Task.model_fields)


def test_the_reference_page_quotes_the_shipped_wording(asked):
    page = (ROOT / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    quoted = [line for block in re.findall(r"```text\n(.*?)```", page, re.S) for line in block.splitlines()]
    wording = [
        line for line in quoted if line and line != "[…]" and "asof=" not in line and "Stat" not in line
    ]
    rendered = {line for arm in ALL_ARMS for line in prompt(asked, arm, "2008-10-15").splitlines()}
    assert len(wording) > 20
    for line in wording:
        assert line.replace("2008-11-12", "2008-10-28") in rendered, line
