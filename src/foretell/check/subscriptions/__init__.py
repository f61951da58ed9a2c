"""Findings about subscriptions: whether they can match, and which of their parts never do."""
