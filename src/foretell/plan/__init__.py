"""From a checked subscription to the program that runs: states, where each condition is judged, what is shared."""
