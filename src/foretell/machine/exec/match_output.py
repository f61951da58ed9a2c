"""The buffer that kernels write matches into."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Arrays
from foretell.machine.kernels import layout
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.structs import Nodes, Output

#: So many matches are written before they are put aside: the buffer stays in the cache.
USUAL = 8192

#: The columns of a match besides its slots (see Output), by size so that all stand aligned.
_COLUMNS = (("i8", None), ("i8", None), ("i4", None), ("i4", None), ("i4", None), ("i4", None))


class MatchOutput:
    """A buffer of `arrays`; `parts` are the matches of the present batch that were put aside."""

    def __init__(self, finals: int) -> None:
        self._expected = USUAL
        self.parts: list[Output] = []
        self._use(new_output(USUAL, finals), finals)

    def _use(self, arrays: Output, finals: int) -> None:
        self.arrays, self._finals = arrays, finals
        self._held: Held[Output] | None = None
        self._bytes = sum([column.nbytes for column in arrays])
        self._nothing = new_output(0, finals)

    def __len__(self) -> int:
        return len(self.arrays.first)

    @property
    def held(self) -> Held[Output]:
        """The arrays as kernels take them that are called for each batch."""
        if self._held is None:
            self._held = Held(self.arrays)
        return self._held

    @property
    def nbytes(self) -> int:
        """The memory of the buffer and of what was put aside."""
        return (
            self._bytes + sum([column.nbytes for part in self.parts for column in part]) if self.parts else self._bytes
        )

    def written(self, counters: np.ndarray) -> int:
        """The memory of the matches of the present batch so far."""
        aside = sum(column.nbytes for part in self.parts for column in part)
        return aside + self.size_of(int(counters[layout.MATCHES]))

    def size_of(self, matches: int) -> int:
        """The memory that so many matches take."""
        return matches * self._bytes // len(self)

    def carry(self, finals: int) -> None:
        """From now on matches carry so many slots."""
        self._use(new_output(len(self), finals), finals)

    def prepare(self) -> None:
        """Make room for as many matches as the batch before had."""
        if self._expected > len(self):
            self.reserve(self._expected + self._expected // 4)

    def reserve(self, matches: int) -> None:
        if matches > len(self):
            self._use(new_output(matches, self._finals), self._finals)

    def put_aside(self, counters: np.ndarray) -> None:
        """Make room: copy the matches written so far; where there are none, one event brings more than fit."""
        if not counters[layout.MATCHES]:
            self._use(new_output(2 * len(self), self._finals), self._finals)
        self.parts.append(self._taken(counters))

    def take(self, counters: np.ndarray) -> Output:
        """The matches of the batch. They are not copied where they fill the buffer; then the next batch has another."""
        count = int(counters[layout.MATCHES])
        if not count and not self.parts:
            self._expected = USUAL
            return self._nothing
        if self.parts or 2 * count < len(self):
            self.parts.append(self._taken(counters))
        else:
            counters[layout.MATCHES] = 0
            self.parts.append(_first(self.arrays, count))
            self._use(new_output(len(self), self._finals), self._finals)
        parts, self.parts = self.parts, []
        self._expected = max(USUAL, sum(len(part.first) for part in parts))
        if len(parts) == 1:
            return parts[0]
        return Output(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))

    def _taken(self, counters: np.ndarray) -> Output:
        count = int(counters[layout.MATCHES])
        counters[layout.MATCHES] = 0
        return Output(*(column.copy() for column in _first(self.arrays, count)))


def _first(output: Output, count: int) -> Output:
    return Output(*(column[..., :count] for column in output))


def new_output(size: int, finals: int) -> Output:
    return Output(*_in_one_block(size, *_COLUMNS, ("i8", finals), ("u1", finals)))


def new_nodes(size: int) -> Nodes:
    position, parent, step = _in_one_block(size, ("i8", None), ("i4", None), ("i4", None))
    return Nodes(parent, position, step)


def _in_one_block(size: int, *columns: tuple[str, int | None]) -> Arrays:
    """Arrays of some types and widths in one piece of memory: if large, the system gives it in huge pages.

    Writing matches cost a third less than with an array each, of which every page had to be asked for.
    """
    widths = [np.dtype(kind).itemsize * (1 if width is None else width) for kind, width in columns]
    block = np.empty(sum(widths) * size, np.uint8)
    arrays, at = [], 0
    for (kind, width), bytes_ in zip(columns, widths, strict=True):
        length = bytes_ * size
        array = block[at : at + length].view(kind)
        arrays.append(array if width is None else array.reshape(width, size))
        at += length
    return tuple(arrays)
