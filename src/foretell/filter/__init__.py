"""Events of a batch as columns, vectorised evaluation of expressions over them, and indexes of predicates."""
