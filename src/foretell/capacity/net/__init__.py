"""Generalised stochastic Petri nets as data, their validation, and their form as flat arrays."""
