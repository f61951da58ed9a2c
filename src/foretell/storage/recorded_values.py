"""Checks of values that were read from a file: a checksum tells that nothing was damaged, not that nobody made it up.

Each structure that is restored checks what it reads next to its layout, with these functions, before a kernel gets it:
kernels check no index. Arrays take the type that this version has for them; earlier versions had others.

>>> indices(np.array([2, 0]), 3, "the lanes").tolist()
[2, 0]
>>> indices(np.array([2, 5]), 3, "the lanes")
Traceback (most recent call last):
foretell.storage.recorded_values.UnfitValueError: the lanes are out of range
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from foretell.arrays import Ints

#: More than any count or position: sums and doubles of it still fit 64 bits.
FAR = 2**61

#: No whole time is later: sums of a time and a duration still fit 64 bits.
_LAST = 2**62

#: The kinds of arrays that may become one of a kind.
_CASTS = {"i": "biu", "u": "biu", "f": "biuf", "b": "bu"}


class UnfitValueError(ValueError):
    """A recorded value that does not fit the program that reads it."""


def require(fits: bool | np.bool_, subject: str) -> None:
    """Refuse the record unless it `fits`; `subject` begins a sentence that ends in "do not fit"."""
    if not fits:
        raise UnfitValueError(f"{subject} do not fit the statements")


def whole(value: object, subject: str, low: int = 0, stop: int = FAR) -> int:
    """A whole number from `low` on, before `stop`."""
    if type(value) is not int or not low <= value < stop:
        raise UnfitValueError(f"{subject} must be a whole number from {low} on")
    return value


def instant(value: object, subject: str, *, is_float: bool = True) -> int | float:
    """A time; infinity stands for one that has not come. On whole times it must fit them."""
    if type(value) is int and -_LAST <= value <= _LAST:
        return value
    if type(value) is float and (math.isinf(value) or (not math.isnan(value) and (is_float or abs(value) <= _LAST))):
        return value
    raise UnfitValueError(f"{subject} must be a time")


def array(value: object, dtype: DTypeLike, shape: tuple[int | None, ...], subject: str) -> NDArray[Any]:
    """An array of this type and shape; None stands for any length."""
    wanted = np.dtype(dtype)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in _CASTS[wanted.kind]:
        raise UnfitValueError(f"{subject} must be an array of numbers")
    if value.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
        raise UnfitValueError(f"{subject} have the wrong shape")
    return np.ascontiguousarray(value, wanted)


def times(value: object, dtype: DTypeLike, shape: tuple[int | None, ...], subject: str) -> NDArray[Any]:
    """An array of times."""
    read = array(value, dtype, shape, subject)
    if read.dtype.kind == "f" and np.isnan(read).any():
        raise UnfitValueError(f"{subject} must be times")
    return read


def indices(value: object, stop: int, subject: str, shape: tuple[int | None, ...] = (None,), *, low: int = 0) -> Ints:
    """An array of whole numbers from `low` on, before `stop`."""
    read = array(value, np.int64, shape, subject)
    require_range(read, stop, subject, low=low)
    return read


def require_range(read: NDArray[Any], stop: int, subject: str, *, low: int = 0) -> None:
    if low == 0 and stop >= 0 and read.dtype == np.int64:
        fits = not read.size or read.view(np.uint64).max() < stop  # a negative number is a large one: half of the time
    else:
        fits = not read.size or (read.min() >= low and read.max() < stop)
    if not fits:
        raise UnfitValueError(f"{subject} are out of range")


def offsets(value: object, stop: int, subject: str) -> Ints:
    """Where each of several parts begins, and where the last one ends: at `stop`."""
    read = array(value, np.int64, (None,), subject)
    if not len(read) or read[0] != 0 or read[-1] != stop or (read[1:] < read[:-1]).any():
        raise UnfitValueError(f"{subject} are not in order")
    return read


def ascending(read: NDArray[Any], subject: str) -> None:
    """Refuse numbers that do not ascend, each by one at least."""
    if (read[1:] <= read[:-1]).any():
        raise UnfitValueError(f"{subject} do not ascend")
