"""The events of a batch that may arrive at a step, as `foretell.machine.kernels.arrival_walk` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns, Predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.active_set import ActiveSet, OpenArrivals
from foretell.machine.exec.arrival_lists import ListHeads
from foretell.machine.exec.batch_columns import event_column
from foretell.machine.exec.row_selection import RowSelection
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.kernels.arrival_walk import ArrivalEvents
from foretell.machine.kernels.structs import Values
from foretell.plan.expressions import RowSelected
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.detection import Detection, detection_of_arrivals
from foretell.plan.lower.program import EventExpression
from foretell.records import record


@record
class ArrivalBatch:
    """The events of a batch that some step may want, often few of them: `rows` are their places in the batch."""

    rows: Ints
    events: ArrivalEvents
    columns: Values


@dataclass
class ArrivalColumns:
    """Makes the batches of one plan."""

    plan: ArrivalPlan
    strings: StringDictionary
    parameters: Mapping[str, Column]
    selection: RowSelection | None

    def __post_init__(self) -> None:
        # The kinds of keys by which steps find their lists; the first is the lane alone.
        self._kinds = {key: kind for kind, key in enumerate(dict.fromkeys([(), *self.plan.keys]))}
        self.predicates = Predicates(self.plan.predicates)
        self.detect(detection_of_arrivals(self.plan))
        self._kind_of_step = np.array([self._kinds[key] for key in self.plan.keys], np.int64)

    def detect(self, detection: Detection) -> None:
        """Evaluate predicates where the detection says."""
        self._single_step, time = detection.single_step, self.plan.program.subscription.time
        self._active = ActiveSet(detection, self.predicates, time) if self._single_step else None

    @property
    def keyed(self) -> bool:
        """Whether values find lists, and not lanes alone."""
        return len(self._kinds) > 1

    def batch(
        self, segment: EventSegment, lists: ListHeads, front: int, arrivals: OpenArrivals, lane_count: int
    ) -> ArrivalBatch:
        """`arrivals` tell in which lanes sequences have begun; `lists` number the keys of the events; those that only
        arrivals before the `front` have may go."""
        events = segment.events
        flags: dict[EventExpression, Flags] = {}
        template_rows = None
        if self.selection is not None:
            template_rows = self.selection.starts(events)
            flags[RowSelected()] = template_rows != 0
        holds = np.empty((len(self.predicates), len(segment)), np.bool_)
        self.predicates.write(holds, events, self.strings, flags, self._single_step)
        if self._active is not None:
            self._active.write(holds, segment, self.strings, arrivals, lane_count)
        arrives = holds.view(np.uint8)
        for key, kind in self._kinds.items():
            if kind:
                arrives[self._kind_of_step == kind] &= self._has_key(key, events)
        rows = np.flatnonzero(np.bitwise_or.reduce(arrives, axis=0).view(np.bool_))
        arrives, lane = arrives.take(rows, axis=1), segment.lane.take(rows)
        buckets = np.zeros((len(self._kinds), len(rows)), np.int64)
        buckets[0] = lane
        lists.sweep(len(rows), front)
        for key, kind in self._kinds.items():
            if kind:
                keyed = np.flatnonzero(arrives[self._kind_of_step == kind].any(axis=0))
                values = [self._column(expression, events, rows[keyed]) for expression in key]
                buckets[kind, keyed] = lists.of(np.stack([lane[keyed], *map(_words, values)], axis=1))
        return ArrivalBatch(
            rows=rows,
            events=ArrivalEvents(
                buckets=buckets,
                kinds=self._kind_of_step,
                lane=lane,
                time=events.time.values.take(rows),
                start=events.start.values.take(rows),
                position=rows + segment.base,
                flags=arrives,
                rows=np.zeros(len(rows), np.int64) if template_rows is None else template_rows[rows],
            ),
            columns=self._columns(events, rows),
        )

    def parameter_values(self) -> Values:
        """The row of the FOR EACH table."""
        columns = self.parameters.values()
        words = np.array([c.values[:1].view(np.int64)[0] for c in columns], np.int64).reshape(1, -1)
        return Values(words.view(np.float64), words, np.array([c.nulls[0] for c in columns], np.uint8).reshape(1, -1))

    def _columns(self, events: EventColumns, rows: Ints) -> Values:
        columns = [self._column(expression, events, rows) for expression in self.plan.columns]
        words, nulls = np.zeros((len(columns), len(rows)), np.int64), np.zeros((len(columns), len(rows)), np.uint8)
        for i, column in enumerate(columns):
            words[i], nulls[i] = np.ascontiguousarray(column.values).view(np.int64), column.nulls
        return Values(words.view(np.float64), words, nulls)

    def _column(self, expression: EventExpression, events: EventColumns, rows: Ints) -> Column:
        column, count = event_column(expression, events, self.strings), len(events)
        values, nulls = np.broadcast_to(column.values, count), np.broadcast_to(column.nulls, count)
        return Column(column.kind, values[rows], nulls[rows])

    def _has_key(self, key: tuple[EventExpression, ...], events: EventColumns) -> Flags:
        """The events whose key may equal another: NULL equals nothing, nor does NaN."""
        equal = np.ones(len(events), np.bool_)
        for column in (event_column(expression, events, self.strings) for expression in key):
            equal &= ~column.nulls
            if column.kind is Type.FLOAT:
                equal &= ~np.isnan(column.values)
        return equal


def _words(column: Column) -> Ints:
    """Values as words: equal ones are the same."""
    values = column.values + 0.0 if column.kind is Type.FLOAT else column.values  # -0.0 is 0.0
    return np.ascontiguousarray(values).view(np.int64)
