"""One function per stage: files in, one file out. The command line and the replay call these."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import blocks, fingerprint, suites
from anachron.config import ModelEntry, Registry, Sources, load, validate
from anachron.errors import ConfigError, ContractError
from anachron.files import write_json

if TYPE_CHECKING:
    import pandas as pd


def panel(suite: str, protocol_path: Path, sources_json: str, span: str, out: Path) -> None:
    """Build the items of one span of months, with what is true of them, and write them to `out`.

    The file fulfils the `Contract` of the suite's `items` module.
    """
    import json

    from anachron import frames

    protocol = suites.load_protocol(suite, protocol_path)
    items = suites.module(suite, "items")
    sources = validate(Sources, json.loads(sources_json), "sources")
    built = items.build(protocol, sources, blocks.months_in(span, protocol.months))
    frames.write(built, out, items.Contract)


def ask(suite: str, protocol_path: Path, panels: Sequence[Path], arm: str, block: str, out: Path) -> None:
    """Write the requests of one arm and block to `out` (`frames.Requests`)."""
    from anachron import frames

    protocol = suites.load_protocol(suite, protocol_path)
    known = read_panels(suite, panels)
    months = blocks.months_in(block, protocol.months)
    refuse_gaps(suite, known, months, panels)
    wanted = set(months)
    items = [name for name in suites.module(suite, "items").names(known) if name[:7] in wanted]
    requests = suites.module(suite, "ask").build(protocol, known, arm, items)
    frames.write(requests, out, frames.Requests)


def read_panels(suite: str, panels: Iterable[Path]) -> pd.DataFrame:
    """Read panel files of a suite into one frame, in the order of its `items` module."""
    import pandas as pd

    from anachron import frames

    items = suites.module(suite, "items")
    parts = [frames.read(path, items.Contract) for path in panels]
    whole = pd.concat(parts, ignore_index=True) if parts else frames.empty(items.Contract)
    return whole.sort_values(items.ORDER, ignore_index=True)


def refuse_gaps(suite: str, known: pd.DataFrame, months: Sequence[str], panels: Sequence[Path]) -> None:
    """Raise `ContractError` when panel files lack a month that must have an item.

    A month without its item would leave requests out, or estimates without their truth, and nobody would see it.
    Suites whose months may be empty have no `lacking` in their `items` module.
    """
    lacking = getattr(suites.module(suite, "items"), "lacking", None)
    gaps = lacking(known, months) if lacking else []
    if gaps:
        read = ", ".join(str(path) for path in panels[:3]) or "none was given"
        raise ContractError(
            f"the panel of {suite} lacks {len(gaps)} of {len(months)} months, first {gaps[0]} (files: {read}); "
            "build or give the missing spans"
        )


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
        When asking stopped, every answer that arrived being in the store; or when the model is preregistered under
        another plan.
    """
    from anachron import frames, prereg
    from anachron.llm.providers import replay

    protocol = suites.load_protocol(suite, protocol_path)
    entry = load(Registry, registry_path).get(model)
    if entry.provider == "replay":
        months = set(blocks.months_in(block, protocol.months))
        frames.write(replay.transcripts(entry, suite, arm, months), out, frames.Transcripts)
        return
    if requests is None:
        raise ConfigError(f"model {model!r}: provider {entry.provider} needs the block's requests")
    table = frames.read(requests, frames.Requests)
    if table.empty:
        # An arm may have no items in a block: the 72-month control has none after the cutoff.
        print(
            f"{requests}: arm {arm} asks nothing in block {block}; it is sealed without rows", file=sys.stderr
        )
    prereg.refuse_changes(entry, suite, protocol, arm, block, table)
    sealed = ask_model(entry, suite, protocol, table, panels, store)
    frames.write(sealed, out, frames.Transcripts)


def ask_model(
    entry: ModelEntry, suite: str, protocol: Any, requests: pd.DataFrame, panels: Sequence[Path], store: Path
) -> pd.DataFrame:
    """Ask one model what the store lacks of a table of requests; return its transcripts (`frames.Transcripts`).

    The budget of the run, the price file and what to do about unknown prices come from the environment that
    `pipeline.environment` sets. Calls are priced as of today.
    """
    from anachron.llm import budget
    from anachron.llm.collect import collect as collect_block

    planted: dict[str, Any] = {}
    if entry.provider == "planted":
        respond, remembers = planted_respondent(entry, suite, protocol, panels)
        planted = {"respond": respond, "respondent": remembers}
    return collect_block(
        entry,
        suite,
        requests,
        store,
        budget_usd=float(os.environ.get("ANACHRON_BUDGET_USD", "0")),
        price=budget.price_of(entry, Path(os.environ.get("ANACHRON_PRICES", "config/prices.csv"))),
        unknown_prices="allow" if os.environ.get("ANACHRON_UNKNOWN_PRICES") == "allow" else "refuse",
        **planted,
    )


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
    memory = suites.module(suite, "items").memory(read_panels(suite, panels))
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
    from anachron.stages_estimate import document, estimated

    protocol = suites.load_protocol(suite, protocol_path)
    entry = load(Registry, registry_path).get(model)
    known = panel_for(entry, suite, panels)
    if entry.panel is None:
        refuse_gaps(suite, known, protocol.months, panels)
    parser = suites.module(suite, "parse")
    parsed = frames.read(answers, parser.Contract)
    sealed = read_transcripts(transcripts, model)
    refuse_other_answers(parsed, sealed, answers)
    result = estimated(entry, suite, parsed, known, protocol)
    truth = None
    if entry.provider == "planted":
        respondent = suites.module(suite, "planted")
        checked = validate(respondent.Parameters, entry.planted[suite], f"model {model!r}: planted.{suite}")
        memory = suites.module(suite, "items").memory(known)
        truth = {
            scoring: respondent.truth(checked, protocol, memory, tier=entry.tier, scoring=scoring)
            for scoring in sorted({record["scoring"] for record in result.records})
        }
    write_json(
        out,
        document(
            entry,
            suite,
            protocol,
            sealed,
            parsed,
            known,
            result,
            truth=truth,
            fingerprints={stage: fingerprint.of_stage(stage, (suite,)) for stage in ("parse", "estimate")},
        ),
    )


def refuse_other_answers(parsed: pd.DataFrame, sealed: pd.DataFrame, where: Path) -> None:
    """Raise `ContractError` unless the answers are those of the sealed transcripts, one for one."""
    same = ["model", "arm", "item", "rep", "duplicate", "key", "outcome"]
    left, right = (set(frame[same].itertuples(index=False, name=None)) for frame in (parsed, sealed))
    if left != right:
        raise ContractError(
            f"{where}: its {len(parsed):,} answers are not those of the {len(sealed):,} sealed transcripts "
            f"({len(right - left):,} have no answer, {len(left - right):,} answers no transcript); parse again"
        )


def panel_for(entry: ModelEntry, suite: str, panels: Sequence[Path]) -> pd.DataFrame:
    """Return the panel a model's answers are held against: its own when it was imported with one."""
    if entry.panel is None:
        return read_panels(suite, panels)
    from anachron import frames

    known = frames.read_parquet(Path(entry.panel))
    missing = set(suites.module(suite, "items").IMPORTED) - set(known.columns)
    if missing:
        raise ContractError(
            f"{entry.panel}: lacks the column {sorted(missing)[0]!r}; import the records again"
        )
    return known
