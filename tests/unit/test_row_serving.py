"""What a row says of a model that was not served as it was asked."""

from __future__ import annotations

import pytest
from row_fixtures import document, registry_entry

from anachron.publish import row
from anachron.publish.row_serving import serving

WIRE = {
    "provider": "openai_chat",
    "endpoint": "https://api.example/v1",
    "model_id": "m-2024-08-06",
    "source": None,
}


def built(thinking="off", provenance="api", **changes):
    entry = registry_entry("some model", **WIRE, thinking=thinking, disclosures=["Said by hand."])
    part = {**document("some model"), "provenances": [provenance], **changes}
    made = row.build(entry, {part["suite"]: part})
    drifted = any("serving_drift" in said for said in made["disclosures"])
    assert ("serving_drift" in made["marks"]) == drifted
    undrifted = row.build(entry, {part["suite"]: {**part, "served_models": [], "fingerprint_values": []}})
    assert undrifted["safe_from"]["month"]
    assert made["safe_from"]["month"] == (None if drifted else undrifted["safe_from"]["month"])
    assert ("serving_drift" in made["safe_from"]["text"]) == drifted
    return made["disclosures"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"served_models": ["m-2024-08-06"]}, []),
        ({"served_models": []}, []),
        ({"served_models": ["m-mini"]}, ["Asked was m-2024-08-06; the provider says that it served m-mini."]),
        (
            {"served_models": ["m-2024-08-06", "m-2024-11-20"]},
            [
                "Asked was m-2024-08-06; the provider says that it served m-2024-11-20.",
                "serving_drift: the served model changed inside this row: m-2024-08-06, m-2024-11-20.",
            ],
        ),
        (
            {"unknown_endings": {"paused": 3, "tired": 1}},
            [
                "4 answers ended for a reason that no provider documents, and count as answers: "
                "'paused' (3), 'tired' (1)."
            ],
        ),
        (
            {"fingerprint_values": [f"fp_{n}" for n in range(8)]},
            [
                "serving_drift: the system fingerprint changed inside this row: fp_0, fp_1, fp_2, fp_3, fp_4, fp_5 "
                "and 2 more."
            ],
        ),
    ],
)
def test_what_was_served_otherwise_than_asked_stands_in_the_row(changes, words):
    plain = {"served_models": [], "fingerprint_values": []}
    assert built(**{**plain, **changes}) == ["Said by hand.", *words]
    assert built(provenance="imported", **{**plain, **changes}) == ["Said by hand."]


@pytest.mark.parametrize(("thinking", "told"), [("off", True), ("on", False), ("locked", False)])
def test_reasoning_is_told_where_thinking_is_off(thinking, told):
    entry = registry_entry("some model", **WIRE, thinking=thinking)
    part = {"provenances": ["api"], "usage": {"reasoning_tokens": 1200}}
    found = serving(entry, {"a": part, "b": {**part, "usage": {"reasoning_tokens": None}}}).said
    said = "Thinking is off in the registry, and the provider counted 1,200 reasoning tokens."
    assert found == ([said] if told else [])


def test_endings_that_nobody_documents_are_counted_by_reason():
    import pandas as pd

    from anachron.stages_estimate import unknown_endings

    reasons = ["stop", "STOP", "end_turn", "length", "blocked:OTHER", "tired", None, "tired", "tool_use"]
    assert unknown_endings(pd.DataFrame({"finish_reason": reasons})) == {"tired": 2, "tool_use": 1}
