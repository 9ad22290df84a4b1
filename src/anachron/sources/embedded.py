"""The facts of the embedded snapshot: releases, closes, policy and factors, real and generated side by side.

Each table has the columns of its source (`contracts`) and two more: `first_release`, whether the value is what was
published first, and `synthetic`, whether it was generated. A name may have both kinds; no reader returns both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pandera.typing import Series

from anachron.sources.contracts import Alfred, Fed, French, Yahoo

if TYPE_CHECKING:
    import pandas as pd

    from anachron.frames import Contract


class EmbeddedAlfred(Alfred):
    """Releases; `published` follows from publication lags, since no package records the days."""

    synthetic: Series[bool]

    class Config:
        """One row per series, period, vintage and kind."""

        unique = ("series_id", "reference_period", "published", "synthetic")


class EmbeddedYahoo(Yahoo):
    """Month-end closes as quoted; `split_factor` is missing where the package does not tell it."""

    first_release: Series[bool]
    synthetic: Series[bool]

    class Config:
        """One row per ticker, month and kind."""

        unique = ("ticker", "month", "synthetic")


class EmbeddedFed(Fed):
    """The Federal Reserve's target by decision date."""

    first_release: Series[bool]
    synthetic: Series[bool]

    class Config:
        """One row per month and kind."""

        unique = ("month", "synthetic")


class EmbeddedFrench(French):
    """Monthly factors; all generated, since the library's are its authors' to publish."""

    first_release: Series[bool]
    synthetic: Series[bool]

    class Config:
        """One row per file, factor and month."""

        unique = ("source_file", "factor", "month")


TABLES: Mapping[str, type[Contract]] = MappingProxyType(
    {"alfred": EmbeddedAlfred, "fed": EmbeddedFed, "french": EmbeddedFrench, "yahoo": EmbeddedYahoo}
)
"""The contract of each table of the snapshot, by source; the file is ``<source>.parquet``."""


def read(folder: Path, source: str, *, synthetic: bool = False) -> pd.DataFrame:
    """Read the real, or the generated, rows of a source's table in the snapshot.

    Parameters
    ----------
    folder
        The snapshot's folder (`sources.snapshot`).
    source
        A key of `TABLES`.
    synthetic
        Whether the generated rows are wanted.

    Raises
    ------
    SourceError
        When the file is missing, damaged, altered, or breaks its contract; names it.
    """
    from anachron import frames
    from anachron.errors import ContractError, SourceError
    from anachron.sources import snapshot

    contract = TABLES[source]
    name = f"{source}.parquet"
    whole = snapshot.read_table(folder, name, tuple(contract.to_schema().columns))
    try:
        checked = frames.check(whole, contract, str(folder / name))
    except ContractError as error:
        raise SourceError(f"{error}\n{snapshot.RESTORE}") from None
    return checked[checked["synthetic"] == synthetic].reset_index(drop=True)
