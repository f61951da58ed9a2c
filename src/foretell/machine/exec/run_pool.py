"""The runs of one compiled NFA: cells, free list, lists of lanes, chains of nodes, timers, all as arrays that grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.events.types import Type
from foretell.machine.exec.kernel_variants import pool_kernel_for
from foretell.machine.exec.match_output import new_nodes
from foretell.machine.exec.run_chains import new_index, resized_index, start_round
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels import general, layout, run_checks, run_index, run_lists
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.structs import Lanes, Lockstep, Nodes, Output, RowBatch, RunIndex, Runs, Timers, Values
from foretell.plan.lower.program import CompiledNfa
from foretell.records import record
from foretell.storage.recorded_values import array, indices, require, times

_Struct = TypeVar("_Struct", Lanes, Nodes, Timers)

#: With more states a lane has a bit for each that may have runs, and events visit those alone.
MOST_VISITED = 64
_WORD = 64

#: So many arrays of lanes are in a snapshot; which states have runs follows from the lists.
_RECORDED = 4


@record
class RecordedRuns:
    """The limits that the runs of a snapshot must keep: how far their numbers may reach, how many rows the template
    has, of each state how many steps and gaps a match of it can have."""

    bounds: StateBounds
    lists: int
    rows: int
    steps: Ints
    gaps: Ints

    def check(
        self, nfa: CompiledNfa, used: Flags, cells: Ints, nulls: Any, lanes: Lanes, nodes: Nodes, timers: Timers
    ) -> NDArray[np.int32]:
        """Refuse runs with which a kernel could not go on; return how many each lane has."""
        bounds, tables = self.bounds, nfa.tables
        # A lane without a list would be out of reach, and so would a value.
        lists = min(len(lanes.heads), self.lists)
        stops = nfa.states, min(bounds.lanes, len(lanes.heads)), len(nodes.parent), lists, bounds.texts, self.rows
        slots = run_checks.SlotKinds(*(np.array(kind, np.int64) for kind in (nfa.positions, nfa.texts, nfa.lists)))
        lengths = np.zeros(len(lanes.heads), np.int32)
        # The lists of a strict NFA are made anew: it may have another kernel now.
        size = 0 if nfa.strict else len(cells)
        links, list_of = np.zeros(size, np.uint32), np.zeros(size, np.int64)
        key_slots = np.ascontiguousarray(tables.states[:, layout.STATE_KEY_SLOT])
        wrong = run_checks.check_cells(
            used, cells, nulls, stops, slots, bounds.held, key_slots, lengths, links, list_of
        )
        require(wrong == run_checks.FITS, "the partial matches")
        if not nfa.strict:
            wrong = run_checks.check_lists(used, links, list_of, lanes.heads)
            require(wrong == run_checks.FITS, "the lists of partial matches")
        wrong = run_checks.check_timers(used, cells, timers, tables.states[:, layout.STATE_WAITS] != 0)
        require(wrong == run_checks.FITS, "the timers")
        wrong = run_checks.check_chains(used, cells, nodes, bounds.held, self.steps, self.gaps)
        require(wrong == run_checks.FITS, "the repeated steps of partial matches")
        return lengths


_ARRAYS = frozenset({"cells", "nulls", "free", "lanes", "nodes", "timers", "index"})


class RunPool:
    """A run is a row of `cells` (see layout); `nulls` says which of them are NULL. Where runs carry rows of a template,
    an `index` finds them by their profiles."""

    def __init__(self, nfa: CompiledNfa, most_in_lane: int, *, rows: bool = False) -> None:
        self.nfa = nfa
        self._most_in_lane = most_in_lane
        self.time: type[np.generic] = np.float64 if nfa.time is Type.FLOAT else np.int64
        self.counters = np.zeros(layout.COUNTERS, np.int64)
        self.index: RunIndex | None = new_index(0) if rows else None
        self._sweep = pool_kernel_for(run_lists.sweep, rows=rows)
        self._pass_time = pool_kernel_for(general.pass_time, rows=rows)
        self.cells, self.nulls = self._new_cells(0)
        self.free: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.lanes = self._new_lanes(16)
        self.nodes = new_nodes(1024)
        self.timers = self._new_timers(16)
        self.kept_nodes = 0
        self.grow(64)

    def __setattr__(self, name: str, value: object) -> None:
        """Forgets what was made of the arrays when one of them is another."""
        object.__setattr__(self, name, value)
        if name in _ARRAYS:
            for made in ("arrays", "held", "nbytes", "steps"):
                self.__dict__.pop(made, None)

    @cached_property
    def arrays(self) -> Runs:
        """As the kernels take them."""
        registers = Values(self.cells.view(np.float64), self.cells, self.nulls)
        times = self.cells.view(self.time)
        return Runs(registers, times, self.free, self.lanes, self.nodes, self.timers, self.counters, self.index)

    @cached_property
    def held(self) -> Held[Runs]:
        """The same for the kernels that are called for each batch."""
        return Held(self.arrays)

    @cached_property
    def steps(self) -> Held[Lockstep]:
        """The same for the lockstep kernel, with the cells of a run that are its registers, and all cells in one
        dimension."""
        cells, slots = self.cells.reshape(-1), np.arange(layout.FIRST_SLOT, self.cells.shape[1], dtype=np.uint64)
        return Held(Lockstep(self.nfa.waiting, slots, Values(cells.view(np.float64), cells, self.nulls.reshape(-1))))

    @property
    def in_use(self) -> Ints:
        """The runs that are not free."""
        used = np.ones(len(self.cells), np.bool_)
        used[self.free[: self.counters[layout.FREE]]] = False
        return np.flatnonzero(used)

    @property
    def alive(self) -> int:
        """How many runs there are."""
        return len(self.cells) - int(self.counters[layout.FREE])

    @property
    def oldest(self) -> int | None:
        """The position of the earliest first event of a run; None where there is no run."""
        used = self.in_use
        return int(self.cells[used, layout.RUN_FIRST].min()) if len(used) else None

    @property
    def timed(self) -> Ints:
        """The runs that become matches when their windows have passed."""
        count = int(self.counters[layout.TIMERS])
        runs = self.timers.owner[:count].astype(np.int64)
        same = self.cells[runs, layout.RUN_SERIAL] == self.timers.serial[:count]
        return np.asarray(runs[same & (self.cells[runs, layout.RUN_OVER] != layout.DEAD)])

    @cached_property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        columns = (self.cells, self.nulls, self.free, *self.lanes, *self.nodes, *self.timers, *(self.index or ()))
        return sum(column.nbytes for column in columns)

    def rows_within(self, memory: int) -> int:
        """How many runs the pool can grow by with so many bytes more: growing copies, so old and new rows count."""
        width = self.cells.shape[1]
        row = int(width * (self.cells.itemsize + self.nulls.itemsize) + self.free.itemsize)
        row += 0 if self.index is None else self.index.links[:1].nbytes + self.index.buckets.itemsize
        return memory // row - len(self.cells)

    def referenced(self) -> Ints:
        """The positions of all events that runs have bound."""
        self.forget_nodes(always=True)
        used, slots = self.in_use, list(self.nfa.positions)
        bound = self.cells[used][:, slots][self.nulls[used][:, slots] == 0]
        nodes = self.nodes.position[: self.counters[layout.NODES]]
        return np.concatenate([self.cells[used, layout.RUN_FIRST], bound, nodes])

    # ── room ──

    def _new_cells(self, size: int) -> tuple[Ints, NDArray[np.uint8]]:
        width = layout.FIRST_SLOT + self.nfa.slots
        return np.zeros((size, width), np.int64), np.ones((size, width), np.uint8)

    def _new_lanes(self, count: int) -> Lanes:
        never = -np.inf if self.time is np.float64 else np.iinfo(np.int64).min
        lists = 1 if self.nfa.strict and not self.nfa.lockstep else max(1, self.nfa.states)
        return Lanes(
            heads=np.full((count, lists), layout.NONE, np.uint32),
            lengths=np.zeros(count, np.int32),
            limits=np.full(count, self._most_in_lane, np.int64),
            instants=np.full(count if self.nfa.tables.simultaneous else 1, never, self.time),
            occupied=np.zeros((count, self._words), np.uint64),
        )

    @property
    def has_many_states(self) -> bool:
        """Whether lanes note which of their states have runs."""
        return self._words > 0

    @property
    def _words(self) -> int:
        """The words of a lane's states with runs. Where runs are listed by a key, none: a lane has several lists."""
        listed = self.nfa.strict or bool((self.nfa.tables.states[:, layout.STATE_KEY] != layout.NONE).any())
        return 0 if listed or self.nfa.states <= MOST_VISITED else -(-self.nfa.states // _WORD)

    def _occupied(self, heads: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """The states with runs, by the lists."""
        bits = np.zeros((len(heads), self._words * _WORD), np.bool_)
        if bits.size:
            bits[:, : heads.shape[1]] = heads != layout.NONE
        return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)

    def _new_timers(self, size: int) -> Timers:
        return Timers(np.zeros(size, self.time), np.zeros(size, np.uint32), np.zeros(size, np.int64))

    def grow(self, by: int) -> None:
        """Make room for more runs. They are used after all before them, so that snapshots stay short."""
        if by <= 0:
            return
        old = len(self.cells)
        cells, nulls = self._new_cells(by)
        self.cells, self.nulls = np.concatenate([self.cells, cells]), np.concatenate([self.nulls, nulls])
        new = np.arange(old + by - 1, old - 1, -1, dtype=np.uint32)
        self.free = np.concatenate([new, self.free])
        self.counters[layout.FREE] += by
        self._fit_index()

    def trim(self) -> None:
        """Give back the free rows behind the last that is in use or has a timer, where they are most of all."""
        size = max(64, self._used_size())
        if 2 * size > len(self.cells):
            return
        self.cells, self.nulls = self.cells[:size].copy(), self.nulls[:size].copy()
        free = self.free[: self.counters[layout.FREE]]
        free = free[free < size]
        self.free = np.zeros(size, self.free.dtype)
        self.free[: len(free)] = free
        self.counters[layout.FREE] = len(free)
        self._fit_index()

    def _fit_index(self) -> None:
        """Gives the index as much room as there is for runs."""
        if self.index is not None:
            self.index = resized_index(self.index, len(self.cells), self.in_use, self.cells)

    def index_rows(self, rows: RowBatch) -> None:
        """Makes the index of runs that carry these rows anew, each of them one at least."""
        used = self.in_use
        require(bool((self.cells[used, layout.RUN_ROWS] & layout.ROWS_COUNT > 0).all()), "the rows of partial matches")
        self.index = new_index(len(self.cells))
        start_round(self.index, used)
        run_index.index_runs(used, self.cells, rows, self.index)

    def _used_size(self) -> int:
        timed = self.timers.owner[: self.counters[layout.TIMERS]].astype(np.int64)
        return 1 + int(max(self.in_use.max(initial=-1), timed.max(initial=-1)))

    def grow_lanes(self, count: int) -> None:
        """Make room for lists of so many lanes."""
        known = len(self.lanes.heads)
        if count > known:
            self.lanes = _joined(self.lanes, self._new_lanes(room_for(count, known) - known))

    def grow_nodes(self) -> None:
        self.nodes = _joined(self.nodes, new_nodes(len(self.nodes.parent)))

    def grow_timers(self) -> None:
        self.timers = _joined(self.timers, self._new_timers(len(self.timers.due)))

    def reserve(self, runs: int, nodes: int) -> None:
        """Make room for so many runs more, and for so many nodes where there are chains."""
        self.grow(runs - int(self.counters[layout.FREE]))
        lacking = nodes - (len(self.nodes.parent) - int(self.counters[layout.NODES]))
        if self.nfa.chains and lacking > 0:
            self.nodes = _joined(self.nodes, new_nodes(lacking))

    # ── change ──

    def adopt(self, nfa: CompiledNfa) -> None:
        """Go on with an NFA that has states and slots more, and perhaps some that are dead."""
        lists = nfa.states - self.nfa.states
        cells, nulls = self.cells, self.nulls
        self.nfa = nfa
        self.cells, self.nulls = self._new_cells(len(cells))
        self.cells[:, : cells.shape[1]], self.nulls[:, : cells.shape[1]] = cells, nulls
        if nfa.strict:
            self.link_runs()
        else:
            heads = np.pad(self.lanes.heads, ((0, 0), (0, lists)), constant_values=layout.NONE)
            self.lanes = self.lanes._replace(heads=heads, occupied=self._occupied(heads))

    def link_runs(self) -> None:
        """Make the lists of a strict NFA anew, as its kernel needs them: it may be another kernel now."""
        heads = self._new_lanes(len(self.lanes.heads)).heads
        run_lists.link_runs(self.in_use, self.cells, heads)
        self.lanes = self.lanes._replace(heads=heads)

    def count_lanes(self) -> None:
        """Count the runs of each lane anew."""
        lanes = self.cells[self.in_use, layout.RUN_LANE]
        self.lanes.lengths[:] = np.bincount(lanes, minlength=len(self.lanes.lengths))
        longest = self.lanes.lengths.max(initial=0)
        self.counters[layout.LONGEST] = max(self.counters[layout.LONGEST], longest)

    def lanes_of_runs(self, now: int | float) -> Ints:
        """The lanes that have runs, are stopped, or have had an event at `now`, where that makes a difference."""
        lanes = self.lanes
        stopped = np.flatnonzero(lanes.lengths < 0)
        current = np.flatnonzero(lanes.instants >= now) if self.nfa.tables.simultaneous else stopped
        return np.concatenate([self.cells[self.in_use, layout.RUN_LANE], stopped, current])

    def lists_of_runs(self) -> Ints:
        """The numbers of the lists that runs are in, or will be."""
        used, slots = self.in_use, list(self.nfa.lists)
        later = self.cells[used][:, slots][self.nulls[used][:, slots] == 0]
        return np.concatenate([self.cells[used, layout.RUN_LIST], later])

    def free_lanes(self, freed: Ints) -> None:
        """Lanes that have no runs begin anew. Their lists are empty: when a run ends, it leaves its list."""
        freed = freed[freed < len(self.lanes.heads)]
        self.lanes.limits[freed] = self._most_in_lane
        if self.nfa.tables.simultaneous:
            self.lanes.instants[freed] = self._new_lanes(1).instants

    def pass_time(self, now: int | float, output: Output) -> bool:
        """Write the matches that time completes; False where there is no room for one more."""
        return bool(self._pass_time(now, self.nfa.tables, self.arrays, output))

    def sweep(self, now: int | float) -> int:
        """Free the runs that can come to nothing; return how many."""
        dead = (~self.nfa.alive).astype(np.uint8)
        return int(self._sweep(self.time(now), self.nfa.strict, self.nfa.tables, self.arrays, self.in_use, dead))

    def remove(self, runs: Ints, now: int | float) -> None:
        """Free some runs."""
        self.cells[runs, layout.RUN_OVER] = layout.DEAD
        self.sweep(now)
        self.counters[layout.LONGEST] = max(0, int(self.lanes.lengths.max()))

    def forget_nodes(self, *, always: bool = False) -> None:
        """Let go of the nodes that no run leads to, once they are most of all.

        Matches that were handed over lead to the old nodes, which stay with them: the new ones are other arrays.
        """
        used = int(self.counters[layout.NODES])
        if not self.nfa.chains or (used < self.kept_nodes * 2 + 1024 and not always):
            return
        nodes = new_nodes(max(1024, used + used // 4))  # about as many will come again
        chains = self.cells[:, layout.RUN_CHAIN]
        self.kept_nodes = run_lists.keep_nodes(used, self.in_use, chains, self.nodes, nodes)
        self.counters[layout.NODES] = self.kept_nodes
        self.nodes = nodes

    # ── state ──

    def state(self) -> dict[str, Any]:
        """All as arrays. Of the runs those up to the last that is in use or has a timer: by its serial number a timer
        knows whether the run still is the same."""
        nodes, timers = int(self.counters[layout.NODES]), int(self.counters[layout.TIMERS])
        size = self._used_size()
        free = self.free[: self.counters[layout.FREE]]
        return {
            "counters": self.counters,
            "cells": self.cells[:size],
            "nulls": self.nulls[:size],
            "free": free[free < size],
            "lanes": list(self.lanes)[:_RECORDED],
            "nodes": [column[:nodes] for column in self.nodes],
            "timers": [column[:timers] for column in self.timers],
            "kept_nodes": self.kept_nodes,
        }

    def restore(self, state: Mapping[str, Any], recorded: RecordedRuns) -> None:
        """Go on from a state of the same NFA. Arrays take the types that this version has for them."""
        size, width = len(state["cells"]), layout.FIRST_SLOT + self.nfa.slots
        cells = array(state["cells"], np.int64, (size, width), "the partial matches")
        nulls = array(state["nulls"], np.uint8, (size, width), "the partial matches")
        free = indices(state["free"], size, "the free places")
        used = np.ones(size, np.bool_)
        used[free] = False
        require(len(free) == size - int(used.sum()), "the free places")
        lanes = self._recorded_lanes(state["lanes"])
        nodes = Nodes(
            *(array(n, old.dtype, (None,), "the nodes") for n, old in zip(state["nodes"], self.nodes, strict=True))
        )
        require(len({len(column) for column in nodes}) == 1, "the nodes")
        timers = Timers(
            *(array(t, old.dtype, (None,), "the timers") for t, old in zip(state["timers"], self.timers, strict=True))
        )
        require(len({len(column) for column in timers}) == 1, "the timers")
        lengths = recorded.check(self.nfa, used, cells, nulls, lanes, nodes, timers)
        self.cells, self.nulls = cells, nulls
        self.counters[:] = 0
        self.counters[[layout.FREE, layout.NODES, layout.TIMERS]] = len(free), len(nodes.parent), len(timers.due)
        self.free = np.zeros(size, self.free.dtype)
        self.free[: len(free)] = free
        self.grow(max(64, size))
        self.lanes = lanes
        if self.nfa.strict:
            self.link_runs()
        refused = lanes.lengths < 0
        require(not lengths[refused].any(), "the lanes that are stopped")
        self.counters[layout.LONGEST] = lengths.max(initial=0)
        self.lanes.limits[:] = np.where(lengths > self._most_in_lane, 2 * lengths.astype(np.int64), self._most_in_lane)
        self.lanes.lengths[:] = np.where(refused, -1, lengths)
        self.nodes = _joined(nodes, new_nodes(1024))
        self.timers = _joined(timers, self._new_timers(16))
        self.kept_nodes = len(nodes.parent)

    def _recorded_lanes(self, state: Sequence[NDArray[Any]]) -> Lanes:
        heads, lengths, limits, instants = state
        like = self._new_lanes(0)
        lists = None if self.nfa.strict else like.heads.shape[1]
        heads = array(heads, like.heads.dtype, (None, lists), "the lists of runs")
        count = len(heads)
        require(count > 0, "the lists of runs")
        return Lanes(
            heads=heads,
            lengths=array(lengths, like.lengths.dtype, (count,), "the lanes of runs"),
            limits=array(limits, like.limits.dtype, (count,), "the lanes of runs"),
            instants=times(
                instants, like.instants.dtype, (count if self.nfa.tables.simultaneous else None,), "the lanes of runs"
            ),
            occupied=self._occupied(heads),
        )


def _joined(first: _Struct, second: _Struct) -> _Struct:
    return type(first)(*(np.concatenate(columns) for columns in zip(first, second, strict=True)))
