"""Provider ``replay``: transcripts that were imported from published records. Nothing is asked or stored."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from anachron.config import ModelEntry
from anachron.errors import CollectError, ContractError

if TYPE_CHECKING:
    import pandas as pd


def transcripts(
    entry: ModelEntry, suite: str, arm: str, months: Collection[str] | None = None
) -> pd.DataFrame:
    """Return the imported transcripts of one arm, sealed like any other.

    Parameters
    ----------
    entry
        A model whose provider is ``replay``; `entry.source` is a Parquet of `frames.Transcripts`, all arms of
        one model.
    suite, arm
        What to take. An arm that the source lacks gives no rows: what was not recorded is not asked.
    months
        Months (``YYYY-MM``) of the block; items are told apart by the month they begin with. None takes all.

    Returns
    -------
    DataFrame
        `frames.Transcripts`, sorted by arm, item, rep and duplicate, under the registry's name of the model.

    Raises
    ------
    ContractError
        When the source is missing, damaged, no table of transcripts, or holds conflicting rows.
    """
    import pandas as pd
    import pyarrow as arrow

    from anachron import frames

    if entry.source is None:
        raise CollectError(f"model {entry.name!r}: provider replay needs `source`")
    source = Path(entry.source)
    if not source.is_file():
        raise ContractError(
            f"{source}: no such file; it is the `source` of model {entry.name!r}: "
            "import the records again or mend the registry"
        )
    try:
        found = pd.read_parquet(source, filters=[("suite", "==", suite), ("arm", "==", arm)])
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ContractError(
            f"{source}: cannot be read as Parquet of transcripts ({reason}); import the records again"
        ) from None
    if months is not None:
        found = found[found["item"].str.slice(0, 7).isin(list(months))]
    if found.empty:
        return frames.empty(frames.Transcripts)
    found = found.assign(model=entry.name, provenance="imported")
    found = found.sort_values(["arm", "item", "rep", "duplicate"], kind="stable")
    return frames.check(found, frames.Transcripts, str(source))
