"""Learning from a stream's history: transition statistics, sojourn times, contexts, and the model file."""
