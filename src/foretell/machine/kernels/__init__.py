"""Kernels over flat arrays. They import NumPy and Numba, nothing else."""
