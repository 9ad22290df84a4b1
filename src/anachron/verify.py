"""Recomputing an audit row from what it rests on, and saying in which field it is not what that gives.

A row of a run is made again from the run's sealed transcripts and panel, one that `anachron replay` wrote from
the published records. Nothing is asked, nothing is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import files, stages, suites
from anachron.errors import ConfigError, ContractError
from anachron.publish import frozen_files as frozen
from anachron.publish import row as rows
from anachron.publish.differences import ABSENT, CLOSE, pairs, short

if TYPE_CHECKING:
    from anachron.pipeline import Plan

CAUSES = (
    ("transcripts_sha256", "the sealed transcripts are not those the row was made from"),
    ("panel", "the facts the answers are held against are not those the row was made with"),
    ("protocol", "the protocol file is not the one the row was made under"),
    ("fingerprints.parse", "the parser, or code it uses, was changed after the row was made"),
    ("versions.parser", "the parser is another version"),
    ("fingerprints.estimate", "the estimator, or code it uses, was changed after the row was made"),
    ("versions.estimator", "the estimator is another version"),
    ("package_version", "the package is another version"),
)
"""Parts of a suite's provenance, and what it means when they differ."""

CODE = ("fingerprints", "versions", "package_version")
"""Parts of a suite's provenance that say by which code a row was made, not from what."""


@dataclass(frozen=True)
class Verdict:
    """What `compare` found."""

    differences: list[str]
    """Every field that differs, with what the row says and what was recomputed; none when the row follows."""
    causes: list[str]
    """What the row's provenance says of why, in sentences."""
    notes: list[str]
    """What differs and was allowed to."""


def from_run(row: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return a model's row, recomputed from the sealed transcripts of a run.

    Parameters
    ----------
    row
        The row to be held against it; it says which suites, under which protocols.
    plan
        The run, with the row's model in it.

    Raises
    ------
    ConfigError
        When the run has not the row's suites or protocols.
    ContractError
        When a sealed block or a panel file is not there.
    """
    slug = files.slug(row["model"])
    entry = plan.models[slug]
    documents = {}
    for suite in sorted(row["estimates"]):
        _require_protocol(row, suite, plan, slug)
        transcripts = [
            _results(plan, "transcripts", slug, suite, arm, f"{block}.parquet")
            for arm in plan.arms_of(slug, suite)
            for block in plan.blocks_of(slug, suite)
        ]
        _require(transcripts, f"sealed blocks of {row['model']}, {suite}")
        panels = [_results(plan, "panel", suite, f"{span}.parquet") for span in plan.spans(suite)]
        panels = [] if entry.panel is not None else panels
        _require(panels, f"panel files of {suite}")
        documents[suite] = _estimated(plan, suite, entry.name, transcripts, panels)
    return rows.build(
        entry,
        documents,
        margin_months=plan.config.safe_margin_months,
        price_lines=plan.prices if plan.priced(slug) else (),
    )


def _estimated(
    plan: Plan, suite: str, model: str, transcripts: Sequence[Path], panels: Sequence[Path]
) -> dict[str, Any]:
    """Take sealed transcripts through the stages of parsing and estimating, in a folder of their own."""
    from anachron.stages_estimate import read_documents

    protocol, registry = Path(plan.config.protocols[suite]), Path(plan.config.registry)
    with tempfile.TemporaryDirectory() as place:
        answers, out = Path(place) / "answers.parquet", Path(place) / "estimates.json"
        stages.parse(suite, protocol, model, transcripts, answers)
        stages.estimate(suite, protocol, registry, model, answers, transcripts, panels, out)
        return read_documents([out])[suite]


def _results(plan: Plan, *parts: str) -> Path:
    return Path(plan.config.results).joinpath(*parts)


def _require(paths: Sequence[Path], what: str) -> None:
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise ContractError(
            f"{missing[0]}: no such file ({len(missing):,} of the {len(paths):,} {what} are not there); a row is "
            "recomputed from sealed transcripts: restore them, or run `snakemake leaderboard`, which seals again what "
            "the store holds. A row that `anachron replay` wrote needs --records, the folder of the records"
        )


def _require_protocol(row: Mapping[str, Any], suite: str, plan: Plan, slug: str) -> None:
    name = row["provenance"][suite]["protocol"]["name"]
    if suite not in plan.suites_of(slug):
        raise ConfigError(
            f"the row holds suite {suite!r} (protocol {name!r}), which the configuration does not run for "
            f"{row['model']!r}; give its protocol file with --protocol, or the configuration that made the row"
        )
    if plan.protocols[suite].name != name:
        raise ConfigError(
            f"the row was made under protocol {name!r}; the configuration has {plan.protocols[suite].name!r} "
            f"({plan.config.protocols[suite]}) for {suite!r}; give the row's protocol file with --protocol"
        )


def compare(
    path: Path, row: Mapping[str, Any], made: Mapping[str, Any], digits: bool = True, code: bool = True
) -> Verdict:
    """Hold a row against the recomputed one, field by field.

    Parameters
    ----------
    path, row
        The row's file, and what it holds.
    made
        The row as recomputed.
    digits
        Whether a difference of one unit in the tenth digit counts; on another processor it need not.
    code
        Whether other source code counts though all else agrees.
    """
    found, causes, notes, moved = [], [], [], False
    for key, was, now in pairs(dict(row), dict(made), "", 0.0 if digits else CLOSE):
        said = f"`{key}`: {_said('the row says', was)}, {_said('recomputed', now)}"
        cause = _cause(key)
        if not code and _of_code(key):
            notes.append(said)
            continue
        found.append(said)
        moved = moved or cause is not None
        if cause and cause not in causes:
            causes.append(cause)
    found.sort(key=lambda said: not said.startswith("`provenance."))
    found += _frozen_otherwise(path)
    if not found and path.read_bytes().decode("utf-8", "replace") != files.readable_json(dict(row)):
        found.append("the file holds the right values, but not the bytes that this program writes")
    if found and not moved:
        causes.append(
            "transcripts, facts, protocol and code are those the row was made with: the row itself was altered, or "
            "the registry entry or the price file was"
        )
    return Verdict(found, causes, notes)


def _said(who: str, value: Any) -> str:
    return f"{who} nothing" if value is ABSENT else f"{who} {short(value)}"


def _cause(key: str) -> str | None:
    parts = key.split(".", 2)
    if parts[0] != "provenance" or len(parts) < 3:
        return None
    return next((f"{parts[1]}: {text}" for begin, text in CAUSES if parts[2].startswith(begin)), None)


def _of_code(key: str) -> bool:
    parts = key.split(".", 2)
    return parts[0] == "provenance" and len(parts) == 3 and parts[2].startswith(CODE)


def _frozen_otherwise(path: Path) -> Iterator[str]:
    """Say when a frozen row's bytes are not those that its manifest lists."""
    if not (path.parent / "manifest.json").is_file():
        return
    for entry in frozen.manifest_of(path.parent).rows:
        if entry.file == path.name and entry.sha256 != files.sha256_file(path):
            yield f"the file's bytes are not those that were frozen (SHA-256 in {path.parent / 'manifest.json'})"


def only_suite(row: Mapping[str, Any], path: Path) -> str:
    """Return the one suite of a row of published records."""
    held = sorted(row["estimates"])
    if len(held) != 1:
        raise ConfigError(f"{path}: holds the suites {', '.join(held)}; records are of one suite")
    suites.module(held[0], "artifact")
    return str(held[0])
