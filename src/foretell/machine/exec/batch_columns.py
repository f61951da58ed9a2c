"""The columns and predicate answers of a batch, as the NFA kernels take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.filter.parameters import with_parameters
from foretell.filter.predicates import EventColumns, evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import TemplateIndex
from foretell.jit import read_only
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.occurrence_counters import OccurrenceCounters
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.structs import Batch, Bytecode, Events, Values
from foretell.plan.expressions import EventStart, EveryNth, IndexKey, PresenceFlag, RowSelected
from foretell.plan.lower.bytecode import Code
from foretell.plan.lower.program import CompiledNfa, EventExpression
from foretell.storage.recorded_values import require_range


@dataclass
class BatchColumns:
    """Makes them. `value_lists` number the lists of runs that a value finds, by its type; `occurrences` count what
    `a[i]` counts where nothing precedes it."""

    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: TemplateIndex | None = None
    occurrences: OccurrenceCounters = field(default_factory=OccurrenceCounters)
    value_lists: dict[Type, LaneIndex] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = Values(np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.uint8))  # kernels write to it

    @property
    def lists(self) -> int:
        """The most lists that a value finds, of one type."""
        return max(map(len, self.value_lists.values())) if self.value_lists else 0

    def batch(self, segment: EventSegment, nfa: CompiledNfa, *, interprets: bool) -> Batch:
        """The batch for the kernels; `interprets` where they reach the interpreter of conditions."""
        events, count = segment.events, len(segment)
        columns = self._columns(nfa.columns, segment)
        flags = self._occurrence_flags(nfa.counted, events, segment.lane)
        rows = _zeros(count)
        if self.selection is not None:
            rows = self.selection.rows(events, self.strings)
            flags[RowSelected()] = rows != 0
        predicates = evaluate_predicates(nfa.predicates, events, self.strings, flags)
        if not len(predicates):
            predicates = no_nulls(count).view(np.uint8).reshape(1, -1)
        time, code = read_only(events.time.values), nfa.code.code
        if interprets and len(self._stack.integers) < code.depth:
            self._stack = new_stack(code)
        return Batch(
            base=segment.base,
            events=Events(
                lane=segment.lane.view(np.uint64),
                time=time,
                start=time if events.start is events.time else read_only(events.start.values),
                predicates=predicates,
                rows=rows,
            ),
            columns=columns,
            parameters=self._row if interprets else None,
            code=bytecode(code, self.strings),
            stack=self._stack if interprets else None,
        )

    @cached_property
    def _row(self) -> Values:
        """The row of the FOR EACH table."""
        columns = list(self.parameters.values()) or [Column(Type.INT, np.zeros(1, np.int64), np.ones(1, np.bool_))]
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns])
        return Values(words.view(np.float64), words, np.stack([c.nulls.astype(np.uint8) for c in columns]))

    def _columns(self, expressions: tuple[EventExpression, ...], segment: EventSegment) -> Values:
        """The columns that conditions compare, as one matrix of 64-bit words."""
        columns, count = [self._column(expression, segment) for expression in expressions], len(segment)
        if not columns:
            words, nulls = np.zeros((1, count), np.int64), no_nulls(count).view(np.uint8).reshape(1, -1)
        else:
            words = np.empty((len(columns), count), np.int64)
            for number, column in enumerate(columns):
                words[number] = column.values.view(np.int64)
            if any(may_be_null(c.nulls) for c in columns):
                nulls = np.stack([c.nulls for c in columns]).view(np.uint8)
            else:
                nulls = no_nulls(len(columns) * count).view(np.uint8).reshape(len(columns), count)
        return Values(words.view(np.float64), words, nulls)

    def _column(self, expression: EventExpression, segment: EventSegment) -> Column:
        events = segment.events
        if not isinstance(expression, IndexKey):
            return event_column(expression, events, self.strings)
        lists = self.value_lists.setdefault(expression.kind, LaneIndex((Type.INT, expression.kind)))
        lane = Column(Type.INT, segment.lane, no_nulls(len(segment)))
        value = events.evaluate(expression.expression, self.strings)
        return Column(Type.INT, lists.of([lane, value], len(segment)), no_nulls(len(segment)))

    # ── a[i] where nothing precedes it ──

    def _occurrence_flags(
        self, counted: tuple[EveryNth, ...], events: EventColumns, lane: Ints
    ) -> dict[EventExpression, Flags]:
        """Which events are the i-th of their lane that satisfies a step."""
        return {every: self._is_every(number, every, events, lane) for number, every in enumerate(counted)}

    def _is_every(self, number: int, every: EveryNth, events: EventColumns, lane: Ints) -> Flags:
        values = [events.evaluate(self._with_row(expression), self.strings) for expression in every.binders]
        satisfied = np.ones(len(events), np.bool_)
        for condition in every.conditions:
            satisfied &= events.truth(self._with_row(condition), self.strings)
        for value in values:
            satisfied &= ~value.nulls
        # Each binding of the step's variables is counted by itself, as each is a match of its own.
        occurrence = self.occurrences.of(number, lane[satisfied], [value.values[satisfied] for value in values])
        satisfied[satisfied] = occurrence % every.index == 0
        return satisfied

    def _with_row(self, expression: EventExpression) -> EventExpression:
        return with_parameters(expression, self.parameters, self.strings)

    # ── state ──

    def state(self) -> dict[str, Any]:
        lists = {kind.value: numbers.state() for kind, numbers in self.value_lists.items()}
        return {"tables": lists, "ordinals": self.occurrences.state()}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        for kind, numbers in state["tables"].items():
            index = self.value_lists[Type(kind)] = LaneIndex((Type.INT, Type(kind)))
            index.restore(numbers, bounds.texts)
            require_range(index.keys[: len(index), 1], bounds.lanes, "the lanes of values")
        self.occurrences.restore(state["ordinals"])


def event_column(expression: EventExpression, events: EventColumns, strings: StringDictionary) -> Column:
    """The value of an expression about one event, for each event of a batch."""
    match expression:
        case EventStart():
            return events.start
        case PresenceFlag(attribute=name):
            attribute, count = events.attributes.get(name), len(events)
            known = np.zeros(count, np.int64) if attribute is None else (~attribute.nulls).astype(np.int64)
            return Column(Type.INT, np.broadcast_to(known, count), no_nulls(count))
    return events.evaluate(expression, strings)


def bytecode(code: Code, strings: StringDictionary) -> Bytecode:
    heap = strings.heap(code.text_functions, substrings=code.interns)
    return Bytecode(code.ops, code.constants_f, code.constants_i, *heap)


def new_stack(code: Code) -> Values:
    depth = max(1, code.depth)
    return Values(np.zeros(depth), np.zeros(depth, np.int64), np.zeros(depth, np.uint8))


_ZERO: list[Ints] = [np.zeros(0, np.int64)]


def _zeros(count: int) -> Ints:
    """Zeros that nobody writes to, made once."""
    if count > len(_ZERO[0]):
        _ZERO[0] = np.zeros(2 * count, np.int64)
    return _ZERO[0][:count]
