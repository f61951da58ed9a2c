"""The forecaster: the observer of one subscription, which learns from observed runs and forecasts matches.

Probability tables are rebuilt while it learns, at fixed numbers of events: the same events give the same forecasts
however they are divided into batches.
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
from foretell.forecast.chain.chain_states import ChainStates
from foretell.forecast.chain.kernel import (
    COUNTERS,
    EVENTS,
    NEXT_TABLES,
    REASON,
    RISES,
    EventRows,
    ForecastRows,
    LookupTables,
    WalkOptions,
    walk_chain,
)
from foretell.forecast.chain.match_interval import IntervalRequest, LookupKeys, WaitingTimeEstimator
from foretell.forecast.chain.online_counts import OnlineCounts
from foretell.forecast.chain.probability_table import lookup_tables
from foretell.forecast.chain.process_table import ProcessStops, ProcessTable
from foretell.forecast.online.event_symbols import EventSymbols
from foretell.forecast.online.interfaces import CurrentForecasts, ForecasterOptions, ForecastListener
from foretell.learn.calibration import UNCALIBRATED
from foretell.learn.lane_statistics import lane_capacity
from foretell.learn.model import SubscriptionModel
from foretell.learn.sojourns import MATCH
from foretell.learn.statistics import Statistics
from foretell.machine.observe.observer import ObservedRuns
from foretell.storage.recorded_values import FAR, array, ascending, indices, require

#: Tables are rebuilt after so many events, then each time the number has doubled or a half-life has passed.
FIRST_TABLES = 64


class Forecaster:
    """Starts from `model`; without one it knows nothing and is silent until it has seen enough."""

    def __init__(
        self,
        options: ForecasterOptions,
        time: Type,
        model: SubscriptionModel | None = None,
        symbols: EventSymbols | None = None,
        listener: ForecastListener | None = None,
    ) -> None:
        self.options, self._listener = options, listener
        self._unit = 1e-6 if time is Type.TIMESTAMP else 1.0
        self._timed = options.horizon.events is None
        self._contexts = model.contexts if model is not None and symbols is not None else None
        self._symbols = symbols if self._contexts is not None else None
        self._calibration = UNCALIBRATED if model is None else model.calibration
        self._keyed = False
        self._states = ChainStates(self._contexts)
        self._counts = OnlineCounts(self._states, options.settings.half_life, timed=self._timed)
        self._processes = ProcessTable()
        self._counters = np.zeros(COUNTERS, np.int64)
        self._counters[NEXT_TABLES] = FIRST_TABLES
        self._now = -math.inf
        self._tables, self._table_of_lane = LookupTables(np.zeros((1, 0, 1)), np.zeros(1)), np.zeros(1, np.int64)
        if model is not None:
            with_contexts, max_lanes = self._contexts is not None, options.settings.lanes
            keys = self._counts.load(model.statistics, contexts=with_contexts, max_lanes=max_lanes)
            self._processes = ProcessTable(keys)
        self._rebuild_tables()

    # ── processing events ──

    def observe(self, runs: ObservedRuns) -> tuple[Ints, Floats]:
        """The rows at which the probability rose to the threshold, and the probabilities."""
        self._add_processes(runs)
        events = EventRows(
            runs.process,
            runs.ordinal,
            runs.time * self._unit if self._timed else np.zeros(0),
            runs.configuration,
            np.zeros(0, np.int64) if self._symbols is None else self._symbols.symbols(runs.events, runs.strings),
            runs.matched,
        )
        count = len(runs.process)
        listened = 0 if self._listener is None else count
        forecasts = ForecastRows(
            np.empty(count, np.int64), np.empty(count), np.full(listened, np.nan), np.zeros((listened, 3), np.int64)
        )
        if self._listener is not None:
            self._listener.begin_batch(count)
        self._counters[RISES] = 0
        done = reported = 0
        while True:
            done = self._walk(done, events, forecasts)
            match self._counters[REASON]:
                case kernel.DONE:
                    break
                case kernel.DUE:
                    self._report(reported, done, forecasts)
                    reported = done
                    self._now = float(events.time[done]) if self._timed else self._now
                    self._rebuild_tables()
                case kernel.NEW_EDGE:
                    self._add_edge(events, done)
                case _:
                    self._add_state(events, done)
        if len(runs.completed):
            self._processes.columns.pending[runs.completed] = 1
        self._report(reported, done, forecasts)
        rises = int(self._counters[RISES])
        return forecasts.rise[:rises].copy(), forecasts.rise_probability[:rises].copy()

    def _walk(self, first: int, events: EventRows, forecasts: ForecastRows) -> int:
        return int(
            walk_chain(
                first,
                events,
                self._processes.columns,
                self._states.configurations,
                self._states.index,
                self._counts.transitions,
                self._counts.sojourns if self._timed else None,
                self._tables,
                self._counts.weights,
                self._counters,
                WalkOptions(self.options.threshold, self.options.settings.online),
                forecasts,
            )
        )

    def _report(self, first: int, stop: int, forecasts: ForecastRows) -> None:
        """Passes the forecasts made with the present tables to the listener."""
        if self._listener is not None and stop > first:
            assert self._estimator is not None
            rows = np.arange(first, stop)
            table, state, age = forecasts.lookup[rows].T
            keys = LookupKeys(table - 1, state, self._tables.ages[age])
            self._listener.on_forecasts(rows, forecasts.probability[rows], self._estimator, keys)

    # ── present forecasts ──

    def current_forecasts(self, now: int | float, request: IntervalRequest) -> CurrentForecasts:
        """Of all lanes that have appeared; where a value distinguishes processes, of those with partial matches."""
        process, keys = self.lookup_keys(now)
        if self._keyed:
            waiting = np.flatnonzero(self._states.index.configuration[keys.state] != 0)
            process, keys = process[waiting], keys.take(waiting)
        age_index = np.searchsorted(self._tables.ages, keys.age, side="right") - 1
        keys = replace(keys, age=self._tables.ages[age_index])
        start, end = self.estimator().intervals(keys, request)
        return CurrentForecasts(process, self._tables.probability[keys.lane + 1, keys.state, age_index], start, end)

    def lookup_keys(self, now: int | float) -> tuple[Ints, LookupKeys]:
        """The processes that have appeared, and the keys by which their forecasts are looked up."""
        columns = self._processes.columns
        process = np.flatnonzero(columns.last >= 0)
        age = np.zeros(len(process))
        if self._timed:
            self._now = max(self._now, now * self._unit)
            age = np.maximum(self._now - columns.entered[process], 0.0)
        return process, LookupKeys(columns.table[process] - 1, columns.state[process], age)

    def estimator(self) -> WaitingTimeEstimator:
        statistics = replace(self.statistics, lanes=self._counts.lanes())
        return WaitingTimeEstimator(self.options.horizon, statistics, self.options.settings)

    @property
    def statistics(self) -> Statistics:
        """The statistics so far, scaled to now. They have sojourns only where the horizon is a time."""
        columns = self._processes.columns
        present = np.flatnonzero(columns.state >= 0)
        lasted = np.maximum(self._now - columns.entered[present], 0.0)
        return self._counts.statistics(columns.state[present], lasted)

    # ── new processes, states and edges ──

    def _add_processes(self, runs: ObservedRuns) -> None:
        if runs.by_value and not self._keyed:
            self._keyed = True
            self._reserve(0)  # processes by value are too short-lived for counts of their own
            self._rebuild_tables()
        count = int(runs.process.max(initial=-1)) + 1
        self._processes.reserve(count, -1 if self._keyed else 0)  # a lane starts without partial matches
        if not self._keyed and self._processes.assign_lanes(runs.keys, count, self._max_lanes):
            lanes, known = self._processes.lanes, self._counts.lane_count
            if lanes > known:
                self._reserve(min(max(lanes, 2 * known, 16), self._max_lanes))
            self._assign_tables()

    def _add_state(self, events: EventRows, row: int) -> None:
        """Numbers the chain state after an event, which the kernel did not know."""
        node = self._processes.columns.node[events.process[row]]
        symbol = events.symbol[row] if len(events.symbol) else 0
        context = self._states.index.context[self._states.index.next_node[node, symbol]]
        self._states.state_number(int(events.configuration[row]), int(context))
        if self._states.capacity > len(self._counts.transitions.matched):
            self._reserve(min(self._counts.lane_count, self._max_lanes))

    def _add_edge(self, events: EventRows, row: int) -> None:
        process, columns = events.process[row], self._processes.columns
        source = int(self._states.index.configuration[columns.state[process]])
        matched = bool(events.matched[row]) or bool(columns.pending[process])
        mask = int(events.configuration[row])
        self._counts.edge_number(source, MATCH if matched else self._states.configuration_number(mask))

    @property
    def _max_lanes(self) -> int:
        """The number of lanes that may have counts of their own."""
        return 0 if self._keyed else lane_capacity(self.options.settings.lanes, self._states.capacity)

    def _reserve(self, lanes: int) -> None:
        """Makes room for the chain states there are, and for so many lanes."""
        self._counts.reserve(lanes)
        self._processes.limit_lanes(lanes)
        old = self._tables.probability
        kept = min(1 + lanes, len(old))
        probability = np.full((1 + lanes, self._states.capacity, old.shape[2]), np.nan)
        probability[:kept, : old.shape[1]] = old[:kept]
        self._tables = self._tables._replace(probability=probability)
        table_of_lane, self._table_of_lane = self._table_of_lane, np.zeros(1 + lanes, np.int64)
        self._table_of_lane[:kept] = table_of_lane[:kept]

    # ── tables ──

    def _rebuild_tables(self) -> None:
        """Scales all weights to now and computes the probability of a match from each state."""
        self._counts.rescale()
        events, settings = int(self._counters[EVENTS]), self.options.settings
        if settings.online:
            half_life, step = settings.half_life, max(FIRST_TABLES, events)
            self._counters[NEXT_TABLES] = events + (
                step if math.isinf(half_life) else max(1, min(step, int(half_life)))
            )
        else:
            self._counters[NEXT_TABLES] = -1
        size, own, lanes = len(self._states), self._lanes_with_tables(), self._counts.lane_count
        computed, ages = lookup_tables(self.options.horizon, self.statistics, self._counts.lanes(own), settings)
        computed = self._calibration(computed)
        if self._keyed:
            idle = self._states.index.configuration[:size] == 0
            computed[:, idle] = np.nan  # no forecasts for bindings without partial matches
        probability = np.full((1 + lanes, self._states.capacity, computed.shape[2]), np.nan)
        probability[0, :size] = computed[0]
        probability[1 + own, :size] = computed[1:]
        self._tables = LookupTables(probability, ages)
        self._table_of_lane = np.zeros(1 + lanes, np.int64)
        self._table_of_lane[1 + own] = 1 + own
        self._assign_tables()
        self._estimator = None if self._listener is None else self.estimator()

    def _assign_tables(self) -> None:
        columns = self._processes.columns
        columns.table[:] = self._table_of_lane[1 + columns.lane]

    def _lanes_with_tables(self) -> Ints:
        """The lanes that have seen enough for tables of their own. A single lane is the pool."""
        if self._timed or self._processes.lanes < 2:
            return np.zeros(0, np.int64)
        counts = self._counts.transitions
        weight = counts.lane_counts.sum(axis=(1, 2)) + counts.lane_matched.sum(axis=1)
        return np.flatnonzero(weight >= self.options.settings.enough)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {
            "keyed": self._keyed,
            **self._states.snapshot(),
            **self._counts.snapshot(),
            **self._processes.snapshot(),
            "chance": self._tables.probability[:, : len(self._states)],
            "tables": self._table_of_lane,
            "ages": self._tables.ages,
            "counters": self._counters,
            "then": None if self._estimator is None else self._estimator.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        if self.options.ignore_snapshot or "counters" not in state:
            return
        require(isinstance(state["keyed"], bool), "the forecasts")
        self._keyed = state["keyed"]
        self._states = ChainStates.restore(state, self._contexts)
        self._counts = OnlineCounts(self._states, self.options.settings.half_life, timed=self._timed)
        self._counts.restore(state)
        nodes, known, lanes = len(self._states.index.next_node), len(self._states), self._counts.lane_count
        self._processes = ProcessTable.restore(state, ProcessStops(known, nodes, lanes))
        ages = array(state["ages"], np.float64, (None,), "the ages of forecasts")
        ascending(ages, "the ages of forecasts")
        require(len(ages) > 0 and ages[0] <= 0, "the ages of forecasts")
        tables = 1 + lanes
        probability = np.full((tables, self._states.capacity, len(ages)), np.nan)
        probability[:, :known] = array(state["chance"], np.float64, (tables, known, len(ages)), "the forecasts")
        self._tables, self._table_of_lane = LookupTables(probability, ages), np.zeros(tables, np.int64)
        self._table_of_lane[1 + self._processes.columns.lane] = self._processes.columns.table
        if "tables" in state:  # the first snapshots lack it: then only lanes that had appeared had tables
            self._table_of_lane[:] = indices(state["tables"], tables, "the tables of forecasts", (tables,))
        self._counters[:] = indices(state["counters"], FAR, "the counts of forecasts", (COUNTERS,), low=-1)
        require(self._counters[EVENTS] >= 0, "the counts of forecasts")
        self._estimator = None if self._listener is None else self.estimator()
        if self._estimator is not None and state["then"] is not None:
            self._estimator = self._estimator.restored(state["then"])
