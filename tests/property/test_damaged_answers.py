"""Whatever byte or value of an answer is wrong, what is told is a fault of the source, never one of Python's."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import fred
import french as library
import pytest
import yahoo
from hypothesis import given, settings
from hypothesis import strategies as st

from anachron.errors import SourceError
from anachron.sources import alfred_parse, french_parse, yahoo_chart

ROWS: list[fred.Row] = [
    ("2019-12-01", "2020-01-10", "9999-12-31", "3.5"),
    ("2020-01-01", "2020-02-07", "9999-12-31", "3.6"),
]
ODD = (
    *(None, True, "x", "", [], {}, [None], {"a": 1}, -1, 0),
    *(1e30, float("nan"), float("inf"), 10**400, "2020"),
)


def fred_answers(form: str) -> dict[str, tuple[bytes, Callable[[bytes], object]]]:
    holds = fred.Fred()
    holds.add("U", ROWS)
    listed: dict[str, tuple[list[Any], Callable[[bytes], object]]] = {
        "observation": (
            fred.observations(ROWS, fred.EARLIEST, fred.OPEN_END, "1"),
            lambda body: alfred_parse.observations([body], "ALFRED, U"),
        ),
        "vintage_date": (
            holds.vintages("U"),
            lambda body: alfred_parse.vintage_dates([body], "ALFRED, U"),
        ),
        "series": ([holds.about["U"]], lambda body: alfred_parse.info(body, "U", "ALFRED, U")),
    }
    head = {"count": 1, "offset": 0, "limit": 1000}
    return {
        tag: (fred.render(tag, {**head, "count": len(rows)}, rows, form), read)
        for tag, (rows, read) in listed.items()
    }


def quoted(body: bytes) -> object:
    return yahoo_chart.as_quoted(*yahoo_chart.parse(body, "NVDA", "Yahoo, NVDA"))


def short_chart() -> bytes:
    """Return a chart of two bars without what is not read of it."""
    held = yahoo.Ticker({"2021-12-30": 295.86, "2021-12-31": 294.11}, {"2021-12-31": (4, 1)})
    document = json.loads(yahoo.chart("NVDA", held, 0, 4_000_000_000))
    result = document["chart"]["result"][0]
    result["indicators"]["quote"] = [{"close": result["indicators"]["quote"][0]["close"]}]
    read = ("symbol", "dataGranularity", "exchangeTimezoneName", "regularMarketTime")
    result["meta"] = {key: result["meta"][key] for key in read}
    return json.dumps(document).encode()


CHART = short_chart()
DOCUMENTS = {"chart": (CHART, quoted), **fred_answers("json")}
COLUMNS = library.COLUMNS[library.THREE]
TEXT = library.csv_text(COLUMNS, library.rows(COLUMNS, "202510"), "202510")


def factors(body: bytes) -> object:
    return french_parse.parse(body, "Kenneth French, x.zip")


BODIES = {
    **fred_answers("xml"),
    "chart": (CHART, quoted),
    "zip": (library.zipped(TEXT), factors),
    "csv": (TEXT.encode(), lambda body: factors(library.zipped(body.decode("latin-1")))),
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*place, key))


def told(read: Callable[[bytes], object], body: bytes) -> bool:
    try:
        read(body)
    except SourceError as error:
        assert str(error).startswith(("ALFRED, U", "Yahoo, NVDA", "Kenneth French, x.zip"))
        return True
    return False


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_every_value_of_a_document_may_be_another(name: str) -> None:
    body, read = DOCUMENTS[name]
    whole = json.loads(body)
    assert not told(read, body)
    count = 0
    for place in places(whole):
        for odd in ODD:
            changed = copy.deepcopy(whole)
            inner: Any = changed
            for key in place[:-1]:
                inner = inner[key]
            if place:
                inner[place[-1]] = odd
            else:
                changed = odd
            count += told(read, json.dumps(changed).encode())
    assert count > 50


@pytest.mark.parametrize("name", sorted(BODIES))
@given(
    st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.integers(0, 20),
            st.sampled_from([b"", b"\x00", b"<", b"&x;", b"nan", b"1e999", b"-", b",", b"\r\n\r\n", b"\xff"]),
        ),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=40, deadline=None)
def test_bytes_may_be_lost_or_others(name: str, changes: list[tuple[float, int, bytes]]) -> None:
    body, read = BODIES[name]
    damaged = bytearray(body)
    for share, length, bytes_instead in changes:
        at = int(share * len(damaged))
        damaged[at : at + length] = bytes_instead
    told(read, bytes(damaged))


@pytest.mark.parametrize("method", [8, 9, 12, 14, 93, 98])
def test_a_zip_packed_in_another_way_than_it_says_is_damaged(method: int) -> None:
    body = bytearray(library.zipped(TEXT))
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        body[body.index(mark) + offset] = method
    with pytest.raises(SourceError, match=r"x\.zip: the zip is damaged or cut short"):
        factors(bytes(body))


@pytest.mark.parametrize("offset", [16, 42])
def test_a_zip_whose_offsets_point_nowhere_is_damaged(offset: int) -> None:
    body = bytearray(library.zipped(TEXT))
    end, entry = body.index(b"PK\x05\x06"), body.index(b"PK\x01\x02")
    at = end + 16 if offset == 16 else entry + 42
    body[at : at + 4] = b"\xff\xff\x00\x7f"
    with pytest.raises(SourceError, match=r"x\.zip: the zip is damaged or cut short"):
        factors(bytes(body))
