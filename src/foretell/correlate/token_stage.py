"""The tokens of one CORRELATE statement, from the events that satisfy one of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.correlate.observed_tokens import ObservedTokens
from foretell.correlate.running_machine import RunningMachine
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedCorrelator
from foretell.language.correlator_events import correlator_events
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.correlation import LaneStates
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ObservedResults, ResultStage
from foretell.plan.result_schema import result_schema
from foretell.storage.recorded_values import array, ascending, indices


class TokenStage(ResultStage):
    store = "correlators"

    def __init__(self, correlator: CheckedCorrelator) -> None:
        self.subscription = correlator
        self.events = correlator_events(correlator)
        self.patterns: Sequence[str] = (correlator.name,)
        self._machine = RunningMachine.of(correlator.tree.expression)
        self._form = self._machine.form()
        self._schema = result_schema(correlator)
        self._codes: Ints = np.zeros(0, np.int64)
        self._observed: ObservedTokens | None = None
        if correlator.tree.forecast is not None:
            self._observed = ObservedTokens(correlator, self._schema, self._machine.steps)

    def prepare(self, strings: StringDictionary) -> None:
        self._codes = np.array([strings.constant(token) for token in self._machine.flat.tokens], np.int64)
        if self._observed is not None:
            self._observed.prepare(strings)

    @property
    def nbytes(self) -> int:
        return self._form.nbytes + (0 if self._observed is None else self._observed.nbytes)

    def needed_lanes(self) -> Ints:
        return self._form.moved()

    def free_lanes(self, freed: Ints) -> None:
        self._form.reset(freed)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        if self._observed is not None:
            self._observed.begin_batch()
        return [tokens for result in results if len(result) and len(tokens := self._tokens(result))]

    def observed(self, segment: EventSegment) -> ObservedResults:
        assert self._observed is not None
        return self._observed.after(segment)

    def _tokens(self, events: ResultBatch) -> ResultBatch:
        """The tokens of events, in the order in which they are emitted."""
        order = events.order[:, 0]
        by = None if (order[1:] > order[:-1]).all() else np.lexsort(events.order.T[::-1])
        return self._emitted(events, by)

    def _emitted(self, events: ResultBatch, by: Ints | None) -> ResultBatch:
        """The tokens of events that come in the order `by`; None where they are in order."""
        satisfied = np.empty((len(self._machine.steps), len(events)), np.uint8)
        for number, step in enumerate(self._machine.steps):
            column = events.bindings[step]
            np.logical_and(column.values, ~column.nulls, out=satisfied[number], casting="unsafe")
        lane = events.lane
        if by is not None:
            lane, satisfied = lane[by], satisfied[:, by]
        row, token = self._form.run(lane, satisfied, int(lane.max(initial=-1)) + 1)
        tokens = self._shown(events, row if by is None else by[row], token)
        if self._observed is not None:
            assert events.matches is not None
            last = events.matches.last
            self._observed.add(last if by is None else last[by], satisfied, tokens)
        return tokens

    def _shown(self, events: ResultBatch, row: Ints, token: Ints) -> ResultBatch:
        """Tokens as results: the event and the number of each."""
        matches = events.matches
        assert matches is not None
        codes = Column(Type.STRING, self._codes[token], no_nulls(len(token)))
        return replace(
            events,
            schema=self._schema,
            matches=replace(matches, raw=matches.raw.only(row), gathered=None),
            lane=events.lane[row],
            start=events.end[row],
            end=events.end[row],
            places=None if events.places is None else events.places[row],
            bindings={"token": codes},
        )

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        lanes = self._form.moved()
        state = {"lanes": lanes, **self._configurations_state(lanes)}
        return state if self._observed is None else {**state, "observed": self._observed.state()}

    def _configurations_state(self, lanes: Ints) -> dict[str, Any]:
        states = self._form.configurations(lanes)
        # One behind the other: a blob has no empty array with thousands of columns.
        active = np.packbits(states.active, axis=1).reshape(-1)
        return {"active": active, "counters": states.counters.reshape(-1)}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        lanes = indices(state["lanes"], bounds.lanes, "the lanes of a correlator")
        ascending(lanes, "the lanes of a correlator")
        self._restore_configurations(state, lanes)
        if self._observed is not None:
            self._observed.restore(state["observed"], bounds)

    def _restore_configurations(self, state: Mapping[str, Any], lanes: Ints) -> None:
        machine = self._machine.flat.machine
        count, width = len(lanes), -(-machine.states // 8)
        packed = array(state["active"], np.uint8, (count * width,), "the states of a correlator")
        active = np.unpackbits(packed.reshape(count, width), axis=1, count=machine.states)
        counters = array(state["counters"], np.int64, (count * machine.counters,), "the counters of a correlator")
        counters = counters.reshape(count, machine.counters)
        self._machine.check(active, counters)
        self._form.set_configurations(lanes, LaneStates(active, counters))
