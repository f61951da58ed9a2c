"""Synthetic event streams."""
