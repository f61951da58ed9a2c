"""Benchmarks of the Spark pipeline and the baselines it is compared with."""
