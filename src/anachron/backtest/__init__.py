"""Audit of a backtest: forecasts go in; what their score owes to leakage, and what no table can say, comes out."""
