"""The arrival tracker: observed runs of a `;` sequence on arrival lists, which never build runs.

Each process tracks one run for each state: the one that began last, as it has most time left. Conditions that compare
events of a match are evaluated with its last step and not here; a model that learns from these runs learns how often
they hold.

Matches are complete before the tracker observes their events, so it knows what AFTER MATCH excludes. It knows nothing
of runs that began earlier than the tracked one, even where that one is excluded and they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.predicates import evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import read_only
from foretell.machine.exec.observation import Observation
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.arrival_tracking import (
    LatestRuns,
    TrackedEvents,
    TrackedOutput,
    TrackedTables,
    track_runs,
)
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.kernels.structs import Exclusion
from foretell.plan.lower.arrival_tracking import tracking_plan
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.records import record
from foretell.storage.recorded_values import indices, require, require_range, times


@record
class TrackedFurthestRuns:
    """The furthest run after each event of a batch; [row, step] `bound` are the positions of its events (-1: none)."""

    plan: ArrivalPlan
    base: int
    lane: Ints
    bound: Ints

    def after(self, rows: Ints, /) -> tuple[Flags, RawMatches]:
        has_run = self.bound[rows, 0] >= 0
        return has_run, self._runs(rows[has_run])

    def _runs(self, rows: Ints) -> RawMatches:
        finals, bound, count = self.plan.program.finals, self.bound[rows], len(rows)
        slots, nulls = np.zeros((count, len(finals)), np.int64), np.ones((count, len(finals)), np.uint8)
        for step, name in enumerate(self.plan.steps[: bound.shape[1]]):
            slot = finals[Register(RegisterKind.POSITION, name)]
            slots[:, slot], nulls[:, slot] = bound[:, step], bound[:, step] < 0
        zeros = np.zeros(count, np.int64)
        return RawMatches(
            state=zeros,
            lane=self.lane[rows],
            position=rows + self.base,
            first=bound[:, 0],
            chain=np.full(count, -1, np.int64),
            rows=zeros,
            slots=slots,
            nulls=nulls,
            nodes=NO_NODES,
        )


@dataclass
class ArrivalTracker:
    """The tracked runs of one subscription. A process is a lane, or a lane and the values that all steps share."""

    plan: ArrivalPlan
    strings: StringDictionary
    by_value: LaneIndex | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.tracking = tracking_plan(self.plan)
        self._time = np.float64 if self.tracking.time is Type.FLOAT else np.int64
        states = len(self.plan.steps) - 1
        if self.tracking.key:
            self.by_value = LaneIndex([Type.INT, *self.plan.key_types])
        self._runs = LatestRuns(
            began=np.zeros((0, states), self._time),
            position=np.zeros((0, states, states), np.int64),
            ended=np.zeros((0, states, states), self._time),
        )
        within, limits, gaps = self.tracking.within, self.tracking.limits, self.tracking.gaps
        self._tables = TrackedTables(
            gaps=np.array([state for state in gaps if state >= 0], np.int64),
            windowed=within is not None,
            within=self._time(within or 0),
            limits=np.array([(limit.state, limit.step) for limit in limits], np.int64).reshape(-1, 2),
            amounts=np.array([limit.amount for limit in limits]).astype(self._time),
        )
        negated = [len(self.plan.steps) + number for number, state in enumerate(gaps) if state >= 0]
        self._predicate_rows = [*range(len(self.plan.steps)), *negated]

    def observe(self, segment: EventSegment, exclusion: Exclusion) -> Observation:
        """The runs after each event of a batch, without those that its matches exclude."""
        events, count = segment.events, len(segment)
        predicates = evaluate_predicates(self.plan.predicates, events, self.strings)
        process = self._processes(segment)
        self._grow(int(process.max(initial=-1)) + 1)
        tracked = TrackedEvents(
            base=segment.base,
            process=process,
            lane=segment.lane,
            time=read_only(events.time.values),
            start=read_only(events.start.values),
            predicates=np.ascontiguousarray(predicates[self._predicate_rows]),
        )
        output = TrackedOutput(
            configuration=np.zeros(count, np.uint64),
            furthest=np.full((count, len(self.plan.steps) - 1), -1, np.int64),
        )
        track_runs(tracked, self._tables, exclusion, self._runs, output)
        furthest = TrackedFurthestRuns(self.plan, segment.base, segment.lane, output.furthest)
        return Observation(process, self.by_value is not None, output.configuration, furthest)

    def _processes(self, segment: EventSegment) -> Ints:
        if self.by_value is None:
            return segment.lane
        values = [segment.events.evaluate(expression, self.strings) for expression in self.tracking.key]
        lane = Column(Type.INT, segment.lane, no_nulls(len(segment)))
        return self.by_value.of([lane, *values], len(segment))

    def _grow(self, processes: int) -> None:
        size = len(self._runs.began)
        if processes > size:
            more = max(processes, 2 * size, 16) - size
            self._runs = LatestRuns(
                began=np.pad(self._runs.began, ((0, more), (0, 0))),
                position=np.pad(self._runs.position, ((0, more), (0, 0), (0, 0)), constant_values=-1),
                ended=np.pad(self._runs.ended, ((0, more), (0, 0), (0, 0))),
            )

    def referenced(self) -> Ints:
        """The positions of the events that runs refer to."""
        position = self._runs.position
        return position[(position[:, :, :1] >= 0) & (position >= 0)]

    @property
    def oldest(self) -> int | None:
        positions = self.referenced()
        return int(positions.min()) if len(positions) else None

    def state(self) -> dict[str, Any]:
        by_value = None if self.by_value is None else self.by_value.state()
        return {
            "by_value": by_value,
            "began": self._runs.began,
            "bound": self._runs.position,
            "ended": self._runs.ended,
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        if self.by_value is not None:
            self.by_value.restore(state["by_value"], bounds.texts)
            require_range(self.by_value.keys[: len(self.by_value), 1], bounds.lanes, "the lanes of tracked runs")
        states = self._runs.began.shape[1]
        began = times(state["began"], self._time, (None, states), "the tracked runs")
        shape = len(began), states, states
        self._runs = LatestRuns(
            began=began,
            position=indices(state["bound"], bounds.positions, "the events of tracked runs", shape, low=-1),
            ended=times(state["ended"], self._time, shape, "the tracked runs"),
        )
        require(all_held(self.referenced(), bounds.held), "the events of tracked runs")
