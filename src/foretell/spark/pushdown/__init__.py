"""Dropping events early: quenching, predicates pushed down to Spark and Parquet."""
