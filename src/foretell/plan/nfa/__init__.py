"""From a pattern to an NFA: derivatives, states, expiry, decomposition."""
