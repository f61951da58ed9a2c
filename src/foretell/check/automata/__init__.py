"""Questions about statements that automata answer: over the feasible combinations of their one-event conditions."""
