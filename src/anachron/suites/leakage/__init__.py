"""Temporal leakage: how much of a forecasting score is answers that the model had read."""

FIGURES = ("gaps",)
"""Figures of this suite; `workflow/report/<suite>_<name>.rst` holds the caption of each in the report."""
