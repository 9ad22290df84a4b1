"""Tosses: a whole suite in a few lines, to show what adding one takes."""

FIGURES = ()
