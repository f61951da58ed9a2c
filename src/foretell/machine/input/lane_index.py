"""The lane index: lanes by the values of their PER attributes, numbered in the order of their first events.

A lane that nothing needs any more can be freed: its key is forgotten, and its number goes to the next new key. Other
lanes keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.jit import kernel, read_only
from foretell.machine.kernels.hash_table import SECRET, first_slot, keyed, next_slot
from foretell.machine.kernels.layout import NONE, Array, S
from foretell.storage.recorded_values import FAR, array, ascending, indices, require, require_range, whole

Numbers = NDArray[np.int32]

#: Larger tables grow twofold, smaller ones fourfold.
_LARGE_TABLE = 1 << 20

#: With fewer lanes it is not worth looking for those that nothing needs any more.
LEAST_CROWDED = 16_384


class KeyValue(NamedTuple):
    kind: Type
    value: Any


class LaneRows(NamedTuple):
    """Columns of a batch: [attribute, row] the values of keys as words, and whether they are NULL (unless there is
    no NULL among them); of each event, as output, its lane and its number there."""

    values: Array
    nulls: Array
    nonnull: bool
    lanes: Array
    numbers: Array


class LaneTable(NamedTuple):
    """An open-addressed hash table of lanes; of each lane its key and how many events it has had. `free` is a stack of
    the numbers below the count that no lane has."""

    slots: Array
    keys: Array
    lengths: Array
    free: Array
    secret: Array


class LaneIndex:
    """An open-addressed table of lane numbers, all less than `count`. The key of a lane is a row of words.

    Each value has two words: whether it is NULL, and its 64 bits. `begun` is how many lanes there have been; a key that
    returns after its lane was freed has another one.
    """

    def __init__(self, kinds: Sequence[Type]) -> None:
        self.kinds = tuple(kinds)
        # Keys that are strings have small numbers, their codes, which need no hash.
        self._is_coded = self.kinds == (Type.STRING,)
        self.count = self.begun = 0 if kinds else 1
        self.keys: Ints = np.zeros((16, 2 * len(self.kinds)), np.int64)
        self.lengths: Ints = np.zeros(16, np.int64)
        self._table: Numbers = np.full(64, -1, np.int32)
        self._lane_of: NDArray[np.uint32] = np.full(64, NONE, np.uint32)
        self._free: Ints = np.zeros(0, np.int64)
        self._free_count = 0
        self._remained = 0

    def __len__(self) -> int:
        """How far the numbers of lanes reach."""
        return self.count

    @property
    def used(self) -> int:
        """How many lanes there are."""
        return self.count - self._free_count

    @property
    def crowded(self) -> bool:
        """Whether there are so many more lanes than the last time that it is worth looking for those to free."""
        return self.used >= max(LEAST_CROWDED, 2 * self._remained)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        tables = self._table.nbytes + self._lane_of.nbytes
        return self.keys.nbytes + self.lengths.nbytes + self._free.nbytes + tables

    def of(self, columns: Sequence[Column], count: int) -> Ints:
        """The lane of each event."""
        return self.numbered(columns, count)[0]

    def numbered(self, columns: Sequence[Column], count: int) -> tuple[Ints, Ints]:
        """The lane of each event, and its number there, continued from earlier batches."""
        if not self.kinds:
            first = int(self.lengths[0])
            self.lengths[0] += count
            return np.zeros(count, np.int64), np.arange(first, first + count, dtype=np.int64)
        if self._is_coded and not may_be_null(columns[0].nulls):
            return self._by_code(columns[0].values)
        return self._hashed(columns, count)

    def _hashed(self, columns: Sequence[Column], count: int) -> tuple[Ints, Ints]:
        values = np.stack([_words(c) for c in columns]) if len(columns) > 1 else _words(columns[0]).reshape(1, -1)
        nonnull = not any(may_be_null(c.nulls) for c in columns)
        nulls = no_nulls(count).reshape(1, -1) if nonnull else np.stack([c.nulls for c in columns])
        rows = LaneRows(read_only(values), nulls, nonnull, np.empty(count, np.int64), np.empty(count, np.int64))
        done = 0
        while done < count:
            if 2 * self.count >= len(self._table) - 1:
                self._make_table()
            if self.count >= len(self.lengths):
                self._grow_lanes()
            table, before = LaneTable(self._table, self.keys, self.lengths, self._free, SECRET), self.used
            done, self.count, self._free_count = _assign_lanes(done, rows, table, self.count, self._free_count)
            self.begun += self.used - before
        return rows.lanes, rows.numbers

    def _by_code(self, codes: Ints) -> tuple[Ints, Ints]:
        lanes, numbers = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        done = 0
        while done < len(codes):
            done, missing = _look_up(codes.view(np.uint64), done, lanes, numbers, self._lane_of, self.lengths)
            if missing >= 0:
                self._enter_code(missing)
        return lanes, numbers

    def _enter_code(self, code: int) -> None:
        """Enters the lane of a string under its code; the hash table may have the lane already."""
        text = Column(Type.STRING, np.array([code]), np.array([False]))
        entered, _ = self._hashed([text], 1)
        self.lengths[entered[0]] -= 1  # this was no event
        if code >= len(self._lane_of):
            more = max(code + 1, 2 * len(self._lane_of)) - len(self._lane_of)
            self._lane_of = np.concatenate([self._lane_of, np.full(more, NONE, np.uint32)])
        self._lane_of[code] = entered[0]

    def free(self, needed: Flags) -> Ints:
        """Free the lanes that are not needed; return their numbers."""
        self._remained = self.used  # where they are few, the next time is later
        gone = ~needed[: self.count]
        gone[self._free[: self._free_count]] = False
        freed = np.flatnonzero(gone)
        if not len(freed):
            return freed
        # Keys that were handed over read the old array: see `frozen`.
        self.keys = self.keys.copy()
        self.keys[freed], self.lengths[freed] = 0, 0
        gone[self._free[: self._free_count]] = True
        self._free = np.flatnonzero(gone)[::-1].copy()  # low numbers are taken first
        self._free_count = len(self._free)
        self._remained = self.used
        known = np.flatnonzero(self._lane_of != NONE)
        self._lane_of[known[gone[self._lane_of[known]]]] = NONE
        self._make_table()
        return freed

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in keys."""
        for i, kind in enumerate(self.kinds):
            if kind is Type.STRING:
                yield self.keys[: self.count, 2 * i + 1]

    def frozen(self) -> LaneIndex:
        """The present keys, for results that are read after lanes are freed here; nothing can be looked up."""
        index = LaneIndex(self.kinds)
        index.count, index.keys = self.count, self.keys
        return index

    def key(self, lane: int) -> list[KeyValue]:
        """The values of a lane's key with their types; None for NULL."""
        values = []
        for i, kind in enumerate(self.kinds):
            null, word = self.keys[lane, 2 * i], self.keys[lane, 2 * i + 1 : 2 * i + 2]
            value = word.view(np.float64) if kind is Type.FLOAT else word
            values.append(KeyValue(kind, None if null else value[0].item()))
        return values

    def state(self) -> dict[str, Any]:
        used = max(1, self.count)
        return {
            "count": self.count,
            "keys": self.keys[:used],
            "lengths": self.lengths[:used],
            "free": self._free[: self._free_count].copy(),
            "begun": self.begun,
            "remained": self._remained,
        }

    def restore(self, state: dict[str, Any], texts: int) -> None:
        """Continue from a snapshot; `texts` is how many strings have a code."""
        count = whole(state["count"], "the number of lanes", stop=int(NONE))
        used = max(1, count)
        self.keys = array(state["keys"], np.int64, (used, 2 * len(self.kinds)), "the keys of lanes")
        self.lengths = indices(state["lengths"], FAR, "the lengths of lanes", (used,))
        require(bool(self.kinds) or count == 1, "lanes without a key")
        for i, kind in enumerate(self.kinds):
            require_range(self.keys[:, 2 * i], 2, "the keys of lanes")
            if kind is Type.STRING:
                require_range(self.keys[:, 2 * i + 1], texts, "the texts in keys of lanes")
        # Early snapshots have all lanes.
        self._free = indices(state.get("free", np.zeros(0, np.int64)), count, "the free lanes", (None,)).copy()
        self._free_count = len(self._free)
        ascending(self._free[::-1], "the free lanes")
        require(bool(self.kinds) or not len(self._free), "lanes without a key")
        self.count = count
        self.begun = whole(state.get("begun", count), "the number of lanes")
        self._remained = whole(state.get("remained", 0), "the number of lanes")
        self._grow_lanes()
        self._lane_of = np.full(64, NONE, np.uint32)
        self._make_table()

    def _grow_lanes(self) -> None:
        more = room_for(16, len(self.lengths)) - len(self.lengths)
        self.keys = np.concatenate([self.keys, np.zeros((more, self.keys.shape[1]), np.int64)])
        self.lengths = np.concatenate([self.lengths, np.zeros(more, np.int64)])

    def _make_table(self) -> None:
        """Makes a table that is at most half full: in a full one a search would never end."""
        size = 64
        while 2 * self.count >= size - 1:
            size *= 2 if size >= _LARGE_TABLE else 4
        self._table = np.full(size, -1, np.int32)
        used = np.ones(self.count, np.bool_)
        used[self._free[: self._free_count]] = False
        require(_enter(self.keys, used, self._table, SECRET), "lanes with equal keys")


def _words(column: Column) -> Ints:
    values = column.values
    if column.kind is Type.FLOAT:
        values = values + 0.0  # -0.0 is 0.0
    if may_be_null(column.nulls):
        values = np.where(column.nulls, 0, values)
    return np.ascontiguousarray(values).view(np.int64)


@kernel
def _look_up(codes: Any, done: int, lanes: Ints, numbers: Ints, lane_of: Any, lengths: Ints) -> tuple[int, int]:
    """Look up the lanes of codes until one has none; returns its row and the code, or -1 where all have lanes."""
    for i in range(np.uint64(done), np.uint64(codes.size)):
        code = codes[i]
        lane = np.uint64(lane_of[code]) if code < np.uint64(lane_of.size) else NONE
        if lane == NONE:
            return S(i), S(code)
        lanes[i] = np.int64(lane)
        numbers[i] = lengths[lane]
        lengths[lane] += 1
    return codes.size, -1


@kernel
def _enter(keys: Ints, used: Flags, table: Numbers, secret: Array) -> bool:
    """Enter the lanes in use into an empty table; False where two of them have the same key."""
    for lane in range(used.size):
        if not used[lane]:
            continue
        hashed = np.uint64(0)
        for k in range(keys.shape[1] // 2):
            hashed = keyed(hashed, keys[lane, 2 * k + 1] + keys[lane, 2 * k], secret)
        at = first_slot(hashed, table)
        while table[at] >= 0:
            same = True
            for k in range(keys.shape[1]):
                same = same and keys[table[at], k] == keys[lane, k]
            if same:
                return False
            at = next_slot(at, table)
        table[at] = lane
    return True


@kernel
def _assign_lanes(done: int, rows: LaneRows, table: LaneTable, count: int, free_count: int) -> tuple[int, int, int]:
    """Look up the lanes of rows from `done` on and enter new ones, until the table is half full or there is no room for
    a lane. Returns how many rows are done, how far the numbers of lanes reach, and how many of them are free."""
    (values, nulls, nonnull, lanes, numbers) = rows
    (slots, keys, lengths, free, secret) = table
    width = values.shape[0]
    for i in range(done, lanes.size):
        hashed = np.uint64(0)
        for k in range(width):
            hashed = keyed(hashed, values[k, i] + (0 if nonnull else nulls[k, i]), secret)
        at = first_slot(hashed, slots)
        lane = np.int64(-1)
        while True:
            lane = slots[at]
            if lane < 0:
                break
            same = True
            for k in range(width):
                if keys[lane, 2 * k + 1] != values[k, i] or keys[lane, 2 * k] != (0 if nonnull else nulls[k, i]):
                    same = False
                    break
            if same:
                break
            at = next_slot(at, slots)
        if lane < 0:
            if free_count > 0:
                free_count -= 1
                lane = np.int64(free[free_count])
            elif 2 * count >= slots.size - 1 or count >= lengths.size:
                return i, count, free_count
            else:
                lane = np.int64(count)
                count += 1
            for k in range(width):
                keys[lane, 2 * k + 1] = values[k, i]
                keys[lane, 2 * k] = 0 if nonnull else nulls[k, i]
            lengths[lane] = 0
            slots[at] = lane
        lanes[i] = lane
        numbers[i] = lengths[lane]
        lengths[lane] += 1
    return lanes.size, count, free_count
