"""What the `ask` modules of all suites share: the table of an arm's requests, and the refusal of an unknown arm."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import pandas as pd

from anachron import frames
from anachron.errors import AnachronError

Arm = TypeVar("Arm", bound=str)

Request = tuple[str, int, str, str, str | None, Sequence[str]]
"""Item, rep, system text, prompt, the date that it states or None, and the tiers that ask it."""


def known_arm(arm: str, known: Collection[Arm]) -> Arm:
    """Return `arm` as one of the suite's arms; raise `AnachronError` when it is none."""
    found = next((name for name in known if name == arm), None)
    if found is None:
        raise AnachronError(f"arm {arm!r} is not known; known arms: {', '.join(known)}")
    return found


def table(
    suite: str, arm: str, temperature: float, max_tokens: int, requests: Sequence[Request]
) -> pd.DataFrame:
    """Return one arm's requests as `frames.Requests`, in the order given; all are sampled alike."""
    if not requests:
        return frames.empty(frames.Requests)
    frame = pd.DataFrame(requests, columns=["item", "rep", "system", "prompt", "shown_date", "tiers"])
    frame = frame.assign(
        suite=suite,
        arm=arm,
        temperature=temperature,
        max_tokens=max_tokens,
        tiers=[",".join(tiers) for *_, tiers in requests],
    )
    return frames.check(
        frame[list(frames.Requests.to_schema().columns)], frames.Requests, f"requests of arm {arm}"
    )
