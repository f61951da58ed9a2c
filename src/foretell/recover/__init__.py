"""Lost events: what their gaps hide, learned from history. The probabilities are in `events/delays/`."""
