"""The document that the estimate stage writes: a suite's result for one model, and what it rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anachron import suites
from anachron.config import ModelEntry
from anachron.errors import ContractError
from anachron.estimates import Result
from anachron.files import canonical_json, read_json

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def estimated(
    entry: ModelEntry, suite: str, answers: pd.DataFrame, panel: pd.DataFrame, protocol: Any
) -> Result:
    """Return what a suite's estimator finds in one model's answers.

    A suite whose `estimate` module has `KNOWS_CUTOFF` is told the cutoff that the vendor states.
    """
    estimator = suites.module(suite, "estimate")
    known = {"cutoff": entry.vendor_cutoff.value} if getattr(estimator, "KNOWS_CUTOFF", False) else {}
    result: Result = estimator.estimate(
        answers, panel, protocol, tier=entry.tier, arms=entry.arms.get(suite), **known
    )
    return result


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
        Planted models: per scoring, the true value (a number or a month) of each metric by that scoring's
        definition.
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
        "unknown_endings": unknown_endings(transcripts),
        "reps": _reps(transcripts),
        "usage": _usage(transcripts),
        "truth": dict(truth) if truth is not None else None,
        "counts": result.counts,
        "side": result.side,
        "estimates": result.records,
    }


class Record(BaseModel):
    """What a row needs of every estimate to find its place; the row's own contract checks the rest."""

    model_config = ConfigDict(extra="allow", strict=True)

    suite: str
    scoring: str
    metric: str
    value: Any
    marks: str


class Document(BaseModel):
    """The keys of an estimates document that a row is built from."""

    model_config = ConfigDict(extra="allow", strict=True)

    schema_version: int = Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)
    model: str
    suite: str
    protocol: dict[str, Any]
    versions: dict[str, Any]
    fingerprints: dict[str, Any]
    panel: dict[str, Any]
    transcripts_sha256: str
    served_models: list[str]
    fingerprint_values: list[str]
    provenances: list[str]
    reps: dict[str, int]
    usage: dict[str, int | float | None]
    truth: dict[str, Any] | None
    counts: dict[str, Any]
    side: dict[str, Any]
    estimates: list[Record] = Field(min_length=1)


def read_documents(paths: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Read estimates documents that `document` made; return them by suite.

    Raises
    ------
    ContractError
        When a file is no such document, names a suite that is not known, or two are of one suite.
    """
    found: dict[str, dict[str, Any]] = {}
    came_from: dict[str, Path] = {}
    for path in paths:
        read = read_json(path)
        try:
            Document.model_validate(read)
        except ValidationError as error:
            fault = error.errors()[0]
            key = ".".join(str(step) for step in fault["loc"]) or "the document"
            raise ContractError(f"{path}: `{key}`: {fault['msg']}; estimate again") from None
        try:
            canonical_json(read)
        except ValueError:
            raise ContractError(
                f"{path}: holds NaN or infinity, which is no estimate; estimate again"
            ) from None
        suite = read["suite"]
        suites.module(suite, "table")
        if suite in found:
            raise ContractError(f"{came_from[suite]} and {path}: both are estimates of {suite!r}; give one")
        came_from[suite], found[suite] = path, read
    return found


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


def unknown_endings(transcripts: pd.DataFrame) -> dict[str, int]:
    """Return how many answers ended for a reason that no provider documents, by reason."""
    from anachron.llm.providers import known_ending

    counted = transcripts["finish_reason"].dropna().value_counts()
    found = {str(reason): int(number) for reason, number in counted.items()}
    return {reason: found[reason] for reason in sorted(found) if not known_ending(reason)}


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
