"""One subscription at work: its program, the instances of its lanes, and room for both to grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.filter.columns import Column, Strings
from foretell.filter.predicates import Events, answers
from foretell.filter.selection import Selection
from foretell.language.tree import Expression
from foretell.machine import kernel
from foretell.plan.program import Program
from foretell.plan.registers import AnyOf, Every, Known, Selected, Start

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """Matches as the kernel found them, in the order of their last events.

    `slots` are the registers of each match; `chain` leads to the events of its repeated steps, in `Stage.nodes`.
    """

    accept: Ints
    lane: Ints
    position: Ints
    first: Ints
    chain: Ints
    rows: Ints
    slots: Ints
    nulls: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.accept)


@dataclass
class Stage:
    """The state of one subscription. All of it is arrays."""

    program: Program
    strings: Strings
    capacity: int = 1024
    parameters: Mapping[str, Column] = field(default_factory=dict)
    ordinals: dict[tuple[object, ...], int] = field(default_factory=dict)
    kept_nodes: int = 0
    selection: Selection | None = None
    pool: tuple[NDArray[Any], ...] = field(init=False)
    lanes: tuple[NDArray[Any], ...] = field(init=False)
    registers: tuple[NDArray[Any], ...] = field(init=False)
    nodes: tuple[Ints, Ints, Ints] = field(init=False)
    counters: Ints = field(init=False)

    def __post_init__(self) -> None:
        slots = max(1, len(self.program.registers))
        self._time = np.float64 if self.program.subscription.time is Type.FLOAT else np.int64
        self.counters = np.zeros(5, np.int64)
        self._free = np.zeros(0, np.int64)
        self.lanes = self._new_lanes(16)
        self.pool = self._new_pool(0)
        self.nodes = tuple(np.empty(0, np.int64) for _ in range(3))  # type: ignore[assignment]
        self.registers = (np.zeros((0, slots), np.int64), np.zeros((0, slots), np.uint8), *self._new_heads(0))
        self._grow_pool(self.capacity)
        self._grow_nodes(1024)

    def _new_pool(self, size: int) -> tuple[NDArray[Any], ...]:
        return (
            np.zeros(size, np.int64),  # state
            np.full(size, -1, np.int64),  # the next instance of its lane
            np.zeros(size, self._time),  # when it began
            np.zeros(size, np.int64),  # the position of its first event
            np.zeros(size, np.uint8),  # whether it ends with the present instant
        )

    def _new_heads(self, size: int) -> tuple[Ints, Ints]:
        return np.full(size, -1, np.int64), np.zeros(size, np.int64)  # chain, row of a FOR EACH table

    def _grow_pool(self, by: int) -> None:
        old = len(self.pool[0])
        self.pool = tuple(np.concatenate([a, b]) for a, b in zip(self.pool, self._new_pool(by)))
        slots = self.registers[0].shape[1]
        more = (np.zeros((by, slots), np.int64), np.zeros((by, slots), np.uint8), *self._new_heads(by))
        self.registers = tuple(np.concatenate([a, b]) for a, b in zip(self.registers, more))
        free = np.empty(old + by, np.int64)
        kept = self.counters[0]
        if old:
            free[:kept] = self._free[:kept]
        free[kept : kept + by] = np.arange(old, old + by)
        self._free = free
        self.counters[0] = kept + by

    def _grow_nodes(self, by: int) -> None:
        self.nodes = tuple(np.concatenate([a, np.zeros(by, np.int64)]) for a in self.nodes)  # type: ignore[assignment]

    def _forget_nodes(self) -> None:
        """Lets go of the nodes that no instance leads to, once they are most of all."""
        used = int(self.counters[1])
        if used < self.kept_nodes * 2 + 4096:
            return
        active = np.ones(len(self.pool[0]), np.bool_)
        active[self._free[: self.counters[0]]] = False
        self.kept_nodes = kernel.keep_nodes(used, np.flatnonzero(active), self.registers[2], *self.nodes)
        self.counters[1] = self.kept_nodes

    def _room_for_lanes(self, count: int) -> None:
        known = len(self.lanes[0])
        if count > known:
            more = self._new_lanes(max(count, 2 * known) - known)
            self.lanes = tuple(np.concatenate([a, b]) for a, b in zip(self.lanes, more))

    def _new_lanes(self, count: int) -> tuple[NDArray[Any], ...]:
        """The first instance at each state; how many in all; the first of the present instant; its time."""
        states = max(1, len(self.program.automaton.states))
        never = -np.inf if self._time is np.float64 else np.iinfo(np.int64).min
        return (
            np.full((count, states), -1, np.int64),
            np.zeros(count, np.int64),
            np.full(count, -1, np.int64),
            np.full(count, never, self._time),
        )

    # ── a batch ──

    def feed(
        self, events: Events, lane: Ints, lane_count: int, first_position: int, now: int | float | None = None
    ) -> Found:
        """The matches that the events of a batch complete, and those that time completes by `now`."""
        count = len(events)
        self._room_for_lanes(lane_count)
        columns, nulls = self._columns(events)
        given_flags = self._every(events, lane)
        rows = np.zeros(count, np.int64)
        if self.selection is not None:
            rows = self.selection.rows(events, self.strings)
            given_flags[Selected()] = rows != 0
        flags = answers(self.program.predicates, events, self.strings, given_flags)
        if not len(flags):
            flags = np.zeros((1, count), np.uint8)
        position = np.arange(first_position, first_position + count, dtype=np.int64)
        code = self.program.code.code
        given = (np.ascontiguousarray(lane), events.time.values, events.start.values, position, flags, rows)
        output = self._output(max(1024, count))
        self._forget_nodes()
        if self.program.chains and len(self.nodes[0]) - self.counters[1] < 2 * count:
            self._grow_nodes(2 * count)
        self.counters[2] = 0
        done = 0
        depth = max(1, code.depth)
        stacks = (np.zeros(depth), np.zeros(depth, np.int64), np.zeros(depth, np.uint8))
        given_parameters = self._parameter_words()
        while done < count:
            slots, slot_nulls, chain, row = self.registers
            done = kernel.run_events(
                done,
                count,
                self.program.subscription.simultaneous,
                self.program.fan,
                self.program.arrays,
                self.program.updates,
                (code.ops, code.constants_f, code.constants_i, self.strings.offsets, self.strings.data),
                given,
                (columns.view(np.float64), columns, nulls, *given_parameters),
                (*self.pool, self._free),
                self.lanes,
                (slots.view(np.float64), slots, slot_nulls, chain, *self.nodes, row),
                output,
                self.counters,
                stacks,
            )
            if done < count:
                output = self._make_room(output)
        if now is not None and self.program.waits:
            output = self._pass_time(now, lane_count, output)
        found = int(self.counters[2])
        accept, lanes, at, first, chain, begun, slots, slot_nulls = (a[:found] for a in output)
        last = np.where(at < 0, -1, at + first_position)
        return Found(accept, lanes, last, first, chain, begun, slots, slot_nulls)

    def _pass_time(
        self, now: int | float, lane_count: int, output: tuple[NDArray[Any], ...]
    ) -> tuple[NDArray[Any], ...]:
        done = 0
        while done < lane_count:
            slots, slot_nulls, chain, row = self.registers
            done = kernel.pass_time(
                self._time(now),
                lane_count,
                self.program.arrays,
                (*self.pool, self._free),
                self.lanes,
                (slots.view(np.float64), slots, slot_nulls, chain, *self.nodes, row),
                output,
                self.counters,
            )
            if done < lane_count:
                output = self._make_room(output)
        return output

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that an instance has bound; None where there is no instance."""
        active = np.ones(len(self.pool[0]), np.bool_)
        active[self._free[: self.counters[0]]] = False
        return int(self.pool[3][active].min()) if active.any() else None

    def _parameter_words(self) -> tuple[NDArray[Any], ...]:
        """The row of the FOR EACH table, as the kernel reads it."""
        columns = list(self.parameters.values()) or [Column(Type.INT, np.zeros(1, np.int64), np.ones(1, np.bool_))]
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        return words.view(np.float64), words, np.stack([c.nulls.astype(np.uint8) for c in columns])

    def _every(self, events: Events, lane: Ints) -> dict[Expression, NDArray[np.bool_]]:
        """Which events are the index-th of their lane that satisfy a step, by `a[i]` where nothing precedes it."""
        asked = {c for p in self.program.predicates for c in p if isinstance(c, Every)}
        asked |= {
            c
            for p in self.program.predicates
            for any_of in p
            if isinstance(any_of, AnyOf)
            for option in any_of.predicates
            for c in option
            if isinstance(c, Every)
        }
        return {every: self._is_every(every, events, lane) for every in asked}

    def _is_every(self, every: Every, events: Events, lane: Ints) -> NDArray[np.bool_]:
        step = self.program.subscription.steps[every.step]
        values = [events.worth(expression, self.strings) for _, expression in step.binders]
        satisfied = np.ones(len(events), np.bool_)
        for condition in every.conditions:
            truth = events.worth(condition, self.strings)
            satisfied &= (truth.values != 0) & ~truth.nulls
        for value in values:
            satisfied &= ~value.nulls
        result = np.zeros(len(events), np.bool_)
        for row in np.flatnonzero(satisfied).tolist():
            # Each binding of the step's variables is counted by itself, as each is a match of its own.
            key = (every, int(lane[row]), *(value.values[row].item() for value in values))
            self.ordinals[key] = self.ordinals.get(key, 0) + 1
            result[row] = self.ordinals[key] % every.index == 0
        return result

    def _columns(self, events: Events) -> tuple[Ints, NDArray[np.uint8]]:
        """The columns that conditions compare, as one matrix of 64-bit words."""
        words = np.zeros((max(1, len(self.program.columns)), len(events)), np.int64)
        nulls = np.zeros(words.shape, np.uint8)
        for i, expression in enumerate(self.program.columns):
            column = self._column(expression, events)
            words[i] = np.ascontiguousarray(column.values).view(np.int64)
            nulls[i] = column.nulls
        return words, nulls

    def _column(self, expression: Any, events: Events) -> Column:
        if isinstance(expression, Start):
            return events.start
        if isinstance(expression, Known):
            attribute = events.attributes.get(expression.attribute)
            known = np.zeros(len(events), np.int64) if attribute is None else (~attribute.nulls).astype(np.int64)
            return Column(Type.INT, known, np.zeros(len(events), np.bool_))
        return events.worth(expression, self.strings)

    def _output(self, size: int) -> tuple[NDArray[Any], ...]:
        slots = self.registers[0].shape[1]
        return (
            *(np.empty(size, np.int64) for _ in range(6)),
            np.empty((size, slots), np.int64),
            np.empty((size, slots), np.uint8),
        )

    def _make_room(self, output: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
        match self.counters[3]:
            case kernel.FULL_POOL:
                self._grow_pool(len(self.pool[0]))
            case kernel.FULL_NODES:
                self._grow_nodes(len(self.nodes[0]))
            case kernel.FULL_OUTPUT:
                more = self._output(len(output[0]))
                output = tuple(np.concatenate([a, b]) for a, b in zip(output, more))
        return output
