"""Statistics of a stream's history: transitions between configurations, delays, contexts, and the file they live in."""
