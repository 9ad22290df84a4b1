"""A loopback library of factors: zips of one CSV each, with ETag, Last-Modified and 304."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from loopback import Loopback
from loopback import serving as _serving

MODIFIED = "Tue, 02 Dec 2025 10:00:00 GMT"
THREE, FIVE, MOMENTUM = "F-F_Research_Data_Factors", "F-F_Research_Data_5_Factors_2x3", "F-F_Momentum_Factor"
COLUMNS: Mapping[str, Sequence[str]] = {
    THREE: ("Mkt-RF", "SMB", "HML", "RF"),
    FIVE: ("Mkt-RF", "SMB", "HML", "RMW", "CMA", "RF"),
    MOMENTUM: ("Mom",),
}


def csv_text(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], stamp: str) -> str:
    """Return a CSV of the library's shape: prose, months, a blank line, years, a footer; CRLF."""
    names = "," + ",".join(columns)
    months = [f"{month}," + ",".join(f"{value:>8}" for value in values) for month, values in rows]
    return "\r\n".join(
        [
            f"This file was created using the {stamp} CRSP database.",
            "Factors are made from portfolios, see the web site.",
            "",
            names,
            *months,
            "",
            "  Annual Factors: January-December ",
            names,
            "  2025," + ",".join("   99.00" for _ in columns),
            "",
            "Copyright 2025 Eugene F. Fama and Kenneth R. French",
            "",
        ]
    )


def zipped(text: str, name: str = "factors.csv") -> bytes:
    """Return a zip of one file; the same text gives the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name, (2025, 12, 2, 0, 0, 0)), text)
    return held.getvalue()


def rows(columns: Sequence[str], last: str, count: int = 6) -> list[tuple[str, list[str]]]:
    """Return `count` months that end with `last` (YYYYMM); a month has the same values in every build."""
    end = 12 * int(last[:4]) + int(last[4:]) - 1
    return [
        (
            f"{at // 12:04d}{at % 12 + 1:02d}",
            [f"{at % 12 + 1 - 2 * side + 0.01 * len(columns):.2f}" for side in range(len(columns))],
        )
        for at in range(end - count + 1, end + 1)
    ]


@dataclass
class French(Loopback):
    """What the library offers; tests change it while it runs."""

    files: dict[str, bytes] = field(default_factory=dict)

    def release(self, stamp: str, change: Mapping[str, str] | None = None) -> None:
        """Offer a build of all files; `change` replaces text in every CSV."""
        for name, columns in COLUMNS.items():
            text = csv_text(columns, rows(columns, stamp), stamp)
            for old, new in (change or {}).items():
                text = text.replace(old, new)
            self.files[f"{name}_CSV.zip"] = zipped(text, f"{name}.csv")

    def respond(self, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        body = self.files.get(path.rsplit("/", 1)[-1])
        if body is None:
            return 404, b"<html><body>Not Found</body></html>", {}
        etag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
        told = {"ETag": etag, "Last-Modified": MODIFIED}
        if headers.get("if-none-match") == etag:
            return 304, b"", told
        return 200, body, told


@contextmanager
def serving() -> Iterator[French]:
    """Serve the build 202510."""
    running = French()
    running.release("202510")
    with _serving(running):
        yield running
