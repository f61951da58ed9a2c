"""Which statements run together, and how events are hash-partitioned to them."""
