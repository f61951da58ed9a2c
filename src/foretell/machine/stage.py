"""One machine at work: the instances of its lanes, and room for them to grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.filter.columns import Column, Strings, may_be_null, no_nulls
from foretell.filter.predicates import Events, answers
from foretell.filter.selection import Selection
from foretell.language.tree import Expression, Literal, Moment, Parameter
from foretell.machine import binding, instances, strict
from foretell.machine.history import Piece
from foretell.machine.lanes import Lanes
from foretell.machine.ordinals import Ordinals
from foretell.plan.program import Machine
from foretell.plan.registers import AnyOf, Every, Hashed, Known, Selected, Start, mapped

Ints = NDArray[np.int64]
Arrays = tuple[NDArray[Any], ...]

#: So many matches are written before they are put aside: their buffer stays in the cache.
OUTPUT = 8192

#: The words of an instance besides its slots: see Stage._pool and Stage._registers.
OTHERS = 10


@dataclass(frozen=True)
class Found:
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
    def joined(cls, parts: list[Found]) -> Found:
        """Those of several batches, whose events are known already: their chains lead nowhere."""
        columns: Any = [replace(p, chain=np.full(len(p), -1)).columns for p in parts]
        return cls(*map(np.concatenate, zip(*columns, strict=True)), nodes=parts[-1].nodes)

    def only(self, keep: NDArray[np.bool_] | Ints | slice) -> Found:
        return Found(*(column[keep] for column in self.columns), nodes=self.nodes)

    @property
    def columns(self) -> tuple[Any, ...]:
        return self.state, self.lane, self.position, self.first, self.chain, self.rows, self.slots, self.nulls


@dataclass
class Stage:
    """The state of one machine. All of it is arrays."""

    machine: Machine
    strings: Strings
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: Selection | None = None
    ordinals: Ordinals = field(default_factory=Ordinals)
    lane_limit: int = 2**62

    def __post_init__(self) -> None:
        self._time = np.float64 if self.machine.time is Type.FLOAT else np.int64
        self.counters = np.zeros(binding.COUNTERS, np.int64)
        self.cells, self.nulls = self._new_cells(0)
        self._free: NDArray[np.int32] = np.zeros(0, np.int32)
        self.lanes: Arrays = self._new_lanes(16)
        self.nodes: Arrays = _new_nodes(1024)
        self.timers: Arrays = self._new_timers(16)
        self.tables: dict[Type, Lanes] = {}
        self.kept_nodes = 0
        self.now: int | float | None = None
        self._output = self._new_output(OUTPUT)
        self._grow_pool(64)

    # ── arrays ──

    def _new_cells(self, size: int) -> Arrays:
        """Room for instances: a row of words each, with slots and all else, and flags for the slots that are NULL."""
        width = self.machine.slots + OTHERS
        return np.zeros((size, -(-width // 8) * 8), np.int64), np.ones((size, self.machine.slots), np.uint8)

    def _new_lanes(self, count: int) -> Arrays:
        """The first instance at each state; how many in all and how many may be; the time of the instant."""
        never = -np.inf if self._time is np.float64 else np.iinfo(np.int64).min
        lists = 1 if self.machine.strict else max(1, self.machine.states)
        return (
            np.full((count, lists), -1, np.int32),
            np.zeros(count, np.int32),
            np.full(count, self.lane_limit, np.int64),
            np.full(count if self.machine.simultaneous else 1, never, self._time),
        )

    def _new_timers(self, size: int) -> Arrays:
        return np.zeros(size, self._time), np.zeros(size, np.int32), np.zeros(size, np.int64)

    def _new_output(self, size: int) -> Arrays:
        return (
            *(np.empty(size, np.int64) for _ in range(6)),
            np.empty((size, self.machine.finals), np.int64),
            np.empty((size, self.machine.finals), np.uint8),
        )

    def _grow_pool(self, by: int) -> None:
        old, kept = len(self.cells), self.counters[binding.FREE]
        self.cells, self.nulls = _joined((self.cells, self.nulls), self._new_cells(by))
        self._free = np.concatenate([self._free[:kept], np.arange(old, old + by, dtype=np.int32), self._free[kept:]])
        self.counters[binding.FREE] += by

    def _pool(self) -> Arrays:
        """Of each instance its state, the next of its list, its lane and list, when it began, the position of its first
        event, whether it is over, its serial number; then what is free."""
        state, following, lane, place, began, first, over, serial, _, _ = self._words()
        return state, following, lane, place, began.view(self._time), first, over, serial, self._free

    def _words(self) -> Arrays:
        return tuple(self.cells[:, self.cells.shape[1] - OTHERS + i] for i in range(OTHERS))

    def _registers(self) -> Arrays:
        """Slots as floats, as integers, where they are NULL; the chain of events, its nodes; rows of a template."""
        *_, chain, rows = self._words()
        return self.cells.view(np.float64), self.cells, self.nulls, chain, *self.nodes, rows

    def _room_for_lanes(self, count: int) -> None:
        known = len(self.lanes[0])
        if count > known:
            self.lanes = _joined(self.lanes, self._new_lanes(max(count, 2 * known) - known))

    def adopt(self, machine: Machine) -> None:
        """Goes on with a machine that has states, slots and finals more, and perhaps some that are dead."""
        lists = machine.states - self.machine.states
        old, words, nulls = self.machine.slots, self._words(), self.nulls
        cells, self.machine = self.cells, machine
        self.cells, self.nulls = self._new_cells(len(cells))
        self.cells[:, :old], self.nulls[:, :old] = cells[:, :old], nulls
        for new, word in zip(self._words(), words, strict=True):
            new[:] = word
        if not machine.strict:
            heads, *lengths = self.lanes
            self.lanes = (np.pad(heads, ((0, 0), (0, lists)), constant_values=-1), *lengths)
        self._output = self._new_output(len(self._output[0]))
        if not machine.alive.all():
            self.sweep()

    @property
    def in_use(self) -> Ints:
        """The instances that are not free."""
        used = np.ones(len(self.cells), np.bool_)
        used[self._free[: self.counters[binding.FREE]]] = False
        return np.flatnonzero(used)

    @property
    def alive(self) -> int:
        """How many partial matches there are."""
        return len(self.cells) - int(self.counters[binding.FREE])

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that an instance has bound; None where there is no instance."""
        used = self.in_use
        return int(self._pool()[5][used].min()) if len(used) else None

    # ── a batch ──

    def feed(self, piece: Piece, lane_count: int, now: int | float) -> Found:
        """The matches that the events of a batch complete, and those that time completes by `now`."""
        times = piece.events.time.values
        given = self._given(piece, lane_count)
        self._forget_nodes()
        parts: list[Arrays] = []
        done = 0
        while done < len(piece):
            done = self._run(done, len(piece), piece.base, given)
            if self.counters[binding.FULL]:
                self.now = times[min(done, len(piece) - 1)].item()
                self._make_room(parts)
        self.now = now
        while self.machine.waits and not self._pass_time(now):
            self._make_room(parts)
        parts.append(self._put_aside())
        state, lane, at, first, chain, rows, slots, nulls = (
            parts[0] if len(parts) == 1 else tuple(np.concatenate(some) for some in zip(*parts, strict=True))
        )
        position = np.where(at < 0, -1, at + piece.base) if self.machine.waits else at + piece.base
        return Found(state, lane, position, first, chain, rows, slots, nulls, self.nodes)

    def _given(self, piece: Piece, lane_count: int) -> tuple[Any, ...]:
        """What the kernel is given of a batch: code, events, columns."""
        events, count, machine = piece.events, len(piece), self.machine
        columns, nulls = self._columns(piece)
        self._room_for_lanes(max(lane_count, *(len(t) for t in self.tables.values()), 1))
        flags = self._every(events, piece.lane)
        rows = _zeros(count)
        if self.selection is not None:
            rows = self.selection.rows(events, self.strings)
            flags[Selected()] = rows != 0
        predicates = answers(machine.predicates, events, self.strings, flags)
        if not len(predicates):
            predicates = no_nulls(count).view(np.uint8).reshape(1, -1)
        code = machine.code.code
        depth = max(1, code.depth)
        return (
            (code.ops, code.constants_f, code.constants_i, *self.strings.heap(cases=code.recases)),
            (piece.lane, events.time.values, events.start.values, predicates, rows),
            (columns.view(np.float64), columns, nulls, *self._parameter_words()),
            (np.zeros(depth), np.zeros(depth, np.int64), np.zeros(depth, np.uint8)),
        )

    def _run(self, first: int, stop: int, base: int, given: tuple[Any, ...]) -> int:
        code, events, batch, stacks = given
        machine = self.machine
        common = (machine.fan, machine.arrays, machine.updates, code, events, batch, *self._arrays(), stacks)
        if machine.strict:
            return strict.run_strict(first, stop, base, *common)
        return instances.run_events(first, stop, base, machine.simultaneous, *common)

    def _arrays(self) -> tuple[Any, ...]:
        return self._pool(), self.lanes, self._registers(), self.timers, self._output, self.counters

    def _pass_time(self, now: int | float) -> bool:
        machine = self.machine
        return instances.pass_time(now, machine.simultaneous, machine.arrays, *self._arrays())

    # ── room ──

    def _make_room(self, parts: list[Arrays]) -> None:
        match self.counters[binding.FULL]:
            case binding.FULL_POOL:
                # What its window has left may stand about in lanes that have gone quiet.
                if self.sweep() < len(self.cells) // 4:
                    self._grow_pool(len(self.cells))
            case binding.FULL_NODES:
                self.nodes = _joined(self.nodes, _new_nodes(len(self.nodes[0])))
            case binding.FULL_OUTPUT:
                if not self.counters[binding.FOUND]:
                    self._output = self._new_output(2 * len(self._output[0]))
                parts.append(self._put_aside())
            case binding.FULL_TIMERS:
                self.timers = _joined(self.timers, self._new_timers(len(self.timers[0])))
            case binding.FULL_LANE:
                self._over_limit(int(self.counters[binding.FRESH]))
        self.counters[binding.FULL] = 0

    def _over_limit(self, lane: int) -> None:
        raise NotImplementedError

    def _put_aside(self) -> Arrays:
        """The matches written so far, and room for others."""
        found = int(self.counters[binding.FOUND])
        self.counters[binding.FOUND] = 0
        return tuple(column[:found].copy() for column in self._output)

    def sweep(self) -> int:
        """Lets go of instances that can come to nothing; how many."""
        (pool, lanes, *_) = self._arrays()
        now = self._time(self.now if self.now is not None else 0)
        dead = (~self.machine.alive).astype(np.uint8)
        machine = self.machine
        return instances.sweep(now, machine.strict, machine.arrays, pool, lanes, self.in_use, dead, self.counters)

    def _forget_nodes(self) -> None:
        """Lets go of the nodes that no instance leads to, once they are most of all.

        Matches that were found lead to the old nodes, which stay with them: the new ones are other arrays.
        """
        used = int(self.counters[binding.NODES])
        if not self.machine.chains or used < self.kept_nodes * 2 + 1024:
            return
        nodes = _new_nodes(used)
        self.kept_nodes = instances.keep_nodes(used, self.in_use, self._words()[8], *self.nodes, *nodes)
        self.counters[binding.NODES] = self.kept_nodes
        self.nodes = nodes

    # ── columns ──

    def _parameter_words(self) -> Arrays:
        """The row of the FOR EACH table, as the kernel reads it."""
        columns = list(self.parameters.values()) or [Column(Type.INT, np.zeros(1, np.int64), np.ones(1, np.bool_))]
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        return words.view(np.float64), words, np.stack([c.nulls.astype(np.uint8) for c in columns])

    def _columns(self, piece: Piece) -> tuple[Ints, NDArray[np.uint8]]:
        """The columns that conditions compare, as one matrix of 64-bit words."""
        columns = [self._column(expression, piece) for expression in self.machine.columns]
        count = len(piece)
        if not columns:
            return np.zeros((1, count), np.int64), no_nulls(count).view(np.uint8).reshape(1, -1)
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        if not any(may_be_null(c.nulls) for c in columns):
            return words, no_nulls(len(columns) * count).view(np.uint8).reshape(len(columns), count)
        return words, np.stack([c.nulls for c in columns]).view(np.uint8)

    def _column(self, expression: Any, piece: Piece) -> Column:
        events = piece.events
        if isinstance(expression, Start):
            return events.start
        if isinstance(expression, Known):
            attribute = events.attributes.get(expression.attribute)
            known = np.zeros(len(events), np.int64) if attribute is None else (~attribute.nulls).astype(np.int64)
            return Column(Type.INT, known, no_nulls(len(events)))
        if isinstance(expression, Hashed):
            table = self.tables.setdefault(expression.kind, Lanes((Type.INT, expression.kind)))
            lane = Column(Type.INT, piece.lane, no_nulls(len(piece)))
            value = events.worth(expression.expression, self.strings)
            return Column(Type.INT, table.of([lane, value], len(piece)), no_nulls(len(piece)))
        return events.worth(expression, self.strings)

    def _every(self, events: Events, lane: Ints) -> dict[Expression, NDArray[np.bool_]]:
        """Which events are the index-th of their lane that satisfy a step, by `a[i]` where nothing precedes it."""
        asked = dict.fromkeys(_everies(self.machine.predicates))
        return {every: self._is_every(number, every, events, lane) for number, every in enumerate(asked)}

    def _is_every(self, number: int, every: Every, events: Events, lane: Ints) -> NDArray[np.bool_]:
        values = [events.worth(self._with_row(expression), self.strings) for expression in every.binders]
        satisfied = np.ones(len(events), np.bool_)
        for condition in every.conditions:
            satisfied &= events.true(self._with_row(condition), self.strings)
        for value in values:
            satisfied &= ~value.nulls
        # Each binding of the step's variables is counted by itself, as each is a match of its own.
        found = self.ordinals.of(number, lane[satisfied], [value.values[satisfied] for value in values])
        satisfied[satisfied] = found % every.index == 0
        return satisfied

    def _with_row(self, expression: Expression) -> Expression:
        """The expression with the values of the row of the FOR EACH table."""
        if not isinstance(expression, Parameter):
            return mapped(expression, self._with_row)
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


def _everies(predicates: tuple[tuple[Expression, ...], ...]) -> Iterator[Every]:
    for predicate in predicates:
        for condition in predicate:
            if isinstance(condition, Every):
                yield condition
            elif isinstance(condition, AnyOf):
                yield from _everies(condition.predicates)


def _new_nodes(size: int) -> Arrays:
    return np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int32)


NO_NODES: Arrays = _new_nodes(0)


def _joined(one: Arrays, other: Arrays) -> Arrays:
    return tuple(np.concatenate([a, b]) for a, b in zip(one, other, strict=True))


_ZERO: list[Ints] = [np.zeros(0, np.int64)]


def _zeros(count: int) -> Ints:
    """Zeros that nobody writes to, made once."""
    if count > len(_ZERO[0]):
        _ZERO[0] = np.zeros(2 * count, np.int64)
    return _ZERO[0][:count]
