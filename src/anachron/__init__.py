"""Anachron measures what a language model already knows about the history a backtest asks it to predict."""

__version__ = "0.1.0"
