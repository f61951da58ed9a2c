"""Forecasts of an observed subscription: the observer sees the runs of a batch, its forecasts become results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.exec.observation import Observation
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.match_values import evaluate_matches
from foretell.machine.matches.rendering import scalar_of
from foretell.machine.matches.results import ForecastColumns, ResultBatch
from foretell.machine.observe.observer import ObservedRuns, Observer, Sides
from foretell.machine.subscription_runtime import SubscriptionRuntime
from foretell.plan.lower.match_expressions import MatchExpression


@dataclass(frozen=True)
class ObservedStatement:
    """A subscription with its observer. `by_value` tells processes of one lane apart; `key_variables` has the variables
    that are bound to each value of its keys. `now` is the time up to which events are known."""

    watcher: Observer
    member: SubscriptionRuntime | AbsenceExecutor
    by_value: LaneIndex | None
    key_variables: Sequence[Sequence[str]]
    now: int | float

    def lane(self, process: int) -> int:
        return process if self.by_value is None else int(self.by_value.key(process)[0][1])

    def key(self, process: int) -> Mapping[str, Scalar] | None:
        """As notifications carry it."""
        return dict(self.member.stream.keys[self.lane(process)]) if self.member.schema.per else None

    def bindings(self, process: int) -> dict[str, Scalar]:
        """The variables whose values tell it apart from others of its lane."""
        if self.by_value is None:
            return {}
        _, *values = self.by_value.key(process)
        return {
            variable: scalar_of(value, kind, self.member.strings)
            for variables, (kind, value) in zip(self.key_variables, values, strict=True)
            for variable in variables
        }


@dataclass
class ForecastEmitter:
    watcher: Observer
    member: SubscriptionRuntime | AbsenceExecutor

    def emit(self, piece: EventSegment, partial: Observation | None, told: list[ResultBatch]) -> list[ResultBatch]:
        """The forecasts after the events of a batch, whose results are `told`. Absences have no partial matches."""
        if not len(piece):
            return []
        if partial is None:
            partial = Observation(piece.lane, False, np.zeros(len(piece), np.uint64), _NOTHING)
        matched, completed = _completions(piece, partial.process, told)
        seen = ObservedRuns(
            partial.process,
            piece.lane,
            piece.number,
            piece.events.time.values,
            partial.configuration,
            matched,
            completed,
            partial.by_value,
            self.member.stream.keys,
            piece.events,
            self.member.strings,
            _sides(piece, partial, told),
        )
        rows, probability = self.watcher.observe(seen)
        if not len(rows):
            return []
        position = rows + piece.base
        at = np.searchsorted(partial.furthest.position, position)
        there = np.zeros(len(rows), np.bool_)
        inside = at < len(partial.furthest)
        there[inside] = partial.furthest.position[at[inside]] == position[inside]
        forecasts = []
        if there.any():
            forecasts.append(self._told(partial.furthest.only(at[there]), probability[there]))
        if not there.all():
            forecasts.append(self._out_of_nothing(piece, rows[~there], probability[~there]))
        return forecasts

    def _told(self, found: RawMatches, probability: NDArray[np.float64]) -> ResultBatch:
        member = self.member
        assert isinstance(member, SubscriptionRuntime)
        plan, buffer = member.plan.post_match.of_partial_matches(), member.stream.buffer
        matches = MatchBatch(plan, buffer, member.strings, found, member.parameters)
        returned = {name: _first_bound(values, matches) for name, values in plan.bindings.items()}
        times = matches.buffer.times(found.position)
        places = matches.buffer.order(found.position)
        return self._forecast(matches, matches.lane, matches.start, times, places, returned, probability)

    def _out_of_nothing(self, piece: EventSegment, rows: Ints, probability: NDArray[np.float64]) -> ResultBatch:
        """Of events after which there is no partial match."""
        member, times = self.member, piece.events.time.values[rows]
        nothing = {
            v: Column(k, np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_))
            for v, k in member.schema.variables.items()
        }
        return self._forecast(None, piece.lane[rows], times, times, piece.order[rows], nothing, probability)

    def _forecast(
        self,
        matches: MatchBatch | None,
        lane: Ints,
        start: NDArray[Any],
        end: NDArray[Any],
        places: Ints,
        returned: dict[str, Column],
        probability: NDArray[np.float64],
    ) -> ResultBatch:
        member, schema = self.member, self.member.schema
        assert schema.horizon is not None
        forecasts = ForecastColumns(probability, schema.horizon)
        keys, strings = member.stream.keys, member.strings
        return ResultBatch(
            schema, matches, lane, start, end, places, returned, keys, member.id, strings, forecasts=forecasts
        )


def _first_bound(values: Sequence[MatchExpression], matches: MatchBatch) -> Column:
    """A variable's value: that of the first step that binds it and is bound."""
    first, *others = (evaluate_matches(value, matches) for value in values)
    for other in others:
        words = np.where(first.nulls, other.values, first.values)
        first = Column(first.kind, words.astype(first.values.dtype), first.nulls & other.nulls)
    return first


_NONE = np.zeros(0, np.int64)

#: No matches at all.
_NOTHING = RawMatches(
    _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE.reshape(0, 0), np.zeros((0, 0), np.uint8), NO_NODES
)  # fmt: skip


def _sides(piece: EventSegment, partial: Observation, told: list[ResultBatch]) -> Sides | None:
    """What is seen of the parts of a pattern."""
    parts, words = partial.parts, partial.words
    if parts is None or words is None:
        return None
    ended = np.zeros(words.shape, np.bool_)
    for one in told:
        if one.matches is not None and len(one):
            row, state = one.matches.last - piece.base, one.matches.raw.state
            # Of many matches with one last event it is enough to look at one for each state.
            row, state = np.unique(np.stack([row, state])[:, row >= 0], axis=1)
            np.logical_or.at(ended, row, parts.shares[state])
    return Sides(parts, words, ended)


def _completions(piece: EventSegment, process: Ints, told: list[ResultBatch]) -> tuple[NDArray[np.bool_], Ints]:
    """Which events completed a match; and whose matches only time completed, after their last event here.

    A match that time completed between two events of its lane counts with the second.
    """
    matched = np.zeros(len(piece), np.bool_)
    completed = [np.zeros(0, np.int64)]
    for one in told:
        if one.matches is None:
            _count(matched, completed, piece, process, one.lane, one.end)
            continue
        by_time = (one.order[:, 0] & 1) == 1
        last = one.matches.last - piece.base
        matched[last[~by_time & (last >= 0)]] = True
        late = np.flatnonzero(by_time & (last >= 0))
        _count(matched, completed, piece, process, process[last[late]], one.end[late])
    return matched, np.unique(np.concatenate(completed))


def _count(
    matched: NDArray[np.bool_],
    completed: list[Ints],
    piece: EventSegment,
    process: Ints,
    whose: Ints,
    end: NDArray[Any],
) -> None:
    """Counts matches that time completed."""
    if len(whose):
        at, found = _first_after(process, piece.events.time.values, whose, end)
        matched[at[found]] = True
        completed.append(whose[~found])


def _first_after(process: Ints, times: NDArray[Any], whose: Ints, end: NDArray[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    """The first event of a process after a point in time, and whether there is one."""
    by = np.argsort(process, kind="stable")
    first = np.searchsorted(process[by], whose, side="left")
    stop = np.searchsorted(process[by], whose, side="right")
    at = np.array([a + np.searchsorted(times[by[a:b]], t, side="right") for a, b, t in zip(first, stop, end)], np.int64)
    found = at < stop
    return by[np.minimum(at, len(by) - 1)], found
