"""A correlator as forecasts observe it: the state of each lane after each event, and the tokens of the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.flat_machine import joined_lists
from foretell.correlate.forecast_states import ForecastStates, require_forecast_states
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedCorrelator
from foretell.machine.exec.observation import Observation
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.key_index import with_room
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.correlation import DeterminisedTables, ObservedEvents, follow_states
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ObservedResults
from foretell.plan.result_schema import ResultSchema
from foretell.records import record
from foretell.storage.recorded_values import ascending, indices


class ObservedTokens:
    """The states of the lanes of one correlator with FORECAST, and the tokens of a batch that it is about. `steps` are
    those of the events that it is shown. A lane that has seen nothing is in the state 0."""

    def __init__(self, correlator: CheckedCorrelator, schema: ResultSchema, steps: Sequence[str]) -> None:
        self._machine = require_forecast_states(correlator)
        self._schema = schema
        self._configurations = self._machine.configurations
        self._tables = _tables(self._machine, steps)
        self._codes: Ints = np.zeros(0, np.int64)  # of the tokens that are forecast
        self._states: Ints = np.zeros(0, np.int64)
        self.begin_batch()

    def prepare(self, strings: StringDictionary) -> None:
        self._codes = np.array([strings.constant(token) for token in self._machine.tokens], np.int64)

    @property
    def nbytes(self) -> int:
        return self._states.nbytes

    def begin_batch(self) -> None:
        self._events = _ShownEvents(np.zeros(0, np.int64), np.zeros((0, 0), np.uint8))
        self._results: list[ResultBatch] = []

    def add(self, positions: Ints, satisfied: NDArray[np.uint8], tokens: ResultBatch) -> None:
        """The events of the batch that satisfy steps, by their positions, and the tokens that they emit."""
        assert not len(self._events.positions)  # one call has all events of a batch
        self._events = _ShownEvents(positions, np.ascontiguousarray(satisfied))
        forecast = np.isin(tokens.bindings["token"].values, self._codes)
        self._results = [tokens.filter(forecast)] if forecast.any() else []

    def after(self, segment: EventSegment) -> ObservedResults:
        """The states after each event of the batch, and the tokens."""
        place = np.full(len(segment), -1)
        place[segment.rows(self._events.positions)] = np.arange(len(self._events.positions))
        self._states = with_room(self._states, int(segment.lane.max(initial=-1)) + 1)
        after = np.empty(len(segment), np.int64)
        shown = ObservedEvents(segment.lane, place, self._events.satisfied)
        follow_states(shown, self._tables, self._states, after)
        observation = Observation.without_runs(segment.lane, self._configurations[after])
        return ObservedResults(observation, self._results, self._schema)

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        lanes = np.flatnonzero(self._states)
        return {"lanes": lanes, "states": self._states[lanes]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        lanes = indices(state["lanes"], bounds.lanes, "the lanes of a correlator")
        ascending(lanes, "the lanes of a correlator")
        self._states = with_room(self._states, int(lanes.max(initial=-1)) + 1)
        self._states[lanes] = indices(state["states"], len(self._machine), "the states of a correlator", (len(lanes),))


@record
class _ShownEvents:
    """Events that satisfy steps, by their positions."""

    positions: Ints
    satisfied: NDArray[np.uint8]


def _tables(machine: ForecastStates, steps: Sequence[str]) -> DeterminisedTables:
    """A state looks at the steps of its moves; what satisfies none of them leaves it."""
    number = {step: place for place, step in enumerate(steps)}
    looks = [sorted({number[step] for move in moves for step in move.steps}) for moves in machine.moves]
    following = []
    for state, (moves, at) in enumerate(zip(machine.moves, looks, strict=True)):
        bit = {step: place for place, step in enumerate(at)}
        own = [state] * (1 << len(at))
        for move in moves:
            own[sum(1 << bit[number[step]] for step in move.steps)] = move.following
        following.append(own)
    by_state, step = joined_lists(looks)
    first, next_state = joined_lists(following)
    no_output = np.zeros(len(next_state), np.int64)
    return DeterminisedTables(
        step, by_state, first, next_state, no_output, np.zeros(2, np.int64), np.zeros(0, np.int64)
    )
