"""Transcripts and answers as the stages write them, small and without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from anachron import frames

SUITE = "hindsightbench"


def transcripts(model: str, arm: str, texts: Sequence[str | None], **columns: Any) -> pd.DataFrame:
    """Return sealed transcripts of an arm, two reps per item; an answer of None has no text."""
    count = len(texts)
    names = list(frames.Transcripts.to_schema().columns)
    frame = pd.DataFrame(
        {
            "model": model,
            "suite": SUITE,
            "arm": arm,
            "item": [f"{2005 + place // 24}-{place // 2 % 12 + 1:02d}-15" for place in range(count)],
            "rep": [place % 2 for place in range(count)],
            "duplicate": 0,
            "key": [f"{place:064x}" for place in range(count)],
            "outcome": ["answer" if text else "empty" for text in texts],
            "text": pd.Series(texts, dtype="str"),
            "prompt_sha256": "a" * 64,
            "output_tokens": 7,
            "provenance": "imported",
            **columns,
        }
    )
    missing = pd.Series([None] * count, dtype="str")
    frame = frame.assign(**{name: missing for name in names if name not in frame})
    return frames.check(frame[names], frames.Transcripts, "transcripts")


def answers(sealed: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """Return answers of transcripts, with the columns of a parser."""
    kept = ["model", "suite", "arm", "item", "rep", "duplicate", "key", "outcome"]
    return sealed[kept].assign(parser="1", **columns)


def prompts(
    sealed: pd.DataFrame, text: str = "What happened?"
) -> dict[tuple[str, str, int], tuple[str, str]]:
    """Return the prompts of transcripts, the same for all reps of an item."""
    return {
        (arm, item, rep): ("Be brief.", f"{text} {item}")
        for arm, item, rep in zip(sealed["arm"], sealed["item"], sealed["rep"], strict=True)
    }
