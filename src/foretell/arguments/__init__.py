"""Arguments that callers hand in, each validated here before a run: statements, streams, tables, model, limits, until.

A function `as_x` returns its argument as an x, or raises an InputError that says what was expected.
"""
