"""The key index: keys of any length, numbered in the order of their first occurrence, in a hash table of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.jit import kernel
from foretell.machine.kernels.hash_table import SECRET, slot_of_sequence
from foretell.storage.recorded_values import array, offsets, require

#: Keys have starts, and no width in common.
_ANY_WIDTH = 0


def _empty(size: int) -> Ints:
    return np.full(size, -1, np.int64)


@dataclass
class KeyIndex:
    """Keys are sequences of words of any length; those of key i lie at `starts[i]` to `starts[i + 1]`.

    `slots` is open-addressed, its size a power of two, at most half full; a slot has the number of a key, or -1.
    """

    count: int = 0
    starts: Ints = field(default_factory=lambda: np.zeros(9, np.int64))
    words: Ints = field(default_factory=lambda: np.zeros(16, np.int64))
    slots: Ints = field(default_factory=lambda: _empty(16))

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return self.starts.nbytes + self.words.nbytes + self.slots.nbytes

    def number(self, starts: Ints, words: Ints) -> Ints:
        """The numbers of keys; a new key gets the next number."""
        numbers = np.empty(len(starts) - 1, np.int64)
        done = 0
        while True:
            known = self.starts, self.words, self.slots
            done, self.count = _number(done, starts, words, numbers, *known, self.count, SECRET)
            if done == len(numbers):
                return numbers
            self._grow(int(starts[done + 1] - starts[done]))

    def keep(self, keep: Flags) -> None:
        """Drops all other keys and renumbers those that stay, in their order."""
        self.restore(self._state(np.flatnonzero(keep)))

    def _grow(self, length: int) -> None:
        used = self.starts[self.count]
        self.words = with_room(self.words, used + length)
        if 2 * self.count >= len(self.slots):
            self.slots = _empty(4 * len(self.slots))
            self.starts = with_room(self.starts, len(self.slots) // 2 + 1)
            _index(self.count, self.starts, self.words, self.slots, SECRET)

    # ── snapshots ──

    def state(self) -> dict[str, Ints]:
        return self._state(np.arange(self.count))

    def _state(self, which: Ints) -> dict[str, Ints]:
        lengths = self.starts[which + 1] - self.starts[which]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[which] - starts[:-1], lengths)
        return {"starts": starts, "words": self.words[at]}

    def restore(self, state: Mapping[str, Any], least: int = 0) -> None:
        """Continue from a snapshot, in which each key has `least` words or more."""
        words = array(state["words"], np.int64, (None,), "the words of keys")
        starts = offsets(state["starts"], len(words), "the keys")
        require((np.diff(starts) >= least).all(), "keys that are too short")
        self.count = len(starts) - 1
        self.slots = _empty(slots_for(self.count))
        self.starts, self.words = with_room(starts, len(self.slots) // 2 + 1), words.copy()
        _index(self.count, self.starts, self.words, self.slots, SECRET)


def with_room(array: NDArray[Any], count: int, value: int | float = 0) -> NDArray[Any]:
    """The array with room for `count` entries."""
    if count <= len(array):
        return array
    return np.concatenate([array, np.full(room_for(count, len(array)) - len(array), value, array.dtype)])


def slots_for(count: int) -> int:
    """The size of a table that `count` entries fill to a quarter at most: there is room for as many again."""
    return 1 << max(4, (4 * count - 1).bit_length())


@kernel
def _number(done: int, starts: Ints, words: Ints, numbers: Ints, known_starts: Ints, known_words: Ints, slots: Ints,
            count: int, secret: Any) -> tuple[int, int]:  # fmt: skip
    """Number the keys from `done` on; return where room ran out, and how many keys there are."""
    for i in range(done, numbers.size):
        first, last = starts[i], starts[i + 1]
        at = slot_of_sequence(first, last, words, known_starts, known_words, _ANY_WIDTH, slots, secret)
        if slots[at] < 0:
            used = known_starts[count]
            if 2 * count >= slots.size or used + last - first > known_words.size:
                return i, count
            for k in range(last - first):
                known_words[used + k] = words[first + k]
            known_starts[count + 1] = used + last - first
            slots[at] = count
            count += 1
        numbers[i] = slots[at]
    return numbers.size, count


@kernel
def _index(count: int, starts: Ints, words: Ints, slots: Ints, secret: Any) -> None:
    for i in range(count):
        slots[slot_of_sequence(starts[i], starts[i + 1], words, starts, words, _ANY_WIDTH, slots, secret)] = i
