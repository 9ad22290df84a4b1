"""What the transmission metrics should find of a planted respondent, from the moments of its signal.

The signal is S = a T + b R + noise, with T the true value and R the respondent's own. A squared correlation of n
months that is estimated is larger than the true one by what n leaves to chance; the expectation says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anachron.suites.numleak import naming
from anachron.suites.numleak.planted_parameters import Parameters
from anachron.suites.numleak.protocol import Protocol

if TYPE_CHECKING:
    from anachron.suites.numleak.planted_truth import Told


def signals(who: Parameters, protocol: Protocol, told: Told) -> dict[str, float | str]:
    """Return slopes, correlations, LeakShare with its truth-only null, the partial correlation and alpha_max.

    `told` is what the respondent says of the market in the main panel. Signals are taken to stay within −1 and 1.
    """
    n, base = len(told.true), naming.SIGNAL
    true, own = float(told.true.var()) if n else 0.0, 0.0
    if n < protocol.gates.correlation or true == 0:
        return {}
    own = float(told.centre.var() + (told.spread**2).mean())
    both = float(((told.true - told.true.mean()) * (told.centre - told.centre.mean())).mean())
    a, b = who.signal_truth, who.signal_recall
    with_true, with_own = a * true + b * both, a * both + b * own
    whole = a * a * true + b * b * own + 2 * a * b * both + who.signal_noise**2
    if whole == 0:
        return {}
    step = with_true / true
    rho = with_true / math.sqrt(true * whole)
    found: dict[str, float | str] = {f"{base}.beta_truth": step, f"{base}.truth_r": rho}
    stood = squared(rho, n - 1)
    if own == 0:
        return found | {f"{base}.leak_share": 0.0, f"{base}.leak_share.null": 0.0}
    recall = both / math.sqrt(true * own)
    found |= {f"{base}.beta_recall": with_own / own, f"{base}.recall_r": recall}
    said = with_own / math.sqrt(own * whole)
    for metric, moved in (("leak_share", said), ("leak_share.null", rho * recall)):
        # What is left of the signal is at right angles to the recall in the sample itself, so that its correlation
        # with the truth is the partial one, shrunk by how little of the truth the recall leaves.
        kept = squared(partial(rho, moved, recall), n - 2) * (1 - recall * recall)
        found[f"{base}.{metric}"] = 1 - kept / stood
    found[f"{base}.partial"] = partial(said, rho, recall)
    if rho and both:
        found[f"{base}.alpha_max"] = min(1.0, abs(recall) / abs(rho))
    return found


def partial(one_other: float, one_given: float, other_given: float) -> float:
    """Return a partial correlation from the three plain ones; zero where the given one leaves nothing."""
    below = (1 - one_given * one_given) * (1 - other_given * other_given)
    return (one_other - one_given * other_given) / math.sqrt(below) if below > 1e-12 else 0.0


def squared(rho: float, freedom: int) -> float:
    """Return the expected square of an estimated correlation that is rho, to first order."""
    return 1 - (1 - rho * rho) * (freedom - 1) / freedom
