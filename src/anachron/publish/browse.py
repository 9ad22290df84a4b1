"""Transcripts as files that the page's browser reads beside it, a few hundred transcripts each.

A page opened from a disk may load scripts and nothing else, so every file is a script that hands over one piece of
compressed JSON. Of each suite of a model there is `index.js` (arms, and what came back), `<arm>.js` (a line per
transcript) and `<arm>-0001.js`, … (prompts, raw answers and what was read from them).
"""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import files
from anachron.errors import ContractError
from anachron.staging import scratch

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "transcripts"
"""Folder beside the page: `<slug>/<suite>/`."""
PER_FILE = 200
SNIPPET = 72
"""Characters of an answer that its line in the list shows."""
MOST_VALUES = 12
"""A parsed column with at most so many values can be chosen by."""

WHERE = ["arm", "item", "rep", "duplicate"]
SHOWN = (
    *("finish_reason", "shown_date", "served_model", "fingerprint", "upstream", "request_id", "sampling"),
    *("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "provenance", "key", "recorded"),
)
"""What the page shows of a transcript beside its texts."""


def write(
    sealed: pd.DataFrame,
    parsed: pd.DataFrame,
    prompts: Mapping[tuple[str, str, int], tuple[str, str]],
    out: Path,
) -> None:
    """Write the files of one model's suite into the folder `out`, which they replace as a whole.

    Parameters
    ----------
    sealed
        The suite's transcripts of one model (`frames.Transcripts`), at least one.
    parsed
        Their answers, one for one, as the suite's parser gives them.
    prompts
        System text and prompt by arm, item and rep (`prompts_of`); the page says where one is not known.
    out
        Folder; made anew, all or nothing.

    Raises
    ------
    ContractError
        When `out` is a file.
    """
    if out.exists() and not out.is_dir():
        raise ContractError(f"{out}: is a file where a folder should be; move it away, then run again")
    suite, model = str(sealed["suite"].iloc[0]), str(sealed["model"].iloc[0])
    own = [name for name in parsed.columns if name not in sealed.columns and name != "parser"]
    records = sealed.merge(parsed[[*WHERE, *own]], on=WHERE, validate="one_to_one")
    with scratch(out.parent) as staged:
        made = staged / out.name
        arms = [
            _arm(made, [model, suite, str(arm)], frame, own, prompts)
            for arm, frame in records.groupby("arm", sort=True)
        ]
        _put(made / "index.js", [model, suite], {"arms": arms, "per_file": PER_FILE})
        if out.exists():
            shutil.rmtree(out)
        made.rename(out)


def prompts_of(paths: Iterable[Path]) -> dict[tuple[str, str, int], tuple[str, str]]:
    """Return system text and prompt by arm, item and rep."""
    from anachron import frames

    found: dict[tuple[str, str, int], tuple[str, str]] = {}
    for path in paths:
        table = frames.read(path, frames.Requests)
        keys = zip(table["arm"], table["item"], table["rep"].astype(int), strict=True)
        found.update(zip(keys, zip(table["system"], table["prompt"], strict=True), strict=True))
    return found


def found(folder: Path, rows: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Return, by model, the suites of its row whose transcripts lie below the page's folder."""
    there = {
        row["model"]: [
            suite
            for suite in row["estimates"]
            if (folder / FOLDER / files.slug(row["model"]) / suite / "index.js").is_file()
        ]
        for row in rows
    }
    return {model: names for model, names in there.items() if names}


def _arm(
    out: Path,
    name: list[str],
    frame: pd.DataFrame,
    own: Sequence[str],
    prompts: Mapping[tuple[str, str, int], tuple[str, str]],
) -> dict[str, Any]:
    """Write an arm's list and its files; return its line of the index. `name` is model, suite and arm."""
    arm = name[-1]
    frame = frame.sort_values(WHERE, ignore_index=True)
    columns = {column: _plain(frame[column]) for column in frame.columns}
    outcomes = sorted(set(columns["outcome"]))
    listed = {
        "item": columns["item"],
        "rep": columns["rep"],
        "duplicate": columns["duplicate"] if any(columns["duplicate"]) else None,
        "outcomes": outcomes,
        "outcome": [outcomes.index(one) for one in columns["outcome"]],
        "snippet": [_snippet(text) for text in columns["text"]],
        "facets": _facets({column: columns[column] for column in own}),
    }
    _put(out / f"{arm}.js", name, listed)
    for number, start in enumerate(range(0, len(frame), PER_FILE)):
        texts: dict[tuple[str, str], int] = {}
        records = [
            _record(columns, own, place, prompts, texts)
            for place in range(start, min(start + PER_FILE, len(frame)))
        ]
        piece = {"prompts": [list(pair) for pair in texts], "records": records}
        _put(out / f"{arm}-{number:04d}.js", [*name, number], piece)
    counts = frame["outcome"].value_counts()
    return {
        "arm": arm,
        "n": len(frame),
        "outcomes": {one: int(counts[one]) for one in outcomes},
    }


def _record(
    columns: dict[str, list[Any]],
    own: Sequence[str],
    place: int,
    prompts: Mapping[tuple[str, str, int], tuple[str, str]],
    texts: dict[tuple[str, str], int],
) -> dict[str, Any]:
    pair = prompts.get((columns["arm"][place], columns["item"][place], columns["rep"][place]))
    # Repeated samples share their prompt, which then stands once in a file.
    at = texts.setdefault(pair, len(texts)) if pair else None
    record = {"prompt": at, "text": columns["text"][place], "reasoning": columns["reasoning"][place]}
    if pair is None:
        record["prompt_sha256"] = columns["prompt_sha256"][place]
    record["about"] = {name: columns[name][place] for name in SHOWN if columns[name][place] is not None}
    record["parsed"] = {name: columns[name][place] for name in own if columns[name][place] is not None}
    return {name: value for name, value in record.items() if value is not None}


def _facets(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Return parsed columns of few values: the values, and per transcript which."""
    facets = {}
    for name, values in columns.items():
        kept = sorted({str(value) for value in values if value is not None})
        if not 1 <= len(kept) <= MOST_VALUES or (len(kept) == 1 and None not in values):
            continue
        facets[name] = {
            "values": kept,
            "codes": [-1 if value is None else kept.index(str(value)) for value in values],
        }
    return facets


def _snippet(text: str | None) -> str:
    flat = " ".join((text or "")[: 4 * SNIPPET].split())
    return flat if len(flat) <= SNIPPET else flat[: SNIPPET - 1] + "…"


def _plain(column: pd.Series) -> list[Any]:
    """Return a column as plain values: None where missing, whole floats as whole numbers."""
    import pandas as pd

    def plain(value: Any) -> Any:
        if pd.isna(value):
            return None
        value = value.item() if hasattr(value, "item") else value
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return [plain(value) for value in column.tolist()]


def _put(path: Path, name: list[Any], value: Any) -> None:
    """Write one script: a call with its name and its compressed JSON, nothing of which can end or alter it."""
    packed = base64.b64encode(zlib.compress(files.canonical_json(value).encode("utf-8"), 9)).decode("ascii")
    named = json.dumps(name).replace("<", "\\u003c")
    files.write_text(path, f'anachronTranscripts({named},"{packed}");\n')
