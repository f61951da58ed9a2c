"""Array types that several packages share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
#: Points in time: int64 (nanoseconds or a plain INT) or float64.
Times: TypeAlias = NDArray[Any]
Arrays: TypeAlias = tuple[NDArray[Any], ...]


def distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """The distinct ones of numbers that are not negative, ascending, and of each number its place among them.

    >>> used, place = distinct(np.array([7, 3, 7]))
    >>> used.tolist(), place.tolist()
    ([3, 7], [1, 0, 1])
    """
    largest = int(numbers.max()) if len(numbers) else 0
    if largest > 8 * len(numbers) + 1024:
        return np.unique(numbers, return_inverse=True)
    # Without sorting, which takes ten times as long where numbers are small.
    seen = np.zeros(largest + 1, np.bool_)
    seen[numbers] = True
    used = np.flatnonzero(seen)
    place = np.empty(largest + 1, np.int64)
    place[used] = np.arange(len(used))
    return used, place.take(numbers)


#: Longer arrays grow by a quarter, so that their memory stays near what is in use.
_LONG = 1 << 20


def room_for(count: int, length: int) -> int:
    """The length to which an array grows that shall have `count` entries, so that appending is cheap on average."""
    return max(count, length + (length // 4 if length >= _LONG else length))


class Appendable:
    """An array that grows by appending. Views of what is there stay as they are, but for what `array` is set to."""

    def __init__(self, dtype: Any) -> None:
        self._room: NDArray[Any] = np.zeros(0, dtype)
        self.count = 0

    @property
    def array(self) -> NDArray[Any]:
        return self._room[: self.count]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes

    def copy(self) -> Appendable:
        """An array of its own: views of this one stay as they are whatever is set in the copy."""
        copied = Appendable(self._room.dtype)
        copied.append(self.array)
        return copied

    def append(self, values: NDArray[Any]) -> None:
        stop = self.count + len(values)
        if stop > len(self._room):
            grown = np.zeros(room_for(stop, len(self._room)), self._room.dtype)
            grown[: self.count] = self.array
            self._room = grown
        self._room[self.count : stop] = values
        self.count = stop
