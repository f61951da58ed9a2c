"""The Markov chain over configurations: counts, first passage, semi-Markov passage, waiting times, intervals."""
