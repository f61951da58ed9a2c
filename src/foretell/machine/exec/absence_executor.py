"""Executor of a negated step alone, `!b`: a clock for each lane that tells when b has been absent for a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns, evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.absence_clocks import Silences
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.observer import Observer
from foretell.plan.match_plan import AbsencePlan

#: About what an absence takes as a result, with all the work on it, up to its notification.
RESULT_BYTES = 2048


@dataclass(eq=False)
class AbsenceExecutor:
    """The clocks of one subscription; `id` and `parameters` belong to its row where it is a template's."""

    plan: AbsencePlan
    strings: StringDictionary
    stream: MergedStream
    id: Scalar = None
    parameters: Mapping[str, Column] = field(default_factory=dict)
    silences: Silences = field(default_factory=Silences)
    observer: Observer | None = None

    def __post_init__(self) -> None:
        self.schema = self.plan.schema

    def name_after(self, row_id: Scalar) -> None:
        """Goes on for another row with the same parameters."""
        self.id = row_id

    def process(self, segment: EventSegment, now: int | float, order: EventOrder) -> ResultBatch:
        """The absences that a batch completes, and those that time completes until `now`."""
        within, times = self.plan.within, segment.events.time.values
        # On INT time a window may be 2.5 long, and so are the absences.
        times = times if within == int(within) else times.astype(np.float64)
        ledger = self.stream.ledger
        most = max(0, ledger.remaining_bytes) // RESULT_BYTES
        lane, start, stopped = self.silences.process(segment.lane, times, self._ends(segment), within, now, most)
        if len(stopped):
            ledger.refuse(self.schema.name, stopped, self.stream.keys, "memory")
        return self._results(lane, start, start + start.dtype.type(within), order)

    def _ends(self, segment: EventSegment) -> Flags:
        """The events that end an absence."""
        events, parameters = segment.events, self._parameter_columns(len(segment))
        events = replace(
            events,
            attributes={**events.attributes, **parameters},
            types={**events.types, **{name: column.kind for name, column in parameters.items()}},
            cache={},
            truths={},
        )
        return np.asarray(evaluate_predicates(self.plan.predicates, events, self.strings).any(axis=0))

    def _results(self, lane: Ints, start: NDArray[Any], end: NDArray[Any], order: EventOrder) -> ResultBatch:
        """Absences as results, where HAVING holds."""
        duration = Column(self.plan.duration_type, end - start, np.zeros(len(lane), np.bool_))
        columns = {"duration": duration, **self._parameter_columns(len(lane))}
        types = {name: column.kind for name, column in columns.items()}
        rows = EventColumns(columns, types, duration, duration, duration)
        results = ResultBatch(
            schema=self.schema,
            matches=None,
            lane=lane,
            start=start,
            end=end,
            places=order.deadlines(end).reshape(-1, 1),
            bindings={name: rows.evaluate(expression, self.strings) for name, expression in self.plan.outputs.items()},
            keys=self.stream.keys,
            id=self.id,
            strings=self.strings.view,
        )
        if self.plan.having is None:
            return results
        return results.filter(rows.truth(self.plan.having, self.strings))

    def _parameter_columns(self, count: int) -> dict[str, Column]:
        """The parameters of the row, by the names that the plan gives them, once for each of `count` rows."""
        first = np.zeros(count, np.int64)
        return {
            f":{name}": Column(column.kind, column.values[first], column.nulls[first])
            for name, column in self.parameters.items()
        }
