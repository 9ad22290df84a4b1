"""The protocol of the toy suite."""

from __future__ import annotations

from typing import Any, Literal

from anachron.blocks import months
from anachron.config import Month
from anachron.suites.protocols import SuiteProtocol
from anachron.validation import StrictModel


class Arm(StrictModel):
    default: bool = True


class Protocol(SuiteProtocol):
    suite: Literal["tossing"] = "tossing"
    start: Month
    end: Month
    arms: dict[Literal["toss"], Arm]

    @property
    def months(self) -> list[str]:
        return months(self.start, self.end)

    def panel_digest(self) -> str:
        return self.sha256

    def ask_digest(self) -> str:
        return self.sha256

    def data_digest(self, sources: Any, month: str) -> str:
        return "no data"
