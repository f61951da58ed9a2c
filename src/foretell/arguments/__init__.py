"""What a caller gives besides events: statements, names, a model, the end of time. Each is checked before a run."""
