"""Finding the models in a tree of published cells (`artifact_layout`), wherever in it the user points.

Links are followed, as published trees reuse the cells of earlier runs by link. No path is walked deeper than
the layout goes, so a link that leads back up cannot hang the reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from anachron.errors import ImportFailure
from anachron.suites.hindsightbench.artifact_records import listed
from anachron.suites.hindsightbench.protocol import ARMS

LAP_FILE = "lap_probe_results.jsonl"
REC_FILE = "date_probe_results.jsonl"
BENCH = ("outputs", "bench")
SEARCH_DEPTH = 4
"""Levels below the given folder at which ``outputs/bench`` is still looked for."""

REP = re.compile(r"rep_?(\d+)", re.IGNORECASE)


def models(folder: Path) -> list[tuple[str, Path]]:
    """Return (name, folder) of every model; the folder given may be anything from the root to one model."""
    if _is_model(folder):
        name = folder.name if folder.name not in ("", "..") else folder.resolve().name
        return [(name, folder)]
    if folder.name == BENCH[1] and (found := _models_of(folder)):
        return found
    # What lies in the place of the layout goes before folders of the same shape elsewhere (earlier runs).
    benches = [folder / BENCH[1]] if (folder / BENCH[1]).is_dir() else []
    benches += _benches(folder, SEARCH_DEPTH, {folder.resolve()})
    distinct = {bench.resolve(): bench for bench in benches}
    if len(distinct) > 1:
        named = listed([str(bench) for bench in distinct.values()])
        raise ImportFailure(f"{folder}: holds more than one set of records ({named}); give one of them")
    for bench in (*distinct.values(), folder):
        if found := _models_of(bench):
            return found
    raise ImportFailure(
        f"{folder}: holds neither arms.parquet nor a folder {'/'.join(BENCH)}/<model>/<arm>/rep<n>/<date>; "
        "give the folder that holds the records"
    )


def _models_of(bench: Path) -> list[tuple[str, Path]]:
    """Return the models of a folder; a model published as owner/name lies one level further down."""
    found: list[tuple[str, Path]] = []
    for child in folders(bench):
        if _is_model(child):
            found.append((child.name, child))
        else:
            inside = folders(child, strict=False)
            found += [(f"{child.name}/{inner.name}", inner) for inner in inside if _is_model(inner)]
    return found


def _benches(folder: Path, depth: int, seen: set[Path]) -> Iterator[Path]:
    """Yield every ``outputs/bench`` in or a few levels below `folder`; each real folder is entered once."""
    if folder.name == BENCH[0] and (folder / BENCH[1]).is_dir():
        yield folder / BENCH[1]
        return
    if depth == 0:
        return
    for child in folders(folder, strict=False):
        real = child.resolve()
        if real not in seen and not _is_model(child):
            seen.add(real)
            yield from _benches(child, depth - 1, seen)


def _is_model(folder: Path) -> bool:
    """Whether a folder holds a probe's file, or an arm with reps; an arm that is a dead link counts."""
    if (folder / LAP_FILE).is_file() or (folder / REC_FILE).is_file():
        return True
    arms = [folder / arm for arm in ARMS]
    return any(
        (arm.is_symlink() and not arm.exists())
        or (arm.is_dir() and any(REP.fullmatch(rep.name) for rep in folders(arm, strict=False)))
        for arm in arms
    )


def folders(folder: Path, strict: bool = True) -> list[Path]:
    """Return the sub-folders of a folder by name, links followed, hidden ones left out.

    Raises
    ------
    ImportFailure
        When `strict` and a link in `folder` leads nowhere.
    """
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if (folder / entry.name).is_dir():  # unlike entry.is_dir(), False for a link to itself
                    found.append(folder / entry.name)
                elif strict and entry.is_symlink():
                    follow(folder / entry.name)
    except OSError as error:
        if strict:
            raise ImportFailure(f"{folder}: cannot be read ({error.strerror})") from None
    return sorted(found)


def follow(link: Path) -> None:
    """Raise when a link leads nowhere (its target is missing, or it leads back to itself)."""
    try:
        link.stat()
    except OSError as error:
        target = link.readlink() if link.is_symlink() else "?"
        raise ImportFailure(
            f"{link}: is a link to {target}, which cannot be reached ({error.strerror}); "
            "fetch the records with the folders that their links point to"
        ) from None
