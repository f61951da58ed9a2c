"""Readers: files, Arrow, frames and Python values become checked event columns; malformed events are quarantined."""
