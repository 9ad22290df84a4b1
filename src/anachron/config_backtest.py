"""The `backtest` section of the configuration: a table of forecasts to audit, and what the user says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from anachron.files import slug
from anachron.validation import StrictModel

Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")]


class BacktestTable(StrictModel):
    """What `snakemake backtest` audits. A path alone stands for `file`."""

    file: str = Field(min_length=1, description="The forecasts, CSV or Parquet.")
    target: str | None = Field(None, description="Model to audit; null where the table leaves no doubt.")
    controls: list[str] = Field(default_factory=list, description="Models to compare with.")
    clean_controls: list[str] = Field(
        default_factory=list, description="Controls that you declare to know none of the answers."
    )
    cutoffs: dict[str, Day] = Field(default_factory=dict, description="Cutoffs by model, before the table's.")
    split: Day | None = Field(None, description="First day of the later side where no cutoff is known.")
    window_days: int = Field(90, ge=1, description="Half-width of the window around a cutoff.")
    clean_days: int = Field(30, ge=0, description="Days after a cutoff before a question counts as clean.")
    extrapolate: int | None = Field(
        None,
        ge=0,
        le=3,
        description="Degree of the polynomial by which you accept that honest performance goes on before the cutoff.",
    )
    anchor: Literal["auto", "crowd", "none"] = Field("auto", description="Score against the crowd, or not.")

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        return given if isinstance(given, Mapping) else {"file": given}

    @property
    def name(self) -> str:
        """Name of the folder that the report goes to."""
        return slug(PurePath(self.file).stem)

    def arguments(self) -> list[str]:
        """Return the options of `anachron backtest`."""
        single = {
            "--target": self.target,
            "--split": self.split,
            "--window-days": self.window_days,
            "--clean-days": self.clean_days,
            "--extrapolate": self.extrapolate,
            "--anchor": self.anchor,
        }
        return [
            *(f"{option}={value}" for option, value in single.items() if value is not None),
            *(f"--control={name}" for name in self.controls),
            *(f"--clean-control={name}" for name in self.clean_controls),
            *(f"--cutoff={model}={day}" for model, day in self.cutoffs.items()),
        ]
