"""Forecasts of all models of a run as one table, in the form in which a user brings a backtest of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anachron import suites
from anachron.config import Registry, load
from anachron.errors import ContractError
from anachron.stages import panel_for


def forecasts(
    suite: str, registry_path: Path, answers: Sequence[Path], panels: Sequence[Path], out: Path
) -> None:
    """Write the forecasts of several models to `out`, Parquet that `anachron backtest` reads.

    Parameters
    ----------
    suite
        A suite with a module `forecasts`.
    registry_path
        The registry, for the cutoffs that vendors state.
    answers
        Parsed answers, one file per model.
    panels
        Panel files of the suite.
    out
        Where to write; replaced atomically. Columns that hold nothing are left out.

    Raises
    ------
    ContractError
        When a file is missing or breaks its contract, or no answer of any model states a probability.
    """
    import pandas as pd

    from anachron import frames
    from anachron.files import atomic_path

    registry, parser = load(Registry, registry_path), suites.module(suite, "parse")
    made = suites.module(suite, "forecasts")
    parts = []
    for path in answers:
        read = frames.read(path, parser.Contract)
        for model in sorted(read["model"].unique()):
            entry = registry.get(model)
            known = panel_for(entry, suite, panels)
            parts.append(made.table(read[read["model"] == model], known, {model: entry.vendor_cutoff.value}))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if whole.empty:
        files = ", ".join(str(path) for path in answers[:3])
        raise ContractError(f"{files}: no answer states a probability; there is nothing to audit")
    whole = whole.dropna(axis="columns", how="all")
    with atomic_path(out) as part:
        whole.to_parquet(part, index=False)
