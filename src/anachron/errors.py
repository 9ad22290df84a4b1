"""Errors whose text is written for the person who has to act on it."""

from __future__ import annotations


class AnachronError(Exception):
    """Something the user can mend: the message says what was found, where, and what to do."""


class ConfigError(AnachronError):
    """A configuration, registry or protocol file does not hold what it should."""


class ContractError(AnachronError):
    """A table that crosses a stage breaks its contract, or a file of it cannot be read."""


class SourceError(AnachronError):
    """A data source is missing, unreadable or refuses."""


class BacktestError(AnachronError):
    """A table of forecasts cannot be audited as it stands."""


class CollectError(AnachronError):
    """Collecting stopped; what was answered before is in the store."""


class ImportFailure(AnachronError):  # noqa: N818 - ImportError is Python's own
    """A folder of published records cannot be imported as it stands."""


class DriftError(AnachronError):
    """A published table or row no longer follows from the frozen rows."""
