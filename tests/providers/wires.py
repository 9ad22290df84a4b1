"""What the tests of the wire formats share: a neutral request, registry entries, and values that may be anything."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from anachron.config import ModelEntry
from anachron.llm import providers
from anachron.llm.keys import body_text, key

KINDS = ("openai_chat", "anthropic", "gemini")
SUITE, ARM = "suite", "R"

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def request(**fields):
    return {
        "suite": SUITE,
        "arm": ARM,
        "item": "2008-09-15",
        "system": "Be brief.",
        "prompt": "Up or down?",
        "shown_date": None,
        "temperature": 0.2,
        "max_tokens": 2048,
        **fields,
    }


def entry(kind: str, **fields) -> ModelEntry:
    where = {"endpoint": "https://api.example.com/v1"} if kind == "openai_chat" else {}
    return ModelEntry(**{"name": "A model", "provider": kind, "model_id": "model-1", **where, **fields})


def body_of(kind: str, asked=None, **fields):
    return providers.get(kind).body(asked or request(), entry(kind, **fields))


def key_of(kind: str, asked=None, rep: int = 1, **fields) -> str:
    model = entry(kind, **fields)
    text = body_text(providers.get(kind).body(asked or request(), model), "test")
    return key(kind, model.base_url, text, rep)


def read(kind: str, answer):
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return providers.get(kind).read(raw)


def failed(kind: str, status: int, answer=b"", headers=None):
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return providers.get(kind).wire.failure(status, headers or {}, raw)


def verdict(kind: str, status: int, answer=b""):
    """Whether a response is asked again and whether it says to slow down; None for an answer."""
    found = failed(kind, status, answer)
    return None if found is None else (found.retry, found.slow_down)


def shapes(template):
    """Values like `template`, a JSON value, with any part of it left out or put in place by anything."""
    if isinstance(template, dict):
        whole = st.fixed_dictionaries({}, optional={name: shapes(value) for name, value in template.items()})
    elif isinstance(template, list):
        whole = st.lists(shapes(template[0]), max_size=3) if template else st.just([])
    else:
        whole = st.just(template)
    return st.one_of(whole, whole, whole, anything)
