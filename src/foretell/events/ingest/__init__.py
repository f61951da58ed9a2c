"""Ingest: files, Arrow, data frames and Python values to typed event columns; malformed events are quarantined."""
