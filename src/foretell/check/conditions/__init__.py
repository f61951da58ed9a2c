"""Conditions as formulas of z3: which events meet them, and which conditions follow from others.

Every formula allows at least the values that the reference evaluator can produce, so "unsatisfiable" is certain. Where
a formula allows more (roundings, functions that z3 does not know), a model counts only after the reference evaluator
has confirmed it. The modules say what is exact and what is not.
"""
