"""The raw store keeps every content once, says when it changed, and never a key."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from anachron.errors import SourceError
from anachron.sources import raw

FIRST = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
LATER = FIRST + dt.timedelta(days=30)
URL = "https://user:pw@example.org/x?a=1&api_key=0123abc&b=2"


def keep(folder: Path, content: bytes, at: dt.datetime = FIRST, **headers: str) -> raw.RawFile:
    return raw.keep(folder, "alfred", "A.xml", URL, content, headers, at)


def test_the_same_content_keeps_its_first_stamp_and_a_change_becomes_a_new_file(tmp_path: Path) -> None:
    one = keep(tmp_path, b"one", ETag='"1"')
    again = keep(tmp_path, b"one", LATER, etag='"1b"')
    two = keep(tmp_path, b"two", LATER)
    assert (one.changed, again.changed, two.changed) == (True, False, True)
    assert again.fetched_at == one.fetched_at == "2026-01-02T03:04:05Z"
    assert again.etag == '"1b"'
    assert one.path.read_bytes() == b"one"
    assert raw.read(two) == b"two"
    assert [row.sha256 for row in raw.history(tmp_path, "alfred")] == [one.sha256, two.sha256]
    back = keep(tmp_path, b"one", LATER + dt.timedelta(days=1))
    newest = raw.latest(tmp_path, "alfred", "A.xml")
    assert newest is not None
    assert (newest.sha256, newest.fetched_at) == (one.sha256, back.fetched_at)
    assert len(raw.history(tmp_path, "alfred")) == 3


def test_names_do_not_mix_and_the_manifest_is_sorted(tmp_path: Path) -> None:
    for name in ("B.zip", "A.zip"):
        raw.keep(tmp_path, "french", name, "http://x/" + name, name.encode(), {}, FIRST)
    assert [row.name for row in raw.history(tmp_path, "french")] == ["A.zip", "B.zip"]
    assert raw.latest(tmp_path, "french", "C.zip") is None
    assert raw.latest(tmp_path, "alfred", "A.zip") is None


def test_no_key_reaches_the_disk(tmp_path: Path) -> None:
    keep(tmp_path, b"one")
    text = (tmp_path / "alfred" / raw.MANIFEST).read_text()
    assert "0123abc" not in text
    assert "user:pw" not in text
    assert "https://REDACTED@example.org/x?a=1&api_key=REDACTED&b=2" in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/p?series_id=A&api_key=k", "http://h/p?series_id=A&api_key=REDACTED"),
        ("failed: 'http://h/p?crumb=a%2Fb&x=1' twice", "failed: 'http://h/p?crumb=REDACTED&x=1' twice"),
        ("http://h/p?monkey=1", "http://h/p?monkey=1"),
    ],
)
def test_redaction(url: str, shown: str) -> None:
    assert raw.redact(url) == shown


def test_a_changed_or_missing_file_is_an_error_and_asks_upstream_again(tmp_path: Path) -> None:
    kept = keep(tmp_path, b"one", ETag='"1"')
    assert raw.conditional_headers(kept) == {"If-None-Match": '"1"'}
    kept.path.write_bytes(b"two")
    with pytest.raises(SourceError, match=r"A-[0-9a-f]{16}\.xml: has changed since it was kept"):
        raw.read(kept)
    assert raw.conditional_headers(kept) == {}
    kept.path.unlink()
    assert raw.conditional_headers(kept) == {}
    with pytest.raises(SourceError, match="cannot be read"):
        raw.read(kept)


@pytest.mark.parametrize("damaged", [b"two", b"o", None])
def test_what_came_again_takes_the_place_of_a_damaged_or_missing_file(
    tmp_path: Path, damaged: bytes | None
) -> None:
    kept = keep(tmp_path, b"one")
    assert raw.intact(kept) == kept
    kept.path.unlink()
    if damaged is not None:
        kept.path.write_bytes(damaged)
    assert raw.intact(kept) is None
    assert not keep(tmp_path, b"one").changed
    assert raw.read(kept) == b"one"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("sha256", "sha1", 1), "line 1 should name the columns"),
        (lambda text: text[: len(text) // 2 + 60], "line 2 is cut short"),
    ],
)
def test_a_damaged_manifest_is_an_error(tmp_path: Path, change, reason: str) -> None:
    keep(tmp_path, b"one")
    path = tmp_path / "alfred" / raw.MANIFEST
    path.write_text(change(path.read_text()))
    with pytest.raises(SourceError, match=reason):
        raw.history(tmp_path, "alfred")
    with pytest.raises(SourceError, match=reason):
        keep(tmp_path, b"two")
