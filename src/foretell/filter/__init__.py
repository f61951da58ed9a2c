"""Which predicates an event satisfies: a batch as columns, and every expression over one event, column by column."""
