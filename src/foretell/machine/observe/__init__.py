"""Forecasting's view of runs: observers and forecast emission."""
