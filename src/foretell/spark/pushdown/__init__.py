"""Dropping events early: quenching, and predicates pushed down to Spark's optimizer and to Parquet statistics."""
