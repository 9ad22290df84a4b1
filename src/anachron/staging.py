"""Several files that belong together: made in a folder beside their places, and moved when all are there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anachron.errors import AnachronError


@contextmanager
def scratch(place: Path, prefix: str = ".making-") -> Iterator[Path]:
    """Give an empty folder inside `place`, gone afterwards, and so are folders that were made for nothing."""
    made = [folder for folder in (place, *place.parents) if not folder.exists()]
    staged: Path | None = None
    try:
        try:
            place.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(dir=place, prefix=prefix))
        except OSError as error:
            raise AnachronError(
                f"{place}: cannot be written to ({error.strerror}); give another folder, or make it writable"
            ) from None
        yield staged
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
        for folder in made:
            if not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


@contextmanager
def together(place: Path) -> Iterator[Path]:
    """Give a folder to write files in; when all went well each takes its place in `place`, else none does.

    Raises
    ------
    AnachronError
        When `place` cannot be written to, or a folder stands where a file should.
    """
    with scratch(place) as staged:
        yield staged
        files = sorted(path for path in staged.rglob("*") if path.is_file())
        targets = [place / path.relative_to(staged) for path in files]
        for target in targets:
            if target.is_dir():
                raise AnachronError(
                    f"{target}: is a folder where a file should be; move it away, then run again"
                )
        for path, target in zip(files, targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            path.chmod(0o644)
            path.replace(target)
