"""How likely a match is, by when, and whether to believe it."""
