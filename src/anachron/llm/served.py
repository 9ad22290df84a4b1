"""Whether the model that answered is the one that was asked; light, because audit rows depend on it."""

from __future__ import annotations

import re

SNAPSHOT = re.compile(r"[-@]?(\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{2}|\d{3,4})")
ROUTING = (":free", ":nitro", ":floor", ":exacto")


def served_is_asked(asked: str, served: str | None) -> bool | None:
    """Return whether the model that answered is the one that was asked; None when the answer does not say.

    The same name is, and so is a dated or numbered snapshot of the alias that was asked (``gpt-4o`` served as
    ``gpt-4o-2024-08-06``). An alias served where a snapshot was asked is not: it proves nothing. A vendor's
    prefix (``openai/``, ``models/``) counts only where both names have one.
    """
    if served is None:
        return None
    wanted, got = _name(asked), _name(served)
    if "/" not in wanted or "/" not in got:
        wanted, got = wanted.rpartition("/")[2], got.rpartition("/")[2]
    if wanted == got:
        return True
    alias = wanted.removesuffix("-latest")
    return got.startswith(alias) and bool(SNAPSHOT.fullmatch(got[len(alias) :]))


def _name(model: str) -> str:
    name = model.strip().casefold().removeprefix("models/")
    for suffix in ROUTING:
        name = name.removesuffix(suffix)
    return name
