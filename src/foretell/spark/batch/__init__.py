"""Batch jobs on Spark."""
