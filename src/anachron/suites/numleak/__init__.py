"""NumLeak: which public numeric series a model can recite, and whether the recital leaks into what it says."""

FIGURES = ("signature", "recall_scatter")
"""Figures of this suite; `workflow/report/<suite>_<name>.rst` holds the caption of each in the report."""
