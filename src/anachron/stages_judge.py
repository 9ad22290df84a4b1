"""Answers that another model grades: a suite's judged arms, each answer put before a judge that did not give it.

The judge's words are kept beside the judged answer and parsed with it, so that a changed parser asks nobody again; the
judge's own store keeps them for ever.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import suites
from anachron.config import Registry, load
from anachron.errors import ConfigError
from anachron.files import canonical_json
from anachron.registry_checks import same_model

if TYPE_CHECKING:
    import pandas as pd

JUDGED = ("judge", "judge_said", "judge_outcome", "judge_key")
"""What stands in a judged answer's `recorded`."""


def judge(
    suite: str,
    protocol_path: Path,
    registry_path: Path,
    model: str,
    by: str,
    transcripts: Path,
    store: Path,
    out: Path,
) -> None:
    """Put every answer of a sealed block before a judge, and write the block with what the judge said to `out`.

    Parameters
    ----------
    model, by
        Names in the registry of the judged model and of the judge.

    Raises
    ------
    ConfigError
        When the judge is the judged model.
    CollectError
        When asking the judge stopped; every answer that arrived is in its store.
    """
    from anachron import frames
    from anachron.stages import ask_model

    protocol = suites.load_protocol(suite, protocol_path)
    registry = load(Registry, registry_path)
    judged, judging = registry.get(model), registry.get(by)
    if same_model(judged, judging):
        raise ConfigError(f"model {model!r} is to be judged by {by!r}, which is the same model; name another")
    sealed = frames.read(transcripts, frames.Transcripts)
    requests = suites.module(suite, "judging").build(protocol, sealed)
    said = ask_model(judging, suite, protocol, requests, [], store)
    frames.write(with_judgement(sealed, said, by), out, frames.Transcripts)


def with_judgement(sealed: pd.DataFrame, said: pd.DataFrame, judge_name: str) -> pd.DataFrame:
    """Return sealed answers with what a judge said of each in `recorded`; those not put before it stay as they are."""
    place = ["item", "rep"]
    words: dict[tuple[Any, ...], str] = {}
    columns = (said[name].tolist() for name in (*place, "text", "outcome", "key"))
    for item, rep, text, outcome, key in zip(*columns, strict=True):
        values = (judge_name, text if isinstance(text, str) else None, outcome, key)
        words[item, rep] = canonical_json(dict(zip(JUDGED, values, strict=True)))
    found = [words.get(where) for where in sealed[place].itertuples(index=False, name=None)]
    kept = [one if one is not None else old for one, old in zip(found, sealed["recorded"], strict=True)]
    return sealed.assign(recorded=kept).astype({"recorded": sealed["recorded"].dtype})


def judgement(recorded: Any) -> dict[str, Any] | None:
    """Return what a judge said of an answer, by the names of `JUDGED`; None where none did."""
    if not isinstance(recorded, str):
        return None
    try:
        found = json.loads(recorded)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "judge_said" in found else None
