"""A respondent that knows every toss up to a month, and says heads of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anachron.suites.tossing.protocol import Protocol

from anachron.config import Month, StrictModel


class Parameters(StrictModel):
    knows_until: Month


def respond(
    request: Mapping[str, Any], parameters: Parameters, protocol: Protocol, memory: Mapping[str, str]
) -> Any:
    from anachron.llm.providers.planted import nominal

    item = request["item"]
    return nominal(request, memory[item] if item[:7] <= parameters.knows_until else "heads", "stop")


def truth(
    parameters: Parameters, protocol: Protocol, memory: Mapping[str, str], **options: Any
) -> dict[str, float]:
    right = [item[:7] <= parameters.knows_until or side == "heads" for item, side in memory.items()]
    return {"right": sum(right) / len(right)}
