"""Delays between events: distributions, their convolution, and the probability of what a gap may hide (LOSING)."""
