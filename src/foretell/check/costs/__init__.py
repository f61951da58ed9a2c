"""The costs of a statement: growth of its matches, state without bound, size of its automaton, missing indexes."""
