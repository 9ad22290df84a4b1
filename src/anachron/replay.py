"""Published records without asking anyone: import for the pipeline, or straight to rows and leaderboard.

`replay` runs the parse, estimate and row code of the pipeline on a folder of records, one model at a time,
and writes when every model has passed. `import_suite` turns such a folder into transcripts that a registry
entry with provider ``replay`` points to.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import fingerprint, suites
from anachron.config import ModelEntry, Sources
from anachron.errors import AnachronError, ImportFailure
from anachron.files import sha256_file, slug, write_json
from anachron.memory import give_back, thrifty_memory
from anachron.staging import scratch, together

if TYPE_CHECKING:
    import pandas as pd

PANEL_FILE = "panel.parquet"


def import_suite(suite: str, folder: Path, out: Path, protocol_path: Path, force: bool = False) -> str:
    """Write a folder of published records as transcripts, one Parquet per model.

    Parameters
    ----------
    suite
        The suite whose `artifact` module reads the folder.
    folder
        The published records.
    out
        Gets ``<suite>/<slug>.parquet`` (`frames.Transcripts`) per model, and ``<suite>/panel.parquet`` when
        the records bring realised directions.
    protocol_path
        The protocol the records were asked under.
    force
        Replace files of an earlier import that differ.

    Returns
    -------
    str
        YAML to paste below ``models:`` in the registry: an entry per model.

    Raises
    ------
    ImportFailure
        When the records cannot be read, or a file of another content is in the way; nothing is written then.
    """
    from anachron import frames

    artifact = suites.module(suite, "artifact")
    protocol = suites.load_protocol(suite, protocol_path)
    place = out / suite
    entries: list[ModelEntry] = []
    with scratch(place, ".import-") as staged:
        panel = artifact.panel(folder, protocol)
        if panel is not None:
            panel.to_parquet(staged / PANEL_FILE, compression="zstd", index=False)
        for model in artifact.each(folder, protocol):
            name = f"{slug(model.name)}.parquet"
            if name == PANEL_FILE:
                raise ImportFailure(
                    f"a model called {model.name!r} would take the place of {place / PANEL_FILE}"
                )
            frames.write(model.transcripts, staged / name, frames.Transcripts)
            source = (place / name).as_posix()
            own_panel = (place / PANEL_FILE).as_posix() if panel is not None else None
            entries.append(_entry(artifact, model, protocol, source, own_panel))
        _put(staged, place, force)
    return _snippet(entries)


def replay(
    suite: str,
    folder: Path,
    out: Path,
    protocol_path: Path,
    scoring: str | None = None,
    sources: Sources | None = None,
) -> list[Path]:
    """Go from a folder of published records to audit rows and a leaderboard.

    Parameters
    ----------
    suite, folder, protocol_path
        As for `import_suite`.
    out
        Gets ``<slug>.json`` (the row) and ``estimates/<slug>.json`` (full precision) per model, and
        ``leaderboard.csv``, ``.parquet``, ``.md``, ``.tex`` and ``index.html``.
    scoring
        Scoring the tables print first; the suite's own first one when None.
    sources
        Where realised directions come from when the records bring none; the embedded snapshot when None.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    AnachronError
        When the records cannot be read or a stage fails; nothing is written then.
    """
    from anachron.publish import row as rows
    from anachron.publish import tables

    artifact = suites.module(suite, "artifact")
    protocol = suites.load_protocol(suite, protocol_path)
    known_scorings = suites.module(suite, "table").SCORINGS
    if scoring is not None and scoring not in known_scorings:
        raise AnachronError(f"scoring {scoring!r} is not known; known scorings: {', '.join(known_scorings)}")
    panel = _truth(artifact, suite, folder, protocol, sources)
    documents: dict[str, dict[str, Any]] = {}
    table: list[dict[str, Any]] = []
    with thrifty_memory():
        for model in artifact.each(folder, protocol):
            entry = _entry(artifact, model, protocol, str(folder), None)
            documents[entry.slug] = _estimates(entry, suite, protocol, model.transcripts, panel)
            del model  # before the next one is read
            table.append(rows.build(entry, {suite: documents[entry.slug]}))
            give_back()
    table.sort(key=lambda one: str(one["model"]))
    with together(out) as staged:
        written = []
        for name, found in sorted(documents.items()):
            written.append(staged / "estimates" / f"{name}.json")
            write_json(written[-1], found)
        for one in table:
            written.append(staged / f"{slug(one['model'])}.json")
            rows.write(one, written[-1])
        written += tables.write(table, staged, scoring)
    return [out / path.relative_to(staged) for path in written]


def recomputed(
    suite: str, folder: Path, model: str, protocol_path: Path, sources: Sources | None = None
) -> dict[str, Any]:
    """Return the audit row of one model from a folder of published records, as `replay` writes it.

    Parameters
    ----------
    model
        The model's name in the records.
    suite, folder, protocol_path, sources
        As for `replay`.

    Raises
    ------
    ImportFailure
        When the records hold no such model, or cannot be read.
    """
    from anachron.publish import row as rows

    artifact = suites.module(suite, "artifact")
    protocol = suites.load_protocol(suite, protocol_path)
    others = []
    with thrifty_memory():
        for found in artifact.each(folder, protocol):
            if found.name == model:
                panel = _truth(artifact, suite, folder, protocol, sources)
                entry = _entry(artifact, found, protocol, str(folder), None)
                return rows.build(
                    entry, {suite: _estimates(entry, suite, protocol, found.transcripts, panel)}
                )
            others.append(found.name)
    raise ImportFailure(
        f"{folder}: holds no records of {model!r}; it holds {', '.join(sorted(others)) or 'no model'}"
    )


def _truth(artifact: Any, suite: str, folder: Path, protocol: Any, sources: Sources | None) -> pd.DataFrame:
    """Return what recorded answers are held against: what the records bring, else what the sources say."""
    panel: pd.DataFrame | None = artifact.panel(folder, protocol)
    if panel is None:
        panel = suites.module(suite, "items").build(protocol, sources or Sources(), protocol.months)
    return panel


def _estimates(
    entry: ModelEntry, suite: str, protocol: Any, transcripts: pd.DataFrame, panel: pd.DataFrame
) -> dict[str, Any]:
    """Take one model's transcripts through parse and estimate, as the pipeline's stages do."""
    from anachron import frames
    from anachron.stages_estimate import document

    parser = suites.module(suite, "parse")
    answers = frames.check(parser.parse(transcripts, protocol), parser.Contract, f"answers of {entry.name!r}")
    result = suites.module(suite, "estimate").estimate(
        answers, panel, protocol, tier=entry.tier, arms=entry.arms.get(suite)
    )
    return document(
        entry,
        suite,
        protocol,
        transcripts,
        answers,
        panel,
        result,
        fingerprints={stage: fingerprint.of_stage(stage, (suite,)) for stage in ("parse", "estimate")},
    )


def _entry(artifact: Any, model: Any, protocol: Any, source: str, panel: str | None) -> ModelEntry:
    """Return the registry entry of recorded answers; what the records say of themselves is disclosed."""
    return ModelEntry(
        name=model.name,
        provider="replay",
        source=source,
        panel=panel,
        tier=artifact.tier(model.transcripts, protocol),
        disclosures=list(model.notes),
    )


def _snippet(entries: list[ModelEntry]) -> str:
    import yaml

    told = [
        entry.model_dump(mode="json", include={"name", "provider", "tier", "source", "panel", "disclosures"})
        for entry in entries
    ]
    kept = [{key: value for key, value in one.items() if value not in (None, [])} for one in told]
    text = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100)
    return textwrap.indent(text, "  ")


def _put(staged: Path, place: Path, force: bool) -> None:
    """Move the staged files to their place; equal files stay untouched, others make way only if forced."""
    new = []
    for path in sorted(staged.iterdir()):
        there = place / path.name
        if there.exists() and sha256_file(there) == sha256_file(path):
            continue
        if there.exists() and not force:
            raise ImportFailure(
                f"{there}: is there already with another content; move it away, give another --output, "
                "or replace it with --force"
            )
        new.append(path)
    for path in new:
        path.chmod(0o644)
        path.replace(place / path.name)
