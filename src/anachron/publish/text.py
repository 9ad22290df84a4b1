"""How numbers are printed, the same in every suite; how text that others wrote stands in a page."""

from __future__ import annotations

import html
import re
from decimal import ROUND_HALF_EVEN, Decimal

EM_DASH = "—"
MINUS = "−"


def fixed(value: float, places: int, plus: bool = False) -> str:
    """Return a number with `places` decimals, half to even, no leading zero, a true minus sign.

    >>> fixed(-0.0625, 3, plus=True), fixed(0.30, 2), fixed(1.0, 3)
    ('−.062', '.30', '1.000')
    """
    exact = Decimal(f"{value:.10g}")
    text = str(abs(exact).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN))
    if text.startswith("0."):
        text = text[1:]
    return (MINUS if exact < 0 else "+" if plus else "") + text


def percent(share: float) -> str:
    """Return a share as whole percent, half to even."""
    exact = Decimal(f"{share:.10g}") * 100
    return f"{exact.quantize(Decimal(1), rounding=ROUND_HALF_EVEN):f}%"


UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, marks that turn the direction of what follows, halves of pairs: none may act on a page."""


def escaped(value: object) -> str:
    """Return a value as text for HTML, element or attribute; signs that nobody sees are named instead.

    >>> escaped("a<b & \u202e")
    'a&lt;b &amp; ⟨U+202E⟩'
    """
    return html.escape(UNSEEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", str(value)))
