"""Published results, put into the form of a row, print as the published table prints them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from published_cells import COLUMNS, PRINTED

from anachron.estimates import Estimate, Gate, Interval, records
from anachron.files import read_json, rounded
from anachron.suites.hindsightbench.table import cells

pytestmark = pytest.mark.golden

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
ROWS = Path(os.environ.get("ANACHRON_TEST_DATA", SHARED)) / "hindsightbench" / "rows"


def estimates(
    published: dict[str, Any], exact: dict[str, Any], relative: dict[str, Any] | None
) -> list[Estimate]:
    """Put one model's published numbers and coverage into the form of estimates with gates."""
    lap, valid, slope, held = (
        published["LAP"],
        published["VALID"],
        published["delta_dissociation"],
        exact["cov"],
    )
    windows = {
        "E2": [*held["D"], *held["M"]] == [11, 36, 11, 36],
        "E3": [*held["Wf"], *held["Wt"]] == [11, 36, 11, 36],
        "P1": held["Dpost"] == held["Mpost"] == 17,
    }
    parity = {
        name: Gate("k", passed, None, None, "both sides cover every date") for name, passed in windows.items()
    }
    recalled = Gate("g", lap["recall_hit_rate"] > 0.6, lap["recall_hit_rate"], 0.6, "hit rate above 0.6")
    varied = Gate("v", slope["delta"] is not None, None, None, "LAP varies")
    found = []
    for name, key in (("E2", "E2_date_trigger"), ("E3", "E3_transplant")):
        interval = Interval(*published[key]["ci95"], method="percentile")
        found.append(Estimate(name, "share difference", published[key]["est"], 47, interval, (parity[name],)))
    moved = relative is not None and relative["model_relative_window"]["n"] < relative["calendar_window"]["n"]
    placebo = relative["model_relative_window"]["D_minus_M"] if moved else published["P1_placebo_postcutoff"]
    found.append(
        Estimate("P1", "share difference", placebo, None, None, (parity["P1"],), ("m",) if moved else ())
    )
    for window in ("pre", "post"):
        answers = published["REC"][window]
        enough = Gate("r", answers["n"] >= 10, answers["n"], 10, "10 answers")
        found.append(Estimate(f"REC.{window}.year", "share", answers["year"], answers["n"], None, (enough,)))
        found.append(Estimate(f"LAP.{window}", "share", lap[f"{window}_mean"]))
    found.append(Estimate("hit_rate", "share", lap["recall_hit_rate"], lap["recall_n"]))
    found.append(Estimate("cutoff", "month", lap["empirical_cutoff"], None, None, (recalled,)))
    found.append(Estimate("delta", "coefficient", slope["delta"], slope["n"], None, (recalled, varied)))
    found.append(Estimate("delta.t", "t", slope["t"], slope["n"], None, (recalled, varied)))
    repaired = exact["stats"]["how"].get("trail", 0) > 0
    found.append(Estimate("VALID", "share", valid["sketch_rate"], None, None, (), ("p",) if repaired else ()))
    return found


@pytest.mark.skipif(not ROWS.is_dir(), reason="published rows are not on this machine")
@pytest.mark.parametrize("model", sorted(PRINTED))
def test_cells_print_as_published(model):
    known = read_json(ROWS / f"{model.replace(':', '_')}.json")
    made = records(
        estimates(known["published"], known["full_precision"], known["model_relative_placebo"]),
        "hindsightbench",
        "bm1",
    )
    printed = cells({record["metric"]: rounded(record) for record in made})
    assert " | ".join(printed[column] for column in COLUMNS) == PRINTED[model]
