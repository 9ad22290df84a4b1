"""The raw store: every byte a source sent, kept as it came, with where and when it came from.

``<folder>/<source>/`` holds one file per content, named after what it is and its SHA-256, and `manifest.csv`: one
line per change of a name, the oldest first. What upstream changes becomes a new file and a new line; the old
file stays. Nothing heavy is imported here.
"""

from __future__ import annotations

import csv
import datetime as dt
import fcntl
import hashlib
import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from anachron.errors import SourceError
from anachron.files import atomic_path, slug, write_text

MANIFEST = "manifest.csv"
SHA_IN_NAME = 16
HIDDEN = "REDACTED"

_SECRET = re.compile(
    r"(?P<name>\b(?:api_?key|access_?key|access_token|token|crumb|password|secret|signature)=)[^&\s#\"'<>]*",
    re.IGNORECASE,
)
_USER = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@\"']*@", re.IGNORECASE)


@dataclass(frozen=True)
class RawFile:
    """One kept answer of a source."""

    name: str
    """What it is, for instance ``UNRATE.observations.xml``."""
    file: str
    """Name of the file that holds it, inside the source's folder."""
    sha256: str
    size: int
    """Bytes."""
    url: str
    """Where it came from, without keys."""
    etag: str
    last_modified: str
    fetched_at: str
    """UTC, to the second: when this content was first seen, the vintage stamp of what is parsed from it."""
    folder: Path = Path()
    """The source's folder; not in the manifest."""
    changed: bool = False
    """Whether the call that returned this kept something new; not in the manifest."""

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.folder / self.file


COLUMNS = tuple(field.name for field in fields(RawFile) if field.name not in ("folder", "changed"))


def redact(text: str) -> str:
    """Return a URL, or any text with URLs in it, without the values of keys, tokens, crumbs and passwords."""
    return _USER.sub(rf"\g<scheme>{HIDDEN}@", _SECRET.sub(rf"\g<name>{HIDDEN}", text))


def keep(
    folder: Path,
    source: str,
    name: str,
    url: str,
    content: bytes,
    headers: Mapping[str, str],
    fetched_at: dt.datetime,
) -> RawFile:
    """Keep what a source sent; the same content again keeps nothing and returns the first one's stamp.

    Parameters
    ----------
    folder
        Root of the raw store, for instance ``resources/raw``.
    source
        Name of the source: the subfolder.
    name
        What this is, with its suffix; the same for every fetch of the same thing.
    url
        Where it came from; keys are removed before anything is written.
    content
        The body, as it came.
    headers
        Headers of the answer; ETag and Last-Modified are kept, letter case does not matter.
    fetched_at
        When it came, with a time zone.

    Returns
    -------
    RawFile
        `changed` says whether the content differs from the newest kept under this name.

    Raises
    ------
    SourceError
        When the manifest cannot be read.
    ValueError
        When `fetched_at` has no time zone.
    """
    if fetched_at.tzinfo is None:
        raise ValueError("fetched_at needs a time zone")
    home = folder / slug(source)
    home.mkdir(parents=True, exist_ok=True)
    lower = {key.lower(): value for key, value in headers.items()}
    sha256 = hashlib.sha256(content).hexdigest()
    found = RawFile(
        name=name,
        file=_file_name(name, sha256),
        sha256=sha256,
        size=len(content),
        url=redact(url),
        etag=lower.get("etag", ""),
        last_modified=lower.get("last-modified", ""),
        fetched_at=fetched_at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        folder=home,
        changed=True,
    )
    with _alone(home):
        rows = _read(home)
        same = [place for place, row in enumerate(rows) if row.name == name]
        if intact(found) is None:
            with atomic_path(found.path) as part:
                part.write_bytes(content)
        if same and rows[same[-1]].sha256 == sha256:
            newest = rows[same[-1]]
            kept = replace(newest, etag=found.etag, last_modified=found.last_modified)
            if kept != newest:
                rows[same[-1]] = kept
                _write(home, rows)
            return kept
        _write(home, [*rows, found])
    return found


def latest(folder: Path, source: str, name: str) -> RawFile | None:
    """Return the newest kept answer of that name, None when there is none (faults as in `history`)."""
    kept = history(folder, source, name)
    return kept[-1] if kept else None


def history(folder: Path, source: str, name: str | None = None) -> list[RawFile]:
    """Return what was kept of a source, of one name or of all, sorted by name and then oldest first.

    Raises
    ------
    SourceError
        When the manifest cannot be read; names the file and the line.
    """
    return [row for row in _read(folder / slug(source)) if name is None or row.name == name]


def read(kept: RawFile) -> bytes:
    """Return the bytes of a kept answer.

    Raises
    ------
    SourceError
        When the file is gone, or is not what was kept.
    """
    try:
        content = kept.path.read_bytes()
    except OSError as error:
        raise SourceError(
            f"{kept.path}: the manifest lists it, but it cannot be read ({error.strerror}); "
            "restore the file, or fetch the source again"
        ) from None
    if hashlib.sha256(content).hexdigest() != kept.sha256:
        raise SourceError(
            f"{kept.path}: has changed since it was kept ({len(content)} bytes, {kept.size} were kept; the SHA-256 "
            "differs); fetch the source again"
        )
    return content


def intact(kept: RawFile | None) -> RawFile | None:
    """Return a kept answer whose bytes are still those that came; None for one to ask for again."""
    if kept is None:
        return None
    try:
        read(kept)
    except SourceError:
        return None
    return kept


def conditional_headers(kept: RawFile | None) -> dict[str, str]:
    """Return the request headers that ask for the content only if it has changed since `kept`."""
    if kept is None or intact(kept) is None:
        return {}
    wanted = {"If-None-Match": kept.etag, "If-Modified-Since": kept.last_modified}
    return {key: value for key, value in wanted.items() if value}


@contextmanager
def turn(*folders: Path) -> Iterator[None]:
    """Wait until no other process holds one of these folders; the kernel lets go however a process ends.

    What belongs together (the answers about one series; a table, its notes and the newest answers it is made of) is
    read and written in one turn, so that of two refreshes at once each finishes what it began. A folder that cannot
    be held (a network's file system may know no locks, and one's own may be read-only) is not waited for: whoever
    writes there is told by the writing.
    """
    with ExitStack() as held:
        # In one order, so that two processes never wait for each other.
        for folder in sorted({folder.resolve() for folder in folders}):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(folder, os.O_RDONLY)
            except OSError:
                continue
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError:
                continue
        yield


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Wait until no other process changes the manifest; the kernel drops the lock however a process ends."""
    with (home / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _file_name(name: str, sha256: str) -> str:
    place = Path(name)
    return slug(f"{place.stem}-{sha256[:SHA_IN_NAME]}{place.suffix}")


def _read(home: Path) -> list[RawFile]:
    path = home / MANIFEST
    if not path.is_file():
        return []
    rows = []
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            table = csv.DictReader(handle, strict=True)
            if tuple(table.fieldnames or ()) != COLUMNS:
                raise SourceError(
                    f"{path}: line 1 should name the columns {', '.join(COLUMNS)}; restore the file"
                )
            for line in table:
                if None in line or None in line.values():
                    raise SourceError(
                        f"{path}: line {table.line_num} is cut short or too long; restore the file"
                    )
                values: dict[str, Any] = {**line, "size": int(line["size"])}
                rows.append(RawFile(**values, folder=home))
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); restore the file") from None
    return rows


def _write(home: Path, rows: list[RawFile]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(
        [getattr(row, column) for column in COLUMNS] for row in sorted(rows, key=lambda row: row.name)
    )
    write_text(home / MANIFEST, text.getvalue())
