"""The key: what changes it, what does not."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anachron.errors import CollectError
from anachron.files import digest
from anachron.llm.keys import PROTOCOL_TOKEN, body_text, key

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(st.text(), values, max_size=5)


def of(body, provider="planted", endpoint=None, rep=1, **settings):
    return key(provider, endpoint, body_text(body, "test"), rep, **settings)


@given(bodies, st.data())
def test_the_order_of_fields_does_not_change_the_key(body, data):
    shuffled = dict(data.draw(st.permutations(list(body.items()))))
    assert of(body) == of(shuffled)


@given(bodies.filter(bool), values, st.data())
def test_any_changed_field_changes_the_key(body, value, data):
    name = data.draw(st.sampled_from(sorted(body)))
    changed = {**body, name: value}
    # JSON's own text is the judge of whether anything changed: 1, 1.0 and true are three values.
    same = json.dumps(body, sort_keys=True) == json.dumps(changed, sort_keys=True)
    assert (of(body) == of(changed)) is same
    assert of(body) != of({field: body[field] for field in body if field != name})


@given(bodies, st.text(min_size=1), st.text(min_size=1))
def test_two_models_never_share_a_key(body, one, other):
    assert (of({**body, "model": one}) == of({**body, "model": other})) is (one == other)


@given(bodies, st.text(), st.text() | st.none(), st.integers(0, 99), st.text())
def test_the_key_is_the_digest_of_all_five_parts(body, provider, endpoint, rep, token):
    whole = {"provider": provider, "endpoint": endpoint, "body": body, "rep": rep, "protocol_token": token}
    assert of(body, provider, endpoint, rep, token=token) == digest(whole)


def test_each_part_beside_the_body_changes_the_key():
    base = of({"model": "a"})
    others = [
        of({"model": "a"}, provider="openai_chat"),
        of({"model": "a"}, endpoint="http://127.0.0.1:1"),
        of({"model": "a"}, rep=2),
        of({"model": "a"}, token=PROTOCOL_TOKEN + "x"),
    ]
    assert len({base, *others}) == 5


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_what_json_cannot_say_is_named(value):
    with pytest.raises(CollectError, match=r"model 'm'.*cannot be written as JSON"):
        body_text({"temperature": value}, "model 'm'")
