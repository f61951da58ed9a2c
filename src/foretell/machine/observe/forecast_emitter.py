"""Forecasts of an observed subscription: the observer gets the runs of a batch, its forecasts become results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.exec.observation import Observation
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.match_values import evaluate_matches
from foretell.machine.matches.rendering import scalar_of
from foretell.machine.matches.results import ForecastColumns, ResultBatch
from foretell.machine.observe.observer import ObservedParts, ObservedRuns, Observer
from foretell.machine.subscription_runtime import SubscriptionRuntime
from foretell.plan.lower.match_expressions import MatchExpression
from foretell.plan.result_schema import ResultSchema
from foretell.records import record


@record
class ObservedStatement:
    """A subscription with its observer. `by_value` is the index of processes where a lane has several;
    `key_variables` has the variables that are bound to each value of a process. `now` is the watermark."""

    observer: Observer
    member: SubscriptionRuntime | AbsenceExecutor
    by_value: LaneIndex | None
    key_variables: Sequence[Sequence[str]]
    now: int | float

    def lane(self, process: int) -> int:
        if self.by_value is None:
            return process
        lane, *_ = self.by_value.key(process)
        return int(lane.value)

    def key(self, process: int) -> Mapping[str, Scalar] | None:
        """The key of a process's lane, as notifications have it."""
        return dict(self.member.stream.keys[self.lane(process)]) if self.member.schema.per else None

    def bindings(self, process: int) -> dict[str, Scalar]:
        """The variables whose values distinguish a process from the others of its lane."""
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
    """Asks the observer of a subscription for forecasts and makes results of them, of another `schema` where the
    subscription runs for another statement."""

    observer: Observer
    member: SubscriptionRuntime | AbsenceExecutor
    schema: ResultSchema | None = None

    def emit(
        self, segment: EventSegment, observation: Observation | None, results: list[ResultBatch]
    ) -> list[ResultBatch]:
        """The forecasts after the events of a batch that had these results. Absences have no runs to observe."""
        if not len(segment):
            return []
        if observation is None:
            observation = Observation.without_runs(segment.lane, np.zeros(len(segment), np.uint64))
        matched, completed = _completions(segment, observation.process, results)
        rows, probability = self.observer.observe(
            ObservedRuns(
                process=observation.process,
                lane=segment.lane,
                ordinal=segment.number,
                time=segment.events.time.values,
                configuration=observation.configuration,
                matched=matched,
                completed=completed,
                by_value=observation.by_value,
                keys=self.member.stream.keys,
                events=segment.events,
                strings=self.member.strings,
                parts=_observed_parts(segment, observation, results),
            )
        )
        if not len(rows):
            return []
        has_run, furthest = observation.furthest.after(rows)
        forecasts = []
        if len(furthest):
            forecasts.append(self._with_runs(furthest, probability[has_run]))
        if not has_run.all():
            forecasts.append(self._without_runs(segment, rows[~has_run], probability[~has_run]))
        return forecasts

    def _with_runs(self, furthest: RawMatches, probability: Floats) -> ResultBatch:
        """Forecasts with the events and variables that the furthest runs have bound."""
        member = self.member
        assert isinstance(member, SubscriptionRuntime)
        plan, buffer = member.plan.post_match.of_partial_matches(), member.stream.buffer
        runs = MatchBatch(plan, buffer, member.strings, furthest, member.parameters)
        return self._results(
            runs,
            lane=runs.lane,
            start=runs.start,
            end=buffer.times(furthest.position),
            places=None,
            bindings={name: _first_bound(values, runs) for name, values in plan.bindings.items()},
            probability=probability,
        )

    def _without_runs(self, segment: EventSegment, rows: Ints, probability: Floats) -> ResultBatch:
        """Forecasts after events of processes that have no run."""
        times = segment.events.time.values[rows]
        return self._results(
            None,
            lane=segment.lane[rows],
            start=times,
            end=times,
            places=segment.order[rows],
            bindings={
                variable: Column(kind, np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_))
                for variable, kind in self._schema.variables.items()
            },
            probability=probability,
        )

    def _results(
        self,
        runs: MatchBatch | None,
        *,
        lane: Ints,
        start: NDArray[Any],
        end: NDArray[Any],
        places: Ints | None,
        bindings: dict[str, Column],
        probability: Floats,
    ) -> ResultBatch:
        member, schema = self.member, self._schema
        assert schema.horizon is not None
        return ResultBatch(
            schema=schema,
            matches=runs,
            lane=lane,
            start=start,
            end=end,
            places=places,
            bindings=bindings,
            keys=member.stream.keys,
            id=member.id,
            strings=member.strings.view,
            forecasts=ForecastColumns(probability, schema.horizon),
        )

    @property
    def _schema(self) -> ResultSchema:
        return self.member.schema if self.schema is None else self.schema


def _first_bound(values: Sequence[MatchExpression], runs: MatchBatch) -> Column:
    """A variable's value: that of the first step that binds it and is bound."""
    first, *others = (evaluate_matches(value, runs) for value in values)
    for other in others:
        words = np.where(first.nulls, other.values, first.values)
        first = Column(first.kind, words.astype(first.values.dtype), first.nulls & other.nulls)
    return first


_EMPTY = np.zeros(0, np.int64)


def _observed_parts(
    segment: EventSegment, observation: Observation, results: list[ResultBatch]
) -> ObservedParts | None:
    parts, words = observation.parts, observation.words
    if parts is None or words is None:
        return None
    ended = np.zeros(words.shape, np.bool_)
    for result in results:
        if result.matches is not None and len(result):
            row, state = result.matches.last - segment.base, result.matches.raw.state
            # Of many matches with one last event it is enough to look at one for each state.
            row, state = np.unique(np.stack([row, state])[:, row >= 0], axis=1)
            np.logical_or.at(ended, row, parts.shares[state])
    return ObservedParts(parts, words, ended)


def _completions(segment: EventSegment, process: Ints, results: list[ResultBatch]) -> tuple[Flags, Ints]:
    """Which events completed a match; and the processes with a match that time completed after their last event.

    A match that time completed between two events of its process counts with the second.
    """
    matched = np.zeros(len(segment), np.bool_)
    owners, ends = [_EMPTY], [segment.events.time.values[:0]]  # of the matches that time completed
    for result in results:
        if result.matches is None:
            owners.append(result.lane)
            ends.append(result.end)
            continue
        by_time = result.completed_by_time
        last = result.matches.last - segment.base
        matched[last[~by_time & (last >= 0)]] = True
        late = np.flatnonzero(by_time & (last >= 0))
        owners.append(process[last[late]])
        ends.append(result.end[late])
    owner = np.concatenate(owners)
    row, exists = _first_after(process, segment.events.time.values, owner, np.concatenate(ends))
    matched[row[exists]] = True
    return matched, np.unique(owner[~exists])


def _first_after(process: Ints, times: NDArray[Any], owner: Ints, end: NDArray[Any]) -> tuple[Ints, Flags]:
    """The row of each owner's first event after a point in time, and whether there is one."""
    if not len(owner):
        return _EMPTY, np.zeros(0, np.bool_)
    by = np.argsort(process, kind="stable")
    first = np.searchsorted(process[by], owner, side="left")
    stop = np.searchsorted(process[by], owner, side="right")
    at = np.array([a + np.searchsorted(times[by[a:b]], t, side="right") for a, b, t in zip(first, stop, end)], np.int64)
    return by[np.minimum(at, len(by) - 1)], at < stop
