"""Keys: the values of every type as 64-bit integers with the same order, so that one kernel compares all of them.

An open bound is the next key, so that every range is closed. STRING has the codes of a dictionary, which can only be
compared for equality.

>>> key_of(0.5, Type.FLOAT) < key_of(1, Type.FLOAT), key_of(-0.0, Type.FLOAT) == key_of(0.0, Type.FLOAT)
(True, True)
>>> value_of(key_of(-2.5, Type.FLOAT), Type.FLOAT)
-2.5
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, as_declared

LEAST_KEY, LAST_KEY = -(2**63), 2**63 - 1


def keys_of(values: NDArray[Any], kind: Type) -> Ints:
    """The keys of values without NULL."""
    if kind is not Type.FLOAT:
        return np.ascontiguousarray(values, np.int64)
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, LEAST_KEY - bits, bits)  # floats are sign and magnitude; -0.0 is 0.0


def key_of(value: bool | int | float, kind: Type) -> int:
    """The key of one value; a text has the code of its dictionary."""
    return int(keys_of(np.array([value]), kind)[0])


def value_of(key: int, kind: Type) -> int | float:
    """The value of a key."""
    if kind is not Type.FLOAT:
        return key
    bits = LEAST_KEY - key if key < 0 else key
    return float(np.array([bits], np.int64).view(np.float64)[0])


def event_keys(columns: list[Column], kinds: list[Type], count: int) -> tuple[Ints, Flags]:
    """The keys of a batch's events and the mask of their NULLs: a row for each attribute."""
    keys = np.zeros((len(columns), count), np.int64)
    nulls = np.zeros((len(columns), count), np.bool_)
    for row, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        widened = as_declared(column, kind)
        if widened.kind is not kind:
            raise TypeError(f"a column of {column.kind.value} meets conditions on {kind.value}; convert the column")
        keys[row] = keys_of(widened.values, kind)
        nulls[row] = widened.nulls
    return keys, nulls
