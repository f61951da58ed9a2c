"""Epoch numbers: times as seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size.

Between 1990 and 2100 the four units have no number in common, so each number shows its unit.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints

#: The first seconds of 1990 and of 2100.
_FIRST, _END = 631_152_000, 4_102_444_800
#: The units with their number in a second.
UNITS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def epoch_unit(number: float | Decimal) -> str | None:
    """The unit of a number that is a plausible time."""
    # A number of hundreds of digits can be compared, and not divided.
    return next((unit for unit, each in UNITS.items() if _FIRST * each <= number < _END * each), None)


def common_unit(least: float | Decimal | None, greatest: float | Decimal | None) -> str | None:
    """The unit of all numbers of a column, by its least and its greatest; None where they are plain numbers."""
    if least is None or greatest is None:
        return None
    unit = epoch_unit(least)
    return unit if unit is not None and unit == epoch_unit(greatest) else None


def epoch_micros(number: float | Decimal) -> int | None:
    """A plausible time in microseconds: whole numbers are rounded down, others to the nearest."""
    unit = epoch_unit(number)
    if unit is None:
        return None
    if isinstance(number, int):
        return number * 10**6 // UNITS[unit]
    return round(float(number) * (10**6 / UNITS[unit]))


def epoch_column(numbers: NDArray[Any]) -> tuple[Ints, Flags]:
    """The same for many numbers, and which of them are plausible."""
    whole = numbers.dtype.kind in "iu"
    micros = np.zeros(len(numbers), np.int64)
    plausible = np.zeros(len(numbers), np.bool_)
    for per_second in UNITS.values():
        mask = (numbers >= _FIRST * per_second) & (numbers < _END * per_second)
        if not mask.any():
            continue
        taken = numbers if mask.all() else numbers[mask]
        if not whole:
            values = np.rint(taken * (10**6 / per_second)).astype(np.int64)
        elif per_second <= 10**6:
            values = taken.astype(np.int64) * (10**6 // per_second)
        else:
            values = taken.astype(np.int64) // (per_second // 10**6)
        micros[mask] = values
        plausible |= mask
    return micros, plausible
