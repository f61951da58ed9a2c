"""Does a statement make sense: vacuous, trivial, live, contained in another; what it depends on and what it costs."""
