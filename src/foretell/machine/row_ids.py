"""The ids of a FOR EACH table's rows in their type, by row number, and the rows by their ids.

Ids are Python objects only where somebody reads them. A removed row keeps its number and its id; a row that comes later
with the same id takes its place in the hash table, which is made with the first look-up and grows with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of, arrow_of_values, buffer_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES, ArrowArray
from foretell.events.types import Scalar, Type
from foretell.jit import inlined, kernel, read_only
from foretell.machine.kernels.hash_table import SECRET, slot_of_sequence

Bytes = NDArray[np.uint8]

#: The slots of a table without rows.
_LEAST_SLOTS = 16


@dataclass
class RowIds:
    """`count` ids of one type. Those of texts are UTF-8, one after the other, and `_ends` has where each one ends, with
    a 0 before the first; others are words of eight bytes, and have no ends."""

    kind: Type
    count: int = 0
    _data: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    _ends: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    _slots: NDArray[np.int32] | None = None
    _known: ArrowArray = None  # the array of all ids, until there are more

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + self._ends.nbytes + (0 if self._slots is None else self._slots.nbytes)

    @property
    def array(self) -> ArrowArray:
        """All ids in Arrow, a TIMESTAMP in microseconds. Ids that are added later do not change it."""
        if self._known is None:
            self._known = self._array()
        return self._known

    def _array(self) -> ArrowArray:
        if self.kind is Type.STRING:
            buffers = [None, buffer_of(self._ends[: self.count + 1]), buffer_of(self._data)]
            return pa.Array.from_buffers(pa.large_string(), self.count, buffers)
        words = self._data[: 8 * self.count].view(np.float64 if self.kind is Type.FLOAT else np.int64)
        return arrow_of(words != 0) if self.kind is Type.BOOL else arrow_of(words)

    def append(self, ids: ArrowArray) -> None:
        """Adds the ids of new rows, none of them NULL."""
        first, count = self.count, self.count + len(ids)
        starts, data = _encoded(ids, self.kind)
        if self.kind is Type.STRING:
            used = int(self._ends[first])
            self._ends = _with_room(self._ends, count + 1)
            np.add(starts[1:], used - starts[0], out=self._ends[first + 1 : count + 1])
            self._data = _with_room(self._data, used + len(data))
            self._data[used : used + len(data)] = data
        else:
            self._data = _with_room(self._data, 8 * count)
            self._data[8 * first : 8 * count] = data
        self.count, self._known = count, None
        if self._slots is not None:
            self._enter(first)

    def take(self, rows: Ints) -> ArrowArray:
        """The ids of these rows."""
        return self.array.take(arrow_of(rows))

    def rows(self, ids: ArrowArray) -> Ints:
        """The last row with each of these ids; -1 where none has it."""
        if self._slots is None:
            self._rehash()
        assert self._slots is not None
        starts, data = _encoded(ids, self.kind)
        found = np.empty(len(ids), np.int64)
        _look_up(read_only(starts), read_only(data), *self._keys, self._slots, found, SECRET)
        return found

    @property
    def _keys(self) -> tuple[Ints, Bytes]:
        return read_only(self._ends if self.kind is Type.STRING else _NO_STARTS), read_only(self._data)

    def _enter(self, first: int) -> None:
        assert self._slots is not None
        if 2 * self.count > len(self._slots):
            self._rehash()
        else:
            _enter(first, self.count, *self._keys, self._slots, SECRET)

    def _rehash(self) -> None:
        size = max(_LEAST_SLOTS, 1 << (4 * self.count - 1).bit_length()) if self.count else _LEAST_SLOTS
        self._slots = np.full(size, -1, np.int32)
        _enter(0, self.count, *self._keys, self._slots, SECRET)


def ids_of_scalars(values: Sequence[object], kind: Type) -> tuple[ArrowArray, Flags]:
    """Ids that somebody names as Python values, as `RowIds.array` has them; and of each whether it fits the type. As
    keys of a dict do, 1.0 names the id 1, and so does True."""
    if kind is Type.STRING:
        fits = np.array([type(value) is str for value in values], np.bool_)
        plain = [value if fit else "" for value, fit in zip(values, fits.tolist(), strict=True)]
        return arrow_of_values(cast(list[Scalar], plain), kind).cast(pa.large_string()), fits
    numbers = [_number(value, kind) for value in values]
    fits = np.array([number is not None for number in numbers], np.bool_)
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    words = np.array([0 if number is None else number for number in numbers], dtype)
    return arrow_of(words != 0) if kind is Type.BOOL else arrow_of(words), fits


def _number(value: object, kind: Type) -> int | float | None:
    """The id that is equal to a value; None where none is."""
    if type(value) is int and kind is Type.INT and -(2**63) <= value < 2**63:
        return value
    if not isinstance(value, int | float) or value != value:
        return None
    try:
        found = float(value) if kind is Type.FLOAT else int(value)
    except OverflowError:
        return None
    fits = kind is Type.FLOAT or -(2**63) <= found < 2**63
    return found if found == value and fits and (kind is not Type.BOOL or found in (0, 1)) else None


def ids_of(values: ArrowArray, kind: Type) -> ArrowArray:
    """Ids as `RowIds.array` has them, in the type in which notifications show them."""
    return values.cast(ARROW_TYPES[kind]) if values.type != ARROW_TYPES[kind] else values


def scalar_at(ids: ArrowArray, row: int) -> Scalar:
    """The id of a row as a plain scalar."""
    found: Scalar = ids[row].as_py()
    return found


def order_of(ids: ArrowArray) -> Ints:
    """The places of ids in their order; those of equal ids as they come."""
    return numpy_of(pc.sort_indices(ids)).astype(np.int64)


#: Ids that are words have no starts, and so many bytes each.
_WIDTH = 8
_NO_STARTS = np.zeros(0, np.int64)


def _encoded(ids: ArrowArray, kind: Type) -> tuple[Ints, Bytes]:
    """Where each id starts, with the end of the last, and their bytes."""
    if kind is not Type.STRING:
        plain = ids.cast(pa.int64()) if kind in (Type.BOOL, Type.TIMESTAMP) else ids
        words: NDArray[Any] = numpy_of(plain)
        if kind is Type.FLOAT:
            words = words + 0.0  # -0.0 is the id 0.0
        return _NO_STARTS, np.ascontiguousarray(words).view(np.uint8)
    wide = ids.cast(pa.large_string())
    if isinstance(wide, pa.ChunkedArray):
        wide = wide.chunk(0) if wide.num_chunks == 1 else wide.combine_chunks()
    if not len(wide):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    _, ends, data = wide.buffers()
    starts = np.frombuffer(ends, np.int64, len(wide) + 1, 8 * wide.offset)
    whole = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return starts - starts[0], whole[starts[0] : starts[-1]]


def _with_room(array: NDArray[Any], count: int) -> NDArray[Any]:
    """The array with room for so many entries. What is there is never written again: views of it stay as they are."""
    if count <= len(array):
        return array
    grown = np.zeros(room_for(count, len(array)), array.dtype)
    grown[: len(array)] = array
    return grown


@inlined
def _place(row: int, starts: Any) -> Any:
    """Where the bytes of an id begin and end."""
    if starts.size:
        return starts[row], starts[row + 1]
    return np.int64(_WIDTH * row), np.int64(_WIDTH * row + _WIDTH)


@kernel
def _enter(first: int, count: int, starts: Any, data: Any, slots: Any, secret: Any) -> None:
    for row in range(first, count):
        begin, end = _place(row, starts)
        slots[slot_of_sequence(begin, end, data, starts, data, _WIDTH, slots, secret)] = row


@kernel
def _look_up(starts: Any, data: Any, known_starts: Any, known: Any, slots: Any, found: Any, secret: Any) -> None:
    for row in range(found.size):
        begin, end = _place(row, starts)
        found[row] = slots[slot_of_sequence(begin, end, data, known_starts, known, _WIDTH, slots, secret)]
