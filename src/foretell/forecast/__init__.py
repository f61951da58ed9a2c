"""How likely a match is, and by when: first passage within events or a duration, from what was learned."""
