"""Batch jobs on Spark: plan, map side, reduce side, and training."""
