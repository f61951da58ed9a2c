"""Vectorised evaluation of expressions: operators over columns, one module for each kind of operand.

The slow meaning is `foretell.reference.expressions`; both agree to the value, NULL included. Whole columns go through
NumPy; the few rows in which floats cannot give the exact result (a quotient of integers beyond 2**53, a duration
half-way between two microseconds) are computed one by one in Python's exact arithmetic.
"""
