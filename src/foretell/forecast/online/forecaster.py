"""Forecasts while events come: the watcher of one subscription, who learns from what is seen.

The tables that the look-ups need are made anew as learning goes on, at fixed numbers of events: so the same events give
the same forecasts in whatever batches they come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.events.types import Type
from foretell.forecast.chain import kernel
from foretell.forecast.chain.chain_states import States
from foretell.forecast.chain.kernel import COUNTERS, EVENTS, FOUND, NEXT, WHY, follow
from foretell.forecast.chain.match_interval import Asked, Expectation
from foretell.forecast.chain.online_counts import Counted
from foretell.forecast.chain.process_table import Processes
from foretell.forecast.online.event_symbols import Symbols
from foretell.forecast.online.interfaces import Listener, Prospects, Watch
from foretell.forecast.tables import tables
from foretell.learn.calibration import AS_IT_IS
from foretell.learn.lane_statistics import Lanes, room
from foretell.learn.model import Learned
from foretell.learn.sojourns import MATCH
from foretell.learn.statistics import Statistics
from foretell.machine.observe.observer import ObservedRuns

#: The tables are made anew after so many events, and then each time as many more have been seen.
FIRST_TABLES = 64


class Forecaster:
    """`learned` is what to begin with; without it, it begins knowing nothing and is silent until it has seen enough."""

    def __init__(
        self,
        watch: Watch,
        time: Type,
        learned: Learned | None = None,
        symbols: Symbols | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.watch, self._listener = watch, listener
        self._unit = 1e-6 if time is Type.TIMESTAMP else 1.0
        self._timed = watch.horizon.events is None
        self._contexts = (learned.contexts if learned is not None else None) if symbols is not None else None
        self._symbols = symbols if self._contexts is not None else None
        self._calibration = AS_IT_IS if learned is None else learned.calibration
        self._keyed = False
        self._states = States(self._contexts)
        self._counted = Counted(self._states, watch.settings.half_life, timed=self._timed)
        self._processes = Processes()
        self._counters = np.zeros(COUNTERS, np.int64)
        self._counters[NEXT] = FIRST_TABLES
        self._now = -math.inf
        self._chance, self._table_of = np.zeros((1, 0, 1)), np.zeros(1, np.int64)
        if learned is not None:
            with_contexts, most = self._contexts is not None, watch.settings.lanes
            known = self._counted.begin_with(learned.statistics, contexts=with_contexts, most_lanes=most)
            self._processes = Processes(known)
        self._make_tables()

    # ── what is seen ──

    def see(self, seen: ObservedRuns) -> tuple[Ints, Floats]:
        """At which events a match has become likely, and how likely."""
        self._meet(seen)
        rows = (
            seen.process,
            seen.ordinal,
            seen.time * self._unit if self._timed else np.zeros(0),
            seen.configuration,
            np.zeros(0, np.int64) if self._symbols is None else self._symbols.of(seen.events, seen.strings),
            seen.matched,
        )
        count = len(seen.process)
        heard = 0 if self._listener is None else count
        found = np.empty(count, np.int64), np.empty(count), np.full(heard, np.nan), np.zeros((heard, 3), np.int64)
        if self._listener is not None:
            self._listener.begin(count)
        self._counters[FOUND] = 0
        done = said = 0
        while True:
            done = self._follow(done, rows, found)
            match self._counters[WHY]:
                case kernel.DONE:
                    break
                case kernel.DUE:
                    self._say(said, done, found)
                    said = done
                    self._now = float(rows[2][done]) if len(rows[2]) else self._now
                    self._make_tables()
                case kernel.NEW_EDGE:
                    self._add_edge(rows, done)
                case _:
                    self._add_state(rows, done)
        if len(seen.completed):
            self._processes.brought[seen.completed] = 1
        self._say(said, done, found)
        some = int(self._counters[FOUND])
        return found[0][:some].copy(), found[1][:some].copy()

    def _follow(self, first: int, rows: tuple[Any, ...], found: tuple[Any, ...]) -> int:
        states, counted = self._states, self._counted
        return int(
            follow(
                first,
                len(rows[0]),
                rows,
                self._processes.columns,
                states.known,
                (states.state_of, states.following, states.context, states.configuration),
                (counted.counts, counted.matched, counted.lane_counts, counted.lane_matched),
                counted.lasting,
                (self._chance, self._ages),
                counted.weights,
                self._counters,
                self.watch.above,
                self.watch.settings.online,
                self._timed,
                found,
            )
        )

    def _say(self, first: int, stop: int, found: tuple[Any, ...]) -> None:
        """Tells the listener of the events since the tables were made."""
        if self._listener is not None and stop > first:
            assert self._then is not None
            rows = np.arange(first, stop)
            table, state, age = found[3][rows].T
            self._listener.hear(rows, found[2][rows], self._then, (table - 1, state, self._ages[age]))

    # ── what is to be expected ──

    def prospects(self, now: int | float, asked: Asked) -> Prospects:
        """Of all lanes that have been seen; of those told apart by a value, the ones that have partial matches."""
        process, (lane, state, age) = self.whereabouts(now)
        if self._keyed:
            some = self._states.configuration[state] != 0
            process, lane, state, age = process[some], lane[some], state[some], age[some]
        at = np.searchsorted(self._ages, age, side="right") - 1
        start, end = self.expectation().intervals(lane, state, self._ages[at], asked)
        return Prospects(process, self._chance[lane + 1, state, at], start, end)

    def whereabouts(self, now: int | float) -> tuple[Ints, tuple[Ints, Ints, Floats]]:
        """The processes that have been seen; and by which lane, chain state and age each is looked up."""
        process = np.flatnonzero(self._processes.last >= 0)
        age = np.zeros(len(process))
        if self._timed:
            self._now = max(self._now, now * self._unit)
            age = np.maximum(self._now - self._processes.entered[process], 0.0)
        return process, (self._processes.table[process] - 1, self._processes.place[process], age)

    def expectation(self) -> Expectation:
        statistics = replace(self.statistics, lanes=self._counted.lanes)
        return Expectation(self.watch.horizon, statistics, self.watch.settings)

    @property
    def statistics(self) -> Statistics:
        """What it knows now, all weights as seen from now. Times only where the horizon is one."""
        going_on = np.flatnonzero(self._processes.place >= 0)
        lasted = np.maximum(self._now - self._processes.entered[going_on], 0.0)
        return self._counted.statistics(self._processes.place[going_on], lasted)

    # ── what is met for the first time ──

    def _meet(self, seen: ObservedRuns) -> None:
        """Processes that are new."""
        if seen.by_value and not self._keyed:
            self._keyed = True
            self._make_room(0)  # processes by value are too short-lived for counts of their own
            self._make_tables()
        count = int(seen.process.max(initial=-1)) + 1
        self._processes.make_room(count, -1 if self._keyed else 0)  # a lane begins with no partial match
        if not self._keyed and self._processes.place_lanes(seen.keys, count, self._most_lanes):
            lanes, known = self._processes.lanes, len(self._counted.lane_matched)
            if lanes > known:
                self._make_room(min(max(lanes, 2 * known, 16), self._most_lanes))
            self._processes.table[:] = self._table_of[1 + self._processes.lane]

    def _add_state(self, rows: tuple[Any, ...], row: int) -> None:
        """What the kernel met for the first time gets a number."""
        mask, process, symbol = int(rows[3][row]), int(rows[0][row]), int(rows[4][row]) if len(rows[4]) else 0
        context = int(self._states.context[self._states.following[self._processes.node[process], symbol]])
        self._states.state(mask, context)
        if self._states.size > len(self._counted.matched):
            self._make_room(min(len(self._counted.lane_matched), self._most_lanes))

    def _add_edge(self, rows: tuple[Any, ...], row: int) -> None:
        process, mask = int(rows[0][row]), int(rows[3][row])
        before = int(self._states.configuration[self._processes.place[process]])
        matched = bool(rows[5][row]) or bool(self._processes.brought[process])
        self._counted.edge(before, MATCH if matched else self._states.number(mask))

    @property
    def _most_lanes(self) -> int:
        """How many lanes are counted by themselves."""
        return 0 if self._keyed else room(self.watch.settings.lanes, self._states.size)

    def _make_room(self, lanes: int) -> None:
        """Room for as many chain states as there are, and for so many lanes."""
        self._counted.make_room(lanes)
        self._processes.forget_lanes(lanes)
        chance, kept = self._chance, min(1 + lanes, len(self._chance))
        self._chance = np.full((1 + lanes, self._states.size, chance.shape[2]), np.nan)
        self._chance[:kept, : chance.shape[1]] = chance[:kept]
        table, self._table_of = self._table_of, np.zeros(1 + lanes, np.int64)
        self._table_of[:kept] = table[:kept]

    # ── tables ──

    def _make_tables(self) -> None:
        """All weights as seen from now, and how likely a match is from each state."""
        self._counted.rescale()
        events, settings = int(self._counters[EVENTS]), self.watch.settings
        if settings.online:
            half, step = settings.half_life, max(FIRST_TABLES, events)
            self._counters[NEXT] = events + (step if math.isinf(half) else max(1, min(step, int(half))))
        else:
            self._counters[NEXT] = -1
        size, own, lanes = len(self._states), self._own_lanes(), self._counted.lanes
        mine = Lanes(tuple(map(str, own)), np.zeros(len(own), np.int64), lanes.counts[own], lanes.matched[own])
        found, self._ages = tables(self.watch.horizon, self.statistics, mine, settings)
        found = self._calibration(found)
        if self._keyed:
            without = self._states.configuration[:size] == 0
            found[:, without] = np.nan  # of a binding without partial matches nobody speaks
        self._chance = np.full((1 + len(lanes.keys), self._states.size, found.shape[2]), np.nan)
        self._chance[0, :size] = found[0]
        self._chance[1 + own, :size] = found[1:]
        self._table_of = np.zeros(1 + len(lanes.keys), np.int64)
        self._table_of[1 + own] = 1 + own
        self._processes.table[:] = self._table_of[1 + self._processes.lane]
        self._then = None if self._listener is None else self.expectation()

    def _own_lanes(self) -> Ints:
        """The lanes that have seen enough to have tables of their own. One alone is what all have seen."""
        if self._timed or self._processes.lanes < 2:
            return np.zeros(0, np.int64)
        seen = self._counted.lane_counts.sum(axis=(1, 2)) + self._counted.lane_matched.sum(axis=1)
        return np.flatnonzero(seen >= self.watch.settings.enough)

    # ── state ──

    def state(self) -> Mapping[str, Any]:
        return {
            "keyed": self._keyed,
            **self._states.written(),
            **self._counted.written(),
            **self._processes.written(),
            "chance": self._chance[:, : len(self._states)],
            "tables": self._table_of,
            "ages": self._ages,
            "counters": self._counters,
            "then": None if self._then is None else self._then.written(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.watch.anew or "counters" not in state:
            return
        self._keyed = state["keyed"]
        self._states = States.read(state, self._contexts)
        self._counted = Counted(self._states, self.watch.settings.half_life, timed=self._timed)
        self._counted.read(state)
        self._processes = Processes.read(state)
        tables, known, ages = state["chance"].shape
        self._chance = np.full((tables, self._states.size, ages), np.nan)
        self._chance[:, :known] = state["chance"]
        self._ages, self._table_of = state["ages"], np.zeros(tables, np.int64)
        self._table_of[1 + self._processes.lane] = self._processes.table
        if "tables" in state:  # at first only lanes that had come had tables
            self._table_of[:] = state["tables"]
        self._counters[:] = state["counters"]
        self._then = None if self._listener is None else self.expectation()
        if self._then is not None and state["then"] is not None:
            self._then = self._then.read(state["then"])
