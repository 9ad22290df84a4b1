"""Facts: first releases with the changes they imply, closes and decisions, and why one may not be asked about."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from anachron import frames
from anachron.blocks import months
from anachron.config import Sources
from anachron.errors import ContractError, SourceError
from anachron.sources import embedded, facts
from anachron.sources.contracts import OPEN_END, Alfred, Yahoo

SNAPSHOT = Path(__file__).resolve().parents[2] / "resources" / "snapshot"
EMBEDDED = Sources(snapshot=str(SNAPSHOT), alfred=None)


def vintages(*rows: tuple[str, str, str, float | None, bool]) -> pd.DataFrame:
    columns = ["reference_period", "published", "vintage_end", "value", "first_release"]
    frame = pd.DataFrame(rows, columns=columns).assign(series_id="CPI", unit="index")
    return frame[list(Alfred.to_schema().columns)]


@pytest.fixture
def revised(tmp_path: Path) -> Sources:
    """January 2020 is 100 and becomes 110 in December; 2021 is 121, before and after a revision of its own."""
    path = tmp_path / "own.parquet"
    frames.write(
        vintages(
            ("2020-01-01", "2020-02-10", "2020-12-09", 100.0, True),
            ("2020-01-01", "2020-12-10", OPEN_END, 110.0, False),
            ("2020-03-01", "2021-05-01", OPEN_END, 5.0, False),
            ("2021-01-01", "2021-02-10", "2021-03-09", 121.0, True),
            ("2021-01-01", "2021-03-10", OPEN_END, 99.0, False),
        ),
        path,
        Alfred,
    )
    return Sources(snapshot=str(SNAPSHOT), alfred=str(path))


def test_a_change_rests_on_what_stood_on_the_day_of_the_release(revised: Sources) -> None:
    found = facts.macro_first_releases(revised, ["CPI"], ["2021-01"], changes={"CPI": 12})
    assert found.loc[0, "value"] == pytest.approx(10.0)  # 121 over 110, not over 100 and not 99
    assert found.loc[0, "published"] == "2021-02-10"
    assert found.loc[0, "first_release"] and not found.loc[0, "synthetic"]


def test_every_month_says_why_it_may_not_be_asked(revised: Sources) -> None:
    asked = ["2019-12", "2020-01", "2020-02", "2020-03", "2021-01", "2021-02"]
    found = facts.macro_first_releases(revised, ["CPI"], asked)
    assert found["month"].tolist() == asked
    whys = [None if pd.isna(why) else why for why in found["why"]]
    assert whys == [facts.BEFORE, None, facts.NEVER, facts.REVISED, None, facts.NOT_YET]
    assert found["value"].tolist()[1:4:2] == [100.0, 5.0]
    no_base = facts.macro_first_releases(revised, ["CPI"], ["2020-01"], changes={"CPI": 12})
    assert no_base["why"].tolist() == [facts.NO_BASE] and no_base["value"].isna().all()


def test_the_snapshot_s_real_facts_are_the_record_s() -> None:
    # October 2025 was never surveyed; the price indices were corrected in September 2000.
    found = facts.macro_first_releases(
        EMBEDDED,
        ["CPIAUCNS", "CPILFENS", "UNRATE"],
        ["2000-03", "2008-07", "2025-10"],
        changes={"CPIAUCNS": 12, "CPILFENS": 12},
    )
    rows = {(row.name_, row.month): row for row in found.rename(columns={"name": "name_"}).itertuples()}
    assert round(rows["CPIAUCNS", "2008-07"].value, 1) == 5.6
    for series in ("CPIAUCNS", "CPILFENS", "UNRATE"):
        assert rows[series, "2025-10"].why == facts.NEVER
    assert rows["CPIAUCNS", "2000-03"].why == rows["UNRATE", "2008-07"].why == facts.REVISED
    # As printed on the last session: Apple before its 7:1 split of 2014, and Google not before its listing.
    prices = facts.closes(EMBEDDED, ["AAPL", "GOOG"], ["2004-07", "2004-08", "2012-12", "2013-03"])
    values = {(row[2], row[1]): (row[3], row[8]) for row in prices.itertuples(index=False, name=None)}
    assert values["2012-12", "AAPL"][0] == 532.17
    assert values["2004-07", "GOOG"][1] == facts.UNLISTED and values["2004-08", "GOOG"][0] == 102.37
    assert values["2013-03", "AAPL"][1] == facts.NOT_YET


def test_policy_is_by_the_day_of_decision() -> None:
    found = facts.policy(EMBEDDED, months("1999-01", "2026-09"))
    assert found["outcome"].value_counts().to_dict() == {"unchanged": 259, "raised": 44, "lowered": 30}
    by_month = found.set_index("month")
    # Decided on 31 July 2019, in force on 1 August.
    assert by_month.loc["2019-07", ["outcome", "published", "value"]].tolist() == [
        "lowered",
        "2019-07-31",
        2.25,
    ]
    assert by_month.loc["2019-08", ["outcome", "published"]].tolist() == ["unchanged", "2019-08-31"]
    assert facts.policy(EMBEDDED, ["1998-12", "2027-01"])["why"].tolist() == [facts.BEFORE, facts.NOT_YET]


def test_real_and_generated_facts_never_come_together() -> None:
    asked = months("2000-03", "2013-02")
    for synthetic in (False, True):
        found = pd.concat(
            [
                facts.macro_first_releases(EMBEDDED, ["GS10"], asked, synthetic=synthetic),
                facts.closes(EMBEDDED, ["IBM"], asked, synthetic=synthetic),
                facts.policy(EMBEDDED, asked, synthetic=synthetic),
            ]
        )
        assert set(found["synthetic"]) == {synthetic} and found["why"].isna().all()


def test_what_a_table_lacks_is_told_for_one_and_refused_for_all() -> None:
    found = facts.macro_first_releases(EMBEDDED, ["GS2", "GS10"], ["2010-01"])
    assert found["name"].tolist() == ["GS2", "GS10"]
    assert found["why"].iloc[0] == facts.ABSENT and pd.isna(found["why"].iloc[1])
    assert facts.closes(EMBEDDED, ["IBM", "KO"], ["2010-01"])["why"].iloc[1] == facts.ABSENT
    with pytest.raises(
        SourceError, match=r"series MORTGAGE30US is in the facts at hand; these are: CPIAUCNS"
    ):
        facts.macro_first_releases(EMBEDDED, ["MORTGAGE30US"], ["2010-01"])
    with pytest.raises(
        SourceError, match=r"tickers KO is in the facts at hand; these are: AAPL, GOOG, IBM, MSFT"
    ):
        facts.closes(EMBEDDED, ["KO"], ["2010-01"])


def test_factors_come_from_their_home_file() -> None:
    held = embedded.read(SNAPSHOT, "french", synthetic=True)
    home = held[held["source_file"] == "F-F_Research_Data_Factors.csv"]
    found = facts.factors(EMBEDDED, ["SMB", "Mom", "XYZ"], ["1989-12", "2000-01", "2026-09"], synthetic=True)
    assert found["value"].iloc[1] == home.set_index(["factor", "month"]).loc[("SMB", "2000-01"), "value_pct"]
    whys = [None if pd.isna(why) else why for why in found["why"]]
    assert whys == [facts.BEFORE, None, facts.NOT_YET] * 2 + [facts.ABSENT] * 3
    with pytest.raises(
        SourceError, match=r"none of the factors SMB is in the facts at hand; these are: none"
    ):
        facts.factors(EMBEDDED, ["SMB"], ["2000-01"])


def test_factors_of_one_s_own_may_come_from_a_file_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "factors.csv"
    head = "factor,month,value_pct,crsp_stamp,source_file\n"
    path.write_text(head + "SMB,2020-05,2.5,202512,mine.csv\n")
    sources = Sources(snapshot=str(SNAPSHOT), french=str(path))
    assert facts.factors(sources, ["SMB"], ["2020-05"])["value"].tolist() == [2.5]
    # The SMB of the library's five factors is another one, and stands in for it nowhere.
    path.write_text(head + "SMB,2020-05,2.5,202512,F-F_Research_Data_5_Factors_2x3.csv\n")
    with pytest.raises(SourceError, match="none of the factors SMB"):
        facts.factors(sources, ["SMB"], ["2020-05"])


def test_a_table_of_one_s_own_takes_the_source_s_place(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    head = ",".join(Yahoo.to_schema().columns)
    path.write_text(
        f"{head}\nACME,2020-05,2020-05-29,12.5,6.25,2,2026-01-01\nACME,2020-06,2020-06-30,,,,2026-01-01\n"
    )
    own = Sources(snapshot=str(SNAPSHOT), yahoo=str(path))
    found = facts.closes(own, ["ACME"], ["2020-05", "2020-06"])
    assert found["value"].iloc[0] == 12.5 and found["published"].iloc[0] == "2020-05-29"
    assert pd.isna(found["why"].iloc[0]) and found["why"].iloc[1] == facts.NOT_YET
    path.write_text(path.read_text().replace("12.5", "twelve"))
    with pytest.raises(SourceError, match=r"prices\.csv: line 2, column 'close_quoted': found 'twelve'"):
        facts.closes(own, ["ACME"], ["2020-05"])


def test_generated_prices_have_splits_gaps_and_a_listing() -> None:
    held = embedded.read(SNAPSHOT, "yahoo", synthetic=True)
    steps = (held["split_factor"].shift() / held["split_factor"]).where(
        held["ticker"] == held["ticker"].shift(), 1.0
    )
    planted = {round(step, 3) for step in steps if abs(step - 1) > 1e-6}
    assert {2.0, 1.5, 1.196} <= planted  # two for one, three for two, a spin-off
    found = facts.closes(EMBEDDED, ["GS", "FDX"], ["1999-04", "1999-05", "2005-06"], synthetic=True)
    whys = dict(zip(zip(found["name"], found["month"], strict=True), found["why"], strict=True))
    assert whys["GS", "1999-04"] == facts.UNLISTED and pd.isna(whys["GS", "1999-05"])
    assert whys["FDX", "2005-06"] == facts.NO_PRICE


def test_a_row_of_each_kind_stands_once() -> None:
    held = embedded.read(SNAPSHOT, "fed")
    twice = pd.concat([held, held.head(1)])
    with pytest.raises(ContractError, match=r"EmbeddedFed"):
        frames.check(twice, embedded.EmbeddedFed, "twice")
    both = pd.concat([held, held.assign(synthetic=True)])
    assert len(frames.check(both, embedded.EmbeddedFed, "both")) == 2 * len(held)
