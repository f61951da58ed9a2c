"""Functions of floats by the C library's mathematics, as Python and the interpreter of conditions use it.

NumPy's own give other last digits, which depend on the processor.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.arrays import Floats
from foretell.jit import compiled


@compiled
def exponentials(values: Floats) -> Floats:
    result = np.empty(len(values), np.float64)
    for i in range(len(values)):
        result[i] = math.exp(values[i])
    return result


@compiled
def logarithms(values: Floats) -> Floats:
    """Of numbers that are not positive, NaN or infinite."""
    result = np.empty(len(values), np.float64)
    for i in range(len(values)):
        result[i] = math.log(values[i])
    return result


@compiled
def powers(bases: Floats, exponents: Floats) -> Floats:
    """One of the two may be a single number."""
    count = max(len(bases), len(exponents))
    result = np.empty(count, np.float64)
    for i in range(count):
        result[i] = math.pow(bases[i if len(bases) > 1 else 0], exponents[i if len(exponents) > 1 else 0])
    return result
