"""The trace of a subscription: the states of its partial matches after each event.

A *process* is the unit that has forecasts of its own: a lane, or a lane and a binding of variables. Its
*configuration* is the set of NFA states that its partial matches are in, as a bit mask.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.records import record

#: The default of optional columns, which `__post_init__` fills in.
_OMITTED: Any = None

#: Codes below this are looked up in a table instead of sorted.
_TABLE_SIZE = 1 << 22


@record
class Trace:
    """Columns of equal length, with rows in the order of the events.

    `process` counts from 0. `ordinal` is the event's number in its lane: a gap between two rows of a process stands for
    events that did not concern it. `state` is the configuration after the event, `symbol` the kind of event, `matched`
    whether it completed a match. `number` is the event's number in the whole stream, by which old events lose weight;
    it defaults to the row.

    `keys` has for each process the JSON text of its lane's key. With `starts`, a process had configuration 0 before its
    first row; without, no transition led to its first row. `last_ordinal` and `last_time` say for each process how far
    its lane was observed; they default to its last row. (A binding whose last event is long past has stayed in its
    configuration since. Not counting that would make waits seem short.)
    """

    process: Ints
    ordinal: Ints
    time: Floats
    state: Words
    matched: Flags
    symbol: Ints = _OMITTED
    number: Ints = _OMITTED
    keys: tuple[str, ...] = ()
    starts: bool = True
    last_ordinal: Ints = _OMITTED
    last_time: Floats = _OMITTED

    def __post_init__(self) -> None:
        rows = len(self.process)
        assign = object.__setattr__  # the dataclass is frozen
        for name, kind in _COLUMNS.items():
            column = getattr(self, name)
            if column is None:
                column = np.arange(rows) if name == "number" else np.zeros(rows, np.int64)
            column = np.ascontiguousarray(column, kind)
            if column.shape != (rows,):
                raise ValueError(f"the column {name} has the shape {column.shape}, but there are {rows} rows")
            assign(self, name, column)
        if rows and self.process.min() < 0:
            raise ValueError("processes are numbered from 0")
        if not np.isfinite(self.time).all():
            raise ValueError("a time is not a finite number")
        processes = max(len(self.keys), int(self.process.max()) + 1 if rows else 0)
        if self.keys and len(self.keys) < processes:
            raise ValueError(f"there are {processes} processes, but {len(self.keys)} keys")
        if not self.keys:
            assign(self, "keys", ("null",) * processes)
        for name, column in (("last_ordinal", self.ordinal), ("last_time", self.time)):
            last = getattr(self, name)
            if last is None:
                last = np.zeros(processes, column.dtype)
                last[self.process] = column  # of repeated indices the last one is assigned
            if len(last) != processes:
                raise ValueError(f"{name} has {len(last)} values, but there are {processes} processes")
            assign(self, name, np.ascontiguousarray(last, column.dtype))

    def __len__(self) -> int:
        return len(self.process)

    @property
    def processes(self) -> int:
        return len(self.keys)

    @cached_property
    def lanes(self) -> Ints:
        """The lane of each process: distinct keys are numbered in the order in which they appear."""
        number_of: dict[str, int] = {}
        return np.array([number_of.setdefault(key, len(number_of)) for key in self.keys], np.int64)

    def until(self, rows: int) -> Trace:
        """The trace as it was after the first `rows` rows: each lane had then been observed up to its latest row."""
        columns = {name: getattr(self, name)[:rows] for name in _COLUMNS}
        for name, column in (("last_ordinal", self.ordinal), ("last_time", self.time)):
            latest = np.zeros(self.lanes.max(initial=-1) + 1, column.dtype)
            latest[self.lanes[self.process[:rows]]] = column[:rows]
            columns[name] = np.minimum(getattr(self, name), latest[self.lanes])
        return replace(self, **columns)


_COLUMNS: dict[str, type[np.generic]] = {
    "process": np.int64,
    "ordinal": np.int64,
    "time": np.float64,
    "state": np.uint64,
    "matched": np.bool_,
    "symbol": np.int64,
    "number": np.int64,
}


@record
class TraceTransitions:
    """The rows of a trace sorted by process, each with the configuration before it.

    `row` is the row in the trace; `process` and `state` are those of the row; `source` is the configuration before the
    event; `first` and `last` mark the ends of a process; `idle` counts the events before this one that did not concern
    the process.
    """

    row: Ints
    process: Ints
    state: Words
    source: Words
    first: Flags
    last: Flags
    idle: Ints

    @classmethod
    def of(cls, trace: Trace) -> TraceTransitions:
        row = _rows_by_process(trace)
        process, state = trace.process[row], trace.state[row]
        first = np.ones(len(row), np.bool_)
        first[1:] = process[1:] != process[:-1]
        last = np.ones(len(row), np.bool_)
        last[:-1] = first[1:]
        ordinal = trace.ordinal[row]
        idle = np.where(first, 0, ordinal - _previous(ordinal, first) - 1)
        if idle.min(initial=0) < 0:
            raise ValueError("the ordinals of a process do not rise")
        return cls(row, process, state, _previous(state, first), first, last, idle)


def weighted_bincount(place: Ints, weight: Floats, places: int) -> Floats:
    """`np.bincount` with weights. (Its declared type is that of a count.)"""
    total: Any = np.bincount(place, weight, places)
    return np.asarray(total, np.float64)


def unique_codes(code: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct codes, and the place of each code among them, as `np.unique(return_inverse=True)`.

    All codes are below `size`. If that is small, a table replaces sorting: ten million codes take a tenth of the time.
    """
    if size > _TABLE_SIZE:
        codes = np.unique(code)
        return codes, np.searchsorted(codes, code)
    present = np.zeros(size, np.bool_)
    present[code] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[code]


def furthest(states: Words) -> Words:
    """The highest bit of each configuration: that of its most advanced partial match.

    >>> furthest(np.array([0, 1, 6, 2**63 + 1], np.uint64)).tolist() == [0, 1, 4, 2**63]
    True
    """
    spread = states.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        spread |= spread >> np.uint64(distance)
    return spread ^ (spread >> np.uint64(1))


def find_configurations(states: Words, wanted: Words) -> Ints:
    """The index of each wanted configuration in `states`, which is sorted. An unknown configuration backs off to its
    most advanced partial match alone; -1 where that is unknown too.

    >>> find_configurations(np.array([0, 2, 5], np.uint64), np.array([5, 3, 4, 0], np.uint64)).tolist()
    [2, 1, -1, 0]
    """
    index = np.full(len(wanted), -1)
    for candidate in (furthest(wanted), wanted) if len(states) else ():
        number = np.minimum(np.searchsorted(states, candidate), len(states) - 1)
        index = np.where(states[number] == candidate, number, index)
    return index


def _rows_by_process(trace: Trace) -> Ints:
    """The rows sorted by process, each process in order. (NumPy sorts 16-bit integers by radix, which is faster.)"""
    short = trace.processes <= 1 << 16
    return np.argsort(trace.process.astype(np.uint16) if short else trace.process, kind="stable")


def _previous(column: NDArray[Any], first: Flags) -> NDArray[Any]:
    """The value in the previous row of the same process; 0 in its first row."""
    before = np.zeros_like(column)
    before[1:] = column[:-1]
    before[first] = 0
    return before
