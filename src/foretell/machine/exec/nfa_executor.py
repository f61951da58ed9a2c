"""One machine at work: the instances of its lanes, and room for them to grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Arrays, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.filter.predicates import EventColumns, evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import TemplateIndex
from foretell.jit import read_only
from foretell.language.tree import Expression, Literal, Moment, Parameter
from foretell.machine.exec.limits import Limits, RunLedger, relieve_engine, relieve_lane
from foretell.machine.exec.reverse_scan import ReverseScan
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.occurrence_counters import OccurrenceCounters
from foretell.machine.kernels import general, layout, lockstep, strict
from foretell.machine.matches.exclusions import NO_EXCLUSION
from foretell.machine.observe.observer import Probe
from foretell.plan.expressions import (
    Disjunction,
    EventStart,
    EveryNth,
    IndexKey,
    PresenceFlag,
    RowSelected,
    map_children,
)
from foretell.plan.lower.program import CompiledNfa
from foretell.plan.nfa.decomposition import Decomposition

#: So many matches are written before they are put aside: their buffer stays in the cache.
OUTPUT = 8192


#: What is written down of a match besides its slots, by size so that all stands aligned: see binding.
WORDS = (("i8", None), ("i8", None), ("i4", None), ("i4", None), ("i4", None), ("i4", None))


@dataclass(frozen=True)
class RawMatches:
    """Matches as the kernel found them, in the order of their last events (-1: time completed it).

    `slots` are the registers that are asked for; `chain` leads to the events of its repeated steps, in `nodes`.
    """

    state: Ints
    lane: Ints
    position: Ints
    first: Ints
    chain: Ints
    rows: Ints
    slots: Ints
    nulls: NDArray[np.uint8]
    nodes: Arrays

    def __len__(self) -> int:
        return len(self.lane)

    @classmethod
    def joined(cls, parts: list[RawMatches]) -> RawMatches:
        """Those of several batches, whose events are known already: their chains lead nowhere."""
        columns: Any = [replace(p, chain=np.full(len(p), -1)).columns for p in parts]
        whole: Any = (*map(np.concatenate, zip(*columns, strict=True)), parts[-1].nodes)
        return cls(*whole)

    def only(self, keep: NDArray[np.bool_] | Ints | slice) -> RawMatches:
        return RawMatches(*(*(column[keep] for column in self.columns), self.nodes))

    @property
    def columns(self) -> tuple[Any, ...]:
        return self.state, self.lane, self.position, self.first, self.chain, self.rows, self.slots, self.nulls


class Furthest(Protocol):
    """Partial matches by the position of the event after which each was the furthest of its process."""

    @property
    def position(self) -> Ints: ...

    def __len__(self) -> int: ...

    def only(self, keep: Ints, /) -> RawMatches: ...


@dataclass(frozen=True)
class _Noticed:
    """The furthest partial matches of a batch, put together only where somebody is told of one."""

    put_together: Callable[[], RawMatches]

    @cached_property
    def found(self) -> RawMatches:
        return self.put_together()

    @property
    def position(self) -> Ints:
        return self.found.position

    def __len__(self) -> int:
        return len(self.found)

    def only(self, keep: Ints, /) -> RawMatches:
        return self.found.only(keep)


@dataclass(frozen=True)
class Observation:
    """Of each event of a batch its process, the configuration after it and, where there is one, the furthest partial
    match, as if it had been found with that event. Processes are lanes unless values tell them apart. `words` are those
    of the parts that are looked at, where there are such."""

    process: Ints
    by_value: bool
    configuration: NDArray[np.uint64]
    furthest: Furthest
    parts: Decomposition | None = None
    words: NDArray[np.uint64] | None = None


@dataclass
class NfaExecutor:
    """The state of one machine. All of it is arrays."""

    machine: CompiledNfa
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: TemplateIndex | None = None
    ordinals: OccurrenceCounters = field(default_factory=OccurrenceCounters)
    ledger: RunLedger = field(default_factory=RunLedger)
    sight: Probe | None = None

    def __post_init__(self) -> None:
        self._time = np.float64 if self.machine.time is Type.FLOAT else np.int64
        self.refused: dict[tuple[int, int], int] = {}  # subscriptions, by their numbers, and lanes: from which event on
        self.refusals: list[tuple[int, int, int]] = []  # those not told yet
        self.dropped: dict[int, int] = {}
        self.counters = np.zeros(layout.COUNTERS, np.int64)
        self.cells, self.nulls = self._new_cells(0)
        self._free: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.lanes: Arrays = self._new_lanes(16)
        self.nodes: Arrays = _new_nodes(1024)
        self.timers: Arrays = self._new_timers(16)
        self.tables: dict[Type, LaneIndex] = {}
        self.kept_nodes = 0
        self.now: int | float | None = None
        self.partial: Observation | None = None
        self.excluding = NO_EXCLUSION  # what those who watch do not see of the next batch
        self._expected = OUTPUT
        self._output = self._new_output(OUTPUT)
        self._noticed = self._new_output(0)  # what a batch shows to those who watch, until the next
        self._fates = ReverseScan(self.machine)
        self.grow_pool(64)

    # ── arrays ──

    def _new_cells(self, size: int) -> Arrays:
        """Room for instances: a row of cells each (see binding), and which of them are NULL."""
        width = layout.FIRST_SLOT + self.machine.slots
        return np.zeros((size, width), np.int64), np.ones((size, width), np.uint8)

    def _new_lanes(self, count: int) -> Arrays:
        """The first instance at each state; how many in all and how many may be; the time of the instant."""
        never = -np.inf if self._time is np.float64 else np.iinfo(np.int64).min
        lists = 1 if self.machine.strict and not self.machine.plain else max(1, self.machine.states)
        return (
            np.full((count, lists), layout.NONE, np.uint32),
            np.zeros(count, np.int32),
            np.full(count, self.limits.lane, np.int64),
            np.full(count if self.machine.simultaneous else 1, never, self._time),
        )

    def _new_timers(self, size: int) -> Arrays:
        return np.zeros(size, self._time), np.zeros(size, np.uint32), np.zeros(size, np.int64)

    def _new_output(self, size: int) -> Arrays:
        finals = self.machine.finals
        return _in_one_block(size, *WORDS, ("i8", finals), ("u1", finals))

    def grow_pool(self, by: int) -> None:
        """Room for more instances, which is taken when all before it is: what is written down then stays short."""
        if by <= 0:
            return
        old = len(self.cells)
        self.cells, self.nulls = _joined((self.cells, self.nulls), self._new_cells(by))
        new = np.arange(old + by - 1, old - 1, -1, dtype=np.uint32)
        self._free = np.concatenate([new, self._free])
        self.counters[layout.FREE] += by

    def make_room_for(self, more: int, matches: int, nodes: int) -> None:
        """Room for so many instances more, for so many matches, and for so many nodes of what has been bound."""
        self.grow_pool(more - int(self.counters[layout.FREE]))
        if matches > len(self._output[0]):
            self._output = self._new_output(matches)
        lacking = nodes - (len(self.nodes[0]) - int(self.counters[layout.NODES]))
        if self.machine.chains and lacking > 0:
            self.nodes = _joined(self.nodes, _new_nodes(lacking))

    def _room_for_lanes(self, count: int) -> None:
        known = len(self.lanes[0])
        if count > known:
            self.lanes = _joined(self.lanes, self._new_lanes(max(count, 2 * known) - known))

    def adopt(self, machine: CompiledNfa) -> None:
        """Goes on with a machine that has states, slots and finals more, and perhaps some that are dead."""
        lists = machine.states - self.machine.states
        cells, nulls = self.cells, self.nulls
        self.machine, self._fates = machine, ReverseScan(machine)
        self.cells, self.nulls = self._new_cells(len(cells))
        self.cells[:, : cells.shape[1]], self.nulls[:, : cells.shape[1]] = cells, nulls
        if machine.strict:
            self.enlist()
        else:
            heads, *lengths = self.lanes
            self.lanes = (np.pad(heads, ((0, 0), (0, lists)), constant_values=layout.NONE), *lengths)
        self._output, self._noticed = self._new_output(len(self._output[0])), self._new_output(0)
        if not machine.alive.all():
            self.sweep()

    def enlist(self) -> None:
        """Makes the lists of a strict machine anew, as its kernel wants them: it may be another one now."""
        heads = self._new_lanes(len(self.lanes[0]))[0]
        general.enlist(self.in_use, self.cells, heads)
        self.lanes = (heads, *self.lanes[1:])

    def move_rows(self, selection: TemplateIndex, move: Callable[[Ints], Ints]) -> None:
        """Goes on with other rows of its template: `move` says where those of an interval stand now."""
        self.selection = selection
        used = self.in_use
        self.cells[used, layout.RUN_ROWS] = move(self.cells[used, layout.RUN_ROWS])

    @property
    def in_use(self) -> Ints:
        """The instances that are not free."""
        used = np.ones(len(self.cells), np.bool_)
        used[self._free[: self.counters[layout.FREE]]] = False
        return np.flatnonzero(used)

    @property
    def limits(self) -> Limits:
        return self.ledger.limits

    @property
    def alive(self) -> int:
        """How many partial matches there are."""
        return len(self.cells) - int(self.counters[layout.FREE])

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that an instance has bound; None where there is no instance."""
        used = self.in_use
        return int(self.cells[used, layout.RUN_FIRST].min()) if len(used) else None

    def referenced(self) -> Ints:
        """The positions of all events that instances have bound."""
        self._forget_nodes(always=True)
        used, slots = self.in_use, list(self.machine.positions)
        bound = self.cells[used][:, slots][self.nulls[used][:, slots] == 0]
        nodes = self.nodes[1][: self.counters[layout.NODES]]
        return np.concatenate([self.cells[used, layout.RUN_FIRST], bound, nodes])

    # ── a batch ──

    def feed(self, piece: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        """The matches that the events of a batch complete, and those that time completes by `now`."""
        times = piece.events.time.values
        if self._expected > len(self._output[0]):
            self._output = self._new_output(self._expected + self._expected // 4)
        given = self._given(piece, lane_count)
        watch = self._watch(len(piece))
        self._forget_nodes()
        parts: list[Arrays] = []
        done = 0
        if self.machine.plain and self._fates.apply(self, given[3][1]):
            done = len(piece)
            self._fates.run(self, piece.base, given, lambda: self._make_room(parts, piece.base + done))
        while done < len(piece):
            done = self._run(done, len(piece), piece.base, given, watch)
            if self.counters[layout.LACKING]:
                self.now = times[min(done, len(piece) - 1)].item()
                self._make_room(parts, piece.base + done)
        self.now = now
        while self.machine.waits and not self._pass_time(now):
            self._make_room(parts, piece.base + done)
        self.ledger.held[id(self)] = self.alive
        parts.append(self._handed_over() if not parts else self._put_aside())
        self._expected = max(OUTPUT, sum(len(part[0]) for part in parts))
        if self.sight is not None:
            self.partial = self._partial(piece, given[2][1], watch)
        if len(parts) > 1:
            parts = [tuple(np.concatenate(some, axis=-1) for some in zip(*parts, strict=True))]
        return self._found(parts[0], piece.base)

    def _found(self, output: Arrays, base: int) -> RawMatches:
        first, rows, state, lane, at, chain, slots, nulls = output
        position = at + np.int64(base)
        if self.machine.waits:
            position[at < 0] = -1
        return RawMatches(state, lane.astype(np.int64), position, first, chain, rows, slots.T, nulls.T, self.nodes)

    # ── what is watched ──

    def _watch(self, rows: int) -> tuple[Any, ...]:
        """Where the kernel writes down what it sees after each event; nowhere, if nobody watches."""
        sight = self.sight or Probe.none(self._time)
        rows = 0 if self.sight is None else rows
        trace, noted = np.zeros(rows, np.uint64), np.zeros(layout.COUNTERS, np.int64)
        key = np.uint64(sight.key)
        if rows > len(self._noticed[0]):
            self._noticed = self._new_output(rows)
        words = np.zeros((rows, sight.part_bits.shape[1]), np.uint64)
        limits = sight.limits, sight.amounts
        kept = np.array(self.machine.positions, np.uint64)
        excluding = self.excluding, kept
        return trace, sight.bits, key, *limits, self._noticed, noted, words, sight.part_bits, *excluding

    def _partial(self, piece: EventSegment, columns: Ints, watch: tuple[Any, ...]) -> Observation:
        trace, _, key, _, _, output, noted, words, *_ = watch
        count = noted[layout.MATCHES]
        found = _Noticed(lambda: self._found(tuple(column[..., :count] for column in output), piece.base))
        by_value = key != layout.NONE
        parts = None if self.sight is None else self.sight.parts
        return Observation(columns[key] if by_value else piece.lane, by_value, trace, found, parts, words)

    def _given(self, piece: EventSegment, lane_count: int) -> tuple[Any, ...]:
        """What the kernel is given of a batch: code, events, columns, and its stacks or its ways."""
        events, count, machine = piece.events, len(piece), self.machine
        columns, nulls = self._columns(piece)
        self._room_for_lanes(max(lane_count, *(len(t) for t in self.tables.values()), 1))
        flags = self._every(events, piece.lane)
        rows = _zeros(count)
        if self.selection is not None:
            rows = self.selection.rows(events, self.strings)
            flags[RowSelected()] = rows != 0
        predicates = evaluate_predicates(machine.predicates, events, self.strings, flags)
        if not len(predicates):
            predicates = no_nulls(count).view(np.uint8).reshape(1, -1)
        code = machine.code.code
        depth = max(1, code.depth)
        return (
            (code.ops, code.constants_f, code.constants_i, *self.strings.heap(cases=code.changes_case)),
            (
                piece.lane.view(np.uint64),
                read_only(events.time.values),
                read_only(events.start.values),
                predicates,
                rows,
            ),
            (columns.view(np.float64), columns, nulls, *self._parameter_words()),
            self._ways(predicates)
            if machine.plain
            else (np.zeros(depth), np.zeros(depth, np.int64), np.zeros(depth, np.uint8)),
        )

    def _ways(self, predicates: NDArray[np.uint8]) -> Arrays:
        """What lockstep.run_plain is given of a batch."""
        machine, tables = self.machine, self.machine.tables
        ways = np.empty((len(machine.waiting), predicates.shape[1]), np.uint8)
        lockstep.find_ways(machine.waiting, tables.states, tables.edges, predicates, ways)
        return machine.waiting, ways, np.arange(layout.FIRST_SLOT, self.cells.shape[1], dtype=np.uint64)

    def _run(self, first: int, stop: int, base: int, given: tuple[Any, ...], watch: tuple[Any, ...]) -> int:
        code, events, batch, besides = given
        machine = self.machine
        begins = np.uint64(machine.begins)
        if machine.plain:
            cells = self.cells.reshape(-1)
            besides = *besides, cells, cells.view(np.float64), self.nulls.reshape(-1)
        common = (machine.fan, tuple(machine.tables), code, events, batch, *self.arrays(), besides, watch)
        if machine.plain:
            return int(lockstep.run_plain(first, stop, base, begins, *common))
        if machine.strict:
            return int(strict.run_strict(first, stop, base, begins, *common))
        return int(general.run_events(first, stop, base, begins, machine.simultaneous, *common))

    def arrays(self) -> tuple[Any, ...]:
        pool = self.cells, self.cells.view(self._time), self._free
        registers = self.cells.view(np.float64), self.cells, self.nulls, *self.nodes
        return pool, self.lanes, registers, self.timers, self._output, self.counters

    def _pass_time(self, now: int | float) -> bool:
        machine = self.machine
        return general.pass_time(now, machine.simultaneous, tuple(machine.tables), *self.arrays())

    # ── room ──

    def _make_room(self, parts: list[Arrays], position: int) -> None:
        """Makes room for the event at a position; of the one before it where that made a lane too long."""
        match self.counters[layout.LACKING]:
            case layout.FULL_POOL:
                # What its window has left may stand about in lanes that have gone quiet.
                if self.sweep() < len(self.cells) // 4:
                    self._grow_or_relieve(position)
            case layout.FULL_NODES:
                self.nodes = _joined(self.nodes, _new_nodes(len(self.nodes[0])))
            case layout.FULL_OUTPUT:
                if not self.counters[layout.MATCHES]:
                    self._output = self._new_output(2 * len(self._output[0]))
                parts.append(self._put_aside())
            case layout.FULL_TIMERS:
                self.timers = _joined(self.timers, self._new_timers(len(self.timers[0])))
            case layout.FULL_LANE:
                relieve_lane(self, int(self.counters[layout.CROWDED]), position - 1)
        self.counters[layout.LACKING] = 0

    def _grow_or_relieve(self, position: int) -> None:
        self.ledger.held[id(self)] = self.alive
        if self.ledger.left <= 0:
            relieve_engine(self, position)
            self.ledger.held[id(self)] = self.alive
        wanted = int(self.counters[layout.LONGEST]) * self.machine.fan[0] + self.machine.fan[1]
        if self.counters[layout.FREE] < wanted:
            self.grow_pool(max(wanted, min(len(self.cells), self.ledger.left)))

    def _put_aside(self) -> Arrays:
        """The matches written so far, and room for others."""
        found = int(self.counters[layout.MATCHES])
        self.counters[layout.MATCHES] = 0
        return tuple(column[..., :found].copy() for column in self._output)

    def _handed_over(self) -> Arrays:
        """The same without a copy where they fill their arrays; then the next batch has others."""
        found = int(self.counters[layout.MATCHES])
        if 2 * found < len(self._output[0]):
            return self._put_aside()
        self.counters[layout.MATCHES] = 0
        whole, self._output = self._output, self._new_output(len(self._output[0]))
        return tuple(column[..., :found] for column in whole)

    def sweep(self) -> int:
        """Lets go of instances that can come to nothing; how many."""
        (pool, lanes, *_) = self.arrays()
        now = self._time(self.now if self.now is not None else 0)
        dead = (~self.machine.alive).astype(np.uint8)
        strict_, tables = self.machine.strict, self.machine.tables
        given = now, strict_, tables.states, tables.state_within, pool, lanes, self.in_use, dead, self.counters
        return general.sweep(*given)

    def _forget_nodes(self, *, always: bool = False) -> None:
        """Lets go of the nodes that no instance leads to, once they are most of all.

        Matches that were found lead to the old nodes, which stay with them: the new ones are other arrays.
        """
        used = int(self.counters[layout.NODES])
        if not self.machine.chains or (used < self.kept_nodes * 2 + 1024 and not always):
            return
        nodes = _new_nodes(max(1024, used + used // 4))  # about as many will come again
        self.kept_nodes = general.keep_nodes(used, self.in_use, self.cells[:, layout.RUN_CHAIN], *self.nodes, *nodes)
        self.counters[layout.NODES] = self.kept_nodes
        self.nodes = nodes

    # ── columns ──

    def _parameter_words(self) -> Arrays:
        """The row of the FOR EACH table, as the kernel reads it."""
        columns = list(self.parameters.values()) or [Column(Type.INT, np.zeros(1, np.int64), np.ones(1, np.bool_))]
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        return words.view(np.float64), words, np.stack([c.nulls.astype(np.uint8) for c in columns])

    def _columns(self, piece: EventSegment) -> tuple[Ints, NDArray[np.uint8]]:
        """The columns that conditions compare, as one matrix of 64-bit words."""
        columns = [self._column(expression, piece) for expression in self.machine.columns]
        count = len(piece)
        if not columns:
            return np.zeros((1, count), np.int64), no_nulls(count).view(np.uint8).reshape(1, -1)
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        if not any(may_be_null(c.nulls) for c in columns):
            return words, no_nulls(len(columns) * count).view(np.uint8).reshape(len(columns), count)
        return words, np.stack([c.nulls for c in columns]).view(np.uint8)

    def _column(self, expression: Any, piece: EventSegment) -> Column:
        events = piece.events
        if isinstance(expression, EventStart):
            return events.start
        if isinstance(expression, PresenceFlag):
            attribute = events.attributes.get(expression.attribute)
            known = np.zeros(len(events), np.int64) if attribute is None else (~attribute.nulls).astype(np.int64)
            return Column(Type.INT, known, no_nulls(len(events)))
        if isinstance(expression, IndexKey):
            table = self.tables.setdefault(expression.kind, LaneIndex((Type.INT, expression.kind)))
            lane = Column(Type.INT, piece.lane, no_nulls(len(piece)))
            value = events.evaluate(expression.expression, self.strings)
            return Column(Type.INT, table.of([lane, value], len(piece)), no_nulls(len(piece)))
        return events.evaluate(expression, self.strings)

    # ── state ──

    def state(self) -> dict[str, Any]:
        """All that a later batch needs, as arrays. Of the instances those up to the last that is in use or has a timer:
        by its serial number a timer knows whether it still is the same."""
        nodes, timers = int(self.counters[layout.NODES]), int(self.counters[layout.TIMERS])
        timed = self.timers[1][:timers].astype(np.int64)
        size = 1 + int(max(self.in_use.max(initial=-1), timed.max(initial=-1)))
        free = self._free[: self.counters[layout.FREE]]
        return {
            "counters": self.counters,
            "cells": self.cells[:size],
            "nulls": self.nulls[:size],
            "free": free[free < size],
            "lanes": list(self.lanes),
            "nodes": [part[:nodes] for part in self.nodes],
            "timers": [part[:timers] for part in self.timers],
            "tables": {kind.value: table.state() for kind, table in self.tables.items()},
            "ordinals": self.ordinals.state(),
            "kept_nodes": self.kept_nodes,
            "now": self.now,
            "refused": [[*one, since] for one, since in self.refused.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state of the same machine. Arrays take the types that this version has for them."""
        cells, free = state["cells"], state["free"]
        self.counters[: len(state["counters"])] = state["counters"]
        self.counters[layout.FREE] = len(free)
        self.cells, self.nulls = self._new_cells(len(cells))
        self.cells[:], self.nulls[:] = cells, state["nulls"]
        self._free = np.zeros(len(cells), self._free.dtype)
        self._free[: len(free)] = free
        self.grow_pool(max(64, len(cells)))
        self.lanes = _as_in(state["lanes"], self.lanes)
        if self.machine.strict:
            self.enlist()
        self.nodes = _joined(_as_in(state["nodes"], self.nodes), _new_nodes(1024))
        self.timers = _joined(_as_in(state["timers"], self.timers), self._new_timers(16))
        for kind, table in state["tables"].items():
            self.tables[Type(kind)] = LaneIndex((Type.INT, Type(kind)))
            self.tables[Type(kind)].restore(table)
        self.ordinals.restore(state["ordinals"])
        self.kept_nodes, self.now = state["kept_nodes"], state["now"]
        self.refused = {(one[0], one[1]): sum(one[2:]) for one in state["refused"]}  # at first there was no third

    def _every(self, events: EventColumns, lane: Ints) -> dict[Expression, NDArray[np.bool_]]:
        """Which events are the index-th of their lane that satisfy a step, by `a[i]` where nothing precedes it."""
        asked = dict.fromkeys(_everies(self.machine.predicates))
        return {every: self._is_every(number, every, events, lane) for number, every in enumerate(asked)}

    def _is_every(self, number: int, every: EveryNth, events: EventColumns, lane: Ints) -> NDArray[np.bool_]:
        values = [events.evaluate(self._with_row(expression), self.strings) for expression in every.binders]
        satisfied = np.ones(len(events), np.bool_)
        for condition in every.conditions:
            satisfied &= events.truth(self._with_row(condition), self.strings)
        for value in values:
            satisfied &= ~value.nulls
        # Each binding of the step's variables is counted by itself, as each is a match of its own.
        found = self.ordinals.of(number, lane[satisfied], [value.values[satisfied] for value in values])
        satisfied[satisfied] = found % every.index == 0
        return satisfied

    def _with_row(self, expression: Expression) -> Expression:
        """The expression with the values of the row of the FOR EACH table."""
        if not isinstance(expression, Parameter):
            return map_children(expression, self._with_row)
        column = self.parameters[expression.name]
        value = column.values[0].item()
        if column.nulls[0]:
            return Literal(None)
        match column.kind:
            case Type.STRING:
                return Literal(self.strings.text(value))
            case Type.TIMESTAMP:
                return Moment(value)
            case Type.BOOL:
                return Literal(bool(value))
        return Literal(value)


def _everies(predicates: tuple[tuple[Expression, ...], ...]) -> Iterator[EveryNth]:
    for predicate in predicates:
        for condition in predicate:
            if isinstance(condition, EveryNth):
                yield condition
            elif isinstance(condition, Disjunction):
                yield from _everies(condition.predicates)


def _new_nodes(size: int) -> Arrays:
    position, parent, step = _in_one_block(size, ("i8", None), ("i4", None), ("i4", None))
    return parent, position, step


def _in_one_block(size: int, *columns: tuple[str, int | None]) -> Arrays:
    """Arrays of some types and widths in one piece of memory: if large, the system gives it in huge pages.

    Writing matches down cost a third less than with an array each, of which every page had to be asked for.
    """
    widths = [np.dtype(kind).itemsize * (1 if width is None else width) for kind, width in columns]
    block = np.empty(sum(widths) * size, np.uint8)
    found, at = [], 0
    for (kind, width), bytes_ in zip(columns, widths, strict=True):
        length = bytes_ * size
        array = block[at : at + length].view(kind)
        found.append(array if width is None else array.reshape(width, size))
        at += length
    return tuple(found)


NO_NODES: Arrays = _new_nodes(0)


def _joined(one: Arrays, other: Arrays) -> Arrays:
    return tuple(np.concatenate([a, b]) for a, b in zip(one, other, strict=True))


def _as_in(parts: list[NDArray[Any]], like: Arrays) -> Arrays:
    return tuple(np.asarray(part, dtype=one.dtype) for part, one in zip(parts, like, strict=True))


_ZERO: list[Ints] = [np.zeros(0, np.int64)]


def _zeros(count: int) -> Ints:
    """Zeros that nobody writes to, made once."""
    if count > len(_ZERO[0]):
        _ZERO[0] = np.zeros(2 * count, np.int64)
    return _ZERO[0][:count]
