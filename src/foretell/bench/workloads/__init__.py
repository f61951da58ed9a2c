"""Synthetic event streams for the benchmarks."""
