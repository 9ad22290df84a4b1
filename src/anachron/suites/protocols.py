"""What the protocol files of all suites have in common: a name, a title, a hash, and tiers of asking."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from anachron.files import digest
from anachron.validation import StrictModel

Tier = Literal["full", "full-1rep", "reduced"]
"""How much of a protocol a model is asked: all of it, all once, or the protocol's smaller choice."""

TIERS: tuple[Tier, ...] = ("full", "full-1rep", "reduced")

Share = Annotated[float, Field(ge=0, le=1)]


class SuiteProtocol(StrictModel):
    """A protocol file; every suite's `Protocol` adds its own sections."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9-]*$", description="Name of the protocol; a folder of frozen rows."
    )
    title: str = Field(description="One line that says what the task is.")

    @property
    def sha256(self) -> str:
        """Hash of the whole protocol, defaults included; it stands in every row."""
        return digest(self.model_dump(mode="json"))
