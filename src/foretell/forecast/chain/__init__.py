"""The Markov chain over configurations: transition counts, first passage, waiting times."""
