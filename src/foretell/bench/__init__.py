"""Benchmarks (`foretell bench`) and the synthetic workloads they run on."""
