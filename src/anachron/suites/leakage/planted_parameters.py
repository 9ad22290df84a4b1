"""The parameters of planted forecasters, validated. docs/reference/leakage.md says what each does."""

from __future__ import annotations

from pydantic import Field

from anachron.config import Month, StrictModel
from anachron.suites.protocols import Share


class Parameters(StrictModel):
    """A planted forecaster: what it honestly forecasts, and how far it is pulled towards answers that it has read."""

    seed: int = Field(description="Seed of everything it does.")
    skill: Share = Field(
        0.0, description="Share of the way to the outcome that it honestly goes beyond the crowd."
    )
    recency_days: float | None = Field(
        None,
        gt=0,
        description="Days after `fresh_until` in which its skill falls by a factor e; null: never.",
    )
    fresh_until: Month | None = Field(
        None, description="Last month of what it honestly draws on; `knows_until` when null."
    )
    noise: float = Field(0.0, ge=0, description="Standard deviation of its honest forecast, in logits.")
    wording_noise: float = Field(0.0, ge=0, description="The same for each wording, in logits.")
    knows_until: Month | None = Field(None, description="Last month whose answers it may have read.")
    w: Share = Field(
        0.0, description="Share of the way to an answer it has read that its forecast is pulled."
    )
    w_by_source: dict[str, Share] = Field(default_factory=dict, description="The same, by source.")
    refusal: Share = Field(0.0, description="Share of requests that it declines.")
    prose: Share = Field(0.0, description="Share of answers that reason with other numbers first.")
