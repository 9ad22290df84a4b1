"""Files of the factor library: what is read, and what each damaged file is told."""

from __future__ import annotations

import io
import zipfile

import french as library
import pandas as pd
import pytest

from anachron.errors import SourceError
from anachron.sources import french_parse

COLUMNS = library.COLUMNS[library.THREE]


def text(last: str = "202510", stamp: str = "202510", count: int = 6) -> str:
    return library.csv_text(COLUMNS, library.rows(COLUMNS, last, count), stamp)


def parse(content: bytes | str) -> pd.DataFrame:
    if isinstance(content, str):
        content = library.zipped(content)
    return french_parse.parse(content, "Kenneth French, x_CSV.zip")


def test_months_are_read_up_to_the_first_blank_line() -> None:
    found = parse(text())
    assert found["factor"].unique().tolist() == list(COLUMNS)
    smb = found[found["factor"] == "SMB"]
    assert smb["month"].tolist() == ["2025-05", "2025-06", "2025-07", "2025-08", "2025-09", "2025-10"]
    assert smb["value_pct"].tolist() == [3.04, 4.04, 5.04, 6.04, 7.04, 8.04]
    assert 99.0 not in found["value_pct"].tolist()  # the annual block
    assert set(found["crsp_stamp"]) == {"202510"}
    assert set(found["source_file"]) == {"factors.csv"}


@pytest.mark.parametrize("missing", ["-99.99", "-999", "-999.00"])
def test_what_the_library_writes_for_missing_is_missing(missing: str) -> None:
    found = parse(text().replace("    5.04", missing, 1))
    assert found["value_pct"].isna().sum() == 1


def test_the_wildest_month_on_record_passes() -> None:
    assert parse(text().replace("    5.04", "  -52.61", 1))["value_pct"].min() == -52.61


def replaced(old: str, new: str) -> str:
    whole = text()
    assert old in whole
    return whole.replace(old, new, 1)


LINE = next(line for line in text().split("\r\n") if line.startswith("202507"))
NEXT = next(line for line in text().split("\r\n") if line.startswith("202508"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            library.zipped(text())[:200],
            r"x_CSV\.zip: the zip is damaged or cut short \(200 bytes; .*fetch it again",
        ),
        (b"<html>sorry</html>", r"x_CSV\.zip: a web page, 18 bytes that begin with b'<html>"),
        (b"\x1f\x8b\x08", r"x_CSV\.zip: not a zip, 3 bytes"),
        (text()[: text().index("202505")], "factors.csv: no monthly block"),
        (
            text()[: text().index("202508") - 4],
            "ends at line 7 inside the monthly block, with no blank line after it",
        ),
        (replaced("the 202510 CRSP", "a"), "does not say from which CRSP build"),
        (replaced(",Mkt-RF,SMB,HML,RF", "Annual"), "line 4 above the first month should name the columns"),
        (replaced(LINE, f"{LINE}\r\n{LINE}"), "line 8: month 202507 stands twice"),
        (replaced(f"{LINE}\r\n", ""), "line 7: month 202508 follows 202506"),
        (
            replaced(NEXT, NEXT.replace("202508", "202513")),
            "line 8 should be YYYYMM and 4 numbers; found '202513",
        ),
        (replaced(LINE, LINE.rsplit(",", 1)[0]), "line 7 should be YYYYMM and 4 numbers"),
        (text(last="202511"), "line 10: month 202511 is later than the CRSP build 202510"),
        (
            text(last="202507"),
            r"the monthly block ends early, at 202507 \(line 10\), though made from CRSP 202510",
        ),
        (
            replaced("    6.04", "  604.00"),
            "line 6: Mkt-RF of 202506 is 604 % a month; beyond ±60 % the unit is wrong",
        ),
        (replaced("    6.04", "     nan"), "Mkt-RF of 202506 is nan % a month"),
    ],
)
def test_each_damaged_file_is_named_with_its_line(content: bytes | str, told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        parse(content)
    assert str(caught.value).startswith("Kenneth French, x_CSV.zip")


def test_a_zip_of_two_files_or_of_a_bomb_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("a.csv", "")
        archive.writestr("b.csv", "")
    with pytest.raises(SourceError, match=r"should hold one CSV file; holds a\.csv, b\.csv"):
        parse(held.getvalue())
    with pytest.raises(SourceError, match="would unpack to 20,000,001 bytes"):
        parse(library.zipped(" " * 20_000_001))


def test_five_years_of_decimals_are_no_percent() -> None:
    rows = [
        (f"{1960 + place // 12}{place % 12 + 1:02d}", [f"{0.01 * (place % 7 - 3):.2f}"] * 3 + ["0.30"])
        for place in range(60)
    ]
    with pytest.raises(SourceError, match="no month of Mkt-RF leaves ±1: these are decimals, not percent"):
        parse(library.csv_text(COLUMNS, rows, "196412"))


def test_revisions_are_counted_by_month_and_missing_equals_missing() -> None:
    old = parse(text().replace("    8.04", "  -99.99"))
    new_text = text(last="202511", stamp="202511", count=7).replace("    8.04", "  -99.99")
    new = parse(new_text.replace(LINE, LINE.replace("5.04", "5.05").replace("3.04", "3.05")))
    assert french_parse.revisions(old, old, tuple(COLUMNS)) == (0, 6)
    assert french_parse.revisions(old, new, tuple(COLUMNS)) == (1, 6)  # two factors, one month
    assert french_parse.revisions(old, new, ("RF",)) == (0, 6)
