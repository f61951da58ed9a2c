"""What a run over events leaves behind for one subscription: how its partial matches went on, event by event.

A *process* is what has a forecast of its own: a lane, or a lane and a binding of variables. Its *configuration* is the
set of the machine's states in which it has partial matches, as a bit mask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words

#: Stands for a column that was left out, until the trace is made and fills it.
_LEFT_OUT: Any = None

#: Codes below this have a table of their own.
_SMALL = 1 << 22


@dataclass(frozen=True)
class Trace:
    """Columns of equal length, rows in the order of the events.

    `process` counts from 0; `ordinal` is the event's number in its lane, so that a gap between two rows of a process
    are events which did not concern it; `state` is the configuration after the event; `symbol` says what kind of event
    it was; `matched`, whether it completed a match. `number` is the event's number in the whole stream, by which what
    is old loses weight; left out, it is the row.

    `keys` has the JSON text of the lane's key for each process. With `starts`, a process had the configuration 0 before
    its first row; without, nothing led to its first row. `seen_ordinal` and `seen_time` say for each process how far
    its lane was seen; left out, as far as its last row. (A binding whose last event is long past has stayed where it
    was ever since, and that must count, or it would seem that whoever waits is soon served.)
    """

    process: Ints
    ordinal: Ints
    time: Floats
    state: Words
    matched: Flags
    symbol: Ints = _LEFT_OUT
    number: Ints = _LEFT_OUT
    keys: tuple[str, ...] = ()
    starts: bool = True
    seen_ordinal: Ints = _LEFT_OUT
    seen_time: Floats = _LEFT_OUT

    def __post_init__(self) -> None:
        rows = len(self.process)
        keep = object.__setattr__  # the usual way round `frozen`
        for name, kind in _COLUMNS.items():
            column = getattr(self, name)
            if column is None:
                column = np.arange(rows) if name == "number" else np.zeros(rows, np.int64)
            column = np.ascontiguousarray(column, kind)
            if column.shape != (rows,):
                raise ValueError(f"the column {name} has the shape {column.shape}, there are {rows} rows")
            keep(self, name, column)
        if rows and self.process.min() < 0:
            raise ValueError("processes are numbered from 0")
        if not np.isfinite(self.time).all():
            raise ValueError("a time is not a finite number")
        processes = max(len(self.keys), int(self.process.max()) + 1 if rows else 0)
        if self.keys and len(self.keys) < processes:
            raise ValueError(f"there are {processes} processes and {len(self.keys)} keys")
        if not self.keys:
            keep(self, "keys", ("null",) * processes)
        for name, column in (("seen_ordinal", self.ordinal), ("seen_time", self.time)):
            seen = getattr(self, name)
            if seen is None:
                seen = np.zeros(processes, column.dtype)
                seen[self.process] = column  # the last of a process stays
            if len(seen) != processes:
                raise ValueError(f"{name} speaks of {len(seen)} processes, there are {processes}")
            keep(self, name, np.ascontiguousarray(seen, column.dtype))

    def __len__(self) -> int:
        return len(self.process)

    @property
    def processes(self) -> int:
        return len(self.keys)

    @cached_property
    def lanes(self) -> Ints:
        """The lane of each process: a number for each distinct key, in the order in which they come."""
        place: dict[str, int] = {}
        return np.array([place.setdefault(key, len(place)) for key in self.keys], np.int64)

    def until(self, rows: int) -> Trace:
        """What was known after so many rows: a lane was then seen as far as its latest row, whosever it was."""
        columns = {name: getattr(self, name)[:rows] for name in _COLUMNS}
        for name, column in (("seen_ordinal", self.ordinal), ("seen_time", self.time)):
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


@dataclass(frozen=True)
class Steps:
    """The rows of a trace, process after process, each with what came before it.

    `row` is the row in the trace; `process` and `state` are its own; `source` is the configuration before the event;
    `first` and `last` mark where a process begins and ends; `idle` counts the events before this one that did not
    concern the process.
    """

    row: Ints
    process: Ints
    state: Words
    source: Words
    first: Flags
    last: Flags
    idle: Ints

    @classmethod
    def of(cls, trace: Trace) -> Steps:
        row = _by_process(trace)
        process, state = trace.process[row], trace.state[row]
        first = np.ones(len(row), np.bool_)
        first[1:] = process[1:] != process[:-1]
        last = np.ones(len(row), np.bool_)
        last[:-1] = first[1:]
        ordinal = trace.ordinal[row]
        idle = np.where(first, 0, ordinal - _shifted(ordinal, first) - 1)
        if idle.min(initial=0) < 0:
            raise ValueError("the ordinals of a process do not rise")
        return cls(row, process, state, _shifted(state, first), first, last, idle)


def summed(place: Ints, amount: Floats, places: int) -> Floats:
    """What falls on each place. (Without amounts NumPy would count integers; its types do not tell.)"""
    total: Any = np.bincount(place, amount, places)
    return np.asarray(total, np.float64)


def distinct(code: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct codes, and for each code its place among them. All are below `size`; if that is small, there is no
    need to search (ten million codes take a tenth of the time)."""
    if size > _SMALL:
        codes = np.unique(code)
        return codes, np.searchsorted(codes, code)
    present = np.zeros(size, np.bool_)
    present[code] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[code]


def furthest(states: Words) -> Words:
    """The highest bit of each configuration alone.

    >>> furthest(np.array([0, 1, 6, 2**63 + 1], np.uint64)).tolist() == [0, 1, 4, 2**63]
    True
    """
    spread = states.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        spread |= spread >> np.uint64(distance)
    return spread ^ (spread >> np.uint64(1))


def places(states: Words, asked: Words) -> Ints:
    """Where each configuration asked for stands in `states`, which is sorted. One that is not there is taken as its
    furthest partial match alone; -1 where that is not there either.

    >>> places(np.array([0, 2, 5], np.uint64), np.array([5, 3, 4, 0], np.uint64)).tolist()
    [2, 1, -1, 0]
    """
    found = np.full(len(asked), -1)
    for wanted in (furthest(asked), asked) if len(states) else ():
        number = np.minimum(np.searchsorted(states, wanted), len(states) - 1)
        found = np.where(states[number] == wanted, number, found)
    return found


def _by_process(trace: Trace) -> Ints:
    """The rows, process after process, each in its order. (NumPy sorts short integers by radix, much quicker.)"""
    short = trace.processes <= 1 << 16
    return np.argsort(trace.process.astype(np.uint16) if short else trace.process, kind="stable")


def _shifted(column: NDArray[Any], first: Flags) -> NDArray[Any]:
    """What stood in the row before of the same process; 0 where there is none."""
    before = np.zeros_like(column)
    before[1:] = column[:-1]
    before[first] = 0
    return before
