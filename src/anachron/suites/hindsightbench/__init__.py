"""HindsightBench (protocol BM-1): does a date trigger hindsight, and where does recall end."""

FIGURES = ("e2_e3_forest", "lap_heatmap")
"""Figures of this suite; `workflow/report/<suite>_<name>.rst` holds the caption of each in the report."""
