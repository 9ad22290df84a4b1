"""The smoke run: a handful of requests of one model, asked and printed for reading before any volume.

They are requests of the real run, with the same keys: what the smoke run paid for, the run does not pay again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anachron import prereg, stages, suites
from anachron.config import Registry, load
from anachron.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

PLACE = ("arm", "item", "rep")
UNREAD = ("model", "suite", "duplicate", "key", "outcome", "parser", *PLACE)
"""Columns of a suite's answers that say nothing of how the text was read."""


def smoke(
    suite: str,
    protocol_path: Path,
    registry_path: Path,
    model: str,
    requests: Sequence[Path],
    panels: Sequence[Path],
    store: Path,
    say: Callable[[str], None] = print,
) -> int:
    """Ask the suite's smoke requests of one model and print each with its answer and how it was read.

    Parameters
    ----------
    suite, protocol_path, registry_path, model
        As for `stages.collect`.
    requests
        Request tables of the suite, in any order; those the model is not asked are passed over.
    panels
        Provider planted: its memory.
    store
        Folder of the stores; the answers go where the run looks for them.
    say
        Takes the text, a piece at a time.

    Returns
    -------
    int
        How many of the requests brought no answer (truncated, refused, empty, unreadable).

    Raises
    ------
    ConfigError
        When the model is not asked (provider replay), or none of its requests is a smoke request.
    CollectError
        When asking must stop; answers received before are in the store.
    """
    protocol = suites.load_protocol(suite, protocol_path)
    entry = load(Registry, registry_path).get(model)
    if entry.provider == "replay":
        raise ConfigError(f"model {model!r} is replayed from records; there is nothing to ask of it")
    chosen = selected(suite, protocol, requests, entry.tier, entry.arms.get(suite))
    if chosen.empty:
        raise ConfigError(
            f"model {model!r}: none of the smoke requests of suite {suite} is among its arms and tier; give the "
            "request tables of its arms"
        )
    prereg.refuse_changes(entry, suite, protocol)
    sealed = stages.ask_model(entry, suite, protocol, chosen, panels, store)
    read = suites.module(suite, "parse").parse(sealed, protocol)
    prompts, readings = by_place(chosen), by_place(read)
    for place, answer in by_place(sealed).items():
        say(shown(prompts[place], answer, readings.get(place, {})))
    failed = int((sealed["outcome"] != "answer").sum())
    tokens = int(sealed["output_tokens"].fillna(0).sum())
    say(
        f"{len(sealed)} requests of {model}, {failed} without an answer, {tokens:,} output tokens. Read them before "
        "the whole run: is the format kept, is anything cut short, does the model say that it looks things up?"
    )
    return failed


def selected(
    suite: str, protocol: Any, requests: Sequence[Path], tier: str, arms: Sequence[str] | None
) -> pd.DataFrame:
    """Return the smoke requests among request tables: the first rep of each that the tier asks."""
    import pandas as pd

    from anachron import frames

    wanted = set(suites.module(suite, "ask").smoke(protocol))
    tables = [frames.read(path, frames.Requests) for path in requests]
    whole = pd.concat(tables, ignore_index=True) if tables else frames.empty(frames.Requests)
    mine = [
        (arm, item) in wanted and tier in tiers.split(",") and (arms is None or arm in arms)
        for arm, item, tiers in zip(whole["arm"], whole["item"], whole["tiers"], strict=True)
    ]
    chosen = whole[pd.Series(mine, index=whole.index, dtype=bool)].sort_values(list(PLACE), ignore_index=True)
    return chosen.drop_duplicates(["arm", "item"], ignore_index=True)


def by_place(frame: pd.DataFrame) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows of a frame by arm, item and rep, missing values as None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return {tuple(row[name] for name in PLACE): {str(key): row[key] for key in row} for row in rows}


def shown(request: Mapping[str, Any], answer: Mapping[str, Any], reading: Mapping[str, Any]) -> str:
    """Return one request, its answer and how it was read, as text that a terminal cannot be misled by."""
    facts = {
        "outcome": answer["outcome"],
        "finish reason": answer["finish_reason"] or "?",
        "served model": answer["served_model"] or "?",
        "tokens in, out, reasoning": "/".join(
            "?" if answer[kind] is None else str(int(answer[kind]))
            for kind in ("input_tokens", "output_tokens", "reasoning_tokens")
        ),
        **{name: value for name, value in reading.items() if name not in UNREAD and value is not None},
    }
    lines = [f"=== {answer['arm']}, {answer['item']}, rep {answer['rep']} ==="]
    lines += [f"--- system ---\n{request['system']}"] if request["system"] else []
    lines += [f"--- prompt ---\n{request['prompt']}"]
    lines += [f"--- reasoning ---\n{answer['reasoning']}"] if answer["reasoning"] else []
    lines += [f"--- answer ---\n{answer['text'] or '(none)'}"]
    lines += ["--- read as ---", *(f"{name}: {value}" for name, value in facts.items()), ""]
    return printable("\n".join(lines))


def printable(text: str) -> str:
    """Return `text` with every control character but line breaks and tabs written out, as Python does."""
    return "".join(
        mark if mark in "\n\t" or unicodedata.category(mark) not in ("Cc", "Cf", "Cs") else ascii(mark)[1:-1]
        for mark in text
    )
