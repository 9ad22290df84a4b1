"""Whatever a model answers, parsing gives an answer with a name, and the same one each time."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import assume, example, given
from hypothesis import strategies as st

from anachron.suites import load_protocol
from anachron.suites.hindsightbench.parse import RECALLS, YearsAndEvents, read_arm, read_lap, read_rec
from anachron.suites.hindsightbench.probes import read_recall
from anachron.suites.hindsightbench.sketches import Schema, read_sketches, recover_sketches

BM1 = load_protocol(
    "hindsightbench", Path(__file__).resolve().parents[2] / "config" / "protocols" / "bm1.yaml"
)
EVENTS = YearsAndEvents(BM1)
SCHEMA = Schema(frozenset({"demand"}), frozenset({5, 20, 60}), frozenset({"UNRATE"}))

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from("+-"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
valid = st.fixed_dictionaries(
    {
        "direction": st.sampled_from("+-"),
        "mechanism_narrative": st.text(max_size=12),
        "candidate_proxies": st.lists(values, max_size=3),
        "regime_hint": st.text(max_size=5),
    }
)
scraps = st.text(alphabet='[]{}",:+-\\` \n</think>upown', max_size=60) | st.text(max_size=40)
texts = scraps | st.tuples(scraps, st.lists(valid | values, max_size=4).map(json.dumps), scraps).map("".join)


@given(texts)
@example("\x00")
@example("\ud800")
@example("</think>")
@example("``````")
def test_any_text_is_an_answer(text):
    row = read_arm(text, SCHEMA, 8)
    assert row == read_arm(text, SCHEMA, 8)
    assert (row["parse_error"] is None) == (row["repair"] != "error")
    for suffix in ("", "_recovered"):
        assert len(row[f"directions{suffix}"]) == row[f"n_valid{suffix}"]
    assert row["n_valid_recovered"] >= row["n_valid"]
    assert read_lap(read_recall(text), text, None)["recall"] in RECALLS
    month = read_rec(text, None)["estimated_month"]
    assert month is None or len(month) == 7


@given(st.lists(valid, min_size=1, max_size=8), st.data())
def test_cutting_a_list_short_keeps_every_complete_sketch(sketches, data):
    parts = [json.dumps(sketch) for sketch in sketches]
    kept = data.draw(st.integers(1, len(parts)))
    cut = "[" + ", ".join(parts[:kept])
    assume("</think>" not in cut)  # what stands before it is reasoning, by the published rule
    published = read_sketches(cut)
    assert published.error == "not JSON"
    assert recover_sketches(cut, published).items == sketches[:kept]


@given(st.lists(valid | values, max_size=8))
def test_reading_what_was_read_changes_nothing(items):
    once = read_sketches(json.dumps(items))
    twice = read_sketches(json.dumps(once.items))
    assert json.dumps(twice.items) == json.dumps(once.items)
    assert twice.repair == "plain"


event_words = st.sampled_from([word for words in BM1.sets.event_words.values() for word in words])
pieces = (
    event_words | event_words.map(str.upper) | st.text(alphabet=" .aZ0_-\u212a\u017f\u00df\x00", max_size=3)
)


@given(st.lists(st.lists(pieces, max_size=5).map("".join) | st.text(max_size=9) | st.none(), max_size=5))
@example(["loc\u212adown", "aggre\u00dfive tightening", "\ud800 COVID", "LEHMAN", "lockdowns", None])
def test_no_event_is_lost_by_searching_many_texts_at_once(texts):
    eventful = EVENTS.may_name_event(texts)
    quick = [
        EVENTS.flags(text, "2013-05-15", "2008-11-15", may) for text, may in zip(texts, eventful, strict=True)
    ]
    assert quick == [EVENTS.flags(text, "2013-05-15", "2008-11-15") for text in texts]
