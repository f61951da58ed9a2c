"""Executors: they own the state of running patterns and call the kernels."""
