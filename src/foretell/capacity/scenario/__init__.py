"""Scenario files (TOML): a service by its parameters or a net of one's own, and the points at which it is examined."""
