"""FinDendro: what a model knows of dated facts, what it says it knows, and where each ends."""

FIGURES = ("knows_says", "over_time")
"""Figures of this suite; `workflow/report/<suite>_<name>.rst` holds the caption of each in the report."""
