"""Forecasts: the probability of a match within a horizon, and the interval in which the next match should fall."""
