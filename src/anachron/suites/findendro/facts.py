"""Facts in display units: what was first published of a series, a price or a policy month, or why it is not known.

Source: FinDendro §3.1, appendix A.1; the suite's specification, "Facts".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from anachron.blocks import months as months_between
from anachron.suites.findendro.options import nice, typical, units
from anachron.suites.findendro.protocol import Protocol, previous
from anachron.suites.findendro.protocol_parts import OUTCOMES

NOT_AT_HAND = "not in the source"
NOT_FIRST = "first release unknown"
OTHER_KIND = {"real": "only a synthetic value is at hand", "synthetic": "only a real value is at hand"}
NEVER = "never published"


@dataclass(frozen=True, slots=True)
class Value:
    """A value as a source gives it.

    `value` is a number as decimal text in the protocol's unit, or an outcome of `OUTCOMES`; None with the reason
    in `missing`.
    """

    value: str | None
    published: str | None = None
    first_release: bool = True
    synthetic: bool = False
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in display units; a policy outcome is its place in `OUTCOMES`. Either `units` or `missing` is None."""

    name: str
    units: int | None
    decimals: int = 0
    floor: int | None = None
    published: str | None = None
    synthetic: bool = False
    missing: str | None = None


@dataclass
class Facts:
    """The facts that a protocol's months need, by month and name.

    Attributes
    ----------
    protocol
        Says how values are shown, and over which months changes are typical.
    values
        Values by (month, name).
    """

    protocol: Protocol
    values: Mapping[tuple[str, str], Value]
    _found: dict[tuple[str, str], Fact] = field(default_factory=dict)
    _typical: dict[str, Fraction | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up once how each name is shown."""
        prices = self.protocol.prices
        self._families = self.protocol.families()
        self._shown: dict[str, tuple[int, float | None]] = {
            one.ticker: (prices.decimals, prices.floor) for one in self.protocol.companies
        }
        self._shown |= {one.id: (one.decimals, one.floor) for one in self.protocol.series}

    def get(self, month: str, name: str) -> Fact:
        """Return the fact of a month, with why it is missing where it is."""
        key = (month, name)
        if key not in self._found:
            self._found[key] = self._make(month, name)
        return self._found[key]

    def _make(self, month: str, name: str) -> Fact:
        value = self.values.get((month, name), Value(None, missing=NOT_AT_HAND))
        missing = self._missing(month, name, value)
        if missing is not None:
            return Fact(name, None, missing=missing)
        if self._families[name] == "policy":
            return Fact(name, OUTCOMES.index(str(value.value)), 0, None, value.published, value.synthetic)
        decimals, lowest = self._shown[name]
        floor = None if lowest is None else units(Decimal(str(lowest)), decimals)
        shown = units(Decimal(str(value.value)), decimals)
        return Fact(name, shown, decimals, floor, value.published, value.synthetic)

    def _missing(self, month: str, name: str, value: Value) -> str | None:
        if name in self.protocol.never_published.get(month, []):
            return NEVER
        if value.missing is not None or value.value is None:
            return value.missing or NOT_AT_HAND
        if value.synthetic != (self.protocol.facts == "synthetic"):
            return OTHER_KIND[self.protocol.facts]
        return None if value.first_release else NOT_FIRST

    def step(self, name: str, value: int | None) -> int | None:
        """Return the step between candidates of a value, in display units; None where changes are too few.

        Prices change by a share of the level: their step is that share of `value`.
        """
        if name not in self._typical:
            self._typical[name] = self._typical_change(name)
        change = self._typical[name]
        if change is None or value is None:
            return None
        if self._families[name] == "stock":
            change *= abs(value)
        return nice(change, self.protocol.spacing.multiples)

    def _typical_change(self, name: str) -> Fraction | None:
        window, share = self.protocol.spacing, self._families[name] == "stock"
        changes = []
        for month in months_between(window.start, window.end):
            now, before = self.get(month, name).units, self.get(previous(month), name).units
            if now is not None and before is not None and (before or not share):
                changes.append(Fraction(now - before, before if share else 1))
        return typical(changes) if len(changes) >= window.min_changes else None


def months_needed(protocol: Protocol, months: Iterable[str]) -> list[str]:
    """Return the months that some months' facts rest on: they, the spacing window, and the month before each."""
    wanted = {*months, *months_between(protocol.spacing.start, protocol.spacing.end)}
    return sorted(wanted | {previous(month) for month in wanted})
