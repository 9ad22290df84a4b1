"""The document that the estimate stage writes: a suite's result for one model, and what it rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from anachron import suites
from anachron.config import ModelEntry
from anachron.estimates import Result

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def document(
    entry: ModelEntry,
    suite: str,
    protocol: Any,
    transcripts: pd.DataFrame,
    answers: pd.DataFrame,
    panel: pd.DataFrame,
    result: Result,
    truth: Mapping[str, Any] | None = None,
    fingerprints: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the estimates document of one model and suite, in full precision.

    Parameters
    ----------
    entry
        The model's registry entry.
    suite, protocol
        The suite and its validated protocol (with `name`, `title` and `sha256`).
    transcripts
        `frames.Transcripts` of this model and suite, sorted by arm, item, rep and duplicate.
    answers
        What the suite's parser made of them.
    panel
        What the answers were held against: `frames.Panel`, or the columns that imported records bring.
    result
        What the suite's estimator returned.
    truth
        Planted models: the true value (a number or a month) per metric.
    fingerprints
        Source fingerprint per stage.

    Returns
    -------
    dict
        Plain JSON values. `usage` sums the tokens that were recorded; a kind that no call recorded is None,
        and `calls_without_usage` counts the calls that recorded no output tokens.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "model": entry.name,
        "suite": suite,
        "protocol": {"name": protocol.name, "sha256": protocol.sha256, "title": protocol.title},
        "versions": {
            "parser": _one_or_all(_distinct(answers, "parser"), suites.module(suite, "parse").VERSION),
            "estimator": suites.module(suite, "estimate").VERSION,
        },
        "fingerprints": dict(fingerprints or {}),
        "panel": {
            "sha256": frame_sha256(panel),
            "vintage_kinds": _distinct(panel, "vintage_kind"),
            "realised_kinds": _distinct(panel, "realised_kind"),
        },
        "transcripts_sha256": frame_sha256(transcripts),
        "served_models": _distinct(transcripts, "served_model"),
        "fingerprint_values": _distinct(transcripts, "fingerprint"),
        "provenances": _distinct(transcripts, "provenance"),
        "reps": _reps(transcripts),
        "usage": _usage(transcripts),
        "truth": dict(truth) if truth is not None else None,
        "counts": result.counts,
        "side": result.side,
        "estimates": result.records,
    }


def frame_sha256(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of a frame's content: per column its name, the length of every value, all values.

    The hash does not depend on the file a frame came from, on how its columns are stored, or on which of the
    marks for a missing value they use: values are hashed as text, and a missing one has length -1.
    """
    import pyarrow as arrow
    import pyarrow.compute as compute

    found = hashlib.sha256()
    for name in frame.columns:
        lengths, values = hashlib.sha256(), hashlib.sha256()
        column = arrow.array(frame[name], from_pandas=True)
        for chunk in column.chunks if isinstance(column, arrow.ChunkedArray) else [column]:
            texts = chunk.cast(arrow.large_string())
            counted = compute.fill_null(compute.binary_length(texts), -1)
            lengths.update(counted.to_numpy(zero_copy_only=False).astype("<i8").tobytes())
            filled = texts.drop_null() if texts.null_count else texts
            _, ends, content = filled.buffers()
            if content is not None and len(filled):
                places = memoryview(ends).cast("q")
                first, last = places[filled.offset], places[filled.offset + len(filled)]
                values.update(memoryview(content)[first:last])
        found.update(f"{name} {len(frame)} {lengths.hexdigest()} {values.hexdigest()}\n".encode())
    return found.hexdigest()


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    if column not in frame.columns:
        return []
    return sorted(str(value) for value in frame[column].dropna().unique())


def _one_or_all(found: list[str], stated: str) -> str | list[str]:
    """Return the parser version of the answers; the parser's own where there are no answers."""
    return found if len(found) > 1 else (found[0] if found else stated)


def _reps(transcripts: pd.DataFrame) -> dict[str, int]:
    """Return how many repeated samples each arm has a record of."""
    counted = transcripts.groupby("arm", sort=True)["rep"].nunique()
    return {str(arm): int(number) for arm, number in counted.items()}


def _usage(transcripts: pd.DataFrame) -> dict[str, int | None]:
    usage: dict[str, int | None] = {"calls": len(transcripts)}
    for kind in TOKENS:
        known: Iterable[Any] = transcripts[kind].dropna()
        amounts = [int(amount) for amount in known]
        usage[kind] = sum(amounts) if amounts else None
    usage["calls_without_usage"] = int(transcripts["output_tokens"].isna().sum())
    return usage
