"""Masking fails closed: a planted date, latest value or base rate stops the build, and the error names it."""

import calendar
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from anachron.blocks import from_ordinal, ordinal
from anachron.config import load
from anachron.errors import ContractError
from anachron.suites.hindsightbench import ask, masking
from anachron.suites.hindsightbench.protocol import Protocol

ROOT = Path(__file__).resolve().parents[2]
BM1 = load(Protocol, ROOT / "config" / "protocols" / "bm1.yaml")
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

MASKED = ("D", "M", "W", "W72", "REC")
ARM_TEXTS = (
    "system",
    "admissibility",
    "target_text",
    "catalog_heading",
    "lagged_heading",
    "instruction",
    "schema_text",
    "example_heading",
    "example",
)
PLACES = [
    *((arm, text) for arm in ("D", "M", "W", "W72") for text in ARM_TEXTS),
    ("D", "date_line"),
    ("W", "date_line"),
    ("M", "undisclosed_line"),
    ("M", "undisclosed_date"),
    ("REC", "rec"),
    ("REC", "rec_system"),
]

LOW_AND_HIGH = {
    "GDPC1": (1900, 20000),
    "CPIAUCSL": (150, 2099),
    "PAYEMS": (1900, 160000),
    "INDPRO": (80, 2099),
    "RSAFS": (1900, 800000),
    "UNRATE": (3, 15),
    "HOUST": (400, 2300),
    "FEDFUNDS": (0, 6),
}
"""Ranges that hold numbers which look like years."""

observations = st.fixed_dictionaries(
    {
        series: st.tuples(
            st.floats(low, high),
            st.floats(low, high),
            st.integers(4, 8) if series == "GDPC1" else st.integers(1, 3),
        )
        for series, (low, high) in LOW_AND_HIGH.items()
    }
)
pre_dates = st.sampled_from(BM1.pre_dates)


def panel_of(date: str, seen: dict[str, tuple[float, float, int]], share: float = 0.6123) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "decision_date": date,
            "series": entry.id,
            "reference_period": from_ordinal(ordinal(date) - seen[entry.id][2]) + "-01",
            "published": date,
            "value": seen[entry.id][0],
            "latest_value": seen[entry.id][1],
            "unit": entry.unit,
            "vintage_kind": "real time",
            "realised": 1,
            "realised_kind": "made by hand",
            "first_session": date,
            "lap_end": date[:8] + "28",
            "base_rate_up": share,
            "base_rate_n": 45,
        }
        for entry in BM1.series
    )


def planted_in(name: str, text: str) -> Protocol:
    """The protocol with `text` planted into one text of the task, after its own words."""
    own = getattr(BM1.task, name)
    return BM1.model_copy(update={"task": BM1.task.model_copy(update={name: f"{own.rstrip()} {text}"})})


MONTHS = list(calendar.month_name)[1:]


@st.composite
def written_dates(draw: st.DrawFn) -> str:
    """A date in any of the forms people write."""
    year, month, day = draw(st.integers(1900, 2099)), draw(st.integers(1, 12)), draw(st.integers(1, 28))
    name = MONTHS[month - 1]
    name = draw(st.sampled_from([name, name.upper(), name.lower(), name[:3], f"{name[:3]}."]))
    two, quarter = f"{year % 100:02d}", (month + 2) // 3
    return draw(
        st.sampled_from(
            [
                f"{year}-{month:02d}",
                f"{year}-{month:02d}-{day:02d}",
                f"{year}/{month}",
                f"{month:02d}/{year}",
                f"{year}{month:02d}",
                f"{year}{month:02d}{day:02d}",
                f"{year}",
                f"({year})",
                f"year={year}",
                f"{year}s",
                f"fiscal_{year}",
                f"{year}Q{quarter}",
                f"Q{quarter} {year}",
                f"Q{quarter} '{two}",
                f"{name} {year}",
                f"{name}-{year}",
                f"{name} of {year}",
                f"{day} {name} {year}",
                f"{name} {day}, {year}",
                f"{name} {day}th {year}",
                f"{name} '{two}",
                f"{name}-{two}",
                "".join(chr(ord(digit) + 0xFEE0) for digit in str(year)),
                f"{str(year)[:2]}\u200b{str(year)[2:]}",
            ]
        )
    )


@QUICK
@given(place=st.sampled_from(PLACES), date=pre_dates, seen=observations, text=written_dates())
def test_a_planted_date_stops_the_build(place, date, seen, text):
    arm, name = place
    with pytest.raises(ContractError) as stopped:
        ask.build(planted_in(name, text), panel_of(date, seen), arm, [date])
    assert f"item {date}, arm {arm}: the " in str(stopped.value)


@QUICK
@given(arm=st.sampled_from(MASKED), date=pre_dates, seen=observations, text=written_dates(), data=st.data())
def test_a_date_in_a_label_unit_or_target_stops_the_build(arm, date, seen, text, data):
    target = data.draw(st.sampled_from(["name", "definition", "plus", "minus"])) if arm != "REC" else None
    if target and data.draw(st.booleans()):
        changed = BM1.target.model_copy(update={target: f"{getattr(BM1.target, target)} {text}"})
        dated, panel = BM1.model_copy(update={"target": changed}), panel_of(date, seen)
    else:
        series = data.draw(st.sampled_from(BM1.series))
        field = "unit" if arm == "REC" else data.draw(st.sampled_from(["unit", "label"]))
        changed_entry = series.model_copy(update={field: f"{getattr(series, field)}, {text}"})
        entries = [changed_entry if entry.id == series.id else entry for entry in BM1.series]
        dated, panel = BM1.model_copy(update={"series": entries}), panel_of(date, seen)
        panel["unit"] = [entry.unit for entry in entries]
    with pytest.raises(ContractError, match=f"item {date}, arm {arm}: the prompt holds a"):
        ask.build(dated, panel, arm, [date])


@QUICK
@given(place=st.sampled_from(PLACES), date=pre_dates, seen=observations, data=st.data())
def test_a_planted_outcome_stops_the_build(place, date, seen, data):
    arm, name = place
    share = data.draw(st.floats(0.3, 0.9))
    series = data.draw(st.sampled_from([None, *BM1.series]))
    if series is None:
        text = data.draw(
            st.sampled_from([f"{100 * share:.1f}%", f"{100 * share:.0f} percent", f"{share:.3f}"])
        )
    else:
        latest, decimals = seen[series.id][1], series.decimals
        assume(f"{latest:.0f}" not in ("5", "8", "20", "60", "500"))
        text = data.draw(st.sampled_from([f"{latest:.{decimals}f}", f"{latest:,.{decimals}f}"]))
    with pytest.raises(ContractError) as stopped:
        ask.build(planted_in(name, f"x={text};"), panel_of(date, seen, share), arm, [date])
    assert f"item {date}, arm {arm}: the " in str(stopped.value)


@QUICK
@given(arm=st.sampled_from(MASKED), date=pre_dates, seen=observations, share=st.floats(0, 1))
def test_data_that_look_like_years_do_not_stop_the_build(arm, date, seen, share):
    seen["PAYEMS"], seen["HOUST"] = (1999.0, 2024.0, 1), (2020.0, 500.0, 2)
    rows = ask.build(BM1, panel_of(date, seen, share), arm, [date])
    assert rows["prompt"].str.contains("PAYEMS: asof=t-1mo, value=1999, unit").all()
    assert rows["prompt"].str.contains("HOUST: asof=t-2mo, value=2020, unit").all()


def test_a_year_beside_its_own_value_is_not_hidden():
    seen = dict.fromkeys(LOW_AND_HIGH, (2020.0, 2101.0, 4))
    with pytest.raises(ContractError, match=r"item 2011-03-15, arm M: the prompt holds a year, '2020'"):
        ask.build(planted_in("instruction", "2020"), panel_of("2011-03-15", seen), "M", ["2011-03-15"])


@settings(QUICK, max_examples=10)
@given(one=pre_dates, other=pre_dates, seen=observations)
def test_the_date_changes_the_date_and_nothing_else(one, other, seen):
    def texts(arm: str, date: str) -> list[tuple[str, str]]:
        rows = ask.build(BM1, panel_of(date, seen), arm, [date])
        return list(zip(rows["system"], rows["prompt"], strict=True))

    for arm in ("M", "REC"):
        assert texts(arm, one) == texts(arm, other)
    swapped = [(system, text.replace(one, other)) for system, text in texts("D", one)]
    assert swapped == texts("D", other)
    fakes = BM1.fake_dates(BM1.shift.months)
    assert texts("W", one) == [(s, t.replace(one, fakes[one])) for s, t in texts("D", one)]


@settings(QUICK, max_examples=30)
@given(date=pre_dates, seen=observations)
def test_no_number_format_marks_a_period(date, seen):
    text = ask.build(BM1, panel_of(date, seen), "M", [date])["prompt"].iloc[0]
    for entry in BM1.series:
        form = r"\d+" + (rf"\.\d{{{entry.decimals}}}" if entry.decimals else "")
        line = rf"^{entry.id}: asof=t-\dmo, value=({form}), unit: {re.escape(entry.unit)}$"
        found = re.search(line, text, re.M)
        assert found, entry.id
        assert abs(float(found[1]) - seen[entry.id][0]) <= 0.5 * 10.0**-entry.decimals * (1 + 1e-9)


@QUICK
@given(st.text(alphabet=st.characters(whitelist_categories=["Ll", "Lu", "Po", "Zs"]), max_size=60))
def test_wording_without_digits_is_no_date(text):
    assert masking.find_date(text) is None
