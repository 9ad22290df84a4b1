"""One function per stage: files in, one file out. The command line and the replay call these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import blocks, fingerprint, suites
from anachron.config import MacroSource, ModelEntry, Registry, load, validate
from anachron.errors import ConfigError, ContractError
from anachron.files import write_json

if TYPE_CHECKING:
    import pandas as pd


def panel(suite: str, protocol_path: Path, macro_json: str, span: str, out: Path) -> None:
    """Build the panel of one span and write it to `out` (`frames.Panel`)."""
    import json

    from anachron import frames
    from anachron.items.panel import build

    protocol = suites.load_protocol(suite, protocol_path)
    macro = validate(MacroSource, json.loads(macro_json), "macro")
    months = blocks.months_in(span, protocol.months)
    frames.write(build(protocol, macro, [protocol.date(month) for month in months]), out, frames.Panel)


def ask(suite: str, protocol_path: Path, panels: Sequence[Path], arm: str, block: str, out: Path) -> None:
    """Write the requests of one arm and block to `out` (`frames.Requests`)."""
    from anachron import frames

    protocol = suites.load_protocol(suite, protocol_path)
    known = read_panels(panels)
    months = set(blocks.months_in(block, protocol.months))
    items = sorted({date for date in known["decision_date"] if date[:7] in months})
    requests = suites.module(suite, "ask").build(protocol, known, arm, items)
    frames.write(requests, out, frames.Requests)


def read_panels(panels: Iterable[Path]) -> pd.DataFrame:
    """Read panel files into one frame, by decision date and series."""
    import pandas as pd

    from anachron import frames

    parts = [frames.read(path, frames.Panel) for path in panels]
    whole = pd.concat(parts, ignore_index=True) if parts else frames.empty(frames.Panel)
    return whole.sort_values(["decision_date", "series"], ignore_index=True)


def world(known: pd.DataFrame) -> dict[str, int]:
    """Return the realised direction of every decision date that has one."""
    nodes = known.drop_duplicates("decision_date").dropna(subset=["realised"])
    return {date: int(sign) for date, sign in zip(nodes["decision_date"], nodes["realised"], strict=True)}


def collect(
    suite: str,
    protocol_path: Path,
    registry_path: Path,
    model: str,
    arm: str,
    block: str,
    requests: Path | None,
    panels: Sequence[Path],
    store: Path,
    out: Path,
) -> None:
    """Collect one block of one model: ask what the store lacks, seal all of it to `out`.

    Raises
    ------
    CollectError
        When asking stopped; every answer that arrived is in the store.
    """
    from anachron import frames
    from anachron.llm.collect import collect as collect_block
    from anachron.llm.providers import replay

    protocol = suites.load_protocol(suite, protocol_path)
    entry = load(Registry, registry_path).get(model)
    if entry.provider == "replay":
        months = set(blocks.months_in(block, protocol.months))
        frames.write(replay.transcripts(entry, suite, arm, months), out, frames.Transcripts)
        return
    if requests is None:
        raise ConfigError(f"model {model!r}: provider {entry.provider} needs the block's requests")
    planted: dict[str, Any] = {}
    if entry.provider == "planted":
        respond, remembers = planted_respondent(entry, suite, protocol, panels)
        planted = {"respond": respond, "respondent": remembers}
    sealed = collect_block(
        entry,
        suite,
        frames.read(requests, frames.Requests),
        store,
        budget_usd=float(os.environ.get("ANACHRON_BUDGET_USD", "0")),
        **planted,
    )
    frames.write(sealed, out, frames.Transcripts)


def planted_respondent(
    entry: ModelEntry, suite: str, protocol: Any, panels: Sequence[Path]
) -> tuple[Callable[..., Any], Callable[..., str]]:
    """Return what answers for a planted model, and what its answers depend on beside the request.

    Its parameters are validated and its memory is read from the panel. An answer's key holds the source of the
    suite's planted modules and what the respondent remembers of the item, so that a change of either asks anew,
    and a new month of the panel asks nothing of the earlier ones.
    """
    respondent = suites.module(suite, "planted")
    if suite not in entry.planted:
        raise ConfigError(
            f"model {entry.name!r}: `planted.{suite}` is missing; add the respondent's parameters"
        )
    checked = validate(respondent.Parameters, entry.planted[suite], f"model {entry.name!r}: planted.{suite}")
    memory = world(read_panels(panels))
    source = fingerprint.of_planted(suite)

    def respond(request: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
        return respondent.respond(request, checked, protocol, memory)

    def remembers(request: Mapping[str, Any]) -> str:
        return f"{source[:16]} {memory.get(request['item'])}"

    return respond, remembers


def parse(suite: str, protocol_path: Path, model: str, transcripts: Sequence[Path], out: Path) -> None:
    """Parse a model's transcripts of one suite into `out` (the suite's answers)."""
    from anachron import frames

    protocol = suites.load_protocol(suite, protocol_path)
    parser = suites.module(suite, "parse")
    answers = parser.parse(read_transcripts(transcripts, model), protocol)
    frames.write(answers, out, parser.Contract)


def read_transcripts(paths: Sequence[Path], model: str) -> pd.DataFrame:
    """Read sealed blocks into one frame.

    Raises
    ------
    ContractError
        When a block belongs to another model, or two blocks hold the same request.
    """
    import pandas as pd

    from anachron import frames

    parts = []
    for path in paths:
        part = frames.read(path, frames.Transcripts)
        strangers = sorted(set(part["model"]) - {model})
        if strangers:
            raise ContractError(f"{path}: holds transcripts of {strangers[0]!r}, not of {model!r}")
        parts.append(part)
    whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    order = ["arm", "item", "rep", "duplicate"]
    twice = whole.duplicated(order, keep=False)
    if twice.any():
        first = whole[twice].iloc[0]
        raise ContractError(
            f"{model}: arm {first['arm']}, item {first['item']}, rep {first['rep']} stands in two blocks "
            f"({', '.join(str(path) for path in paths[:3])}…); delete the block that does not belong"
        )
    return whole.sort_values(order, ignore_index=True)


def estimate(
    suite: str,
    protocol_path: Path,
    registry_path: Path,
    model: str,
    answers: Path,
    transcripts: Sequence[Path],
    panels: Sequence[Path],
    out: Path,
) -> None:
    """Estimate one model's suite and write the estimates document to `out` (JSON, full precision)."""
    from anachron import frames
    from anachron.stages_estimate import document

    protocol = suites.load_protocol(suite, protocol_path)
    entry = load(Registry, registry_path).get(model)
    known = panel_for(entry, panels)
    parser = suites.module(suite, "parse")
    parsed = frames.read(answers, parser.Contract)
    result = suites.module(suite, "estimate").estimate(
        parsed, known, protocol, tier=entry.tier, arms=entry.arms.get(suite)
    )
    truth = None
    if entry.provider == "planted":
        respondent = suites.module(suite, "planted")
        checked = validate(respondent.Parameters, entry.planted[suite], f"model {model!r}: planted.{suite}")
        truth = respondent.truth(checked, protocol, world(known), tier=entry.tier)
    write_json(
        out,
        document(
            entry,
            suite,
            protocol,
            read_transcripts(transcripts, model),
            parsed,
            known,
            result,
            truth=truth,
            fingerprints={stage: fingerprint.of_stage(stage, (suite,)) for stage in ("parse", "estimate")},
        ),
    )


def panel_for(entry: ModelEntry, panels: Sequence[Path]) -> pd.DataFrame:
    """Return the panel a model's answers are held against: its own when it was imported with one."""
    if entry.panel is None:
        return read_panels(panels)
    from anachron import frames

    known = frames.read_parquet(Path(entry.panel))
    missing = {"decision_date", "realised"} - set(known.columns)
    if missing:
        raise ContractError(
            f"{entry.panel}: lacks the column {sorted(missing)[0]!r}; import the records again"
        )
    return known
