"""The columns and predicate answers of a batch, as the NFA kernels take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.parameters import with_parameters
from foretell.filter.predicates import EventColumns, Predicates
from foretell.filter.string_dictionary import Heap, StringDictionary
from foretell.jit import read_only
from foretell.machine.exec.active_set import ActiveSet, OpenLanes
from foretell.machine.exec.row_selection import RowSelection
from foretell.machine.exec.row_slices import RowSlices
from foretell.machine.exec.start_index import StartIndex
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.occurrence_counters import OccurrenceCounters
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.held import Held
from foretell.machine.kernels.structs import Batch, BatchEvents, Bytecode, Evaluated, Events, Values
from foretell.machine.trie_rows import TrieRows
from foretell.plan.expressions import EventStart, EveryNth, IndexKey, PresenceFlag, ProfileSatisfied, RowSelected
from foretell.plan.lower.bytecode import Code
from foretell.plan.lower.detection import Detection, detection_of_nfa
from foretell.plan.lower.late_guards import LATE_GUARD, LateGuards
from foretell.plan.lower.program import CompiledNfa, EventExpression
from foretell.storage.recorded_values import require_range

#: The arrays for batches of up to so many events are kept for the next batch; at first they have room for the least.
MOST_KEPT, LEAST_KEPT = 16_384, 64


class KernelBatch(NamedTuple):
    """A batch as the NFA kernels take it, in two parts."""

    events: BatchEvents
    evaluated: Held[Evaluated]

    @property
    def whole(self) -> Batch:
        """Both parts, as kernels take them that are called for long batches alone."""
        (base, lane, time, start), (predicates, rows, *others) = self.events, self.evaluated.value
        return Batch(base, Events(lane, time, start, predicates, rows), *others)


@dataclass
class BatchColumns:
    """Makes them. `value_lists` number the lists of runs that a value finds, by its type; `occurrences` count what
    `a[i]` counts where nothing precedes it. `selection` finds the rows of a template that the first event of a match
    selects; `rows` are those that runs carry by their profiles."""

    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: RowSelection | None = None
    rows: TrieRows | None = None
    occurrences: OccurrenceCounters = field(default_factory=OccurrenceCounters)
    value_lists: dict[Type, LaneIndex] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stop = 0  # the profiles of so many events of the present batch are known
        self._stack = Values(np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.uint8))  # kernels write to it

    def prepare(self, nfa: CompiledNfa, *, interprets: bool) -> None:
        """From now on make the batches of this NFA; `interprets` where kernels reach the interpreter of conditions."""
        self._nfa, self._interprets = nfa, interprets
        self.predicates = Predicates(nfa.predicates)
        self._starts = StartIndex(nfa, self.strings)
        self.is_late = False  # whether the kernel evaluates the later steps of this batch
        self.detect(detection_of_nfa(nfa))
        self._site_conditions = [] if nfa.rows is None else [_besides(nfa, n) for n in range(len(nfa.rows.sites))]
        if interprets and len(self._stack.integers) < nfa.code.code.depth:
            self._stack = new_stack(nfa.code.code)
        self._heap: Heap | None = None
        self._kept = Held(self._new_arrays(LEAST_KEPT))

    def detect(self, detection: Detection) -> None:
        """Evaluate predicates where the detection says."""
        self._single_step = detection.single_step
        self._openers = frozenset(opener for place in detection.places for opener in place.openers)
        self._active = ActiveSet(detection, self.predicates, self._nfa.time) if self._single_step else None

    @property
    def lists(self) -> int:
        """The most lists that a value finds, of one type."""
        return max(map(len, self.value_lists.values())) if self.value_lists else 0

    def batch(self, segment: EventSegment, lanes: OpenLanes, lane_count: int, alive: int) -> KernelBatch:
        """The batch for the kernels; `lanes` tell where partial matches wait, of which so many are `alive`."""
        events, count = segment.events, len(segment)
        arrays = self._kept.value if count <= self._kept.value.predicates.shape[1] else self._new_arrays(count)
        flags = self._occurrence_flags(self._nfa.counted, events, segment.lane) if self._nfa.counted else {}
        if self.selection is not None:
            arrays.rows[:count] = self.selection.starts(events)
            flags[RowSelected()] = arrays.rows[:count] != 0
        self.stop = count
        if self.rows is not None:
            wanted = [None if c is None else self._any_holds(c, events) for c in self._site_conditions]
            self._slices = RowSlices(self.rows, events, self.strings, wanted)
            self._satisfied = [np.zeros(count, np.bool_) for _ in wanted]
            arrays = self._next_slice(arrays, flags)
        self._evaluate(arrays, flags, segment, lanes, lane_count, alive)
        for number, expression in enumerate(self._nfa.columns):
            column = self._column(expression, segment)
            arrays.columns.integers[number, :count] = column.values.view(np.int64)
            arrays.columns.nulls[number, :count] = column.nulls
        time = read_only(events.time.values)
        start = time if events.start is events.time else read_only(events.start.values)
        return KernelBatch(BatchEvents(segment.base, segment.lane.view(np.uint64), time, start), self._held(arrays))

    def further(self, segment: EventSegment, batch: KernelBatch, lanes: OpenLanes, alive: int) -> KernelBatch:
        """The same batch with the profiles of the next events, where one slice has not those of all."""
        flags: dict[EventExpression, Flags] = {}
        arrays = self._next_slice(batch.evaluated.value, flags)
        self._evaluate(arrays, flags, segment, lanes, self._lane_count, alive)
        return KernelBatch(batch.events, self._held(arrays))

    def _next_slice(self, arrays: Evaluated, flags: dict[EventExpression, Flags]) -> Evaluated:
        """The batch with the profiles of the next slice; of earlier events it is known whether they satisfied any."""
        rows, satisfied = self._slices.take()
        self.stop = self._slices.stop
        for known, own in zip(self._satisfied, satisfied, strict=True):
            known |= own
        flags |= {ProfileSatisfied(site): known for site, known in enumerate(self._satisfied)}
        return arrays._replace(rows=rows)

    def _any_holds(self, conditions: Predicates, events: EventColumns) -> Flags:
        """The events for which some of these predicates hold: of others nobody asks for profiles."""
        return np.asarray(conditions.evaluate(events, self.strings).any(axis=0))

    def _evaluate(
        self,
        arrays: Evaluated,
        flags: Mapping[EventExpression, Flags],
        segment: EventSegment,
        lanes: OpenLanes,
        lane_count: int,
        alive: int,
    ) -> None:
        """Evaluate the predicates of a batch."""
        events, count, self._lane_count = segment.events, len(segment), lane_count
        holds = arrays.predicates.view(np.bool_)
        late, starts = self._nfa.late, self._starts
        later = frozenset() if late is None else late.predicates
        self.predicates.write(holds, events, self.strings, flags, self._single_step | later | starts.indexed)
        begun = starts.write(arrays.hits, holds, events, self.strings) if starts.applies else None
        self.is_late = late is not None and begun is not None and self._asks_little(late, begun + alive, count)
        early = self._openers & (later | starts.indexed)
        if not self.is_late:
            early |= starts.asked_later | later
        if begun is None:
            early |= starts.indexed
        for number in early - self._single_step:
            self.predicates.write_rows(number, None, holds, events, self.strings)
        if self._active is not None:
            self._active.write(holds, segment, self.strings, lanes, lane_count)
        self.predicates.write_unions(holds, count, () if begun is None else (starts.begins,))

    def _asks_little(self, late: LateGuards, runs: int, count: int) -> bool:
        """Whether so few runs ask for the conditions of later steps that the kernel evaluates them sooner."""
        return runs * late.fan * LATE_GUARD < count * late.nanoseconds

    def _new_arrays(self, count: int) -> Evaluated:
        """Arrays with room for so many events, if they are few for more."""
        size = 2 * count if 2 * count <= MOST_KEPT else count
        columns, code = len(self._nfa.columns), self._nfa.code.code
        words = np.zeros((max(1, columns), size if columns else 1), np.int64)
        return Evaluated(
            predicates=np.zeros((max(1, len(self.predicates)), size), np.uint8),
            rows=np.zeros(size, np.int64) if self.rows is None else self.rows.batch([], 0, 0),
            columns=Values(words.view(np.float64), words, np.zeros(words.shape, np.uint8)),
            parameters=self._parameters if self._interprets else None,
            code=bytecode(code, self.strings),
            stack=self._stack if self._interprets else None,
            hits=self._starts.arrays(size),
        )

    def _held(self, arrays: Evaluated) -> Held[Evaluated]:
        """The arrays for the kernels, with the texts that there are when all is evaluated."""
        kept, code = self._kept, self._nfa.code.code
        heap = self.strings.heap(code.text_functions, substrings=code.interns)
        if arrays is kept.value and heap is self._heap:
            return kept
        if self._interprets:
            arrays = arrays._replace(parameters=self._parameters)
        held = Held(arrays._replace(code=bytecode(code, self.strings)), kept)
        if arrays.predicates.shape[1] <= MOST_KEPT:
            self._kept, self._heap = held, heap
        return held

    @property
    def _parameters(self) -> Values:
        return self._row if self.rows is None else self.rows.parameter_values

    @cached_property
    def _row(self) -> Values:
        """The row of the FOR EACH table."""
        columns = list(self.parameters.values()) or [Column(Type.INT, np.zeros(1, np.int64), np.ones(1, np.bool_))]
        words = np.stack([np.ascontiguousarray(c.values).view(np.int64) for c in columns], axis=1)
        return Values(words.view(np.float64), words, np.stack([c.nulls.astype(np.uint8) for c in columns], axis=1))

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


def _besides(nfa: CompiledNfa, site: int) -> Predicates | None:
    """The other conditions of the predicates that ask for the profiles of a site; None where one has no others."""
    asked = ProfileSatisfied(site)
    others = [tuple(c for c in predicate if c != asked) for predicate in nfa.predicates if asked in predicate]
    return Predicates(others) if all(others) else None


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
